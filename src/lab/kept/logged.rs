use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use humantime::format_rfc3339_millis;
use serde::{Deserialize, Serialize};

use super::acted::{Acted, Effect};
use super::choice::Choice;
use crate::cli::writes::{ManualWrite, ManualWrites};
use lockstorm_base::monotonic_ns;
use lockstorm_data::model::{Action, Target, TargetKind};

/// The most entries that are kept: the oldest go first.
const MOST: usize = 10_000;
/// The most hosts of a lab.
const MOST_HOSTS: usize = 9;
/// The action of what was written by hand, which is none of a scenario.
const WRITE: &str = "write";
/// The most that one answer has.
const AT_ONCE: usize = 500;

/// What was done to a kept lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logged {
    /// Its number, from 1, in the order in which the effects were verified.
    pub number: u64,
    /// When it was verified, or given up, in UTC.
    pub time: String,
    /// When it was ordered, in microseconds of the machine's `CLOCK_MONOTONIC`.
    pub ordered_us: i64,
    /// Since when it is in effect, by the same clock; null if that was not verified, or it was so before.
    pub effect_us: Option<i64>,
    /// What was done: its word in scenarios, or `write` for a command by `lockstorm lab cli`.
    pub action: String,
    /// The kind of whom it was done to: `host` or `link`.
    pub kind: String,
    /// Which one, as in scenarios: `1`, `1-2`, `replication`. Of a write it may be `the cache node`.
    pub target: String,
    /// What became of it.
    pub effect: Effect,
    /// The same in words, with the proof.
    pub words: String,
}

impl Logged {
    /// What was done, and to whom; `None` if this is no word of ours. How much a lag delays, and which way something is cut, its words say
    /// alone.
    pub fn deed(&self) -> Option<(Action, Target)> {
        let action = Action::kinds().find(|action| action.word() == self.action)?;
        let is_between = self.kind == TargetKind::Link.word() && self.target.contains('-');
        let name = match is_between {
            true => format!("{}:{}", self.kind, self.target),
            false => self.target.clone(),
        };
        let targets = Choice::read(&[name]).ok()?.of(MOST_HOSTS).ok()?;
        Some((action, *targets.first()?))
    }
}

/// Everything that was done to a kept lab.
#[derive(Debug)]
pub(super) struct Log(Mutex<Entries>);

#[derive(Debug)]
struct Entries {
    /// How many there were.
    count: u64,
    kept: Vec<Logged>,
    /// What is written to its nodes by hand.
    writes: ManualWrites,
}

impl Entries {
    /// Adds this as the newest one.
    fn add(&mut self, entry: impl FnOnce(u64) -> Logged) {
        self.count += 1;
        self.kept.push(entry(self.count));
        if self.kept.len() > MOST {
            self.kept.remove(0);
        }
    }
}

impl Log {
    /// What is done to the lab of this run directory.
    pub(super) fn of(run_dir: &Path) -> Self {
        Self(Mutex::new(Entries {
            count: 0,
            kept: Vec::new(),
            writes: ManualWrites::of(run_dir),
        }))
    }

    /// The entries, with what was written by hand meanwhile.
    fn entries(&self) -> MutexGuard<'_, Entries> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for write in entries.writes.take() {
            entries.add(|number| written(number, &write));
        }
        entries
    }

    /// Adds what became of an action.
    pub(super) fn add(&self, action: Action, target: Target, ordered: Instant, acted: &Acted) {
        self.entries().add(|number| Logged {
            number,
            time: format_rfc3339_millis(SystemTime::now()).to_string(),
            ordered_us: monotonic_ns(ordered) / 1000,
            effect_us: acted.effect_us,
            action: action.word().to_owned(),
            kind: target.kind().word().to_owned(),
            target: target.key(),
            effect: acted.effect,
            words: acted.words.clone(),
        });
    }

    /// What comes after the entry with this number, as much of it as fits an answer.
    pub(super) fn after(&self, number: u64) -> Vec<Logged> {
        let entries = self.entries();
        let later = entries.kept.iter().filter(|logged| logged.number > number);
        later.take(AT_ONCE).cloned().collect()
    }
}

/// The entry of a write.
fn written(number: u64, write: &ManualWrite) -> Logged {
    let known_us = write.done_us.unwrap_or(write.sent_us);
    let ago = (monotonic_ns(Instant::now()) / 1000).saturating_sub(known_us);
    let ago = Duration::from_micros(u64::try_from(ago).unwrap_or_default());
    let now = SystemTime::now();
    Logged {
        number,
        time: format_rfc3339_millis(now.checked_sub(ago).unwrap_or(now)).to_string(),
        ordered_us: write.sent_us,
        effect_us: write.done_us,
        action: WRITE.to_owned(),
        kind: TargetKind::Host.word().to_owned(),
        target: write
            .node
            .host
            .map_or_else(|| write.node.to_string(), |host| host.0.to_string()),
        effect: match write.done_us {
            Some(_) => Effect::Verified,
            None => Effect::Late,
        },
        words: write.caveat().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::model::{Fault, HostId};

    #[test]
    fn the_newest_entries_are_kept_and_handed_out_in_pieces() {
        let (log, target) = (Log::of(Path::new("/nowhere")), Target::Host(HostId(1)));
        let acted = Acted {
            target,
            effect: Effect::Verified,
            effect_us: Some(7),
            words: String::new(),
        };
        for _ in 0..=MOST {
            log.add(Fault::Kill.into(), target, Instant::now(), &acted);
        }
        let (first, last) = (log.after(0), log.after(MOST as u64));
        assert_eq!((first.len(), first[0].number), (AT_ONCE, 2), "the first one is gone");
        assert_eq!((last.len(), last[0].number), (1, MOST as u64 + 1));
        assert!(log.after(last[0].number).is_empty());
    }
}
