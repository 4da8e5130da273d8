//! What happened, fault by fault, and what each meant for every arm. A line is made from the causes and the damage that are known, so it
//! goes on growing for some seconds.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::columns::Arm;
use crate::report::figures::moment;
use lockstorm_data::facts::{Event, EventKind};
use lockstorm_data::metrics::units::{count, micros};
use lockstorm_data::metrics::{Consequence, ConsequenceKind, Group, Metric, Series};
use lockstorm_data::model::{Action, Condition, Fault, HostId, Target};
use lockstorm_data::scenario::Persistence;

/// How long damage counts as that of the fault before it, in seconds.
const AFTERMATH: f64 = 5.0;
/// A node that is away for less than this has bounced, in seconds.
const BOUNCE: f64 = 1.0;
/// Events of a kind that follow each other within this are one, in seconds.
const TOGETHER: f64 = 3.0;
/// Of those, what follows within this has no time of its own, in seconds.
const SAME: f64 = 0.5;
/// An outage that is worth telling, in microseconds.
const LONG_US: u64 = 1_000_000;

/// Something that happened, and its consequences.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Moment {
    /// When, in seconds.
    pub at: f64,
    /// One letter for it on a time axis; none for what is no fault.
    pub letter: Option<char>,
    /// What happened.
    pub what: String,
    /// What it meant, the most important first.
    pub meant: Vec<String>,
    /// Whether that is damage.
    pub is_bad: bool,
    /// Whether it is a warning to readers of the figures.
    pub is_warning: bool,
    /// Whether a host came back by it.
    is_return: bool,
    /// What is said of the host if keys were lost by it.
    lost: &'static str,
    /// Whether an old master came back with it.
    brings_old_master: bool,
    /// The events that it is made of.
    events: Vec<u64>,
    /// Until when what is lost is its doing; `None` if it is no fault.
    until: Option<f64>,
}

impl Moment {
    /// What happened and what it meant, in one line.
    pub fn in_words(&self) -> String {
        match self.meant.as_slice() {
            [] => self.what.clone(),
            meant => format!("{} → {}", self.what, meant.join("; ")),
        }
    }

    fn has(&self, event: Option<u64>) -> bool {
        event.is_some_and(|event| self.events.contains(&event))
    }

    /// True if locks of the arm were unavailable in this second through this fault, for [`LONG_US`] or longer.
    fn keeps_out(&self, arm: &Arm<'_>, second: f64) -> bool {
        let long = arm.figures.outages.iter().filter(|outage| outage.lasted_us >= LONG_US);
        long.filter(|outage| self.has(outage.event)).any(|outage| {
            let until = outage.at + outage.lasted_us as f64 / 1e6;
            outage.at.floor() <= second && second < until.ceil()
        })
    }

    /// True if the arm's locks had enough votes left in spite of it.
    fn was_survived_by(&self, arm: &Arm<'_>) -> bool {
        let mut its = arm.figures.consequences.iter().filter(|one| self.has(one.event));
        its.any(|one| {
            matches!(
                one.kind,
                ConsequenceKind::KeptVotes { .. } | ConsequenceKind::KeptByOthers { .. }
            )
        })
    }

    /// Whether it is known to have let others in while locks of this arm were held.
    fn opened_locks_of(&self, arm: &Arm<'_>) -> bool {
        let mut its = arm.figures.consequences.iter().filter(|one| self.has(one.event));
        let by_old_master = self.brings_old_master && arm.figures.granted_by_old_master > 0;
        by_old_master
            || its.any(|one| match one.kind {
                ConsequenceKind::Forgot { .. }
                | ConsequenceKind::EmptinessReplicated { .. }
                | ConsequenceKind::LostAtFailover { .. }
                | ConsequenceKind::PausedPastTtl { .. } => true,
                // It granted from its return on.
                ConsequenceKind::GrantedByOldMaster { .. }
                | ConsequenceKind::KeptVotes { .. }
                | ConsequenceKind::KeptByOthers { .. } => false,
                ConsequenceKind::Refused { .. }
                | ConsequenceKind::Delayed { .. }
                | ConsequenceKind::Orphaned { .. }
                | ConsequenceKind::OutlivedHolder { .. } => false,
            })
    }
}

