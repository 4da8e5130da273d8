use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use super::stage::PlayedLock;
use crate::replay::Replay;
use lockstorm_data::facts::{Event, EventKind};
use lockstorm_data::metrics::units::rounded;
use lockstorm_data::metrics::{Count, Time, histogram};
use lockstorm_data::model::{Action, Condition, Fault, Target};
use lockstorm_run::Record;

/// What one lock did on real nodes, in microseconds.
#[derive(Debug)]
pub struct Seen {
    /// The lock.
    pub lock: PlayedLock,
    /// The length of the measured part in seconds, of all runs together.
    pub elapsed: f64,
    /// Sections that had work.
    pub sections: u64,
    /// Of these, the ones that outlasted their lock.
    pub overran: u64,
    /// How long the sections took.
    pub holds: Histogram<u64>,
    /// How long the acquires took that were granted.
    pub acquires: Histogram<u64>,
    /// From the death of an app server that held a lock until somebody got it.
    pub takeovers: Histogram<u64>,
    /// How long app servers paused.
    pub pauses: Histogram<u64>,
    /// The runs in which app servers died, to be played again.
    pub replays: Vec<Replay>,
}

impl Seen {
    /// Adds what the same lock did in another run of the stage.
    pub fn add(&mut self, other: Self) {
        self.elapsed += other.elapsed;
        self.sections += other.sections;
        self.overran += other.overran;
        self.replays.extend(other.replays);
        let times = [
            (&mut self.holds, other.holds),
            (&mut self.acquires, other.acquires),
            (&mut self.takeovers, other.takeovers),
            (&mut self.pauses, other.pauses),
        ];
        for (all, more) in times {
            *all = sum([all, &more]);
        }
    }
}

/// What the locks of a stage did, by its record.
///
/// # Errors
/// The run proves nothing, or the record is not that of a stage; a sentence.
pub fn seen(record: &Record) -> Result<Vec<Seen>, String> {
    if let Some(why) = record.inconclusive.iter().chain(&record.partial).next() {
        return Err(why.to_string());
    }
    PlayedLock::ALL.into_iter().map(|lock| of_lock(record, lock)).collect()
}

fn of_lock(record: &Record, lock: PlayedLock) -> Result<Seen, String> {
    let arm = record.arms.iter().find(|arm| arm.name == lock.name());
    let arm = arm.ok_or_else(|| format!("the record has no arm \"{}\"", lock.name()))?;
    if let Some(doubt) = &arm.doubt {
        return Err(format!("\"{}\": {doubt}", arm.name));
    }
    let time = |time| arm.histogram(time).map_err(|error| error.to_string());
    let is_death = |event: &Event| {
        matches!(
            event.kind,
            EventKind::Fault {
                action: Action::Fault(Fault::Kill),
                ..
            }
        )
    };
    let dies = record.events.iter().any(is_death);
    let replay = dies.then(|| Replay::of(record, Some(lock.name()))).transpose();
    Ok(Seen {
        lock,
        elapsed: record.elapsed,
        sections: arm.figures.sections(),
        overran: arm.figures.counts[Count::Overran],
        holds: time(Time::Hold)?,
        acquires: time(Time::Acquired)?,
        takeovers: time(Time::Takeover)?,
        pauses: pauses(record),
        replays: replay.map_err(|error| error.to_string())?.into_iter().collect(),
    })
}

/// Histograms that were read from a record do not resize themselves; this one does, so all values fit.
fn sum<'a>(parts: impl IntoIterator<Item = &'a Histogram<u64>>) -> Histogram<u64> {
    let mut all = histogram();
    for part in parts {
        let _ = all.add(part);
    }
    all
}

/// How long app servers paused, from the effect of the pause to that of its end.
fn pauses(record: &Record) -> Histogram<u64> {
    let (mut since, mut lengths) = (BTreeMap::new(), histogram());
    for event in &record.events {
        let EventKind::Fault {
            action,
            target: Target::Server(server),
            effect_at: Some(effect),
            ..
        } = event.kind
        else {
            continue;
        };
        if action == Action::Fault(Fault::Pause) {
            since.insert(server, effect);
        } else if action == Action::Undo(Condition::Paused)
            && let Some(began) = since.remove(&server)
        {
            // The histogram resizes itself, so no value is out of range.
            let _ = lengths.record(rounded((effect - began) * 1e6));
        }
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a record has it: just as long as its largest value.
    fn of(values: &[u64]) -> Histogram<u64> {
        let most = values.iter().max().copied().unwrap_or(2).max(2);
        let mut all = Histogram::new_with_bounds(1, most, 3).unwrap();
        for value in values {
            all.record(*value).unwrap();
        }
        all
    }

    #[test]
    fn the_runs_of_a_stage_are_added_up() {
        let seen = |overran, times: &[u64]| Seen {
            lock: PlayedLock::Single,
            elapsed: 40.0,
            sections: 1000,
            overran,
            holds: of(times),
            acquires: of(&[]),
            takeovers: of(times),
            pauses: of(&[]),
            replays: Vec::new(),
        };
        let mut all = seen(3, &[100, 200]);
        all.add(seen(4, &[9_000_000]));
        assert_eq!((all.elapsed, all.sections, all.overran), (80.0, 2000, 7));
        assert_eq!((all.holds.len(), all.takeovers.len(), all.pauses.len()), (3, 3, 0));
        assert!(all.takeovers.max() >= 9_000_000);
    }
}
