//! What comes next in a schedule, and why a fault did not happen.

use std::time::Duration;

use super::faults_due::{Entry, FaultStage, Part, Schedule};
use lockstorm_data::facts::{Awaited, Caveat, NextStep, Unmet};
use lockstorm_data::metrics::Metric;
use lockstorm_data::model::{Target, Targets};
use lockstorm_data::scenario::{Expectation, FaultStart, Op, Trigger};

/// What the scenario does next by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Next {
    /// What happens.
    pub step: NextStep,
    /// When, in seconds of the run; `None` if that is not known, or while the schedule is held.
    pub at: Option<f64>,
    /// All that comes back without a key, then or later.
    pub returns: Vec<Target>,
}

impl Schedule {
    /// What the scenario does next by itself; `None` if it does nothing more. The end of the load is told while it is held back.
    pub fn next(&self) -> Option<Next> {
        let Some((fault, at)) = self.first() else {
            return (self.clock.is_held() && !self.is_under_way()).then(|| Next {
                step: NextStep::LoadEnds,
                at: None,
                returns: self.returns(),
            });
        };
        let entry = self.entry(fault)?;
        // The next act may be behind something that happens before.
        let is_blocked = self.obstacle.is_some() && self.next_act() == Some(fault);
        Some(Next {
            step: self
                .blocked()
                .filter(|_| is_blocked)
                .map_or_else(|| self.step_of(entry), NextStep::Blocked),
            at: at
                .filter(|_| !is_blocked)
                .and_then(|at| self.clock.when(at))
                .map(|at| at.as_secs_f64()),
            returns: self.returns(),
        })
    }

    /// Why fault `number` of the scenario did not take effect.
    pub fn unmet(&self, number: usize) -> Caveat {
        let of_entry = |entry: &Entry| match (&entry.stage, &entry.spec.start, &entry.trouble) {
            (FaultStage::Waiting, ..) if self.clock.is_held() => Unmet::Held,
            (FaultStage::Waiting, FaultStart::At(due), _) => Unmet::NotDue { due: *due },
            (FaultStage::Waiting, FaultStart::When(condition), _) => progress(condition, &entry.parts),
            (FaultStage::Waiting, FaultStart::After(other, delay), _) => match self.effect_of(*other) {
                None => Unmet::WaitedFor { other: *other },
                Some(at) => Unmet::NotDue { due: at + *delay },
            },
            (FaultStage::Ordered { .. }, _, Some(Unmet::NoEffect { error })) => {
                Unmet::NotVerified { error: error.clone() }
            }
            (FaultStage::Ordered { .. }, ..) => Unmet::NotVerified { error: None },
            (FaultStage::InEffect { .. } | FaultStage::Over { .. }, _, Some(why)) => why.clone(),
            (FaultStage::InEffect { .. } | FaultStage::Over { .. }, _, None) => Unmet::NoEffect { error: None },
        };
        Caveat::FaultUnmet {
            fault: number,
            why: self.entry(number).map_or(Unmet::NoEffect { error: None }, of_entry),
        }
    }

    /// Lets what comes next happen at once; the clock of the schedule is turned on to its time. Returns whether there is something.
    pub fn step(&mut self) -> bool {
        let Some((fault, at)) = self.first() else { return false };
        if let Some(at) = at {
            self.clock.turn_on(at);
        }
        self.entry_mut(fault).map(|entry| entry.is_forced = true).is_some()
    }

    /// When the clock of the schedule shows this, by the clock of the run; `None` while it is held.
    pub fn when(&self, time: Duration) -> Option<Duration> {
        self.clock.when(time)
    }

    /// Whether a deed has been ordered and is not over.
    fn is_under_way(&self) -> bool {
        self.scripted().any(|entry| match &entry.stage {
            FaultStage::Ordered { .. } => true,
            FaultStage::InEffect { .. } => entry.is_bounce(),
            FaultStage::Waiting | FaultStage::Over { .. } => !entry.undoing.is_empty(),
        })
    }

