use std::time::Duration;

use super::clock::Clock;
use lockstorm_data::facts::{NoEffect, Unmet};
use lockstorm_data::metrics::Metric;
use lockstorm_data::model::{Action, Fault, Obstacle, Seats, Target, Targets};
use lockstorm_data::scenario::{FaultSpec, FaultStart, Op, Trigger};

/// A host that is killed and back within this time counts as bounced.
const BOUNCE: Duration = Duration::from_secs(1);

/// The faults of a scenario, and the stage of each. Pure: time and figures go in, and what is due comes out.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// The scenario's faults, then those that were added.
    entries: Vec<Entry>,
    /// How many are the scenario's own.
    scripted: usize,
    /// Which hosts have the master and the replicas, as far as is known; whoever asks what is due keeps it.
    pub seats: Seats,
    /// The faults that were due and hit nobody, and why, until somebody asks.
    missed: Vec<(usize, Unmet)>,
    /// The clock of the scenario's own faults.
    pub(super) clock: Clock,
    /// What stands in the way of the next act.
    pub(super) obstacle: Option<(Target, Obstacle)>,
    /// The fault of which it was told that the story waits before it.
    pub(super) told: Option<usize>,
}

/// One action that is due now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The number of the fault, from 1.
    pub fault: usize,
    /// The action.
    pub action: Action,
    /// Its target.
    pub target: Target,
    /// Whether this ends the fault, instead of beginning it.
    pub undo: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) spec: FaultSpec,
    pub(super) stage: FaultStage,
    /// The progress of each comparison of its condition.
    pub(super) parts: Vec<Part>,
    /// Why it has not taken effect although it was ordered.
    pub(super) trouble: Option<Unmet>,
    /// Whether a key began it, and not the schedule.
    pub(super) is_by_hand: bool,
    /// Those that are being brought back.
    pub(super) undoing: Vec<Target>,
    /// Whether its next step is to be taken whatever its time is.
    pub(super) is_forced: bool,
}

/// The progress of one comparison of a condition; `None` until it is checked.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Part {
    /// The figure when it was last checked.
    pub(super) now: Option<f64>,
    /// The figure that was nearest to the bound.
    pub(super) best: Option<f64>,
}

impl Entry {
    fn new(spec: FaultSpec) -> Self {
        let parts = match &spec.start {
            FaultStart::When(condition) => vec![Part::default(); condition.all.len()],
            FaultStart::At(_) | FaultStart::After(..) => Vec::new(),
        };
        Self {
            spec,
            stage: FaultStage::Waiting,
            parts,
            trouble: None,
            is_by_hand: false,
            undoing: Vec::new(),
            is_forced: false,
        }
    }

    /// Whether it is a death that is over at once: one deed, which nothing cuts in two.
    pub(super) fn is_bounce(&self) -> bool {
        let is_short = self.spec.lasts.is_some_and(|lasts| lasts <= BOUNCE);
        is_short && self.spec.action == Action::Fault(Fault::Kill)
    }
}

/// The stage of a fault. `at` is by the clock of the schedule, `since` by that of the run.
#[derive(Debug, Clone)]
pub(super) enum FaultStage {
    /// Not begun.
    Waiting,
    /// Ordered. `pending` targets have not reported yet; `hit` are those on which it has taken effect, the last one at
    /// `at`.
    Ordered {
        pending: usize,
        at: Duration,
        since: Duration,
        hit: Vec<Target>,
    },
    /// The last target took effect (or failed) at `at`. Those in `hit` are still to be undone.
    InEffect {
        at: Duration,
        since: Duration,
        hit: Vec<Target>,
    },
    /// Over: it was undone, or it is permanent. `at` is `None` if no target was hit.
    Over { at: Option<Duration> },
}

impl Schedule {
    /// The faults of a scenario, none begun.
    pub fn new(faults: &[FaultSpec]) -> Self {
        let entries = faults.iter().cloned().map(Entry::new).collect();
        Self {
            entries,
            scripted: faults.len(),
            seats: Seats::default(),
            missed: Vec::new(),
            clock: Clock::default(),
            obstacle: None,
            told: None,
        }
    }

