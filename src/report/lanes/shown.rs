use lockstorm_data::facts::Event;
use lockstorm_data::history::DoubleHold;
use lockstorm_run::{ArmRecord, Record, Snapshot};

/// A double hold, and what must be known of its run.
#[derive(Debug)]
pub struct ShownHold<'a> {
    pub(super) arm: &'a str,
    pub(super) double: &'a DoubleHold,
    /// Whether the lock is on a master whose replicas may take its place.
    pub(super) has_replicas: bool,
    pub(super) events: &'a [Event],
    /// When the run ended, in seconds since second 0.
    pub(super) end: f64,
    /// Which run it was.
    pub(super) run: String,
}

impl<'a> ShownHold<'a> {
    /// A double hold of this arm.
    pub fn of(record: &'a Record, arm: &'a ArmRecord, double: &'a DoubleHold) -> Self {
        let mut specs = record.scenario.arms.iter();
        Self {
            arm: &arm.name,
            double,
            has_replicas: specs.any(|spec| spec.name == arm.name && spec.has_master()),
            events: &record.events,
            end: record.elapsed,
            run: match &record.reported {
                Some(reported) => format!("{} · {reported}", record.scenario.name),
                None => format!(
                    "{} · seed {} · {} · lockstorm {}",
                    record.scenario.name, record.seed, record.started, record.lockstorm
                ),
            },
        }
    }

    /// A double hold of an arm in a run that goes on.
    pub(crate) fn in_snapshot(snapshot: &'a Snapshot, arm: usize, double: &'a DoubleHold) -> Option<Self> {
        let spec = snapshot.scenario.arms.get(arm)?;
        Some(Self {
            arm: &spec.name,
            double,
            has_replicas: spec.has_master(),
            events: &snapshot.events,
            end: snapshot.elapsed,
            run: snapshot.scenario.name.clone(),
        })
    }
}
