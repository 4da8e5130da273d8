//! A schedule in words: what comes next, and why a fault did not happen.

use std::time::Duration;

use super::faults_due::{Entry, Part, Schedule, Stage};
use lockstorm_data::metrics::{Metric, figure};
use lockstorm_data::model::{Action, Fault, Target, setting};
use lockstorm_data::scenario::{Expectation, FaultStart, Op, Trigger};

/// A host that is killed and back within this time counts as bounced.
const BOUNCE: Duration = Duration::from_secs(1);

impl Schedule {
    /// What the scenario will do by itself, the next first, a line each: `scheduled: bounce host 1 at 48 held, now 31`.
    pub fn scheduled(&self) -> Vec<String> {
        let mut lines: Vec<_> = self.scripted().filter_map(|entry| self.next_of(entry)).collect();
        lines.sort_by_key(|(at, _)| *at);
        lines
            .into_iter()
            .map(|(_, line)| format!("scheduled: {line}"))
            .collect()
    }

    /// Why fault `number` did not take effect, in one sentence.
    pub fn unmet(&self, number: usize) -> String {
        let Some(entry) = self.entry(number) else {
            return format!("there is no fault {number}");
        };
        let why = match (&entry.stage, &entry.spec.start, &entry.trouble) {
            (Stage::Waiting, FaultStart::At(at), _) => format!("never fired: it was due at {}", setting(*at)),
            (Stage::Waiting, FaultStart::When(condition), _) => {
                format!("never fired: {}", progress(condition, &entry.parts))
            }
            (Stage::Waiting, FaultStart::After(other, delay), _) => match self.effect_of(*other) {
                None => format!("never fired: it waited for fault {other}"),
                Some(at) => format!("never fired: it was due at {}", setting(at + *delay)),
            },
            (Stage::Ordered { .. }, _, Some(why)) => format!("was {why}"),
            (Stage::Ordered { .. }, _, None) => "was not verified before the end".to_owned(),
            (Stage::InEffect { .. } | Stage::Over { .. }, _, Some(why)) => format!("had no effect: {why}"),
            (Stage::InEffect { .. } | Stage::Over { .. }, _, None) => "had no effect".to_owned(),
        };
        format!("fault {number} {why}")
    }

    /// When an entry does something next (zero: at any moment), and what; `None` if it does nothing more, or the time is
    /// unknown.
    fn next_of(&self, entry: &Entry) -> Option<(Duration, String)> {
        let spec = &entry.spec;
        let deed = match spec.lasts {
            Some(lasts) if spec.action == Action::Fault(Fault::Kill) && lasts <= BOUNCE => {
                format!("bounce {}", spec.targets)
            }
            _ => spec.deed(),
        };
        match (&entry.stage, &spec.start) {
            (Stage::Waiting, FaultStart::At(at)) => Some((*at, format!("{deed} at {}", setting(*at)))),
            (Stage::Waiting, FaultStart::When(condition)) => Some((
                Duration::ZERO,
                format!("{deed} at {}", waiting_for(condition, &entry.parts)),
            )),
            (Stage::Waiting, FaultStart::After(other, delay)) => Some(match self.effect_of(*other) {
                Some(at) => (at + *delay, format!("{deed} at {}", setting(at + *delay))),
                None => (Duration::MAX, format!("{deed} {} after fault {other}", setting(*delay))),
            }),
            (Stage::InEffect { at, hit }, _) => {
                let (lasts, undo) = (spec.lasts?, spec.action.undo(hit.first()?.kind())?);
                let at = *at + lasts;
                Some((at, format!("{undo} {} at {}", list(hit), setting(at))))
            }
            (Stage::Ordered { .. } | Stage::Over { .. }, _) => None,
        }
    }
}

/// The first comparison that does not hold now, with its figure: `48 held, now 31`.
fn waiting_for(condition: &Trigger, parts: &[Part]) -> String {
    let open = condition
        .all
        .iter()
        .zip(parts)
        .find(|(wanted, part)| !part.now.is_some_and(|now| wanted.op.holds(now, wanted.bound)));
    let Some((wanted, part)) = open.or_else(|| condition.all.iter().zip(parts).next()) else {
        return condition.text.clone();
    };
    let now = part
        .now
        .map_or_else(String::new, |now| format!(", now {}", figure(wanted.metric, now)));
    let bound = figure(wanted.metric, wanted.bound);
    if wanted.metric == Metric::Holding && wanted.op == Op::AtLeast {
        let several = condition.all.iter().any(|other| other.arm != wanted.arm);
        let whose = if several {
            format!(" ({})", wanted.arm)
        } else {
            String::new()
        };
        return format!("{bound} held{now}{whose}");
    }
    if wanted.metric == Metric::Partial && wanted.op == Op::Equal && wanted.bound == 0.0 {
        let lacking = part.now.map_or_else(String::new, |now| {
            format!(", now {} lack some", figure(wanted.metric, now))
        });
        return format!("the moment when all locks of {} have all votes{lacking}", wanted.arm);
    }
    format!("{} {} {bound}{now}", name(wanted), wanted.op.sign())
}

