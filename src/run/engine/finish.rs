//! The end of a run: warnings, expectations, and the record.

use super::state::Engine;
use crate::close::record::{ArmRecord, Record, RoundTripRecord};
use crate::collect::arm_history::{ArmHistory, tell_faults};
use crate::collect::phases::Phases;
use crate::error::RunError;
use crate::orders::command::Inbox;
use crate::show::snapshot::Phase;
use crate::watch::lab::Flushes;
use lockstorm_data::facts::{Caveat, EventKind, Step};
use lockstorm_data::metrics::{Count, Entry, HistogramText, Quantiles, Series, Time, histogram};
use lockstorm_data::model::HostId;
use lockstorm_judge::{busy, failed, rate_not_kept, shared, untested};

/// If requests begin this much later than they were due, in microseconds, the times of a run are doubtful.
const MUCH_LAG_US: u64 = 100_000;

impl Engine {
    /// Closes the books and makes the record. It must be called once the load has ended.
    pub(crate) async fn finish(mut self, interrupted: bool, inbox: &mut Inbox) -> Result<Record, RunError> {
        self.close_books(inbox).await;
        // A stop at the end may not be told yet.
        let machine = self.machine.look();
        self.note(machine);
        self.take_complaints();
        self.drop_schemas_of_arms(inbox).await;
        self.warn_of_faults();
        self.warn_of_hold();
        // What was deleted since the last poll.
        let flushes = Flushes::look(&self.lab.handle).await;
        let notices = self.lab.take_flushes(flushes);
        self.note(notices);
        self.take_unordered_losses();
        self.arms.iter_mut().for_each(|arm| arm.holds.close());
        let arms: Vec<ArmRecord> = (0..self.arms.len()).map(|arm| self.arm_record(arm)).collect();
        if arms.iter().any(|arm| arm.phases.len() == Phases::MOST) {
            self.log.warn(Caveat::ManyPhases { most: Phases::MOST });
        }
        for caveat in arms.iter().filter_map(|arm| rate_not_kept(&arm.name, &arm.figures)) {
            self.log.warn(caveat);
        }
        self.warn_of_removals(&arms);
        self.warn_of_failures(&arms);
        self.warn_of_unsold_stock();
        self.warn_of_lag(&arms);
        // After a turn the figures are not those of the scenario alone.
        if let Some(turned) = self.turned.warning() {
            self.log.warn(turned);
        }
        let untested = untested(&self.scenario, arms.iter().map(|arm| &arm.figures));
        let busy = busy(self.machine.processor_wait, self.timing.elapsed());
        let shared = shared(self.machine.used_by_others, self.timing.elapsed());
        for caveat in busy.into_iter().chain(shared).chain(untested) {
            self.log.warn(caveat);
        }
        self.stage.phase = Phase::Finished { interrupted };
        let step = if interrupted { Step::Stopped } else { Step::Finished };
        self.log.push(EventKind::Phase { step });
        self.publish();
        let (header, partial, round_trips) = (self.header(), self.all_missing(), self.round_trips());
        let (processor_wait, processor_used_by_others) = (self.machine.processor_wait, self.machine.used_by_others);
        let (events, warnings) = self.log.into_all();
        if let (Some(history), Some(origin)) = (&self.swarm.history, self.swarm.load.timeline.origin()) {
            self.arms
                .into_iter()
                .filter_map(|arm| arm.history)
                .for_each(ArmHistory::close);
            tell_faults(history, origin, &events);
        }
        let record = Record {
            elapsed: self.timing.elapsed().max(0.0),
            interrupted,
            partial,
            arms,
            round_trips,
            processor_wait,
            processor_used_by_others,
            warnings,
            events,
            ..header
        };
        Ok(record.concluded())
    }