    /// Holds the scenario's faults from `now` on: none begins by itself, and none ends, except a bounce. Or lets them go on, later
    /// by as long as they were held.
    pub fn hold(&mut self, hold: bool, now: Duration) {
        self.clock.hold(hold, now);
    }

    /// Whether the scenario's faults are held.
    pub const fn is_held(&self) -> bool {
        self.clock.is_held()
    }

    /// Adds a fault that is not the scenario's, and returns its number.
    pub fn add(&mut self, fault: FaultSpec) -> usize {
        self.entries.push(Entry::new(fault));
        self.entries.len()
    }

    /// The faults that were due since the last call and had nobody to hit, and why.
    pub fn missed(&mut self) -> Vec<(usize, Unmet)> {
        std::mem::take(&mut self.missed)
    }

    /// Whether fault `number` is one of the scenario's.
    pub const fn is_scripted(&self, number: usize) -> bool {
        number <= self.scripted
    }

    /// What is due at `now`, which counts from the start of the measured part. Each action is returned once. `figure`
    /// returns the present figure of an arm.
    pub fn due(&mut self, now: Duration, figure: impl Fn(&str, Metric) -> f64) -> Vec<Due> {
        let mut due = Vec::new();
        let (clock, is_held) = (self.clock.at(now), self.clock.is_held());
        let blocked = self.obstacle.as_ref().and(self.next_act());
        for index in 0..self.entries.len() {
            let fault = index + 1;
            let is_held = is_held && index < self.scripted;
            let other = match self.entries[index].spec.start {
                FaultStart::After(other, _) => self.effect_of(other),
                FaultStart::At(_) | FaultStart::When(_) => None,
            };
            let entry = &mut self.entries[index];
            let is_bounce = entry.is_bounce();
            let waiting = matches!(entry.stage, FaultStage::Waiting) && blocked != Some(fault);
            let ripe = waiting
                && match &entry.spec.start {
                    FaultStart::At(at) => clock >= *at,
                    FaultStart::When(condition) => holds(condition, &mut entry.parts, &figure),
                    FaultStart::After(_, delay) => other.is_some_and(|at| clock >= at + *delay),
                };
            if waiting && entry.is_forced || ripe && !is_held {
                entry.is_forced = false;
                let mut targets = match &entry.spec.targets {
                    Targets::Named(targets) => targets.clone(),
                    Targets::By(seat) => match self.seats.of(*seat) {
                        targets if targets.is_empty() => {
                            let why = Unmet::NoTarget { seat: *seat };
                            entry.stage = FaultStage::Over { at: None };
                            entry.trouble = Some(why.clone());
                            self.missed.push((fault, why));
                            continue;
                        }
                        targets => targets,
                    },
                };
                if let Action::Fault(fault) = entry.spec.action
                    && fault.is_for_one()
                {
                    // The replicas come with the most advanced one first.
                    targets.truncate(1);
                }
                entry.stage = FaultStage::Ordered {
                    pending: targets.len(),
                    at: clock,
                    since: now,
                    hit: Vec::new(),
                };
                let action = entry.spec.action;
                due.extend(targets.into_iter().map(|target| Due {
                    fault,
                    action,
                    target,
                    undo: false,
                }));
            } else if let (FaultStage::InEffect { at, since, hit }, Some(lasts)) = (&entry.stage, entry.spec.lasts)
                && (entry.is_forced
                    // What is one deed is not held in the middle of it.
                    || if is_bounce { now >= *since + lasts } else { clock >= *at + lasts && !is_held })
            {
                due.extend(hit.iter().filter_map(|&target| {
                    let action = entry.spec.action.undo(target.kind())?;
                    let undo = true;
                    Some(Due {
                        fault,
                        action,
                        target,
                        undo,
                    })
                }));
                entry.undoing.clone_from(hit);
                entry.stage = FaultStage::Over { at: Some(*at) };
            }
        }
        due
    }

