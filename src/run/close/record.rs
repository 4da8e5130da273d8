//! The record: everything one run produced, one JSON file. The docs of its fields are the documentation of the format.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant, SystemTime};

use hdrhistogram::Histogram;
use nix::time::{ClockId, clock_gettime};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use crate::needs;
use lockstorm_data::facts::{Caveat, CheckedExpectation, Event};
use lockstorm_data::history::DoubleHold;
use lockstorm_data::metrics::units::counted;
use lockstorm_data::metrics::{
    Figures, HistogramText, NotAHistogram, PhaseTimes, Point, Quantiles, Series, Time, by_name, histogram,
};
use lockstorm_data::model::in_us;
use lockstorm_data::scenario::{ArmSpec, Scenario};
use lockstorm_judge::{ArmEvidence, Evidence, Judgement, Stage, judge};
use lockstorm_lab::NodeSettings;

/// Everything one run produced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// The version of this format: [`Record::FORMAT`].
    pub format: u32,
    /// The version of Lockstorm.
    pub lockstorm: String,
    /// When the run began, RFC 3339 in UTC.
    pub started: String,
    /// Second 0 of the measured part by the clocks of the machine; null if the run was stopped before it.
    pub second_zero: Option<SecondZero>,
    /// The scenario as it ran, overrides included.
    pub scenario: Scenario,
    /// The scenario in the form of a file, to run it again.
    pub scenario_toml: String,
    /// The seed.
    pub seed: u64,
    /// The machine that it ran on.
    pub machine: Machine,
    /// The servers as they were started.
    pub nodes: Vec<NodeSettings>,
    /// The timeouts of the clients.
    pub timeouts: Timeouts,
    /// The length of the measured part.
    #[serde(rename = "elapsed_us", with = "in_us")]
    #[schemars(with = "i64")]
    pub elapsed: f64,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// Why the run, or one of its arms, proves nothing good: what was lost or is missing, a clock that stepped, faults of
    /// the scenario that did not take effect, arms with too many failed requests. Empty if there is no such reason.
    pub inconclusive: Vec<Caveat>,
    /// What could not be read or finished at the end of the run: requests that were given up without an
    /// answer, books that could not be closed. Figures and books hold what was known by then. Empty when the record is
    /// complete.
    pub partial: Vec<Caveat>,
    /// One for each arm, in the scenario's order.
    pub arms: Vec<ArmRecord>,
    /// How long each lock node took to answer; empty if no arm uses lock nodes.
    pub round_trips: Vec<RoundTripRecord>,
    /// The part of the time, from 0 to 1, in which the threads of the app servers waited for a processor although nobody had paused them;
    /// null if it was not measured.
    #[serde(default)]
    pub processor_wait: Option<f64>,
    /// The part of all processor time of this machine, from 0 to 1, that other programs used while the load was on, or that a hypervisor
    /// withheld; null if it is not known.
    #[serde(default)]
    pub processor_used_by_others: Option<f64>,
    /// The expectations of the scenario and their results.
    pub expectations: Vec<CheckedExpectation>,
    /// What another program reported (`lockstorm judge`), if this is no run of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<ReportedEvents>,
    /// Every event.
    pub events: Vec<Event>,
    /// What a reader should know: a fault that did not take effect, a wall clock that stepped, stock that did not sell
    /// out.
    pub warnings: Vec<Caveat>,
}

impl Record {
    /// The version of the format that this program writes.
    pub const FORMAT: u32 = 5;

    /// Which of several runs it is, in a word or two.
    pub fn which(&self) -> String {
        match &self.reported {
            Some(reported) => format!("the events {}", reported.source),
            None => format!("seed {}", self.seed),
        }
    }

    /// What it proves.
    pub fn judge(&self) -> Judgement {
        let arms = self.arms.iter().map(|arm| ArmEvidence {
            first_error: arm.first_error.as_deref(),
            ..ArmEvidence::new(&arm.figures)
        });
        judge(&Evidence {
            scenario: &self.scenario,
            stage: if self.interrupted { Stage::Stopped } else { Stage::Ended },
            elapsed: self.elapsed,
            processor_wait: self.processor_wait,
            used_by_others: self.processor_used_by_others,
            caveats: &self.warnings,
            missing: &self.partial,
            arms: arms.collect(),
        })
    }

    /// The same record with the conclusions that follow from its facts, whatever stood there before: expectations, and what is in doubt.
    #[must_use]
    pub fn concluded(mut self) -> Self {
        let Judgement {
            arms,
            expectations,
            inconclusive,
            ..
        } = self.judge();
        for (arm, judged) in self.arms.iter_mut().zip(arms) {
            arm.damage_stands = judged.damage_stands();
            arm.doubt = judged.doubts.into_iter().next();
        }
        (self.expectations, self.inconclusive) = (expectations, inconclusive);
        self
    }

    /// The JSON Schema of this format.
    pub fn schema() -> Schema {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        settings.into_generator().into_root_schema_for::<Self>()
    }
}

