use std::time::Instant;

use lockstorm_data::model::{Condition, Conditions, How};

/// The state of a process or a host, as the kernel reports it, even if somebody else has killed or stopped it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostState {
    /// What is wrong with it; empty while it runs.
    pub conditions: Conditions<Instant>,
    /// When it last changed. A stop for only a moment is a change too.
    pub changed: Instant,
}

impl HostState {
    /// A state without conditions, since `since`.
    pub fn up(since: Instant) -> Self {
        Self {
            conditions: Conditions::default(),
            changed: since,
        }
    }

    /// A state with only this condition, since `since`.
    pub fn only(condition: Condition, how: Option<How>, since: Instant) -> Self {
        Self {
            conditions: Conditions::only(condition, how, since),
            changed: since,
        }
    }

    /// An unknown state, for this reason. It counts as down.
    pub(crate) fn unknown(why: String) -> Self {
        Self::only(Condition::Down, Some(How::Died(why)), Instant::now())
    }

    /// The state of a group: it has every condition that one of its members has, and changed when one of them last did.
    pub(crate) fn of_all(states: impl IntoIterator<Item = Self>) -> Self {
        let both = |mut all: Self, one: Self| {
            all.conditions.join(one.conditions);
            all.changed = all.changed.max(one.changed);
            all
        };
        let all = states.into_iter().reduce(both);
        all.unwrap_or_else(|| Self::unknown("it has no nodes".to_owned()))
    }

    /// Adds conditions that no process shows. Those that a condition of this state has ended are left out.
    pub(crate) fn with(mut self, mut imposed: Conditions<Instant>) -> Self {
        imposed.retain(|condition| !self.conditions.have_ended(condition));
        self.conditions.join(imposed);
        self
    }

    /// How it went down, in words, if it is down.
    pub fn ended(&self) -> Option<String> {
        let down = self.conditions.get(Condition::Down)?;
        Some(down.how.as_ref().map_or_else(|| "ended".to_owned(), How::to_string))
    }

    /// Whether it runs.
    pub const fn is_up(&self) -> bool {
        self.conditions.is_up()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_that_no_process_shows_is_added_unless_another_one_has_ended_it() {
        let now = Instant::now();
        let imposed = Conditions::only(Condition::Paused, None, now);
        let conditions = |state: HostState| -> Vec<Condition> {
            let state = state.with(imposed.clone());
            state.conditions.iter().map(|ongoing| ongoing.condition).collect()
        };
        assert_eq!(conditions(HostState::up(now)), [Condition::Paused]);
        assert_eq!(
            conditions(HostState::only(Condition::Down, None, now)),
            [Condition::Down]
        );
    }
}
