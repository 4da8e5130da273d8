use super::action::Action;
use super::condition::Condition;
use super::how::How;

/// The conditions of a target; none while it is up. `T` is their time: in the lab the instant since when, in a snapshot
/// the age.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conditions<T>(Vec<Ongoing<T>>);

/// A condition of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ongoing<T> {
    /// The condition.
    pub condition: Condition,
    /// How it came about, if there are several ways.
    pub how: Option<How>,
    /// Since when, or for how long.
    pub since: T,
}

impl<T> Default for Conditions<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Conditions<T> {
    /// Only this condition.
    pub fn only(condition: Condition, how: Option<How>, since: T) -> Self {
        Self(vec![Ongoing { condition, how, since }])
    }

    /// Whether there are none.
    pub const fn is_up(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a target with these conditions answers.
    pub fn answers(&self) -> bool {
        self.0.iter().all(|ongoing| ongoing.condition.answers())
    }

    /// All conditions, the most important first.
    pub fn iter(&self) -> impl Iterator<Item = &Ongoing<T>> {
        self.0.iter()
    }

    /// The most important condition.
    pub fn first(&self) -> Option<&Ongoing<T>> {
        self.0.first()
    }

    /// The condition to undo first: the effect of undoing others could not be seen on a target that is cut off.
    pub fn first_to_undo(&self) -> Option<&Ongoing<T>> {
        self.get(Condition::Cut).or_else(|| self.first())
    }

    /// The details of this condition, if the target has it.
    pub fn get(&self, condition: Condition) -> Option<&Ongoing<T>> {
        self.0.iter().find(|ongoing| ongoing.condition == condition)
    }

    /// Whether the target has this condition.
    pub fn has(&self, condition: Condition) -> bool {
        self.get(condition).is_some()
    }

    /// Adds a condition, and removes those that it ends.
    pub fn enter(&mut self, condition: Condition, how: Option<How>, since: T) {
        self.leave(condition);
        self.0.push(Ongoing { condition, how, since });
        self.0.sort_by_key(|ongoing| ongoing.condition);
    }

    /// Removes a condition. The conditions that it ended do not come back.
    pub fn leave(&mut self, condition: Condition) {
        let ends = condition.row().ends;
        self.0
            .retain(|ongoing| ongoing.condition != condition && !ends.contains(&ongoing.condition));
    }

    /// Whether one of them ended this condition.
    pub fn have_ended(&self, condition: Condition) -> bool {
        self.0
            .iter()
            .any(|ongoing| ongoing.condition.row().ends.contains(&condition))
    }

    /// Keeps only the conditions that `wanted` accepts.
    pub fn retain(&mut self, wanted: impl Fn(Condition) -> bool) {
        self.0.retain(|ongoing| wanted(ongoing.condition));
    }

    /// Applies an action that has taken effect.
    pub fn undergo(&mut self, action: Action, at: T) {
        match action {
            Action::Fault(fault) => {
                if let Some(condition) = fault.brings() {
                    self.enter(condition, fault.how(), at);
                }
            }
            Action::Undo(condition) => self.leave(condition),
        }
    }

    /// Adds the conditions of another part of the target: the whole has every condition that one of its parts has, since
    /// the time of the first part.
    pub fn join(&mut self, other: Self)
    where
        T: Ord,
    {
        for ongoing in other.0 {
            match self.0.iter_mut().find(|known| known.condition == ongoing.condition) {
                Some(known) if known.since <= ongoing.since => {}
                Some(known) => *known = ongoing,
                None => self.0.push(ongoing),
            }
        }
        self.0.sort_by_key(|ongoing| ongoing.condition);
    }

    /// These conditions with another measure of time.
    pub fn timed<U>(&self, measure: impl Fn(&T) -> U) -> Conditions<U> {
        let ongoing = self.0.iter().map(|ongoing| Ongoing {
            condition: ongoing.condition,
            how: ongoing.how.clone(),
            since: measure(&ongoing.since),
        });
        Conditions(ongoing.collect())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::kind::Fault;
    use super::super::target::TargetKind;
    use super::super::way::{Direction, Way};
    use super::*;

    #[test]
    fn a_kill_ends_a_pause() {
        let mut conditions = Conditions::only(Condition::Paused, None, 1);
        assert!(!conditions.is_up() && !conditions.answers());
        conditions.undergo(Fault::Kill.into(), 2);
        assert_eq!(
            conditions,
            Conditions::only(Condition::Down, Some(How::By(Fault::Kill)), 2)
        );
        conditions.undergo(Action::Undo(Condition::Down), 3);
        assert!(conditions.is_up() && conditions.answers());
    }

    #[test]
    fn a_failover_brings_no_condition() {
        let mut conditions = Conditions::default();
        let failover = Action::Fault(Fault::Failover { by: Way::Hand });
        conditions.undergo(failover, 1);
        assert!(conditions.is_up());
        assert_eq!(failover.undo(TargetKind::Host), None);
        assert_eq!(failover.on("host 2"), "fail over to host 2 by hand");
    }

    #[test]
    fn a_lag_outlives_a_kill() {
        let lag = Fault::Lag {
            delay: Duration::from_millis(50),
            direction: Direction::Both,
        };
        let mut conditions = Conditions::default();
        conditions.undergo(lag.into(), 1);
        assert!(!conditions.is_up() && conditions.answers());
        conditions.undergo(Fault::Kill.into(), 2);
        conditions.undergo(Action::Undo(Condition::Down), 3);
        assert_eq!(conditions, Conditions::only(Condition::Lagging, lag.how(), 1));
    }

    #[test]
    fn a_condition_that_was_ended_does_not_come_back() {
        let mut conditions = Conditions::only(Condition::Paused, None, 1);
        assert!(!conditions.have_ended(Condition::Paused));
        conditions.join(Conditions::only(Condition::Down, None, 2));
        assert!(conditions.have_ended(Condition::Paused));
        conditions.leave(Condition::Down);
        assert!(conditions.is_up());
    }

    #[test]
    fn a_whole_is_in_every_condition_of_its_parts() {
        let mut whole = Conditions::only(Condition::Paused, None, 2);
        whole.join(Conditions::default());
        whole.join(Conditions::only(Condition::Down, Some(How::By(Fault::Kill)), 3));
        whole.join(Conditions::only(Condition::Paused, None, 1));
        whole.join(Conditions::only(Condition::Down, Some(How::By(Fault::Shutdown)), 4));
        let all: Vec<_> = whole.iter().map(|ongoing| (ongoing.condition, ongoing.since)).collect();
        assert_eq!(all, [(Condition::Down, 3), (Condition::Paused, 1)]);
        assert_eq!(whole.get(Condition::Down).unwrap().how, Some(How::By(Fault::Kill)));
    }

    #[test]
    fn the_most_important_condition_comes_first() {
        let mut conditions = Conditions::only(Condition::Down, None, 1);
        conditions.enter(Condition::Paused, None, 2);
        assert_eq!(conditions.first().map(|first| first.condition), Some(Condition::Down));
        assert_eq!(conditions.iter().count(), 2);
        assert_eq!(
            conditions
                .timed(|n| n * 2)
                .get(Condition::Paused)
                .map(|paused| paused.since),
            Some(4)
        );
    }
}
