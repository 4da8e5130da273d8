//! One round of one contender: connect, warm up, break nodes as the case says, measure, restore, count leftover keys.

use std::time::Duration;

use tokio::time::sleep;

use super::app_server::Counts;
use super::case::{Case, Load, Trouble};
use super::client::Setup;
use super::contender::Contender;
use super::error::BenchError;
use super::figures::{Figures, Run, Usage};
use super::fleet::Fleet;
use super::links::Links;
use super::nodes;
use super::process;
use super::tally::{Phase, Tally};
use lockstorm_data::metrics::in_nanos;
use lockstorm_data::model::{Action, Condition, HostId};
use lockstorm_lab::Lab;

/// The length of the load before anything is measured.
pub(super) const WARM_UP: Duration = Duration::from_millis(200);

/// How long after the end of the load, with all nodes up again, leftover keys are counted.
pub(super) const ORPHANS_AFTER: Duration = Duration::from_millis(250);

/// Without a quorum: how long after the end of the load the keys on the node that was up are counted.
pub(super) const SURVIVOR_AFTER: Duration = Duration::from_millis(100);

/// How long a node stays down before it is restarted.
const DOWN_FOR: Duration = Duration::from_millis(500);

/// One contender in one case.
pub(super) struct Round<'a> {
    pub lab: &'a Lab,
    pub case: &'a Case,
    pub contender: Contender,
    pub setup: &'a Setup,
    /// The length of the measured part, unless the case changes it.
    pub time: Duration,
}

/// A phase that was measured.
type Measured = (Phase, Usage);

impl Round<'_> {
    /// Runs the round. A contender that can't take part gives a run with an error; only an error of the lab ends the
    /// bench.
    ///
    /// # Errors
    /// A host can't be broken or restored as the case says, or does not answer.
    pub async fn run(&self) -> Result<Run, BenchError> {
        let mut run = Run {
            contender: self.contender,
            ..Run::default()
        };
        let links = self.case.link.map(|rate| Links::open(&self.setup.nodes, rate));
        let links = links.transpose()?;
        let setup = links.as_ref().map(|links| Setup {
            nodes: links.nodes.clone(),
            ways: Some(links.ways.clone()),
            ..self.setup.clone()
        });
        if let Err(trouble) = self.measure(setup.as_ref().unwrap_or(self.setup), &mut run).await {
            match trouble {
                Stopped::Contender(why) => run.error = Some(why),
                Stopped::Lab(error) => return Err(error),
            }
        }
        // What is still on its way must not come after the flush.
        drop(links);
        self.restore().await?;
        self.flush().await?;
        Ok(run)
    }

    async fn flush(&self) -> Result<(), BenchError> {
        for (_, address) in &self.lab.lock_nodes() {
            nodes::flush(address).await?;
        }
        Ok(())
    }

    async fn measure(&self, setup: &Setup, run: &mut Run) -> Result<(), Stopped> {
        if self.case.trouble == Trouble::Hung {
            // First the same client on healthy nodes, for comparison.
            let mut fleet = self.start(setup).await?;
            let phase = self.phase(&fleet, Phase::Baseline, self.time).await;
            let counts = fleet.stop().await?;
            run.baseline = Some(figures(&counts, &phase));
            // This fleet's leftovers are not counted, so it may end in any way.
            drop(fleet);
            self.flush().await?;
            self.break_nodes().await?;
        }
        let mut fleet = self.start(setup).await?;
        run.uncontended_ns = fleet.alone.map(|alone| in_nanos(alone.acquire));
        run.link_bytes_per_cycle = fleet.alone.and_then(|alone| alone.link_bytes);
        let mut phases = Vec::new();
        if !matches!(self.case.trouble, Trouble::None | Trouble::Hung) {
            phases.push(self.phase(&fleet, Phase::Baseline, self.time).await);
            self.break_nodes().await?;
            if self.case.trouble == Trouble::Restarted {
                sleep(DOWN_FOR).await;
                let back = self.lab.apply(Action::Undo(Condition::Down), HostId(1)).await;
                fleet.back(back.map_err(BenchError::from)?.at);
            }
        }
        run.rss_before_mib = process::resident_mib();
        phases.push(self.phase(&fleet, Phase::Measured, self.case.measured(self.time)).await);
        run.rss_after_mib = process::resident_mib();
        let counts = fleet.stop().await?;
        for phase in &phases {
            match phase.0 {
                Phase::Baseline => run.baseline = Some(figures(&counts, phase)),
                Phase::Measured => run.figures = Some(figures(&counts, phase)),
            }
        }
        run.back_in_use = counts.iter().find_map(|counts| counts.back_in_use);
        run.lost = (self.case.load == Load::Renewal).then(|| fleet.lost() as u64);
        self.count_leftovers(run).await?;
        Ok(())
    }

    /// A fleet under load that has warmed up.
    async fn start(&self, setup: &Setup) -> Result<Fleet, Stopped> {
        let fleet = Fleet::start(self.contender, self.case, setup).await?;
        fleet.load(self.case).await?;
        sleep(WARM_UP).await;
        Ok(fleet)
    }

    async fn phase(&self, fleet: &Fleet, phase: Phase, time: Duration) -> Measured {
        let mark = fleet.begin(self.lab, phase).await;
        sleep(time).await;
        (phase, fleet.end(self.lab, mark).await)
    }

    /// Breaks nodes, as the case says. Returns when the effect on the last one was verified.
    async fn break_nodes(&self) -> Result<(), BenchError> {
        if let Some((fault, hosts)) = self.case.trouble.breaks() {
            for &host in hosts {
                self.lab.apply(fault.into(), host).await?;
            }
        }
        Ok(())
    }

    /// Counts the keys that nobody holds any more: without a quorum first on the node that was up, then on all nodes, a
    /// moment after all of them are up again.
    async fn count_leftovers(&self, run: &mut Run) -> Result<(), BenchError> {
        let lock_nodes = self.lab.lock_nodes();
        if matches!(self.case.trouble, Trouble::MostKilled | Trouble::MostPaused) {
            sleep(SURVIVOR_AFTER).await;
            if let Some((_, survivor)) = lock_nodes.last() {
                run.survivor_keys = Some(nodes::keys(survivor).await?);
            }
        }
        self.restore().await?;
        sleep(ORPHANS_AFTER).await;
        for (_, address) in &lock_nodes {
            run.orphans.push(nodes::keys(address).await?);
        }
        Ok(())
    }

    /// Brings all hosts up again.
    async fn restore(&self) -> Result<(), BenchError> {
        for (host, _) in self.lab.lock_nodes() {
            for ongoing in self.lab.state(host).conditions.iter() {
                self.lab.apply(Action::Undo(ongoing.condition), host).await?;
            }
        }
        Ok(())
    }
}

/// Why a round ended early.
enum Stopped {
    Contender(String),
    Lab(BenchError),
}

impl From<String> for Stopped {
    fn from(why: String) -> Self {
        Self::Contender(why)
    }
}

impl From<BenchError> for Stopped {
    fn from(error: BenchError) -> Self {
        Self::Lab(error)
    }
}

/// The figures of all app servers together.
fn figures(counts: &[Counts], (phase, usage): &Measured) -> Figures {
    let mut total = Tally::default();
    for counts in counts {
        total.add(&counts.tallies[*phase as usize]);
    }
    let cycles: Vec<u64> = match phase {
        Phase::Baseline => Vec::new(),
        Phase::Measured => counts.iter().flat_map(|counts| &counts.cycles).copied().collect(),
    };
    Figures::of(&total, usage, &cycles)
}