    /// The fault that does something next, and when, by the clock of the schedule, if that is known.
    pub(super) fn first(&self) -> Option<(usize, Option<Duration>)> {
        let mut earlier = Duration::ZERO;
        let mut all = Vec::new();
        for (index, entry) in self.scripted().enumerate() {
            let at = match (&entry.stage, &entry.spec.start) {
                (FaultStage::Waiting, FaultStart::At(at)) => Some(*at),
                (FaultStage::Waiting, FaultStart::When(_)) => None,
                (FaultStage::Waiting, FaultStart::After(other, delay)) => self.effect_of(*other).map(|at| at + *delay),
                (FaultStage::InEffect { at, hit, .. }, _) => {
                    let undo = hit.first().and_then(|target| entry.spec.action.undo(target.kind()));
                    match entry.spec.lasts.filter(|_| undo.is_some() && !entry.is_bounce()) {
                        Some(lasts) => Some(*at + lasts),
                        None => continue,
                    }
                }
                (FaultStage::Ordered { .. } | FaultStage::Over { .. }, _) => continue,
            };
            let place = match (at, &entry.spec.start) {
                (Some(at), _) => at,
                // It may hold at any moment, but the story is told in the order of the file.
                (None, FaultStart::When(_)) => earlier,
                (None, _) => Duration::MAX,
            };
            if let (FaultStage::Waiting, Some(at)) = (&entry.stage, at) {
                earlier = earlier.max(at);
            }
            all.push((place, index + 1, at));
        }
        let (_, fault, at) = all.into_iter().min_by_key(|(place, ..)| *place)?;
        Some((fault, at))
    }

    /// What an entry does next, with its condition if its time is not known.
    fn step_of(&self, entry: &Entry) -> NextStep {
        let spec = &entry.spec;
        if let FaultStage::InEffect { hit, .. } = &entry.stage {
            let undo = hit.first().and_then(|target| spec.action.undo(target.kind()));
            return NextStep::Fault {
                action: undo.unwrap_or(spec.action),
                targets: Targets::Named(hit.clone()),
                is_bounce: false,
                waits_for: None,
            };
        }
        NextStep::Fault {
            action: spec.action,
            targets: spec.targets.clone(),
            is_bounce: entry.is_bounce(),
            waits_for: match &spec.start {
                FaultStart::When(condition) => Some(awaited(condition, &entry.parts)),
                FaultStart::After(fault, delay) if self.effect_of(*fault).is_none() => Some(Awaited::Fault {
                    fault: *fault,
                    delay: *delay,
                }),
                FaultStart::At(_) | FaultStart::After(..) => None,
            },
        }
    }
}

/// What a condition waits for: its first comparison that does not hold now.
fn awaited(condition: &Trigger, parts: &[Part]) -> Awaited {
    let open = condition
        .all
        .iter()
        .zip(parts)
        .find(|(wanted, part)| !part.now.is_some_and(|now| wanted.op.holds(now, wanted.bound)));
    let Some(wanted) = open.map(|(wanted, _)| wanted).or(condition.all.first()) else {
        return Awaited::Condition {
            quoted: condition.text.clone(),
        };
    };
    let is_holding = |one: &Expectation| one.metric == Metric::Holding;
    let mut others = condition.all.iter().filter(|other| other.arm != wanted.arm);
    let is_each = is_holding(wanted) && wanted.op == Op::AtLeast && others.any(is_holding);
    Awaited::Figure {
        arm: (!is_each).then(|| wanted.arm.clone()),
        figure: wanted.metric,
        op: wanted.op,
        bound: wanted.bound,
    }
}