/// What happened in a run, oldest first. `cost` is the damage of its workload that is known by the second.
pub(crate) fn moments(events: &[Event], arms: &[Arm<'_>], cost: Metric) -> Vec<Moment> {
    let mut moments: Vec<Moment> = Vec::new();
    let (mut found, mut hit): (BTreeMap<&str, usize>, BTreeSet<&str>) = Default::default();
    for event in events {
        let text = || event.text();
        let (mut is_return, mut lost) = (false, memory(None));
        let (what, letter) = match &event.kind {
            EventKind::Fault { error: Some(_), .. } => (text(), Some('?')),
            EventKind::Fault {
                action,
                target,
                ends,
                effect_at,
                returned_with,
                ..
            } => {
                let ended = ends.and_then(|id| moments.iter().position(|moment| moment.events.contains(&id)));
                let at = event.came_true_at();
                let is_bounce =
                    |moment: &Moment| matches!(action, Action::Undo(Condition::Down)) && at - moment.at < BOUNCE;
                if let Some(moment) = ended
                    .map(|ended| &mut moments[ended])
                    .filter(|moment| is_bounce(moment))
                {
                    let plain = [Fault::Kill, Fault::Shutdown].map(|fault| Some(Action::Fault(fault).mark()));
                    if plain.contains(&moment.letter) {
                        moment.what = format!("{target} bounced");
                        moment.letter = Some('B');
                    }
                    moment.lost = memory(*returned_with);
                    moment.events.push(event.id);
                    moment.until = Some(at + AFTERMATH);
                    continue;
                }
                lost = match action {
                    Action::Undo(Condition::Down) => memory(*returned_with),
                    // Nobody went away.
                    _ if action.loses_while_up() => "",
                    _ => lost,
                };
                is_return = *action == Action::Undo(Condition::Down) && effect_at.is_some();
                let mark = action.mark();
                let letter = effect_at.map_or_else(|| mark.to_ascii_lowercase(), |_| mark);
                (done(*action, *target, effect_at.is_some()), Some(letter))
            }
            EventKind::Failover { host, .. } => (format!("{host} is the master now"), Some('M')),
            EventKind::Demoted { host } => (format!("{host} learns that it is a replica"), Some('M')),
            EventKind::DoubleHold { arm, .. } => {
                join(&mut moments, &mut found, event, ("two held one lock at once", arm));
                continue;
            }
            EventKind::Damage { arm, .. } if hit.insert(arm) => {
                join(&mut moments, &mut found, event, ("first damage", arm));
                continue;
            }
            EventKind::Warning { .. }
            | EventKind::Knob { .. }
            | EventKind::Cluster { .. }
            | EventKind::Leader { .. } => (text(), None),
            EventKind::Phase { .. }
            | EventKind::Proxy { .. }
            | EventKind::Lock { .. }
            | EventKind::Caption { .. }
            | EventKind::Damage { .. } => continue,
        };
        let at = event.came_true_at();
        moments.push(Moment {
            at,
            letter,
            what,
            meant: Vec::new(),
            is_bad: false,
            is_warning: matches!(event.kind, EventKind::Warning { .. }),
            is_return,
            lost,
            brings_old_master: false,
            events: vec![event.id],
            until: letter.map(|_| at + AFTERMATH),
        });
    }
    // What was ordered first may take effect later.
    moments.sort_by(|one, other| one.at.total_cmp(&other.at));
    // A node that was a master grants again from its return on; one that was never away, from the change on.
    let changed = arms.iter().filter_map(|arm| {
        let by_old = |one: &&Consequence| matches!(one.kind, ConsequenceKind::GrantedByOldMaster { .. });
        Some(arm.figures.consequences.iter().find(by_old)?.at)
    });
    if let Some(changed) = changed.min_by(f64::total_cmp) {
        let back = return_of_master(events, changed);
        let returned = moments
            .iter()
            .position(|one| back.is_some_and(|id| one.events.contains(&id)));
        let of_change = || moments.iter().rposition(|one| one.at <= changed + 1e-3);
        if let Some(index) = returned.or_else(of_change) {
            moments[index].brings_old_master = true;
        }
    }
    let doings: Vec<_> = arms.iter().map(|arm| doings(&moments, arm, cost)).collect();
    for (index, moment) in moments.iter_mut().enumerate() {
        tell(moment, arms, doings.iter().map(|of_arm| of_arm[index]), cost);
    }
    moments
}

/// What an arm lost by a moment.
#[derive(Debug, Clone, Copy, Default)]
struct Doing {
    lost: u64,
    /// Whether some of what was lost within its time is another moment's doing, or some of this was lost after it.
    is_part: bool,
}

/// What an arm lost by each moment. The loss of a second is assigned to the last fault that opened locks of this arm within its time; else
/// to the fault that caused the outage of that second; else to the last fault, unless the arm's locks survived it, or the arm had lost
/// something before the first one.
fn doings(moments: &[Moment], arm: &Arm<'_>, cost: Metric) -> Vec<Doing> {
    let mut all = vec![Doing::default(); moments.len()];
    let losses = losses(arm, cost);
    let is_fault = |moment: &&Moment| moment.until.is_some();
    let first = moments.iter().find(is_fault).map_or(0.0, |moment| moment.at.floor());
    let loses_anyway = losses.first().is_some_and(|(second, _)| (*second as f64) < first);
    for (second, lost) in losses {
        let second = second as f64;
        let has = |moment: &Moment| {
            let until = moment.until.is_some_and(|until| second < until.floor());
            until && moment.at.floor() <= second
        };
        let within: Vec<usize> = (0..moments.len()).filter(|index| has(&moments[*index])).collect();
        let opened = within.iter().rfind(|index| moments[**index].opened_locks_of(arm));
        let out = || moments.iter().position(|moment| moment.keeps_out(arm, second));
        let last = || {
            let last = within.last().copied().filter(|_| !loses_anyway);
            last.filter(|last| !moments[*last].was_survived_by(arm))
        };
        let Some(of) = opened.copied().or_else(out).or_else(last) else {
            continue;
        };
        all[of].lost += lost;
        all[of].is_part |= !within.contains(&of);
        for other in within.iter().filter(|other| **other != of) {
            all[*other].is_part = true;
        }
    }
    all
}

/// The event with which the host came back that had the master before the change at `changed`.
fn return_of_master(events: &[Event], changed: f64) -> Option<u64> {
    let mut masters = events.iter().filter_map(|event| match &event.kind {
        EventKind::Failover { host, .. } if event.at < changed - 1e-3 => Some(*host),
        _ => None,
    });
    // The first one is on host 1.
    let old = Target::Host(masters.next_back().unwrap_or(HostId(1)));
    events.iter().find_map(|event| match &event.kind {
        EventKind::Fault {
            action: Action::Undo(_),
            target,
            effect_at: Some(at),
            ..
        } if *target == old && *at >= changed => Some(event.id),
        _ => None,
    })
}

/// The seconds in which an arm with a lock lost something, and how much.
fn losses(arm: &Arm<'_>, cost: Metric) -> Vec<(i64, u64)> {
    let points = arm
        .series
        .filter(|_| arm.has(Group::Locks) && cost.is_damage())
        .into_iter();
    let lost = points
        .flat_map(Series::iter)
        .map(|point| (point.time, point.of(cost).unwrap_or(0)));
    lost.filter(|(_, lost)| *lost > 0).collect()
}

/// Adds an arm to what others have just suffered too.
fn join<'a>(
    moments: &mut Vec<Moment>,
    found: &mut BTreeMap<&'a str, usize>,
    event: &Event,
    (what, arm): (&'a str, &str),
) {
    if let Some(first) = found.get(what).map(|index| &mut moments[*index])
        && event.at - first.at < TOGETHER
    {
        let later = if event.at - first.at < SAME {
            String::new()
        } else {
            format!(" ({})", moment(event.at))
        };
        first.meant[0] = format!("{}, {arm}{later}", first.meant[0]);
        return;
    }
    found.insert(what, moments.len());
    moments.push(Moment {
        at: event.at,
        letter: None,
        what: what.to_owned(),
        meant: vec![arm.to_owned()],
        is_bad: true,
        is_warning: false,
        is_return: false,
        lost: "",
        brings_old_master: false,
        events: vec![event.id],
        until: None,
    });
}

/// How a host comes back that has lost keys, and that keeps them over a restart like this.
const fn memory(returned_with: Option<Persistence>) -> &'static str {
    match returned_with {
        None | Some(Persistence::None) => " EMPTY",
        Some(_) => " with what it kept",
    }
}

