use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;

use super::failed::Failed;
use super::random::draw;
use super::section::Section;
use super::tools::Tools;
use lockstorm_data::metrics::{Count, Counter};
use lockstorm_data::scenario::{JobSpec, ServiceTime};

/// The work of `job`: run a tick that all app servers were dealt.
#[derive(Debug)]
pub struct Job {
    pub(super) tools: Tools,
    spec: JobSpec,
    read: ServiceTime,
}

impl Job {
    pub(super) const fn new(spec: JobSpec, read: ServiceTime, tools: Tools) -> Self {
        Self { tools, spec, read }
    }

    /// One request: this tick is due.
    pub(super) async fn request(
        &self,
        counter: Counter<'_>,
        rng: &mut SmallRng,
        worker: usize,
        tick: u64,
    ) -> Result<(), Failed> {
        let late = self.spec.skew.mul_f64(rng.random());
        if late > Duration::ZERO {
            self.tools.spend(late, counter).await?;
        }
        let section = self.tools.enter(counter, &self.spec.lock_name(tick), worker).await?;
        let ran = self.run(tick, worker, &section, rng).await;
        section.leave(&ran).await;
        if !ran? {
            counter.count(Count::SoldOut);
        }
        Ok(())
    }

    /// Runs the tick, unless it looks first and finds that it has run.
    async fn run(&self, tick: u64, worker: usize, section: &Section<'_>, rng: &mut SmallRng) -> Result<bool, Failed> {
        let tools = &self.tools;
        if tools.arm.second_look && tools.store.units(tick, draw(self.read, rng)).await? == 0 {
            return Ok(false);
        }
        let hold = draw(tools.live_settings.hold(self.spec.hold), rng);
        tools.spend(hold, section.counter).await?;
        section.check()?;
        let by = format!("s{}w{worker}", tools.server.0);
        tools.store.sell(tick, 0, section.mark(&by)).await?;
        Ok(true)
    }
}