    /// Scheduled faults without an effect prove nothing.
    fn warn_of_faults(&mut self) {
        let schedule = &self.faults.schedule;
        let unmet = schedule.without_effect().into_iter();
        let unmet: Vec<Caveat> = unmet.map(|fault| schedule.unmet(fault)).collect();
        for caveat in unmet {
            self.log.warn_once(caveat);
        }
    }

    /// Names a client whose late release has most likely removed the key of the next holder, for each arm the first one.
    fn warn_of_removals(&mut self, arms: &[ArmRecord]) {
        for arm in arms {
            let mut removals = arm.evidence.iter().filter_map(|double| double.removed_by.as_ref());
            if let Some(removal) = removals.next() {
                self.log.warn(Caveat::LateRelease {
                    arm: arm.name.clone(),
                    client: removal.who(),
                    at_us: removal.at_us,
                });
            }
        }
    }

    /// Failed requests are not refusals of a lock, so they get a warning of their own, with the error of the first.
    fn warn_of_failures(&mut self, arms: &[ArmRecord]) {
        for arm in arms.iter().filter(|arm| arm.figures.counts[Count::Errors] > 0) {
            let first = arm.first_error.as_deref();
            self.log.warn(failed(&arm.name, &arm.figures, first));
        }
    }

    /// If requests begin much later than they were due, the load was not the one that was asked for, and the times are not
    /// only the locks'.
    fn warn_of_lag(&mut self, arms: &[ArmRecord]) {
        let lags = arms.iter().map(|arm| arm.figures.times[Time::Lag].p99);
        let p99_us = lags.max().unwrap_or(0);
        if p99_us > MUCH_LAG_US {
            let is_stopped = !self.machine.stall.stopped().is_zero();
            self.log.warn(Caveat::LateStarts { p99_us, is_stopped });
        }
    }

    /// Unsold stock hides overselling: a lost update shows as an oversold unit only once the product is sold out.
    fn warn_of_unsold_stock(&mut self) {
        if !self.scenario.workload.about().sells() {
            return;
        }
        let arms: Vec<String> = self
            .arms
            .iter()
            // If an arm's ledger was not read to its end, nobody knows whether it is sold out.
            .filter(|arm| !arm.collector.totals.books.sold_out && arm.missing.is_empty())
            .filter(|arm| arm.collector.totals.books.entries[Entry::Oversold] == 0)
            .map(|arm| arm.spec.name.clone())
            .collect();
        if !arms.is_empty() {
            self.log.warn(Caveat::Unsold { arms });
        }
    }

    fn arm_record(&mut self, index: usize) -> ArmRecord {
        let figures = self.figures(index);
        let phases = self.arms[index].collector.phases.end();
        let arm = &self.arms[index];
        ArmRecord {
            figures,
            histograms: arm.collector.totals.measured.histograms(),
            phases,
            series: Series::clone(&arm.collector.curves.series),
            after_end: arm.collector.after_end(),
            evidence: arm
                .holds
                .evidence(&self.timing.timeline, |server| self.lab.host_of(server)),
            first_error: arm.collector.first_error.clone(),
            lock: match arm.complaints.who() {
                Some(who) => arm.spec.label_of(&who),
                None => arm.spec.label(),
            },
            ..ArmRecord::of(&arm.spec)
        }
    }

    fn round_trips(&self) -> Vec<RoundTripRecord> {
        let uses_nodes = self.arms.iter().any(|arm| arm.spec.lock.uses_nodes());
        if !uses_nodes {
            return Vec::new();
        }
        let of = |(node, host): (usize, HostId)| {
            let mut sum = histogram();
            for server in &self.swarm.servers {
                server.round_trips.add_to(node, &mut sum);
            }
            RoundTripRecord {
                host: host.0,
                quantiles_us: Quantiles::of(&sum),
                histogram: HistogramText::of(&sum),
            }
        };
        let hosts = self.lab.handle.lock_nodes().into_iter().map(|(host, _)| host);
        hosts.enumerate().map(of).collect()
    }
}
