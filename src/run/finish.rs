//! The end of a run: the last look at the ledger, the verdicts, the record.

use std::time::SystemTime;

use super::RunError;
use super::engine::Engine;
use super::expect::{self, Course};
use super::record::{ArmRecord, Machine, Record, Timeouts};
use crate::lock::NodeOptions;
use crate::metrics::Phase;
use crate::model::EventKind;
use crate::scenario::{Scenario, WorkloadSpec};
use crate::workload::CACHE_REPLY_TIMEOUT;

impl Engine {
    /// Closes the books and writes the record. To be called once the load has ended.
    pub(super) async fn finish(mut self, started: SystemTime, interrupted: bool) -> Result<Record, RunError> {
        let closed = self.close_books().await;
        let causes = self.all_faults_took_effect();
        self.warn_of_unsold_stock();
        let arms: Vec<ArmRecord> = (0..self.arms.len()).map(|arm| self.arm_record(arm)).collect();
        let expectations = expect::verdicts(
            &self.scenario,
            &arms,
            Course {
                causes,
                interrupted,
                clock_stepped: self.clock_stepped,
            },
        );
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
        self.remove_places().await;
        closed?;
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
            elapsed: self.elapsed(),
            interrupted,
            arms,
            expectations,
            warnings: self.warnings,
            events: self.log.into_all(),
            scenario,
        })
    }

    /// Drops the arms' schemas. The app servers, which hold the places too, are gone.
    async fn remove_places(&mut self) {
        self.servers.clear();
        for arm in &self.arms {
            arm.place.remove().await;
        }
    }

    async fn close_books(&mut self) -> Result<(), RunError> {
        for arm in &mut self.arms {
            if let Some(audit) = arm.audit.take() {
                let found = audit
                    .close()
                    .await
                    .map_err(|error| RunError::Audit(arm.spec.name.clone(), error.to_string()))?;
                arm.collector.audit(found.books, &found.news);
            }
        }
        Ok(())
    }

    /// Unsold stock hides overselling: a lost update shows as an oversold unit only once the product is sold out.
    fn warn_of_unsold_stock(&mut self) {
        if !matches!(self.scenario.workload, WorkloadSpec::Inventory(_)) {
            return;
        }
        let unsold: Vec<String> = self
            .arms
            .iter()
            .filter(|arm| !arm.collector.books().sold_out)
            .map(|arm| format!("\"{}\"", arm.spec.name))
            .collect();
        if !unsold.is_empty() {
            let text = format!(
                "not sold out: oversold cannot show in full in {}; lost updates do",
                unsold.join(", ")
            );
            self.warn(text);
        }
    }

    fn arm_record(&self, index: usize) -> ArmRecord {
        let arm = &self.arms[index];
        ArmRecord {
            name: arm.spec.name.clone(),
            lock: arm.spec.label(),
            ttl_ms: arm.spec.ttl.as_secs_f64() * 1e3,
            sold_out_all: arm.collector.books().sold_out,
            figures: self.figures(index),
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