/// What another program reported of its locks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReportedEvents {
    /// The name of the file or socket that the events came from.
    pub source: String,
    /// How many events.
    pub events: u64,
    /// How many clients.
    pub clients: u64,
    /// How many locks.
    pub locks: u64,
    /// When the first event was, in nanoseconds by the clock of whoever reported: second 0 of the record.
    pub second_zero_ns: i64,
}

impl fmt::Display for ReportedEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [events, clients, locks] = [
            counted(self.events, "event", "events"),
            counted(self.clients, "client", "clients"),
            counted(self.locks, "lock", "locks"),
        ];
        write!(f, "{events} of {clients} about {locks}")
    }
}

/// An instant by the clocks of the machine, so that the logs of other programs can be compared with the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecondZero {
    /// The wall clock (`CLOCK_REALTIME`), RFC 3339 in UTC, to the microsecond.
    pub wall: String,
    /// `CLOCK_MONOTONIC` in microseconds: one clock for all processes of a machine, until it restarts.
    pub monotonic_us: i64,
}

impl SecondZero {
    /// `origin` by the clocks of the machine, read now.
    pub(crate) fn at(origin: Instant) -> Self {
        let (now, wall) = (Instant::now(), SystemTime::now());
        let monotonic = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from);
        let ahead = origin.saturating_duration_since(now);
        let behind = now.saturating_duration_since(origin);
        Self {
            wall: humantime::format_rfc3339_micros(wall + ahead - behind).to_string(),
            monotonic_us: i64::try_from((monotonic + ahead).saturating_sub(behind).as_micros()).unwrap_or(i64::MAX),
        }
    }
}

/// The machine that a run took place on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// The operating system and its release.
    pub os: String,
    /// The processor architecture.
    pub arch: String,
    /// Processors that this process may use.
    pub cpus: usize,
    /// Memory in bytes; null where it is unknown.
    pub memory: Option<u64>,
}

impl Machine {
    /// The machine that this process runs on.
    pub fn this() -> Self {
        let of_system = |name: nix::sys::utsname::UtsName| {
            let [system, release] = [name.sysname(), name.release()].map(|part| part.to_string_lossy());
            format!("{system} {release}")
        };
        Self {
            os: nix::sys::utsname::uname().map_or_else(|_| std::env::consts::OS.to_owned(), of_system),
            arch: std::env::consts::ARCH.to_owned(),
            cpus: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            memory: needs::memory("MemTotal:"),
        }
    }
}

/// The timeouts of the clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timeouts {
    /// For connecting to a lock node.
    #[serde(rename = "connect_us", with = "in_us")]
    #[schemars(with = "u64")]
    pub connect: Duration,
    /// For a reply of the cache node.
    #[serde(rename = "cache_us", with = "in_us")]
    #[schemars(with = "u64")]
    pub cache: Duration,
}

/// One arm of a record: its figures, in total and second by second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmRecord {
    /// Its name.
    pub name: String,
    /// Its lock, described in words.
    pub lock: String,
    /// The TTL of its lock at the start.
    #[serde(rename = "ttl_us", with = "in_us")]
    #[schemars(with = "u64")]
    pub ttl: Duration,
    /// How long its lock waits for one node's reply; null if it asks no lock nodes.
    #[serde(rename = "node_timeout_us", with = "in_us")]
    #[schemars(with = "Option<u64>")]
    pub node_timeout: Option<Duration>,
    /// Why nothing good can be said about the arm, no matter what its figures are.
    pub doubt: Option<Caveat>,
    /// Whether damage was proven in spite of `doubt`: whatever was lost or failed, it is in the books.
    #[serde(default)]
    pub damage_stands: bool,
    /// The error of the first failed request.
    pub first_error: Option<String>,
    /// Its figures: `figures` has each under its name in docs/figures.md, and the fields beside it what they are computed from.
    #[serde(flatten, with = "by_name")]
    #[schemars(with = "by_name::Named<'_>")]
    pub figures: Figures,
    /// Each of its times as a whole histogram in microseconds; empty for a time without any value.
    pub histograms: BTreeMap<Time, HistogramText>,
    /// The same between faults: a phase begins at the effect of each fault and of its end. There are at most 32; the last one has what
    /// would be more.
    pub phases: Vec<PhaseTimes>,
    /// One point a second.
    pub series: Series,
    /// The evidence of its double holds: the first 50, 50 others by chance, and the ten longest.
    pub evidence: Vec<DoubleHold>,
    /// What was counted after the load had ended, while the workers finished; its `second` has no meaning. Together with
    /// the points from second 0 on, it adds up to the figures, but for `lost_updates`, of which a point counts what was
    /// lost in its second even if it was made up for later.
    pub after_end: Point,
}

impl ArmRecord {
    /// An arm that has done nothing yet.
    pub(crate) fn of(spec: &ArmSpec) -> Self {
        Self {
            name: spec.name.clone(),
            lock: spec.label(),
            ttl: spec.ttl,
            node_timeout: spec.lock.uses_nodes().then_some(spec.node_timeout),
            doubt: None,
            damage_stands: true,
            first_error: None,
            figures: Figures::default(),
            histograms: BTreeMap::new(),
            phases: Vec::new(),
            evidence: Vec::new(),
            series: Series::default(),
            after_end: Point::default(),
        }
    }

