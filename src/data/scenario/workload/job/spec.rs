//! The settings of `job`, and what the rest of the program asks of it.

use std::time::Duration;

use super::super::super::forms::{read_service_time, write_service_time};
use super::super::super::reader::Reader;
use super::super::super::spec::{DatabaseSpec, ServiceTime, SwarmSpec};
use super::super::super::value;
use super::super::super::writer::{Writer, time};
use super::super::kind::{CacheKeys, Display, Initial, Ledger, Row, Section, StockIn, WorkloadKind};
use super::shown;
use crate::metrics::units::rounded;
use crate::metrics::{Figures, Group, OrdersOf};
use crate::model::in_us;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ROW: Row = Row {
    keys: &["jobs", "hold", "skew"],
    arm_keys: &["second_look"],
};

/// The jobs. Each request is a tick of one of them, in turn, and goes to every app server.
///
/// A tick is a product of which there is one unit: whoever runs it notes an order, so that a second order is a second run, and a tick
/// without an order was missed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobSpec {
    /// How many jobs; one job is one lock.
    pub jobs: u64,
    /// How long a run takes.
    pub hold: ServiceTime,
    /// How far apart at most the clocks of the app servers are: each begins a tick up to so much later.
    #[serde(rename = "skew_us", with = "in_us")]
    #[schemars(with = "u64")]
    pub skew: Duration,
    /// For how many ticks there is room in the books: twice as many as are due, since the rate can be raised during a run.
    pub ticks: u64,
}

impl WorkloadKind for JobSpec {
    fn groups(&self) -> &'static [Group] {
        &[Group::Job]
    }

    fn write(&self, out: &mut Writer) {
        out.pair("jobs", self.jobs);
        out.pair("hold", write_service_time(self.hold));
        out.pair("skew", time(self.skew));
    }

    fn section(&self) -> Section {
        Section {
            reads: 1,
            hold: self.hold,
        }
    }

    fn live_time(&self, _database: &DatabaseSpec) -> ServiceTime {
        self.hold
    }

    fn initial(&self) -> Initial {
        Initial {
            products: self.ticks,
            stock: 1,
            catalogue: Vec::new(),
        }
    }

    fn ledger(&self) -> Option<Ledger> {
        Some(Ledger {
            products: self.ticks,
            stock: 1,
            stock_in: StockIn::Database,
            of: OrdersOf::Ticks,
        })
    }

    fn lock_names(&self) -> Box<dyn Iterator<Item = String> + '_> {
        Box::new((0..self.jobs).map(|tick| self.lock_name(tick)))
    }

    fn cache_keys(&self) -> CacheKeys {
        CacheKeys::default()
    }

    fn display(&self) -> Display {
        shown::display()
    }

    fn clauses(&self, figures: &Figures, is_doubted: bool) -> Vec<String> {
        shown::clauses(figures, is_doubted)
    }
}

impl JobSpec {
    /// The most ticks in the books of an arm.
    const MOST_TICKS: f64 = 1e6;

    /// The name of the lock of the job whose tick this is.
    pub fn lock_name(&self, tick: u64) -> String {
        format!("job:{}", tick % self.jobs.max(1))
    }

    /// Makes room for all ticks of a run, or says what of the load does not fit, and at which key of the scenario.
    pub(in super::super::super) fn fit(
        &mut self,
        swarm: &SwarmSpec,
        duration: Duration,
        warmup: Duration,
    ) -> Option<(&'static str, String)> {
        let Some(rate) = swarm.rate else {
            return Some((
                "workload",
                "a job needs a rate, at which its ticks are due: set swarm.rate, for example \"20/s\"".to_owned(),
            ));
        };
        if !warmup.is_zero() {
            return Some((
                "warmup",
                "the ticks of a job are counted from second 0 on; leave it out".to_owned(),
            ));
        }
        let ticks = (2.0 * rate * duration.as_secs_f64()).ceil() + 1.0;
        if ticks > Self::MOST_TICKS {
            return Some((
                "swarm",
                "more than 500,000 ticks are due; lower swarm.rate or duration".to_owned(),
            ));
        }
        self.ticks = rounded(ticks);
        None
    }
}

pub(crate) fn read(reader: &mut Reader<'_>) -> JobSpec {
    let jobs = reader.need("jobs", 1, "20", value::whole(reader.range("jobs")));
    if !reader.has("hold") {
        reader.complain("hold", "is missing; the time that a run takes, for example \"50ms\"");
    }
    let hold = read_service_time(reader, "hold", value::positive);
    JobSpec {
        jobs,
        hold: hold.unwrap_or(ServiceTime::constant(Duration::from_millis(50))),
        skew: reader.listed("skew", value::duration),
        ticks: 1,
    }
}
