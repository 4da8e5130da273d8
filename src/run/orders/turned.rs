use std::mem::discriminant;

use lockstorm_data::facts::{Caveat, TimedTurn, Turn};

/// The changes of a run by its knobs, for the record.
#[derive(Debug, Default)]
pub(crate) struct Turned(Vec<TimedTurn>);

/// The most changes that the warning names; the newest ones, because they last until the end.
const NAMED: usize = 3;

impl Turned {
    /// Adds a change that takes effect at this second; negative in the warm-up.
    pub fn add(&mut self, at: f64, turn: Turn) {
        self.0.push(TimedTurn { at, turn });
    }

    /// What was changed; `None` if nothing was.
    pub fn warning(&self) -> Option<Caveat> {
        let all = &self.0;
        let is_same = |one: &TimedTurn, other: &TimedTurn| discriminant(&one.turn) == discriminant(&other.turn);
        let again = |change: &TimedTurn| all.iter().filter(|other| is_same(change, other)).count() > 1;
        (!all.is_empty()).then(|| Caveat::Turned {
            last: all[all.len().saturating_sub(NAMED)..].to_vec(),
            all: all.len(),
            again: all.iter().any(again),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const fn ttl(seconds: u64) -> Turn {
        Turn::Ttl {
            ttl: Duration::from_secs(seconds),
            were_us: None,
        }
    }

    fn warning(changes: &[(Turn, f64)]) -> Option<String> {
        let mut turned = Turned::default();
        for (turn, at) in changes {
            turned.add(*at, turn.clone());
        }
        turned.warning().map(|caveat| caveat.to_string())
    }

    #[test]
    fn nothing_is_said_of_a_run_whose_knobs_nobody_turned() {
        assert_eq!(warning(&[]), None);
    }

    #[test]
    fn changes_are_told_with_their_time() {
        let said = warning(&[(ttl(10), 4.23), (Turn::Workers { workers: 5 }, 6.0)]);
        assert_eq!(
            said.as_deref(),
            Some("changed by key: TTL 10 s at 4.2 s, workers 5 at 6.0 s; figures mix both settings")
        );
        let said = warning(&[(ttl(10), -1.2), (Turn::Rate { rate: 20.0 }, 3.0)]);
        assert_eq!(
            said.as_deref(),
            Some("changed by key: TTL 10 s in the warm-up, rate 20/s at 3.0 s; figures mix both settings")
        );
        let said = warning(&[(ttl(10), -1.2)]);
        assert_eq!(
            said.as_deref(),
            Some("changed by key: TTL 10 s in the warm-up; figures are of the changed settings")
        );
    }

    #[test]
    fn of_many_changes_the_last_are_told() {
        let median = Duration::from_millis(2);
        let said = warning(&[
            (ttl(10), 1.0),
            (ttl(20), 2.0),
            (ttl(50), 3.0),
            (Turn::Hold { median }, 4.0),
        ]);
        assert_eq!(
            said.as_deref(),
            Some(
                "changed by key (the last 3 of 4 changes): TTL 20 s at 2.0 s, TTL 50 s at 3.0 s, hold 2 ms at 4.0 s; \
                 figures mix all settings"
            )
        );
    }
}
