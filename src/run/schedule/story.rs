//! The acts of a schedule: which one comes next, whether a fault by hand is that one, and what stands in its way.

use std::time::Duration;

use super::faults_due::{Due, Entry, FaultStage, Schedule};
use lockstorm_data::facts::BlockedAct;
use lockstorm_data::model::{Action, Obstacle, Target, Targets};

impl Schedule {
    /// The number of the act that begins with fault `number`, and how many acts there are; `None` if none does.
    pub fn act_of(&self, number: usize) -> Option<(usize, usize)> {
        let titled = |entry: &&Entry| entry.spec.title.is_some();
        self.scripted().nth(number.checked_sub(1)?).filter(titled)?;
        let before = self.scripted().take(number).filter(titled).count();
        Some((before, self.scripted().filter(titled).count()))
    }

    /// What begins the next act, and whom it hits as things are.
    pub fn next_deed(&self) -> Option<(Action, Vec<Target>)> {
        let spec = &self.entry(self.next_act()?)?.spec;
        let targets = match &spec.targets {
            Targets::Named(targets) => targets.clone(),
            Targets::By(seat) => self.seats.of(*seat),
        };
        Some((spec.action, targets))
    }

    /// Takes a fault by hand for the next act, if that begins with it; `is_bounce`: the host comes back by itself.
    pub fn claim(&mut self, action: Action, target: Target, is_bounce: bool) -> Option<Due> {
        let (fault, (deed, targets)) = (self.next_act()?, self.next_deed()?);
        let entry = self.entry_mut(fault)?;
        if deed != action || targets != [target] || entry.is_bounce() != is_bounce {
            return None;
        }
        let (pending, hit) = (1, Vec::new());
        entry.stage = FaultStage::Ordered {
            pending,
            at: Duration::ZERO,
            since: Duration::ZERO,
            hit,
        };
        entry.is_by_hand = true;
        Some(Due {
            fault,
            action,
            target,
            undo: false,
        })
    }

    /// Notes what stands in the way of the next act, if that is a fault. Returns what to tell: that the story has stopped, once, if
    /// nothing but a key makes the next act possible again.
    pub fn look_at_obstacle(&mut self, found: Option<(Target, Obstacle)>) -> Option<BlockedAct> {
        let faulty = self
            .next_deed()
            .is_some_and(|(action, _)| matches!(action, Action::Fault(_)));
        self.obstacle = found.filter(|_| faulty);
        let blocked = self.blocked();
        let is_new = blocked.is_some() && self.told.is_none();
        self.told = blocked.as_ref().and(self.next_act());
        blocked.filter(|_| is_new)
    }

    /// Why the story does not go on by itself.
    pub(super) fn blocked(&self) -> Option<BlockedAct> {
        let (target, obstacle) = self
            .obstacle
            .as_ref()
            .filter(|(target, _)| !self.returns().contains(target))?;
        let number = self.next_act()?;
        let ((act, _), entry) = (self.act_of(number)?, self.entry(number)?);
        let is = match obstacle {
            Obstacle::Already(condition, _) | Obstacle::First(condition, _) | Obstacle::ForGood(condition, _) => {
                *condition
            }
            Obstacle::NotFor(..) | Obstacle::Lacks(_) | Obstacle::Not(_) => return None,
        };
        Some(BlockedAct {
            act,
            action: entry.spec.action,
            is_bounce: entry.is_bounce(),
            target: *target,
            is,
        })
    }