/// A fault in words, once it has taken effect.
fn done(action: Action, target: Target, is_so: bool) -> String {
    match action {
        _ if !is_so => format!("{} …", action.on(target)),
        Action::Undo(Condition::Down) => format!("{target} is back"),
        Action::Fault(fault) if matches!(target, Target::Host(_)) => match fault.happened() {
            Some(happened) => format!("{target} {happened}"),
            None => action.done_to(target),
        },
        _ => action.done_to(target),
    }
}

/// Fills in what a moment meant, with its doing to each arm.
fn tell(moment: &mut Moment, arms: &[Arm<'_>], doings: impl Iterator<Item = Doing>, cost: Metric) {
    let mut lists: BTreeMap<(u8, String), Vec<String>> = BTreeMap::new();
    let mut add = |rank, head: &str, item: String| lists.entry((rank, head.to_owned())).or_default().push(item);
    let mut is_empty = false;
    let head = cost.title_by_second();
    for (arm, Doing { lost, is_part }) in arms.iter().zip(doings) {
        let name = arm.name;
        let its = arm.figures.consequences.iter().filter(|one| moment.has(one.event));
        for Consequence { kind, .. } in its {
            match kind {
                ConsequenceKind::Forgot { locks } | ConsequenceKind::EmptinessReplicated { locks } => {
                    is_empty = true;
                    add(0, "forgotten", format!("{name} {}", count(*locks)));
                }
                ConsequenceKind::LostAtFailover { locks, of } => {
                    add(0, "it lacks", format!("{} of {} of {name}", count(*locks), count(*of)));
                }
                // Reported with the return of the old master.
                ConsequenceKind::GrantedByOldMaster { .. } => {}
                // What that meant is told by the time for which locks were unavailable.
                ConsequenceKind::Refused { .. }
                | ConsequenceKind::Delayed { .. }
                | ConsequenceKind::Orphaned { .. } => {}
                ConsequenceKind::OutlivedHolder { locks, .. } => {
                    add(
                        1,
                        "keys that outlived their holders",
                        format!("{name} {}", count(*locks)),
                    );
                }
                ConsequenceKind::PausedPastTtl { locks } => {
                    add(0, "held past their TTL", format!("{name} {}", count(*locks)));
                }
                ConsequenceKind::KeptVotes { votes, of, .. } => {
                    is_empty = true;
                    add(2, "kept", format!("{name} {votes} of {of} votes"));
                }
                ConsequenceKind::KeptByOthers { members, of, .. } => {
                    add(2, "kept", format!("{name} {members} of {of} members"));
                }
            }
        }
        if moment.brings_old_master && arm.figures.granted_by_old_master > 0 {
            let granted = count(arm.figures.granted_by_old_master);
            add(
                0,
                "still takes itself for the master and granted",
                format!("{name} {granted}"),
            );
        }
        let outage = arm
            .figures
            .outages
            .iter()
            .find(|outage| moment.has(outage.event) && outage.lasted_us >= LONG_US);
        if let Some(outage) = outage {
            let at_least = if outage.over { "" } else { "≥ " };
            add(
                3,
                "unavailable",
                format!("{name} {at_least}{}", micros(outage.lasted_us)),
            );
        }
        if lost > 0 {
            let within = if is_part {
                String::new()
            } else {
                format!(" in {AFTERMATH} s")
            };
            add(1, &format!("{head}{within}"), format!("{name} {}", count(lost)));
        }
    }
    moment.is_bad |= lists.keys().any(|(rank, _)| *rank < 2);
    if is_empty && !moment.lost.is_empty() {
        let comes = if moment.is_return { "" } else { ", came back" };
        moment.what += &format!("{comes}{}", moment.lost);
    }
    for ((_, head), items) in lists {
        moment.meant.push(format!("{head}: {}", items.join(", ")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::facts::OrderedBy;
    use lockstorm_data::metrics::{Entry, Figures, Outage};

    const HOST: Target = Target::Host(HostId(1));

    fn fault(id: u64, at: f64, action: Action, ends: Option<u64>) -> Event {
        let mut kind = EventKind::fault(action, HOST, OrderedBy::User, Some(at));
        if let EventKind::Fault { ends: of, .. } = &mut kind {
            *of = ends;
        }
        Event { id, at, kind }
    }

    fn damage(id: u64, at: f64, arm: &str) -> Event {
        let kind = EventKind::Damage {
            arm: arm.to_owned(),
            damage: Entry::LostUpdates,
            product: None,
            units: None,
            by_stall: false,
        };
        Event { id, at, kind }
    }

    /// An arm with these figures, that lost so many updates in these seconds.
    struct Told {
        name: &'static str,
        figures: Figures,
        series: Series,
    }

    impl Told {
        fn arm(&self) -> Arm<'_> {
            Arm {
                name: self.name,
                series: Some(&self.series),
                ..Arm::of_figures(&self.figures)
            }
        }
    }

    fn arm(name: &'static str, kinds: &[(u64, ConsequenceKind)], lost: &[(i64, u64)]) -> Told {
        let mut series = Series::default();
        for (second, lost) in lost {
            series.at(*second).unwrap().ledger[Entry::LostUpdates] = *lost;
        }
        let consequence = |(event, kind): &(u64, ConsequenceKind)| Consequence {
            at: 0.0,
            event: Some(*event),
            kind: *kind,
        };
        let figures = Figures {
            consequences: kinds.iter().map(consequence).collect(),
            ..Figures::default()
        };
        Told { name, figures, series }
    }

    fn told(events: &[Event], arms: &[Told]) -> Vec<String> {
        let arms: Vec<Arm<'_>> = arms.iter().map(Told::arm).collect();
        let all = moments(events, &arms, Metric::LostUpdates);
        all.iter()
            .map(|moment| format!("{} {}", moment.at, moment.in_words()))
            .collect()
    }

    const KILL: Action = Action::Fault(Fault::Kill);
    const RESTART: Action = Action::Undo(Condition::Down);

    #[test]
    fn a_host_that_is_back_at_once_has_bounced_and_what_it_forgot_is_told() {
        let kept = ConsequenceKind::KeptVotes {
            locks: 9,
            votes: 2,
            of: 3,
        };
        let arms = [
            arm(
                "single",
                &[(1, ConsequenceKind::Forgot { locks: 4 })],
                &[(4, 2), (8, 1), (9, 7)],
            ),
            // What an arm lost whose locks survived it has another cause.
            arm("redlock", &[(1, kept)], &[(5, 3)]),
        ];
        let events = [fault(0, 4.2, KILL, None), fault(1, 4.5, RESTART, Some(0))];
        assert_eq!(
            told(&events, &arms),
            [
                "4.2 host 1 bounced, came back EMPTY → forgotten: single 4; sales overwritten in 5 s: single 3; kept: redlock 2 of 3 votes"
            ]
        );
        // One that is back later has died.
        let events = [fault(0, 4.2, KILL, None), fault(1, 9.5, RESTART, Some(0))];
        let both = told(&events, &arms);
        assert_eq!(both.len(), 2);
        assert!(
            both[0].starts_with("4.2 host 1 died → sales overwritten in 5 s: single 3"),
            "{both:?}"
        );
        assert!(both[1].starts_with("9.5 host 1 is back EMPTY → forgotten"), "{both:?}");
        assert!(
            both[1].contains("sales overwritten in 5 s: single 7"),
            "each loss is told once: {both:?}"
        );
    }

    #[test]
    fn what_is_lost_belongs_to_the_fault_that_opened_the_lock() {
        let forgot = |event| (event, ConsequenceKind::Forgot { locks: 4 });
        let arms = [
            arm("single", &[forgot(1)], &[(5, 3), (7, 2)]),
            arm("both", &[forgot(1), forgot(3)], &[(5, 3), (7, 2)]),
            arm("neither", &[], &[(7, 5)]),
        ];
        let mut events = [(0, 4.2), (2, 6.5)].map(|(id, at)| {
            let (kill, back) = (fault(id, at, KILL, None), fault(id + 1, at + 0.3, RESTART, Some(id)));
            [kill, back]
        });
        for event in &mut events[1] {
            if let EventKind::Fault { target, .. } = &mut event.kind {
                *target = Target::Host(HostId(2));
            }
        }
        assert_eq!(
            told(&events.concat(), &arms),
            [
                "4.2 host 1 bounced, came back EMPTY → forgotten: single 4, both 4; sales overwritten: both 3; sales \
                 overwritten in 5 s: single 5",
                "6.5 host 2 bounced, came back EMPTY → forgotten: both 4; sales overwritten in 5 s: both 2, neither 5",
            ]
        );
    }

    #[test]
    fn what_an_arm_loses_anyway_is_no_fault_s_doing_and_what_it_loses_in_an_outage_is_that_of_its_fault() {
        let forgot = [(0, ConsequenceKind::Forgot { locks: 4 })];
        let anyway = [(1, 2), (4, 3)];
        let outage = Outage {
            at: 4.2,
            event: Some(0),
            lasted_us: 7_000_000,
            over: true,
            ..Outage::default()
        };
        let mut unlocked = arm("unlocked", &[], &anyway);
        unlocked.figures.outages = vec![Outage {
            lasted_us: LONG_US - 1,
            ..outage
        }];
        let mut open = arm("proceeds", &[], &[(4, 9), (10, 2), (11, 3), (12, 4)]);
        open.figures.outages = vec![outage];
        let arms = [unlocked, arm("forgetful", &forgot, &anyway), open];
        let events = [fault(0, 4.2, KILL, None), fault(1, 10.4, RESTART, Some(0))];
        assert_eq!(
            told(&events, &arms),
            [
                "4.2 host 1 died, came back EMPTY → forgotten: forgetful 4; sales overwritten: proceeds 14; sales overwritten in 5 s: \
                 forgetful 3; unavailable: proceeds 7.0 s",
                "10.4 host 1 is back → sales overwritten: proceeds 4",
            ]
        );
    }

    #[test]
    fn an_outage_is_told_once_it_is_long_and_with_what_caused_it() {
        let mut slow = arm("single", &[], &[]);
        let outage = |event, lasted_us, over| Outage {
            at: 4.2,
            event: Some(event),
            lasted_us,
            over,
            ..Outage::default()
        };
        slow.figures.outages = vec![outage(0, 12_000_000, false), outage(7, 5_000_000, true)];
        let mut quick = arm("redlock", &[], &[]);
        quick.figures.outages = vec![outage(0, 300_000, true)];
        let lines = told(&[fault(0, 4.2, KILL, None)], &[slow, quick]);
        assert_eq!(lines, ["4.2 host 1 died → unavailable: single ≥ 12 s"]);
    }

    #[test]
    fn the_first_damage_of_arms_is_told_together_and_of_each_arm_once() {
        let events = [
            damage(0, 5.0, "single"),
            damage(1, 6.0, "fixed"),
            damage(2, 6.5, "single"),
            damage(3, 30.0, "late"),
        ];
        assert_eq!(
            told(&events, &[]),
            ["5 first damage → single, fixed (6.0)", "30 first damage → late"]
        );
    }

    #[test]
    fn what_an_old_master_granted_is_told_where_it_came_back() {
        let kind = EventKind::Failover {
            host: HostId(2),
            cluster_masters: None,
            consequences: Vec::new(),
        };
        let failover = Event { id: 1, at: 8.0, kind };
        let mut other = fault(3, 15.0, RESTART, None);
        if let EventKind::Fault { target, .. } = &mut other.kind {
            *target = Target::Host(HostId(3));
        }
        let events = [
            fault(0, 4.2, KILL, None),
            failover,
            other,
            fault(2, 20.0, RESTART, Some(0)),
        ];
        let lines = |granted: u64| {
            let mut fixed = arm("fixed", &[], &[]);
            fixed.figures.granted_by_old_master = granted;
            let by_old = Consequence {
                at: 8.0,
                event: Some(1),
                kind: ConsequenceKind::GrantedByOldMaster { locks: granted },
            };
            fixed.figures.consequences = (granted > 0).then_some(by_old).into_iter().collect();
            told(&events, &[fixed])
        };
        let before = ["4.2 host 1 died", "8 host 2 is the master now", "15 host 3 is back"];
        assert_eq!(lines(0), [&before[..], &["20 host 1 is back"]].concat());
        let granted = "20 host 1 is back → still takes itself for the master and granted: fixed 5";
        assert_eq!(lines(5), [&before[..], &[granted]].concat());
    }
}