    /// One of its times in microseconds; empty if there was no value.
    ///
    /// # Errors
    /// The text is not a histogram: another program wrote the record.
    pub fn histogram(&self, time: Time) -> Result<Histogram<u64>, NotAHistogram> {
        self.histograms
            .get(&time)
            .map_or_else(|| Ok(histogram()), HistogramText::decode)
    }

    /// The time of all acquires in microseconds, whatever their outcome.
    ///
    /// # Errors
    /// One of the texts is not a histogram: another program wrote the record.
    pub fn acquires(&self) -> Result<Histogram<u64>, NotAHistogram> {
        let mut all = histogram();
        for time in Time::ACQUIRES {
            // The histogram resizes itself, so no value is out of range.
            let _ = all.add(self.histogram(time)?);
        }
        Ok(all)
    }
}

/// How long one lock node took to answer in the measured part, from the writing of each command to its reply, for all app
/// servers and arms together. Commands without an answer are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTripRecord {
    /// The host that it runs on, from 1.
    pub host: usize,
    /// Its quantiles in microseconds.
    pub quantiles_us: Quantiles,
    /// All the times, in microseconds.
    pub histogram: HistogramText,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::collections::BTreeSet;

    /// The descriptions of fields whose names end in `_us`.
    fn of_micros(schema: &Value, found: &mut Vec<String>) {
        let fields = schema["properties"].as_object().into_iter().flatten();
        let of_times = fields.filter(|(name, _)| name.ends_with("_us"));
        found.extend(of_times.map(|(name, field)| format!("{name}: {}", field["description"])));
        match schema {
            Value::Object(parts) => parts.values().for_each(|part| of_micros(part, found)),
            Value::Array(parts) => parts.iter().for_each(|part| of_micros(part, found)),
            _ => {}
        }
    }

    #[test]
    fn no_time_in_microseconds_is_said_to_be_in_seconds() {
        let mut found = Vec::new();
        of_micros(Record::schema().as_value(), &mut found);
        assert!(found.len() > 40, "{found:#?}");
        let words = |text: &str| {
            text.split(|c: char| !c.is_alphanumeric())
                .any(|word| word.eq_ignore_ascii_case("seconds"))
        };
        found.retain(|text| words(text));
        assert!(found.is_empty(), "{found:#?}");
    }

    /// The names of all fields in a schema that hold a string, or several.
    fn strings(schema: &Value, found: &mut BTreeSet<String>) {
        fn is_string(schema: &Value) -> bool {
            let is_free = schema.get("const").is_none() && schema.get("enum").is_none();
            let of_type = |name: &str| match &schema["type"] {
                Value::String(one) => one == name,
                Value::Array(some) => some.iter().any(|one| one == name),
                _ => false,
            };
            is_free && of_type("string")
                || ["items", "additionalProperties"]
                    .iter()
                    .any(|part| schema.get(part).is_some_and(is_string))
        }
        let fields = schema["properties"].as_object().into_iter().flatten();
        found.extend(
            fields
                .filter(|(_, field)| is_string(field))
                .map(|(name, _)| name.clone()),
        );
        match schema {
            Value::Object(parts) => parts.values().for_each(|part| strings(part, found)),
            Value::Array(parts) => parts.iter().for_each(|part| strings(part, found)),
            _ => {}
        }
    }

    /// A record says in types what happened and what is in doubt. Its strings are names, versions, times of a clock, and what others wrote.
    #[test]
    fn no_field_of_a_record_holds_a_sentence_of_ours() {
        let mut found = BTreeSet::new();
        strings(Record::schema().as_value(), &mut found);
        let known = NAMES.iter().chain(&FROM_OTHERS).chain(&LABELS);
        let known = known.map(ToString::to_string).collect();
        let unknown: Vec<&String> = found.difference(&known).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
        let unused: Vec<&String> = known.difference(&found).collect();
        assert!(unused.is_empty(), "{unused:?}");
    }

    /// Names, addresses, commands, versions, and times of a clock.
    const NAMES: [&str; 23] = [
        "address",
        "after",
        "arch",
        "arm",
        "arms",
        "before",
        "client",
        "command",
        "holders",
        "key",
        "lockstorm",
        "name",
        "node",
        "of",
        "os",
        "server",
        "settings",
        "source",
        "started",
        "token",
        "url_env",
        "urls_env",
        "wall",
    ];
    /// Text of the scenario, of servers and of clients.
    const FROM_OTHERS: [&str; 10] = [
        "caption",
        "first_error",
        "lesson",
        "look_at",
        "quoted",
        "scenario_toml",
        "teaches",
        "text",
        "title",
        "try",
    ];
    /// Labels of ours that are still text, and that nothing reads back: the label of a lock, and the state in which a target was already.
    const LABELS: [&str; 2] = ["condition", "lock"];
}
