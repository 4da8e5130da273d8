//! What is compared.

use serde::{Serialize, Serializer};

use lockstorm_data::metrics::units::{micros, rate, rounded};
use lockstorm_data::metrics::{Metric, NO_OUTAGE, Point, Quantile, Time, Unit, Value, figure};
use lockstorm_data::scenario::ArmSpec;
use lockstorm_run::Record;

/// A figure that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    /// A figure of a whole run.
    Run(Metric),
    /// A figure of a part of a run.
    Part(OfAPart),
}

/// A figure of a part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfAPart {
    /// The median time to get a lock.
    AcquiredP50,
    /// Its 99th percentile.
    AcquiredP99,
    /// Answers a second.
    Answered,
}

impl Compared {
    /// Its title in tables.
    pub fn title(self) -> &'static str {
        match self {
            // What was lost at worst is what was lost.
            Self::Run(metric) if metric.is_damage() => metric.headline().unwrap_or(metric).title(),
            Self::Run(metric) => metric.title(),
            Self::Part(OfAPart::AcquiredP50) => "acquired p50",
            Self::Part(OfAPart::AcquiredP99) => "acquired p99",
            Self::Part(OfAPart::Answered) => "answered",
        }
    }

    /// How a value is written.
    pub fn write(self, value: f64) -> String {
        match self {
            _ if self.is_below_limit(value) => NO_OUTAGE.to_owned(),
            Self::Run(metric) => figure(metric, value),
            Self::Part(OfAPart::Answered) => format!("{}/s", rate(value)),
            Self::Part(_) => micros(rounded(value)),
        }
    }

    /// Whether it was too short to be measured.
    pub fn is_below_limit(self, value: f64) -> bool {
        self.is_outage() && value.abs() < f64::MIN_POSITIVE
    }

    /// Whether it is for how long locks were unavailable.
    const fn is_outage(self) -> bool {
        matches!(self, Self::Run(Metric::UnavailableMs | Metric::AllUnavailableMs))
    }

    /// Whether a machine that is busier or less busy changes it by itself: times and rates do.
    pub(super) fn is_of_time(self) -> bool {
        self.is_measured() || self.is_outage()
    }

    /// Whether a larger value is the better one.
    pub const fn is_better_larger(self) -> bool {
        matches!(self, Self::Part(OfAPart::Answered))
    }

    /// Whether it counts damage, so that in how many runs there was any says more than how much.
    pub const fn is_damage(self) -> bool {
        match self {
            Self::Run(metric) => metric.is_damage(),
            Self::Part(_) => false,
        }
    }

    /// Whether it is a time or a rate, so that a part of it means something.
    pub fn is_measured(self) -> bool {
        match self {
            Self::Run(metric) => metric.unit() != Unit::Count,
            Self::Part(_) => true,
        }
    }

    /// The few figures of an arm that a comparison is about: the damage that its workload is judged by, double holds, how long it was
    /// not available, the time of its acquires.
    pub(super) fn primary(record: &Record, arm: &ArmSpec) -> Vec<Metric> {
        let judged = record
            .scenario
            .workload
            .about()
            .display()
            .verdicts
            .iter()
            .map(|metric| metric.peak());
        let others = [Metric::DoubleHolds, Metric::UnavailableMs, Metric::AcquireP99];
        let own: Vec<Metric> = judged.collect();
        let others = others.into_iter().filter(|other| !own.contains(other));
        let all: Vec<Metric> = own.iter().copied().chain(others).collect();
        let lacks = record.scenario.lacks(arm);
        let has = |metric: &Metric| !lacks.contains(&metric.row().group);
        all.into_iter().filter(has).collect()
    }
}

impl Serialize for Compared {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Run(metric) => metric.name(),
            Self::Part(OfAPart::AcquiredP50) => "acquired_p50_of_part",
            Self::Part(OfAPart::AcquiredP99) => "acquired_p99_of_part",
            Self::Part(OfAPart::Answered) => "answered_of_part",
        })
    }
}

impl OfAPart {
    pub(super) const ALL: [Self; 3] = [Self::AcquiredP50, Self::AcquiredP99, Self::Answered];

    pub(super) fn of(self, point: &Point) -> Option<f64> {
        let granted = || Some(point.times[Time::Acquired]).filter(|_| point.outcomes.acquired > 0);
        match self {
            Self::AcquiredP50 => granted().map(|times| f64::from(times.p50)),
            Self::AcquiredP99 => granted().map(|times| f64::from(times.p99)),
            Self::Answered => Some(point.answered as f64),
        }
    }
}

/// Why a figure has no value in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoValue {
    /// The run was interrupted, or nothing good can be said about the arm.
    LeftOut,
    /// The arms took turns: while it is another one's, no client asks for the lock.
    Turns,
    /// It is a quantile, and this many values are needed so that ten lie beyond p99, or a hundred beyond p99.9.
    Fewer(u64),
    /// The run did not measure it.
    NotMeasured,
}

/// The figure of this arm in a run.
pub(super) fn of_run(record: &Record, arm: &str, metric: Metric) -> Result<f64, NoValue> {
    let arm = record.arms.iter().find(|one| one.name == arm);
    let arm = arm.ok_or(NoValue::NotMeasured)?;
    let figures = &arm.figures;
    let (count, needed) = match metric.row().value {
        Value::Duration(read, Quantile::P99) => (read(figures).count, 1_000),
        Value::Duration(read, Quantile::P999) => (read(figures).count, 100_000),
        _ => (0, 0),
    };
    if record.interrupted || arm.doubt.is_some() {
        Err(NoValue::LeftOut)
    } else if record.scenario.swarm.turns.is_some() && matches!(metric, Metric::UnavailableMs) {
        Err(NoValue::Turns)
    } else if !metric.is_known(figures) {
        Err(NoValue::NotMeasured)
    } else if count < needed {
        Err(NoValue::Fewer(needed))
    } else {
        Ok(metric.of(figures))
    }
}