    /// Takes the result of a [`Due`]. Only one that began a fault matters: `effect` is since when it is there, `None` if it
    /// failed.
    pub fn reported(&mut self, due: Due, effect: Option<Duration>) {
        let by_clock = effect.map(|effect| self.clock.at(effect));
        let Some(entry) = self.entry_mut(due.fault) else {
            return;
        };
        if due.undo {
            entry.undoing.retain(|target| *target != due.target);
            return;
        }
        let FaultStage::Ordered {
            pending,
            at,
            since,
            hit,
        } = &mut entry.stage
        else {
            return;
        };
        *pending = pending.saturating_sub(1);
        if let (Some(effect), Some(by_clock)) = (effect, by_clock) {
            (*at, *since) = ((*at).max(by_clock), (*since).max(effect));
            hit.push(due.target);
        }
        if *pending == 0 {
            let (at, since, hit) = (*at, *since, std::mem::take(hit));
            entry.stage = match hit.is_empty() {
                // The key failed, and the schedule did not.
                true if std::mem::take(&mut entry.is_by_hand) => FaultStage::Waiting,
                true => FaultStage::Over { at: None },
                false => FaultStage::InEffect { at, since, hit },
            };
        }
    }

    /// Notes why a [`Due`] that began a fault has not taken effect: it failed, or it is late and may still come.
    pub fn not_yet(&mut self, due: Due, why: NoEffect) {
        if !due.undo
            && let Some(entry) = self.entry_mut(due.fault)
        {
            entry.trouble = Some(Unmet::NoEffect { error: Some(why) });
        }
    }

    /// The numbers of the scenario's faults that have not taken effect: they never began, or failed.
    pub fn without_effect(&self) -> Vec<usize> {
        (1..=self.scripted)
            .filter(|&fault| self.effect_of(fault).is_none())
            .collect()
    }

    /// Whether nothing is under way, and nothing is left to begin or to be undone.
    pub fn is_over(&self) -> bool {
        self.entries.iter().all(|entry| match &entry.stage {
            FaultStage::Waiting => !self.can_begin(entry),
            FaultStage::Ordered { .. } => false,
            FaultStage::InEffect { .. } => entry.spec.lasts.is_none(),
            FaultStage::Over { .. } => entry.undoing.is_empty(),
        })
    }

    /// Whether a fault that waits may still begin: one that comes after another can't once that has had no effect.
    fn can_begin(&self, entry: &Entry) -> bool {
        let FaultStart::After(other, _) = entry.spec.start else {
            return true;
        };
        self.entry(other).is_some_and(|other| match other.stage {
            FaultStage::Waiting => self.can_begin(other),
            FaultStage::Over { at } => at.is_some(),
            FaultStage::Ordered { .. } | FaultStage::InEffect { .. } => true,
        })
    }

    /// The scenario's own faults.
    pub(super) fn scripted(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().take(self.scripted)
    }

    /// The number of the fault that begins the next act.
    pub(super) fn next_act(&self) -> Option<usize> {
        let waits = |entry: &Entry| entry.spec.title.is_some() && matches!(entry.stage, FaultStage::Waiting);
        self.scripted().position(waits).map(|index| index + 1)
    }

    /// All faults, those by hand too.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    pub(super) fn entry(&self, fault: usize) -> Option<&Entry> {
        self.entries.get(fault.wrapping_sub(1))
    }

    pub(super) fn entry_mut(&mut self, fault: usize) -> Option<&mut Entry> {
        self.entries.get_mut(fault.wrapping_sub(1))
    }

    /// When a fault took effect, by the clock of the schedule, if it has.
    pub(super) fn effect_of(&self, fault: usize) -> Option<Duration> {
        match self.entry(fault)?.stage {
            FaultStage::InEffect { at, .. } => Some(at),
            FaultStage::Over { at } => at,
            FaultStage::Waiting | FaultStage::Ordered { .. } => None,
        }
    }
}

