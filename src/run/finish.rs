//! The end of a run: the last look at the ledger, the verdicts, the record.

use std::collections::HashSet;
use std::time::SystemTime;

use super::RunError;
use super::command::Inbox;
use super::doubt;
use super::engine::Engine;
use super::expect::{self, Course};
use super::record::{ArmRecord, Machine, Record, Timeouts};
use crate::lock::NodeOptions;
use crate::metrics::Phase;
use crate::metrics::units::micros;
use crate::model::EventKind;
use crate::scenario::{Scenario, WorkloadSpec};
use crate::workload::CACHE_REPLY_TIMEOUT;

/// The generator's lag from which on the times of a run are doubtful, in microseconds.
const MUCH_LAG_US: u64 = 100_000;

impl Engine {
    /// Closes the books and writes the record. To be called once the load has ended.
    pub(super) async fn finish(
        mut self,
        started: SystemTime,
        interrupted: bool,
        inbox: &mut Inbox,
    ) -> Result<Record, RunError> {
        self.close_books(inbox).await;
        self.remove_places(inbox).await;
        self.warn_of_faults();
        self.warn_of_failures();
        self.warn_of_unsold_stock();
        self.warn_of_lag();
        let arms: Vec<ArmRecord> = (0..self.arms.len()).map(|arm| self.arm_record(arm)).collect();
        let expectations = expect::verdicts(
            &self.scenario,
            &arms,
            Course {
                lost: self.lost.first().map(String::as_str),
                unmet: self.unmet.first().map(String::as_str),
                interrupted,
                clock_stepped: self.clock_stepped,
            },
        );
        let mut inconclusive = self.void();
        inconclusive.extend(arms.iter().filter_map(|arm| arm.doubt.clone()));
        inconclusive.extend(self.all_missing());
        let mut said = HashSet::new();
        inconclusive.retain(|reason| said.insert(reason.clone()));
        self.phase = Phase::Finished {
            interrupted,
            expectations: expectations
                .iter()
                .map(|verdict| (verdict.result, verdict.text.clone()))
                .collect(),
        };
        self.log
            .push(EventKind::Phase, if interrupted { "stopped" } else { "finished" });
        self.publish();
        let scenario = Scenario::clone(&self.scenario);
        Ok(Record {
            format: Record::FORMAT,
            lockstorm: env!("CARGO_PKG_VERSION").to_owned(),
            started: humantime::format_rfc3339_seconds(started).to_string(),
            second_zero: self.second_zero.clone(),
            scenario_toml: scenario.to_toml(),
            seed: scenario.seed,
            machine: Machine::this(),
            nodes: self.lab.settings(),
            timeouts: self.timeouts(),
            elapsed: self.elapsed().max(0.0),
            interrupted,
            inconclusive,
            partial: self.all_missing(),
            arms,
            expectations,
            warnings: self.warnings,
            events: self.log.into_all(),
            scenario,
        })
    }

    /// Scheduled faults that did not happen prove nothing.
    fn warn_of_faults(&mut self) {
        let schedule = &self.faults.schedule;
        self.unmet = schedule
            .without_effect()
            .into_iter()
            .map(|fault| schedule.unmet(fault))
            .collect();
        for text in self.unmet.clone() {
            self.warn(text);
        }
    }

    /// Failed requests are nobody's refusals: they are told with the words of the first.
    fn warn_of_failures(&mut self) {
        for index in 0..self.arms.len() {
            let (arm, figures) = (&self.arms[index], self.figures(index));
            if figures.errors > 0 {
                let first = arm.collector.first_error().map(String::as_str);
                let text = doubt::failed(&arm.spec.name, &figures, first);
                self.warn(text);
            }
        }
    }

    /// A generator that lags by much has not offered the load that was asked for, and times other than the locks'.
    fn warn_of_lag(&mut self) {
        let lags = (0..self.arms.len()).map(|index| self.figures(index).lag_us.p99);
        let worst = lags.max().unwrap_or(0);
        if worst > MUCH_LAG_US {
            let text = format!(
                "requests began up to {} (p99) later than they should have, by no fault of the locks: this machine is too busy \
                 for the load, so don't trust the times",
                micros(worst)
            );
            self.warn(text);
        }
    }

    /// Unsold stock hides overselling: a lost update shows as an oversold unit only once the product is sold out.
    fn warn_of_unsold_stock(&mut self) {
        if !matches!(self.scenario.workload, WorkloadSpec::Inventory(_)) {
            return;
        }
        let unsold: Vec<String> = self
            .arms
            .iter()
            // Of what was not read to its end nobody knows whether it is sold out.
            .filter(|arm| !arm.collector.books().sold_out && arm.missing.is_empty())
            .map(|arm| format!("\"{}\"", arm.spec.name))
            .collect();
        if !unsold.is_empty() {
            let text = format!(
                "{}: oversold is not measurable until sold out, lost updates are measurable",
                unsold.join(", ")
            );
            self.warn(text);
        }
    }

    fn arm_record(&self, index: usize) -> ArmRecord {
        let (arm, figures) = (&self.arms[index], self.figures(index));
        ArmRecord {
            name: arm.spec.name.clone(),
            lock: arm.spec.label(),
            ttl_ms: arm.spec.ttl.as_secs_f64() * 1e3,
            sold_out_all: arm.collector.books().sold_out,
            doubt: self.doubt_of(index, &figures),
            figures,
            series: arm.collector.series().as_ref().clone(),
            after_end: arm.collector.after_end(),
            first_error: arm.collector.first_error().cloned(),
        }
    }

    fn timeouts(&self) -> Timeouts {
        let node_ms = self
            .arms
            .iter()
            .filter(|arm| arm.spec.lock.uses_nodes())
            .map(|arm| (arm.spec.name.clone(), arm.spec.node_timeout.as_secs_f64() * 1e3))
            .collect();
        Timeouts {
            connect_ms: NodeOptions::default().connect_timeout.as_secs_f64() * 1e3,
            node_ms,
            cache_ms: CACHE_REPLY_TIMEOUT.as_secs_f64() * 1e3,
        }
    }
}
