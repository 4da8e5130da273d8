use rand::RngExt;
use rand::rngs::SmallRng;

use super::failed::Failed;
use super::random::draw;
use super::section::Section;
use super::tools::Tools;
use lockstorm_data::metrics::{Count, Counter};
use lockstorm_data::scenario::{AccountLocks, PaymentSpec, ServiceTime};

/// The work of `payment`: read two balances, think, and write both back.
#[derive(Debug)]
pub struct Payment {
    pub(super) tools: Tools,
    spec: PaymentSpec,
    read: ServiceTime,
}

impl Payment {
    pub(super) const fn new(spec: PaymentSpec, read: ServiceTime, tools: Tools) -> Self {
        Self { tools, spec, read }
    }

    /// One request: somebody pays 1 to somebody else.
    pub(super) async fn request(&self, counter: Counter<'_>, rng: &mut SmallRng, worker: usize) -> Result<(), Failed> {
        let payer = rng.random_range(0..self.spec.accounts);
        // Each of the others alike.
        let payee = (payer + rng.random_range(1..self.spec.accounts)) % self.spec.accounts;
        let locks = match self.tools.arm.locks {
            AccountLocks::InOrder => [Some(payer.min(payee)), Some(payer.max(payee))],
            AccountLocks::AsPaid => [Some(payer), Some(payee)],
            AccountLocks::Payer => [Some(payer), None],
        };
        let mut sections = Vec::with_capacity(locks.len());
        let mut refused = None;
        for account in locks.into_iter().flatten() {
            match self
                .tools
                .enter(counter, &PaymentSpec::lock_name(account), worker)
                .await
            {
                Ok(section) => sections.push(section),
                Err(failed) => {
                    refused = Some(failed);
                    break;
                }
            }
        }
        let paid = match refused {
            // Without both locks there is no work.
            Some(_) => Ok(false),
            None => self.pay(payer, payee, &sections, worker, rng).await,
        };
        // The last one first, as code with nested blocks does.
        for section in sections.into_iter().rev() {
            section.leave(&paid).await;
        }
        if let Some(failed) = refused {
            return Err(failed);
        }
        if !paid? {
            counter.count(Count::SoldOut);
        }
        Ok(())
    }

    /// Pays, unless the payer has nothing.
    async fn pay(
        &self,
        payer: u64,
        payee: u64,
        sections: &[Section<'_>],
        worker: usize,
        rng: &mut SmallRng,
    ) -> Result<bool, Failed> {
        let (tools, Some(section)) = (&self.tools, sections.first()) else {
            // Each payment takes a lock, or what stands for one in an arm without.
            return Ok(false);
        };
        let Some(left) = tools.store.units(payer, draw(self.read, rng)).await?.checked_sub(1) else {
            return Ok(false);
        };
        let grown = tools.store.units(payee, draw(self.read, rng)).await? + 1;
        let hold = draw(tools.live_settings.hold(self.spec.hold), rng);
        tools.spend(hold, section.counter).await?;
        for section in sections {
            section.check()?;
        }
        let by = format!("s{}w{worker}", tools.server.0);
        let mut mark = section.mark(&by);
        mark.stalled = sections.iter().any(Section::is_stalled);
        tools.store.pay((payer, left), (payee, grown), mark).await?;
        Ok(true)
    }
}
