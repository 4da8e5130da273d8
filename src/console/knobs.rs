//! The steps of the live knobs: 1, 2, 5, 10, 20, 50 …, so that every value is a round number. A step starts from what keys
//! have ordered, not from the last snapshot.

use std::time::Duration;

use lockstorm_data::metrics::units::rounded;
use lockstorm_data::scenario::Scenario;
use lockstorm_run::{Knob, Knobs, Snapshot, TTLS, ladder};

/// The direction in which a knob is turned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// To the next smaller step.
    Down,
    /// To the next larger step.
    Up,
}

/// The knobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnobKind {
    /// The TTL of all lock arms.
    Ttl,
    /// The median hold time.
    Hold,
    /// Requests a second, for each arm.
    Rate,
    /// Workers on each app server, for each arm.
    Workers,
}

const HOLD: [u64; 2] = [100, 60_000_000];
const RATE: [u64; 2] = [1, 1_000_000];
const WORKERS: [u64; 2] = [1, 10_000];

/// The knobs as the keys have turned them: a snapshot may not show the last orders yet.
#[derive(Debug, Default)]
pub(super) struct OrderedKnobs(Option<Knobs>);

impl OrderedKnobs {
    /// The values that the run has, or will have once it has carried out all orders.
    pub fn values(&self, snapshot: &Snapshot) -> Knobs {
        let shown = snapshot.knobs;
        self.0.filter(|ordered| ordered.turns > shown.turns).unwrap_or(shown)
    }

    /// Adds an order that turns a knob from these values.
    pub fn order(&mut self, knob: Knob, mut from: Knobs) {
        from.turn(knob);
        self.0 = Some(from);
    }
}

/// The knob's new value, from its present one. While the arms have TTLs of their own, a step leads below or above all of
/// them, so that the direction is true for every arm.
///
/// # Errors
/// Why the knob can't be turned.
pub(super) fn turn(kind: KnobKind, turn: Turn, now: &Knobs, scenario: &Scenario) -> Result<Knob, String> {
    let Knobs {
        ttl,
        workers,
        rate,
        hold,
        turns: _,
    } = *now;
    match kind {
        KnobKind::Ttl => {
            let [least, most] = ttl
                .map(|ttl| [ttl; 2])
                .or_else(|| scenario.ttls())
                .ok_or("no arm here has a lock with a TTL")?;
            let from = if turn == Turn::Down { least } else { most };
            stepped(micros(from), TTLS, turn, "TTL").map(|us| Knob::Ttl(Duration::from_micros(us)))
        }
        KnobKind::Hold => {
            stepped(micros(hold), HOLD, turn, "hold time").map(|us| Knob::Hold(Duration::from_micros(us)))
        }
        KnobKind::Rate => {
            let now = rate.ok_or("a closed loop has no rate: turn the workers with n and N")?;
            stepped(rounded(now), RATE, turn, "rate").map(|rate| Knob::Rate(rate as f64))
        }
        KnobKind::Workers => {
            let now = u64::try_from(workers).unwrap_or(u64::MAX);
            let next = stepped(now, WORKERS, turn, "number of workers")?;
            Ok(Knob::Workers(usize::try_from(next).unwrap_or(workers)))
        }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// The next step below or above `now`, within `[least, most]`.
fn stepped(now: u64, [least, most]: [u64; 2], turn: Turn, name: &str) -> Result<u64, String> {
    let next = match turn {
        Turn::Down => ladder().take_while(|&step| step < now).last().unwrap_or(0).max(least),
        Turn::Up => ladder().find(|&step| step > now).unwrap_or(most).min(most),
    };
    let moved = match turn {
        Turn::Down => next < now,
        Turn::Up => next > now,
    };
    if moved {
        Ok(next)
    } else {
        let end = if turn == Turn::Down {
            "shortest or smallest"
        } else {
            "longest or largest"
        };
        Err(format!("the {name} is at its {end} already"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_reversible() {
        let up = |now| stepped(now, [1, 1_000], Turn::Up, "x").ok();
        let down = |now| stepped(now, [1, 1_000], Turn::Down, "x").ok();
        assert_eq!([1, 2, 5, 16, 400, 999].map(up), [2, 5, 10, 20, 500, 1_000].map(Some));
        assert_eq!([2, 5, 10, 16, 400, 1_000].map(down), [1, 2, 5, 10, 200, 500].map(Some));
    }

    #[test]
    fn the_ends_say_so() {
        assert!(stepped(1, [1, 1_000], Turn::Down, "rate").is_err());
        assert!(stepped(1_000, [1, 1_000], Turn::Up, "rate").is_err());
        assert_eq!(stepped(5_000, [1, 1_000], Turn::Down, "rate"), Ok(2_000));
        assert_eq!(stepped(0, [1, 1_000], Turn::Up, "rate"), Ok(1));
    }
}