    /// What comes back by itself: what is undone after its time, and what the schedule brings back before the next act.
    pub(super) fn returns(&self) -> Vec<Target> {
        let next = self.next_act().unwrap_or(usize::MAX);
        let of_entry = |(index, entry): (usize, &Entry)| {
            let is_undo = matches!(entry.spec.action, Action::Undo(_));
            let mut targets = entry.undoing.clone();
            targets.extend(match (&entry.stage, &entry.spec.targets) {
                (FaultStage::InEffect { hit, .. }, _) if entry.spec.lasts.is_some() => hit.clone(),
                (FaultStage::Ordered { .. }, Targets::Named(targets)) if is_undo || entry.spec.lasts.is_some() => {
                    targets.clone()
                }
                (FaultStage::Waiting, Targets::Named(targets)) if is_undo && index < next => targets.clone(),
                _ => Vec::new(),
            });
            targets
        };
        self.entries().enumerate().flat_map(of_entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::metrics::Metric;
    use lockstorm_data::model::{Condition, Conditions, Fault, HostId, How, TargetKind};
    use lockstorm_data::scenario::{FaultSpec, FaultStart};

    const HOST_1: Target = Target::Host(HostId(1));
    const HOST_2: Target = Target::Host(HostId(2));
    const KILL: Action = Action::Fault(Fault::Kill);

    const fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn act(title: Option<&str>, start: FaultStart, action: Action, lasts: Option<Duration>) -> FaultSpec {
        FaultSpec {
            start,
            action,
            targets: Targets::Named(vec![HOST_1]),
            lasts,
            title: title.map(str::to_owned),
            caption: None,
            teaches: None,
        }
    }

    /// A bounce in act 1, a death in act 2 that ends with act 3.
    fn story() -> Schedule {
        Schedule::new(&[
            act(
                Some("forgets"),
                FaultStart::At(secs(5)),
                KILL,
                Some(Duration::from_millis(300)),
            ),
            act(Some("dies"), FaultStart::After(1, secs(14)), KILL, None),
            act(
                Some("returns"),
                FaultStart::After(2, secs(12)),
                Action::Undo(Condition::Down),
                None,
            ),
        ])
    }

    fn due(schedule: &mut Schedule, now: u64) -> Vec<usize> {
        let due = schedule.due(secs(now), |_: &str, _: Metric| 0.0);
        due.iter().map(|due| due.fault).collect()
    }

    fn down() -> (Target, Obstacle) {
        let down = Conditions::only(Condition::Down, Some(How::By(Fault::Kill)), ());
        let already = KILL.obstacle(TargetKind::Host, &[], &down);
        (HOST_1, already.expect("it is down already"))
    }

    #[test]
    fn acts_are_counted_by_their_titles() {
        let schedule = Schedule::new(&[
            act(None, FaultStart::At(secs(1)), KILL, None),
            act(Some("one"), FaultStart::At(secs(2)), KILL, None),
            act(Some("two"), FaultStart::At(secs(3)), KILL, None),
        ]);
        assert_eq!(
            [0, 1, 2, 3, 4].map(|n| schedule.act_of(n)),
            [None, None, Some((1, 2)), Some((2, 2)), None]
        );
    }

    #[test]
    fn a_fault_by_hand_that_is_the_next_act_is_that_act() {
        let mut schedule = story();
        assert_eq!(schedule.claim(KILL, HOST_1, false), None, "a death is no bounce");
        assert_eq!(schedule.claim(KILL, HOST_2, true), None, "another host");
        assert_eq!(
            schedule.claim(Fault::Pause.into(), HOST_1, false),
            None,
            "another fault"
        );
        let bounce = schedule.claim(KILL, HOST_1, true).expect("the bounce of act 1");
        schedule.reported(bounce, Some(secs(2)));
        assert_eq!(due(&mut schedule, 3), [1], "it comes back by itself, as in the act");
        assert!(
            due(&mut schedule, 15).is_empty(),
            "act 1 has been: it does not begin at second 5"
        );
        let death = schedule.claim(KILL, HOST_1, false).expect("the death of act 2");
        schedule.reported(death, Some(secs(15)));
        assert!(due(&mut schedule, 26).is_empty());
        assert_eq!(due(&mut schedule, 27), [3], "12 s after the death by hand");
    }

    #[test]
    fn a_fault_by_hand_that_fails_leaves_the_act_to_the_schedule() {
        let mut schedule = story();
        let bounce = schedule.claim(KILL, HOST_1, true).expect("the bounce of act 1");
        schedule.reported(bounce, None);
        assert_eq!(due(&mut schedule, 5), [1]);
    }

    #[test]
    fn an_act_that_is_impossible_says_so_once_and_waits() {
        let mut schedule = story();
        assert_eq!(schedule.look_at_obstacle(None), None);
        let said = schedule.look_at_obstacle(Some(down()));
        assert_eq!(
            said.map(|act| act.to_string()).as_deref(),
            Some("act 1 bounces host 1, which is down already: r brings it back and the story goes on")
        );
        assert_eq!(schedule.look_at_obstacle(Some(down())), None, "said once");
        assert!(due(&mut schedule, 9).is_empty(), "it waits");
        assert_eq!(schedule.look_at_obstacle(None), None);
        assert_eq!(due(&mut schedule, 9), [1], "the host is up again");
    }

    #[test]
    fn what_comes_back_by_itself_does_not_stop_the_story() {
        let mut schedule = Schedule::new(&[
            act(Some("one"), FaultStart::At(secs(1)), KILL, Some(secs(5))),
            act(Some("two"), FaultStart::At(secs(3)), KILL, None),
        ]);
        let one = schedule.due(secs(1), |_, _| 0.0);
        schedule.reported(one[0], Some(secs(1)));
        assert_eq!(schedule.look_at_obstacle(Some(down())), None, "it returns at second 6");
        assert!(due(&mut schedule, 4).is_empty(), "act 2 waits for that all the same");
        let undone = schedule.due(secs(6), |_, _| 0.0);
        assert_eq!(
            undone.iter().map(|due| (due.fault, due.undo)).collect::<Vec<_>>(),
            [(1, true)]
        );
        assert_eq!(schedule.look_at_obstacle(Some(down())), None, "it is on its way back");
        schedule.reported(undone[0], Some(secs(7)));
        assert!(schedule.look_at_obstacle(Some(down())).is_some(), "it was killed again");
        schedule.look_at_obstacle(None);
        assert_eq!(due(&mut schedule, 6), [2]);
    }

    #[test]
    fn an_act_that_undoes_something_is_in_nobodys_way() {
        let mut schedule = Schedule::new(&[act(
            Some("back"),
            FaultStart::At(secs(1)),
            Action::Undo(Condition::Down),
            None,
        )]);
        let up = Action::Undo(Condition::Down).obstacle(TargetKind::Host, &[], &Conditions::<()>::default());
        assert_eq!(schedule.look_at_obstacle(up.map(|why| (HOST_1, why))), None);
        assert_eq!(due(&mut schedule, 1), [1]);
    }
}
