use std::fmt;

use super::action::Action;
use super::condition::Condition;
use super::conditions::{Conditions, Ongoing};
use super::how::How;
use super::kind::Fault;
use super::lack::Lack;
use super::target::TargetKind;

/// Why an action makes no sense now. Its text follows the name of the target: "is already down (killed)".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// The action is impossible on a target of this kind, in any condition.
    NotFor(Action, TargetKind),
    /// The action needs what the lab does not have.
    Lacks(Lack),
    /// The target already has the condition that the action brings.
    Already(Condition, Option<How>),
    /// The target has a condition that must be undone first.
    First(Condition, Option<How>),
    /// The target has a condition that nothing undoes.
    ForGood(Condition, Option<How>),
    /// The target does not have this condition, so there is nothing to undo.
    Not(Condition),
}

impl Action {
    /// Whether this action on a target of this kind needs what a lab may lack.
    pub fn needs(self, kind: TargetKind, lack: Lack) -> bool {
        match self {
            Self::Fault(fault) => fault.row().needs.contains(&(kind, lack)),
            Self::Undo(condition) => condition.row().undo_needs.contains(&(kind, lack)),
        }
    }

    /// Whether it ends or stops processes.
    pub const fn ends_or_stops(self) -> bool {
        matches!(
            self,
            Self::Fault(Fault::Kill | Fault::Shutdown | Fault::PowerLoss | Fault::DiskLoss | Fault::Pause)
        )
    }

    /// Why this action makes no sense for a target of this kind in these conditions in a lab that `lacks` this; `None` if it does.
    pub fn obstacle<T>(self, kind: TargetKind, lacks: &[Lack], now: &Conditions<T>) -> Option<Obstacle> {
        let lack = lacks.iter().copied().find(|lack| self.needs(kind, *lack));
        // In whatever condition such a host is, only its owner changes it.
        let condition = match lack {
            Some(Lack::OwnHosts) => None,
            _ => self.obstacle_by_condition(kind, now),
        };
        condition.or(lack.map(Obstacle::Lacks))
    }

    fn obstacle_by_condition<T>(self, kind: TargetKind, now: &Conditions<T>) -> Option<Obstacle> {
        let told = |obstacle: fn(Condition, Option<How>) -> Obstacle, ongoing: &Ongoing<T>| {
            Some(obstacle(ongoing.condition, ongoing.how.clone()))
        };
        let standing = match self {
            Self::Fault(_) if !self.is_for(kind) => return Some(Obstacle::NotFor(self, kind)),
            Self::Fault(fault) => {
                let first = |condition: &Condition| {
                    now.get(*condition)
                        .filter(|_| fault.row().not_while.contains(condition))
                };
                if let (Some(down), true) = (first(&Condition::Down), fault.brings() == Some(Condition::Down)) {
                    return told(Obstacle::First, down);
                }
                if let Some(already) = fault.brings().and_then(|condition| now.get(condition)) {
                    // By another fault, or with other parameters, it is another state, and not there yet. Whatever is down is down.
                    let is_of_degree = !matches!(already.condition, Condition::Down | Condition::Paused);
                    if is_of_degree && already.how != fault.how() {
                        return told(Obstacle::First, already);
                    }
                    return told(Obstacle::Already, already);
                }
                let mut not_while = fault.row().not_while.iter();
                not_while.find_map(|condition| now.get(*condition))
            }
            // Whether a server that is cut off runs again can't be verified.
            Self::Undo(condition @ (Condition::Down | Condition::Paused))
                if now.has(condition) && now.has(Condition::Cut) =>
            {
                now.get(Condition::Cut)
            }
            // Nobody can tell it anything.
            Self::Undo(Condition::Degraded) if now.has(Condition::Degraded) && !now.answers() => now.first_to_undo(),
            Self::Undo(condition) if now.has(condition) && condition.is_undone_on(kind) => None,
            Self::Undo(condition) => match now.first() {
                None if self.is_for(kind) => return Some(Obstacle::Not(condition)),
                first => first,
            },
        };
        match standing {
            Some(ongoing) if ongoing.condition.is_undone_on(kind) => told(Obstacle::First, ongoing),
            Some(ongoing) => told(Obstacle::ForGood, ongoing),
            None if self.is_for(kind) => None,
            None => Some(Obstacle::NotFor(self, kind)),
        }
    }
}

