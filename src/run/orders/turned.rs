use std::mem::{Discriminant, discriminant};

use crate::orders::command::Knob;

/// The changes of a run by its knobs, for the record.
#[derive(Debug, Default)]
pub(crate) struct Turned(Vec<Change>);

#[derive(Debug)]
struct Change {
    knob: Discriminant<Knob>,
    /// Seconds of the measured part; negative in the warm-up.
    at: f64,
    words: String,
}

/// The most changes that the warning names; the newest ones, because they last until the end.
const NAMED: usize = 3;

impl Turned {
    /// Adds a change that takes effect at this second.
    pub fn add(&mut self, knob: Knob, at: f64, words: String) {
        let knob = discriminant(&knob);
        self.0.push(Change { knob, at, words });
    }

    /// What was changed, and what that means for the figures; `None` if nothing was changed.
    pub fn warning(&self) -> Option<String> {
        let all = &self.0;
        let last = all.last()?;
        let named = &all[all.len().saturating_sub(NAMED)..];
        let which = if named.len() < all.len() {
            format!(" (the last {NAMED} of {} changes)", all.len())
        } else {
            String::new()
        };
        let when = |Change { at, words, .. }: &Change| match *at < 0.0 {
            true => format!("{words} in the warm-up"),
            false => format!("{words} at {at:.1} s"),
        };
        let named: Vec<String> = named.iter().map(when).collect();
        let once = |change: &Change| all.iter().filter(|other| other.knob == change.knob).count() == 1;
        let meaning = if last.at < 0.0 {
            "figures are of the changed settings"
        } else if all.iter().all(once) {
            "figures mix both settings"
        } else {
            "figures mix all settings"
        };
        Some(format!("changed by key{which}: {}; {meaning}", named.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const TTL: Knob = Knob::Ttl(Duration::from_secs(10));

    fn warning(changes: &[(Knob, f64, &str)]) -> Option<String> {
        let mut turned = Turned::default();
        for (knob, at, words) in changes {
            turned.add(*knob, *at, (*words).to_owned());
        }
        turned.warning()
    }

    #[test]
    fn nothing_is_said_of_a_run_whose_knobs_nobody_turned() {
        assert_eq!(warning(&[]), None);
    }

    #[test]
    fn changes_are_told_with_their_time() {
        let said = warning(&[(TTL, 4.23, "TTL 10 s"), (Knob::Workers(5), 6.0, "workers 5")]);
        assert_eq!(
            said.as_deref(),
            Some("changed by key: TTL 10 s at 4.2 s, workers 5 at 6.0 s; figures mix both settings")
        );
        let said = warning(&[(TTL, -1.2, "TTL 10 s"), (Knob::Rate(20.0), 3.0, "rate 20/s")]);
        assert_eq!(
            said.as_deref(),
            Some("changed by key: TTL 10 s in the warm-up, rate 20/s at 3.0 s; figures mix both settings")
        );
        let said = warning(&[(TTL, -1.2, "TTL 10 s")]);
        assert_eq!(
            said.as_deref(),
            Some("changed by key: TTL 10 s in the warm-up; figures are of the changed settings")
        );
    }

    #[test]
    fn of_many_changes_the_last_are_told() {
        let hold = Knob::Hold(Duration::from_millis(2));
        let said = warning(&[
            (TTL, 1.0, "TTL 10 s"),
            (TTL, 2.0, "TTL 20 s"),
            (TTL, 3.0, "TTL 50 s"),
            (hold, 4.0, "hold 2 ms"),
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