/// How near a condition came to being true: the first comparison that never held, with its best figure.
fn progress(condition: &Trigger, parts: &[Part]) -> Unmet {
    let never = condition
        .all
        .iter()
        .zip(parts)
        .find(|(wanted, part)| !part.best.is_some_and(|best| wanted.op.holds(best, wanted.bound)));
    match never {
        None => Unmet::NeverWhole {
            quoted: condition.text.clone(),
        },
        Some((wanted, Part { best: None, .. })) => Unmet::NeverChecked {
            arm: wanted.arm.clone(),
            figure: wanted.metric,
        },
        Some((wanted, Part { best: Some(best), .. })) => Unmet::NeverHeld {
            arm: wanted.arm.clone(),
            figure: wanted.metric,
            best: *best,
            op: wanted.op,
            bound: wanted.bound,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::facts::NoEffect;
    use lockstorm_data::model::{Action, Condition, Fault, HostId};
    use lockstorm_data::scenario::FaultSpec;

    const fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn kill(start: FaultStart, host: usize, lasts: Option<Duration>) -> FaultSpec {
        FaultSpec {
            start,
            action: Fault::Kill.into(),
            targets: Targets::Named(vec![Target::Host(HostId(host))]),
            lasts,
            title: None,
            caption: None,
            teaches: None,
        }
    }

    fn held(arm: &str, metric: Metric, op: Op, bound: f64) -> Expectation {
        Expectation {
            arm: arm.to_owned(),
            metric,
            op,
            bound,
            text: String::new(),
        }
    }

    fn when(all: Vec<Expectation>) -> FaultStart {
        let text = "the condition".to_owned();
        FaultStart::When(Trigger { text, all })
    }

    fn at_48() -> FaultStart {
        when(vec![held("single", Metric::Holding, Op::AtLeast, 48.0)])
    }

    /// What comes next, and when.
    fn next(schedule: &Schedule) -> (String, Option<f64>) {
        let next = schedule.next().expect("something comes");
        (next.step.to_string(), next.at)
    }

    fn told(text: &str, at: Option<f64>) -> (String, Option<f64>) {
        (text.to_owned(), at)
    }

    #[test]
    fn what_happens_next_has_its_time_or_its_condition() {
        let mut schedule = Schedule::new(&[
            kill(at_48(), 1, Some(Duration::from_millis(300))),
            kill(FaultStart::At(secs(8)), 2, Some(secs(4))),
            kill(FaultStart::After(2, Duration::from_millis(300)), 3, None),
        ]);
        let host = |n| Target::Host(HostId(n));
        assert!(schedule.due(secs(1), |_, _| 31.0).is_empty());
        assert_eq!(next(&schedule), told("host 1 bounces when single has 48 held", None));
        let due = schedule.due(secs(2), |_, _| 48.0);
        schedule.reported(due[0], Some(secs(2)));
        assert_eq!(next(&schedule), told("host 2 dies", Some(8.0)), "a bounce is one deed");
        assert_eq!(schedule.next().unwrap().returns, [host(1)]);
        let due = schedule.due(secs(8), |_, _| 0.0);
        for due in due {
            schedule.reported(due, Some(secs(9)));
        }
        assert_eq!(next(&schedule), told("host 3 dies", Some(9.3)));
        assert_eq!(schedule.next().unwrap().returns, [host(2)]);
        let due = schedule.due(secs(10), |_, _| 0.0);
        schedule.reported(due[0], Some(secs(10)));
        assert_eq!(next(&schedule), told("host 2 returns", Some(13.0)));
        schedule.due(secs(13), |_, _| 0.0);
        assert_eq!(schedule.next(), None);
    }

    #[test]
    fn the_story_is_told_in_the_order_of_the_file() {
        let schedule = Schedule::new(&[
            kill(FaultStart::At(secs(1)), 1, None),
            kill(at_48(), 2, None),
            kill(FaultStart::After(2, secs(3)), 3, None),
        ]);
        assert_eq!(next(&schedule), told("host 1 dies", Some(1.0)));
        let schedule = Schedule::new(&[kill(FaultStart::After(2, secs(3)), 1, None), kill(at_48(), 2, None)]);
        assert_eq!(next(&schedule), told("host 2 dies when single has 48 held", None));
        let schedule = Schedule::new(&[kill(FaultStart::After(2, secs(3)), 1, None)]);
        assert_eq!(next(&schedule), told("host 1 dies 3 s after fault 2", None));
    }

    #[test]
    fn a_schedule_that_is_held_waits_for_a_step_and_is_late_afterwards() {
        let mut schedule = Schedule::new(&[
            kill(FaultStart::At(secs(2)), 1, Some(secs(3))),
            kill(FaultStart::After(1, secs(8)), 2, Some(Duration::from_millis(300))),
            kill(FaultStart::At(secs(20)), 3, None),
        ]);
        let due = |schedule: &mut Schedule, now| {
            let due = schedule.due(secs(now), |_, _| 0.0);
            for due in &due {
                schedule.reported(*due, Some(secs(now)));
            }
            due.iter().map(|due| (due.fault, due.undo)).collect::<Vec<_>>()
        };
        schedule.hold(true, secs(0));
        assert!(schedule.is_held());
        assert!(due(&mut schedule, 10).is_empty());
        assert_eq!(next(&schedule), told("host 1 dies", None));
        assert!(schedule.step());
        assert_eq!(due(&mut schedule, 10), [(1, false)]);
        assert!(due(&mut schedule, 30).is_empty(), "it does not end by itself");
        assert_eq!(next(&schedule), told("host 1 returns", None));
        assert!(schedule.step());
        assert_eq!(due(&mut schedule, 31), [(1, true)]);
        assert!(schedule.step());
        assert_eq!(due(&mut schedule, 32), [(2, false)]);
        assert_eq!(due(&mut schedule, 33), [(2, true)], "a bounce is one deed, held or not");
        schedule.hold(false, secs(40));
        // The last step was to second 10 of the schedule, and it goes on from there.
        assert_eq!(next(&schedule), told("host 3 dies", Some(50.0)));
        assert!(due(&mut schedule, 49).is_empty());
        assert_eq!(due(&mut schedule, 50), [(3, false)]);
        assert!(!schedule.step(), "nothing comes any more");
    }

    #[test]
    fn the_condition_that_does_not_hold_yet_is_named() {
        let mut schedule = Schedule::new(&[kill(
            when(vec![
                held("single", Metric::Holding, Op::AtLeast, 48.0),
                held("redlock", Metric::Holding, Op::AtLeast, 48.0),
                held("redlock", Metric::Acquired, Op::AtLeast, 260.0),
                held("redlock", Metric::Partial, Op::Equal, 0.0),
                held("redlock", Metric::AcquireP99, Op::Less, 5_000.0),
            ]),
            1,
            None,
        )]);
        let mut say = |holding: f64, acquired: f64, partial: f64| {
            schedule.due(secs(1), |_, metric| match metric {
                Metric::Partial => partial,
                Metric::Acquired => acquired,
                Metric::Holding => holding,
                _ => 6_000.0,
            });
            next(&schedule).0
        };
        assert_eq!(say(40.0, 9.0, 2.0), "host 1 dies when each lock has 48 held");
        assert_eq!(
            say(50.0, 9.0, 2.0),
            "host 1 dies when redlock has been granted 260 locks"
        );
        assert_eq!(
            say(50.0, 300.0, 2.0),
            "host 1 dies at the moment when all locks of redlock have all votes"
        );
        assert_eq!(say(50.0, 300.0, 0.0), "host 1 dies when redlock.acquire_p99 < 5.0 ms");
        assert_eq!(
            schedule.unmet(1).to_string(),
            "fault 1 never fired: redlock.acquire_p99 was 6.0 ms at best, not < 5.0 ms"
        );
    }

    #[test]
    fn a_fault_that_never_fired_has_its_best_progress() {
        let mut schedule = Schedule::new(&[
            kill(at_48(), 1, None),
            kill(FaultStart::At(secs(60)), 2, None),
            kill(FaultStart::After(2, secs(1)), 3, None),
        ]);
        for holding in [7.0, 31.0, 12.0] {
            schedule.due(secs(1), |_, _| holding);
        }
        assert_eq!(
            schedule.unmet(1).to_string(),
            "fault 1 never fired: single.holding reached 31 of 48"
        );
        assert_eq!(schedule.unmet(2).to_string(), "fault 2 never fired: it was due at 60 s");
        assert_eq!(
            schedule.unmet(3).to_string(),
            "fault 3 never fired: it waited for fault 2"
        );
    }

    #[test]
    fn a_late_fault_is_pending_and_counts_from_its_effect() {
        let mut schedule = Schedule::new(&[kill(FaultStart::At(secs(1)), 1, Some(secs(2)))]);
        let due = schedule.due(secs(1), |_, _| 0.0);
        schedule.not_yet(due[0], NoEffect::NotVerified { within_s: 10 });
        assert_eq!(schedule.without_effect(), [1]);
        assert_eq!(schedule.unmet(1).to_string(), "fault 1 was not verified within 10 s");
        assert!(schedule.due(secs(12), |_, _| 0.0).is_empty(), "its time has not begun");
        schedule.reported(due[0], Some(secs(15)));
        assert!(schedule.without_effect().is_empty());
        assert!(schedule.due(secs(16), |_, _| 0.0).is_empty());
        assert_eq!(
            schedule.due(secs(17), |_, _| 0.0)[0].action,
            Action::Undo(Condition::Down)
        );
    }

    #[test]
    fn a_fault_that_failed_says_why() {
        let mut schedule = Schedule::new(&[kill(FaultStart::At(secs(1)), 1, None)]);
        let due = schedule.due(secs(1), |_, _| 0.0);
        let quoted = "there is no host 1".to_owned();
        schedule.not_yet(due[0], NoEffect::Failed { quoted });
        schedule.reported(due[0], None);
        assert_eq!(
            schedule.unmet(1).to_string(),
            "fault 1 had no effect: there is no host 1"
        );
    }
}
