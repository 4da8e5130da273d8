//! What is known of a run while it goes on, for its journal.

use std::time::Instant;

use super::state::Engine;
use crate::close::journal::{Journal, JournalLine};
use crate::close::record::{ArmRecord, Machine, Record, Timeouts};
use crate::workload::CACHE_REPLY_TIMEOUT;
use lockstorm_base::output::Stream;
use lockstorm_data::metrics::Series;
use lockstorm_data::scenario::Scenario;
use lockstorm_lock::NodeOptions;

impl Engine {
    /// The record as far as it is known at the start.
    pub fn header(&self) -> Record {
        let scenario = Scenario::clone(&self.scenario);
        Record {
            format: Record::FORMAT,
            lockstorm: env!("CARGO_PKG_VERSION").to_owned(),
            started: humantime::format_rfc3339_seconds(self.timing.started).to_string(),
            second_zero: self.timing.second_zero.clone(),
            scenario_toml: scenario.to_toml(),
            seed: scenario.seed,
            machine: Machine::this(),
            nodes: self.lab.handle.settings(),
            timeouts: Timeouts {
                connect: NodeOptions::default().connect_timeout,
                cache: CACHE_REPLY_TIMEOUT,
            },
            elapsed: 0.0,
            interrupted: true,
            inconclusive: Vec::new(),
            partial: Vec::new(),
            arms: self.arms.iter().map(|arm| ArmRecord::of(&arm.spec)).collect(),
            round_trips: Vec::new(),
            processor_wait: None,
            processor_used_by_others: None,
            expectations: Vec::new(),
            reported: None,
            events: Vec::new(),
            warnings: Vec::new(),
            scenario,
        }
    }

    /// Begins the journal, once second 0 is known.
    pub fn begin_journal(&mut self, out: Option<Stream>) {
        self.journal = out.map(|out| Journal::begin(out, self.header()));
        self.write_journal(true);
    }

    /// Writes down what is new, once a second or `now`.
    pub fn write_journal(&mut self, at_once: bool) {
        let now = Instant::now();
        let Some(mut journal) = self.journal.take_if(|journal| at_once || journal.is_due(now)) else {
            return;
        };
        for event in self.log.take_unwritten() {
            journal.add(&JournalLine::Event(event));
        }
        for (arm, live) in self.arms.iter_mut().enumerate() {
            let host = |server| self.lab.host_of(server);
            for evidence in live.holds.unwritten(&self.timing.timeline, host) {
                let evidence = Box::new(evidence);
                journal.add(&JournalLine::DoubleHold { arm, evidence });
            }
        }
        let series: Vec<&Series> = self.arms.iter().map(|arm| &*arm.collector.curves.series).collect();
        let newest = series.first().and_then(|series| series.newest());
        let under_way = self.timing.timeline.when(now).second();
        if let Some(until) = under_way.or(newest.map(|point| point.time + 1)) {
            journal.add_seconds(until, &series);
            let figures = (0..self.arms.len()).map(|arm| self.figures(arm));
            journal.add_figures(now, self.timing.elapsed(), figures);
        }
        journal.write(now);
        self.journal = Some(journal);
    }
}