/// How near a condition came to being true: the first comparison that never held, with its best figure.
fn progress(condition: &Trigger, parts: &[Part]) -> String {
    let never = condition
        .all
        .iter()
        .zip(parts)
        .find(|(wanted, part)| !part.best.is_some_and(|best| wanted.op.holds(best, wanted.bound)));
    match never {
        None => format!("\"{}\" never held as a whole", condition.text),
        Some((wanted, Part { best: None, .. })) => format!("{} was never checked", name(wanted)),
        Some((wanted, Part { best: Some(best), .. })) => {
            let (best, bound) = (figure(wanted.metric, *best), figure(wanted.metric, wanted.bound));
            match wanted.op {
                Op::AtLeast | Op::Greater => format!("{} reached {best} of {bound}", name(wanted)),
                op => format!("{} was {best} at best, not {} {bound}", name(wanted), op.sign()),
            }
        }
    }
}

fn name(wanted: &Expectation) -> String {
    format!("{}.{}", wanted.arm, wanted.metric.name())
}

fn list(targets: &[Target]) -> String {
    let names: Vec<_> = targets.iter().map(Target::to_string).collect();
    names.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::model::{Condition, HostId, Seat, Seats, Targets, Way};
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
            caption: None,
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

    #[test]
    fn scheduled_faults_have_their_progress_and_the_next_comes_first() {
        let mut schedule = Schedule::new(&[
            kill(FaultStart::At(secs(8)), 2, Some(secs(4))),
            kill(FaultStart::After(1, Duration::from_millis(300)), 3, None),
            kill(at_48(), 1, Some(Duration::from_millis(300))),
        ]);
        let due = schedule.due(secs(1), |_, _| 31.0);
        assert!(due.is_empty());
        assert_eq!(
            schedule.scheduled(),
            [
                "scheduled: bounce host 1 at 48 held, now 31",
                "scheduled: kill host 2 at 8 s",
                "scheduled: kill host 3 300 ms after fault 1",
            ]
        );
        let due = schedule.due(secs(8), |_, _| 31.0);
        schedule.reported(due[0], Some(secs(9)));
        assert_eq!(
            schedule.scheduled()[1..],
            ["scheduled: kill host 3 at 9.3 s", "scheduled: restart host 2 at 13 s"]
        );
    }

    #[test]
    fn a_seat_is_named_until_it_is_known_who_has_it() {
        let primary = FaultSpec {
            targets: Targets::By(Seat::Primary),
            ..kill(FaultStart::At(secs(12)), 1, Some(secs(4)))
        };
        let mut schedule = Schedule::new(&[primary]);
        assert_eq!(schedule.scheduled(), ["scheduled: kill the primary at 12 s"]);
        schedule.seats = Seats {
            primary: Some(HostId(3)),
            replicas: Vec::new(),
        };
        let due = schedule.due(secs(12), |_, _| 0.0);
        schedule.reported(due[0], Some(secs(12)));
        assert_eq!(schedule.scheduled(), ["scheduled: restart host 3 at 16 s"]);
        let failover = |by| FaultSpec {
            action: Fault::Failover { by }.into(),
            targets: Targets::By(Seat::Replicas),
            ..kill(FaultStart::At(secs(5)), 1, None)
        };
        let schedule = Schedule::new(&[failover(Way::Hand), failover(Way::Sentinel)]);
        assert_eq!(
            schedule.scheduled(),
            [
                "scheduled: fail over to the most advanced replica by hand at 5 s",
                "scheduled: fail over by Sentinel at 5 s"
            ]
        );
    }

    #[test]
    fn the_condition_that_does_not_hold_yet_is_named() {
        let part = |arm, metric, op, bound| held(arm, metric, op, bound);
        let mut schedule = Schedule::new(&[kill(
            when(vec![
                part("single", Metric::Holding, Op::AtLeast, 48.0),
                part("redlock", Metric::Holding, Op::AtLeast, 48.0),
                part("redlock", Metric::Partial, Op::Equal, 0.0),
            ]),
            1,
            None,
        )]);
        let mut say = |single: f64, redlock: f64, partial: f64| {
            schedule.due(secs(1), |arm, metric| match (arm, metric) {
                (_, Metric::Partial) => partial,
                ("single", _) => single,
                _ => redlock,
            });
            schedule.scheduled()[0].clone()
        };
        assert_eq!(
            say(50.0, 40.0, 2.0),
            "scheduled: kill host 1 at 48 held, now 40 (redlock)"
        );
        assert_eq!(
            say(50.0, 50.0, 2.0),
            "scheduled: kill host 1 at the moment when all locks of redlock have all votes, now 2 lack some"
        );
        assert_eq!(
            say(40.0, 40.0, 0.0),
            "scheduled: kill host 1 at 48 held, now 40 (single)"
        );
        assert_eq!(
            schedule.unmet(1),
            "fault 1 never fired: \"the condition\" never held as a whole"
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
            schedule.unmet(1),
            "fault 1 never fired: single.holding reached 31 of 48"
        );
        assert_eq!(schedule.unmet(2), "fault 2 never fired: it was due at 60 s");
        assert_eq!(schedule.unmet(3), "fault 3 never fired: it waited for fault 2");
    }

    #[test]
    fn a_late_fault_is_pending_and_counts_from_its_effect() {
        let mut schedule = Schedule::new(&[kill(FaultStart::At(secs(1)), 1, Some(secs(2)))]);
        let due = schedule.due(secs(1), |_, _| 0.0);
        schedule.not_yet(due[0], "not verified within 10s");
        assert_eq!(schedule.without_effect(), [1]);
        assert_eq!(schedule.unmet(1), "fault 1 was not verified within 10s");
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
        schedule.not_yet(due[0], "there is no host 1");
        schedule.reported(due[0], None);
        assert_eq!(schedule.unmet(1), "fault 1 had no effect: there is no host 1");
    }
}