impl Obstacle {
    /// Whether the target is already in the state that the action would bring about, so that this is not a failure.
    pub const fn is_done(&self) -> bool {
        matches!(self, Self::Already(..) | Self::Not(_))
    }

    /// The obstacle in the past tense: "was already down (killed)".
    pub fn was(&self) -> String {
        self.words("was")
    }

    fn words(&self, be: &str) -> String {
        let how = |how: &Option<How>| how.as_ref().map_or_else(String::new, |how| format!(" ({how})"));
        match self {
            Self::NotFor(action, kind) => format!("can't be {}: it {be} {}", action.verbs()[2], kind.one()),
            Self::Lacks(_) => format!("{be} in a lab that lacks what it needs"),
            Self::Already(condition, by) => format!("{be} already {}{}", condition.word(), how(by)),
            Self::First(condition, by) => {
                let undo = Action::Undo(*condition).verbs()[0];
                format!("{be} {}{}; {undo} it first", condition.word(), how(by))
            }
            Self::ForGood(condition, by) => {
                let (word, how) = (condition.word(), how(by));
                format!("{be} {word}{how} and does not come back in this run")
            }
            Self::Not(condition) => format!("{be} not {}", condition.word()),
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words("is"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::kind::Fault;
    use super::super::way::{Direction, Way};
    use super::*;

    fn words(action: Action, kind: TargetKind, conditions: &Conditions<()>) -> Option<String> {
        let obstacle = action.obstacle(kind, &[], conditions);
        obstacle.map(|obstacle| obstacle.to_string())
    }

    #[test]
    fn what_a_lab_lacks_comes_after_the_condition_but_for_hosts_that_are_not_ours() {
        let none = &[Lack::Replicas, Lack::Containers, Lack::Proxy][..];
        let elsewhere = &[&[Lack::OwnHosts], none].concat()[..];
        let direction = Direction::Both;
        let delay = Duration::from_millis(1);
        let [lag, cut]: [Action; 2] = [Fault::Lag { delay, direction }.into(), Fault::Cut { direction }.into()];
        let failover = Action::from(Fault::Failover { by: Way::Hand });
        let (host, link, server) = (TargetKind::Host, TargetKind::Link, TargetKind::Server);
        for (action, kind, lacks, lack) in [
            (Fault::Kill.into(), host, none, None),
            (Fault::Kill.into(), host, elsewhere, Some(Lack::OwnHosts)),
            (Action::Undo(Condition::Down), host, elsewhere, Some(Lack::OwnHosts)),
            (Fault::Kill.into(), server, elsewhere, None),
            (lag, host, elsewhere, Some(Lack::Proxy)),
            (lag, link, none, Some(Lack::Replicas)),
            (failover, host, none, Some(Lack::Replicas)),
            (cut, host, none, Some(Lack::Containers)),
            (cut, host, &[Lack::Proxy], None),
            (cut, link, &[Lack::Proxy], Some(Lack::Proxy)),
            (Action::Undo(Condition::Lagging), host, none, None),
        ] {
            let found = action.obstacle(kind, lacks, &Conditions::<()>::default());
            let found = found.filter(|found| !found.is_done());
            assert_eq!(found, lack.map(Obstacle::Lacks), "{action} {kind:?}");
        }
        let down = Conditions::only(Condition::Down, None, ());
        let first = failover.obstacle(host, none, &down);
        assert_eq!(first, Some(Obstacle::First(Condition::Down, None)));
        let kill = Action::from(Fault::Kill);
        assert_eq!(
            kill.obstacle(host, elsewhere, &down),
            Some(Obstacle::Lacks(Lack::OwnHosts))
        );
    }

    #[test]
    fn a_host_that_is_cut_off_is_reconnected_before_anything_else_is_undone() {
        let direction = Direction::Both;
        let mut cut = Conditions::only(Condition::Paused, None, ());
        cut.undergo(Action::Fault(Fault::Cut { direction }), ());
        let words_of = |action, conditions: &Conditions<()>| words(action, TargetKind::Host, conditions);
        let first = Some("is cut (both ways); uncut it first");
        assert_eq!(words_of(Action::Undo(Condition::Paused), &cut).as_deref(), first);
        cut.undergo(Action::Fault(Fault::Kill), ());
        assert_eq!(words_of(Action::Undo(Condition::Down), &cut).as_deref(), first);
        assert_eq!(
            cut.first_to_undo().map(|ongoing| ongoing.condition),
            Some(Condition::Cut)
        );
        assert_eq!(words_of(Action::Undo(Condition::Cut), &cut), None);
    }

    #[test]
    fn an_obstacle_says_what_to_do_first() {
        let [restart, resume, unlag] = [Condition::Down, Condition::Paused, Condition::Lagging].map(Action::Undo);
        let lag = Fault::Lag {
            delay: Duration::from_millis(50),
            direction: Direction::Both,
        };
        let [kill, shutdown, pause, lag] = [Fault::Kill, Fault::Shutdown, Fault::Pause, lag].map(Action::Fault);
        let up = Conditions::default();
        let down = Conditions::only(Condition::Down, Some(How::By(Fault::Kill)), ());
        let paused = Conditions::only(Condition::Paused, None, ());
        let table = [
            (kill, [None, Some("is already down (killed)"), None]),
            (
                shutdown,
                [
                    None,
                    Some("is already down (killed)"),
                    Some("is paused; resume it first"),
                ],
            ),
            (
                pause,
                [
                    None,
                    Some("is down (killed); restart it first"),
                    Some("is already paused"),
                ],
            ),
            (
                resume,
                [Some("is not paused"), Some("is down (killed); restart it first"), None],
            ),
            (restart, [Some("is not down"), None, Some("is paused; resume it first")]),
            (
                lag,
                [
                    None,
                    Some("is down (killed); restart it first"),
                    Some("is paused; resume it first"),
                ],
            ),
        ];
        for (action, expected) in table {
            for (conditions, expected) in [&up, &down, &paused].into_iter().zip(expected) {
                assert_eq!(
                    words(action, TargetKind::Host, conditions).as_deref(),
                    expected,
                    "{action}"
                );
            }
        }
        let more = Action::Fault(Fault::Lag {
            delay: Duration::from_millis(51),
            direction: Direction::Both,
        });
        let mut lagging = Conditions::default();
        lagging.undergo(lag, ());
        for (action, expected) in [
            (kill, None),
            (pause, None),
            (lag, Some("is already lagging (50 ms each way)")),
            (more, Some("is lagging (50 ms each way); unlag it first")),
            (unlag, None),
            (restart, Some("is lagging (50 ms each way); unlag it first")),
        ] {
            assert_eq!(
                words(action, TargetKind::Host, &lagging).as_deref(),
                expected,
                "{action}"
            );
        }
        for (action, conditions, expected) in [
            (kill, &up, None),
            (kill, &paused, None),
            (kill, &down, Some("is already down (killed)")),
            (
                pause,
                &down,
                Some("is down (killed) and does not come back in this run"),
            ),
            (
                resume,
                &down,
                Some("is down (killed) and does not come back in this run"),
            ),
            (
                restart,
                &down,
                Some("is down (killed) and does not come back in this run"),
            ),
            (restart, &up, Some("can't be restarted: it is an app server")),
            (shutdown, &up, Some("can't be shut down: it is an app server")),
        ] {
            assert_eq!(
                words(action, TargetKind::Server, conditions).as_deref(),
                expected,
                "{action}"
            );
        }
    }

    #[test]
    fn only_a_host_that_is_up_can_get_the_master() {
        let failover = Action::Fault(Fault::Failover { by: Way::Hand });
        for (conditions, expected) in [
            (Conditions::default(), None),
            (
                Conditions::only(Condition::Down, None, ()),
                Some("is down; restart it first"),
            ),
            (
                Conditions::only(Condition::Paused, None, ()),
                Some("is paused; resume it first"),
            ),
        ] {
            assert_eq!(words(failover, TargetKind::Host, &conditions).as_deref(), expected);
        }
    }

    #[test]
    fn an_action_whose_effect_is_already_there_is_done() {
        let down = Conditions::only(Condition::Down, None, ());
        let done = |action: Action, conditions: &Conditions<()>| {
            action
                .obstacle(TargetKind::Host, &[], conditions)
                .map(|obstacle| obstacle.is_done())
        };
        assert_eq!(done(Fault::Shutdown.into(), &down), Some(true));
        assert_eq!(done(Fault::Pause.into(), &down), Some(false));
        assert_eq!(
            done(Action::Undo(Condition::Paused), &Conditions::default()),
            Some(true)
        );
    }
}