/// Whether all comparisons hold; notes the progress of each.
fn holds(condition: &Trigger, parts: &mut [Part], figure: &impl Fn(&str, Metric) -> f64) -> bool {
    let mut all = true;
    for (wanted, part) in condition.all.iter().zip(parts) {
        let now = figure(&wanted.arm, wanted.metric);
        let better = |best: f64| match wanted.op {
            Op::AtLeast | Op::Greater => best.max(now),
            Op::AtMost | Op::Less => best.min(now),
            Op::Equal | Op::NotEqual if wanted.op.holds(best, wanted.bound) => best,
            Op::Equal | Op::NotEqual if (now - wanted.bound).abs() < (best - wanted.bound).abs() => now,
            Op::Equal => best,
            Op::NotEqual => now,
        };
        *part = Part {
            now: Some(now),
            best: Some(part.best.map_or(now, better)),
        };
        all &= wanted.op.holds(now, wanted.bound);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::model::{Condition, HostId, Seat, Way};
    use lockstorm_data::scenario::Expectation;

    const fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn kill(start: FaultStart, hosts: &[usize], lasts: Option<Duration>) -> FaultSpec {
        let targets = hosts.iter().map(|&host| Target::Host(HostId(host))).collect();
        FaultSpec {
            start,
            action: Fault::Kill.into(),
            targets: Targets::Named(targets),
            lasts,
            title: None,
            caption: None,
            teaches: None,
        }
    }

    fn quiet(_: &str, _: Metric) -> f64 {
        0.0
    }

    #[test]
    fn a_fault_starts_once_and_is_undone_after_its_verified_effect() {
        let mut schedule = Schedule::new(&[kill(FaultStart::At(secs(5)), &[1, 2], Some(secs(3)))]);
        assert!(schedule.due(secs(4), quiet).is_empty());
        let due = schedule.due(secs(5), quiet);
        assert_eq!(due.len(), 2);
        assert!(schedule.due(secs(6), quiet).is_empty(), "ordered once");
        schedule.reported(due[0], Some(secs(6)));
        assert_eq!(schedule.without_effect(), [1], "one target still pending");
        schedule.reported(due[1], Some(secs(7)));
        assert!(schedule.without_effect().is_empty());
        assert!(
            schedule.due(secs(9), quiet).is_empty(),
            "three seconds from the effect, not from the order"
        );
        let undo = schedule.due(secs(10), quiet);
        assert_eq!(
            undo.iter().map(|due| due.action).collect::<Vec<_>>(),
            [Action::Undo(Condition::Down); 2]
        );
        assert!(schedule.due(secs(60), quiet).is_empty(), "undone once");
        schedule.reported(undo[0], Some(secs(11)));
        assert!(!schedule.is_over(), "one host is not back yet");
        schedule.reported(undo[1], Some(secs(11)));
        assert!(schedule.is_over());
    }

    #[test]
    fn only_what_was_hit_is_undone_and_a_failed_fault_starts_no_other() {
        let mut schedule = Schedule::new(&[
            kill(FaultStart::At(secs(1)), &[1, 2], Some(secs(1))),
            kill(FaultStart::At(secs(1)), &[3], None),
            kill(FaultStart::After(2, secs(0)), &[4], None),
        ]);
        let due = schedule.due(secs(1), quiet);
        schedule.reported(due[0], Some(secs(2)));
        schedule.reported(due[1], None);
        schedule.reported(due[2], None);
        let later = schedule.due(secs(9), quiet);
        assert_eq!(later.len(), 1);
        assert_eq!(
            (later[0].action, later[0].target),
            (Action::Undo(Condition::Down), Target::Host(HostId(1)))
        );
        assert_eq!(schedule.without_effect(), [2, 3]);
        schedule.reported(later[0], Some(secs(9)));
        assert!(schedule.is_over(), "what comes after a fault that failed never begins");
    }

    #[test]
    fn a_seat_is_resolved_when_the_fault_starts_and_what_was_hit_is_undone() {
        let by = |seat, start| FaultSpec {
            targets: Targets::By(seat),
            ..kill(start, &[], Some(secs(2)))
        };
        let [host_1, host_2, host_3] = [1, 2, 3].map(HostId);
        let at = |n| FaultStart::At(secs(n));
        let mut schedule = Schedule::new(&[
            by(Seat::Primary, at(5)),
            by(Seat::Replicas, at(8)),
            by(Seat::Primary, at(9)),
        ]);
        let seats = |primary, replicas: &[HostId]| Seats {
            primary,
            replicas: replicas.to_vec(),
        };
        schedule.seats = seats(Some(host_1), &[host_2, host_3]);
        assert!(schedule.due(secs(4), quiet).is_empty());
        schedule.seats = seats(Some(host_2), &[host_3, host_1]);
        let due = schedule.due(secs(5), quiet);
        assert_eq!(
            due.iter().map(|due| due.target).collect::<Vec<_>>(),
            [Target::Host(host_2)]
        );
        schedule.reported(due[0], Some(secs(5)));
        schedule.seats = seats(Some(host_3), &[host_1, host_2]);
        let undo = schedule.due(secs(7), quiet);
        assert_eq!(
            (undo.len(), undo[0].undo, undo[0].target),
            (1, true, Target::Host(host_2))
        );
        assert_eq!(schedule.due(secs(8), quiet).len(), 2);

        let mut one = Schedule::new(&[FaultSpec {
            action: Fault::Failover { by: Way::Hand }.into(),
            lasts: None,
            ..by(Seat::Replicas, at(1))
        }]);
        one.seats = seats(Some(host_1), &[host_3, host_2]);
        let due = one.due(secs(1), quiet);
        assert_eq!(
            (due.len(), due[0].target),
            (1, Target::Host(host_3)),
            "only one becomes the master"
        );

        schedule.seats = seats(None, &[]);
        assert!(schedule.due(secs(9), quiet).is_empty());
        let missed = schedule.missed();
        assert_eq!(missed, [(3, Unmet::NoTarget { seat: Seat::Primary })]);
        assert!(schedule.missed().is_empty(), "told once");
        assert!(schedule.without_effect().contains(&3));
        assert_eq!(
            schedule.unmet(3).to_string(),
            "fault 3 had no effect: no node was known to be the master when it was due"
        );
    }

    #[test]
    fn after_counts_from_the_other_faults_effect() {
        let mut schedule = Schedule::new(&[
            kill(FaultStart::At(secs(1)), &[1], None),
            kill(FaultStart::After(1, secs(2)), &[2], None),
        ]);
        let due = schedule.due(secs(1), quiet);
        assert_eq!(due.len(), 1);
        assert!(schedule.due(secs(9), quiet).is_empty(), "no effect yet");
        schedule.reported(due[0], Some(secs(10)));
        assert!(schedule.due(secs(11), quiet).is_empty());
        assert_eq!(schedule.due(secs(12), quiet).len(), 1);
    }

    #[test]
    fn when_waits_for_all_parts_of_its_condition() {
        let part = |metric, op, bound| Expectation {
            arm: "redlock".to_owned(),
            metric,
            op,
            bound,
            text: String::new(),
        };
        let condition = Trigger {
            text: String::new(),
            all: vec![
                part(Metric::Holding, Op::AtLeast, 32.0),
                part(Metric::Partial, Op::Equal, 0.0),
            ],
        };
        let mut schedule = Schedule::new(&[kill(FaultStart::When(condition), &[1], None)]);
        let figures = |holding: f64, partial: f64| {
            move |_: &str, metric: Metric| if metric == Metric::Holding { holding } else { partial }
        };
        assert!(schedule.due(secs(1), figures(31.0, 0.0)).is_empty());
        assert!(schedule.due(secs(1), figures(40.0, 1.0)).is_empty());
        assert_eq!(schedule.due(secs(1), figures(32.0, 0.0)).len(), 1);
    }
}
