//! What a run showed at an instant, as far as its record knows it. Nothing is made up: what the record has only in total is empty before
//! its end, and counts are those of the seconds that are over.

use std::sync::Arc;
use std::time::Duration;

use super::past_figures::{figures, known_at_end};
use lockstorm_data::facts::{Caveat, Event, EventKind};
use lockstorm_data::history::DoubleHold;
use lockstorm_data::metrics::{Point, Series};
use lockstorm_data::model::{Conditions, HostId, ServerId, Target};
use lockstorm_data::scenario::{ArmSpec, LockKind, LockNodes};
use lockstorm_judge::Judgement;
use lockstorm_lab::{NodeName, Role};
use lockstorm_run::{Act, ArmView, Health, HostView, Live, Outlasted, Phase, Record, ServerView, Snapshot};

/// The seconds of an hour.
const HOUR: i64 = 3600;

/// Over how many seconds the present rate is the mean.
const RECENT: usize = 5;

/// An arm stands still if it was refused its lock, or has answered nobody in more time than its own work takes, for so many seconds.
const STILL: Duration = Duration::from_secs(2);

/// What the run showed at second `at`; from its end on, all that its record has. `begun` is what was shown before.
pub(super) fn picture(record: &Record, begun: &Snapshot, at: f64) -> Snapshot {
    let is_over = at >= record.elapsed;
    let until = if is_over { f64::INFINITY } else { at };
    let at = at.min(record.elapsed);
    let happened = record.events.iter().filter(|event| event.at <= until);
    let mut events: Vec<Event> = happened.map(|event| known(event, until)).collect();
    let caption = |event: &Event| match &event.kind {
        EventKind::Caption { fault, quoted } => Some((*fault, quoted.clone())),
        _ => None,
    };
    let captions: Vec<(Option<usize>, String)> = events.iter().rev().filter_map(caption).collect();
    let hosts = hosts(record, &events, at);
    let hold = begun.knobs.hold;
    let past = Past {
        record,
        events: &events,
        hosts: &hosts,
        hold,
        until,
        at_end: record.judge(),
    };
    let arms: Vec<ArmView> = (0..record.arms.len()).map(|arm| past.arm(arm)).collect();
    let servers = (0..record.scenario.swarm.servers).map(|index| {
        let id = ServerId::from_index(index);
        let conditions = conditions(&events, Target::Server(id), at);
        let has_clients = record.scenario.arms.iter().any(|arm| arm.lock == LockKind::Client);
        let clients = has_clients.then(|| self::conditions(&events, Target::Client(id), at));
        ServerView {
            id,
            conditions,
            clients,
        }
    });
    let mut nodes = record.nodes.iter().filter(|node| node.name.host.is_some());
    Snapshot {
        server: nodes.next().map_or("", |node| &node.server).into(),
        phase: match is_over {
            true => Phase::Finished {
                interrupted: record.interrupted,
            },
            false => Phase::Running,
        },
        elapsed: at,
        servers: servers.collect(),
        arms,
        hosts,
        act: captions.iter().find_map(|(fault, _)| act(record, (*fault)?)),
        caption: captions.first().map(|(_, caption)| caption.as_str().into()),
        ends_at: Some(record.elapsed),
        caveats: record.warnings.clone(),
        processor_wait: record.processor_wait,
        used_by_others: record.processor_used_by_others,
        partial: if is_over { record.partial.clone() } else { Vec::new() },
        events: Arc::new(events.split_off(events.len().saturating_sub(Snapshot::EVENTS))),
        ..begun.clone()
    }
}

/// What was known of an event: of a fault only that it was asked for, until its effect.
fn known(event: &Event, until: f64) -> Event {
    let mut event = event.clone();
    if let EventKind::Fault { effect_at, proof, .. } = &mut event.kind
        && effect_at.is_some_and(|at| at > until)
    {
        *effect_at = None;
        proof.clear();
    }
    event
}

/// The act that begins with the fault of this number, if one does.
fn act(record: &Record, fault: usize) -> Option<Act> {
    let acts = || {
        let faults = record.scenario.faults.iter().enumerate();
        faults.filter_map(|(index, fault)| Some((fault.title.as_deref()?, index + 1)))
    };
    let number = acts().position(|(_, number)| number == fault)?;
    Some(Act {
        number: number + 1,
        of: acts().count(),
        title: acts().nth(number)?.0.into(),
        // Nothing can be tried in a record.
        teaches: None,
    })
}

/// What the faults that had taken effect by `now` had brought a target into.
fn conditions(events: &[Event], target: Target, now: f64) -> Conditions<Duration> {
    let effect = |event: &Event| match event.kind {
        EventKind::Fault {
            action,
            target: of,
            effect_at: Some(at),
            ..
        } if of == target => Some((at, action)),
        _ => None,
    };
    let mut effects: Vec<_> = events.iter().filter_map(effect).collect();
    effects.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut all = Conditions::default();
    for (at, action) in effects {
        all.undergo(action, at);
    }
    all.timed(|since| Duration::from_secs_f64((now - since).max(0.0)))
}

fn hosts(record: &Record, events: &[Event], at: f64) -> Vec<HostView> {
    let lab = &record.scenario.lab;
    let view = |id: HostId| {
        let has_lock_node = |name: &NodeName| name.host == Some(id) && name.role == Role::Lock;
        let node = record.nodes.iter().find(|node| has_lock_node(&node.name));
        let port = node.and_then(|node| node.address.rsplit(':').next()?.parse().ok());
        let arms = record.scenario.arms.iter().filter(|arm| arm.hosts_in(lab) == [id]);
        HostView {
            id,
            conditions: conditions(events, Target::Host(id), at),
            port: port.unwrap_or_default(),
            single_arms: arms.map(|arm| arm.name.clone()).collect(),
            // What nodes said about themselves is not in a record.
            affected: Vec::new(),
            stats: None,
            role: None,
            old_master: None,
            cluster_masters: None,
            leads_etcd: None,
            behind: None,
            log: Arc::default(),
        }
    };
    (0..lab.hosts).map(HostId::from_index).map(view).collect()
}

/// A run at an instant.
struct Past<'a> {
    record: &'a Record,
    /// What had happened.
    events: &'a [Event],
    hosts: &'a [HostView],
    /// How long the work of an arm takes.
    hold: Duration,
    /// The instant; infinite from the end on.
    until: f64,
    /// What the whole run proves.
    at_end: Judgement,
}

impl Past<'_> {
    fn arm(&self, index: usize) -> ArmView {
        let arm = &self.record.arms[index];
        let mut series = Series::default();
        // Another program may have written the record, and gaps are filled.
        let can_be = |point: &&Point| (-HOUR..=7 * 24 * HOUR).contains(&point.time);
        let until = |point: &&Point| (point.time + 1) as f64 <= self.until;
        for point in arm.series.iter().filter(can_be).filter(until) {
            if let Some(place) = series.at(point.time) {
                *place = *point;
            }
        }
        let figures = figures(arm, &series, self.events, self.until);
        let begun = |double: &&DoubleHold| double.second.from_us as f64 / 1e6 <= self.until;
        ArmView {
            name: arm.name.clone(),
            live: self.live(index, &series),
            done: figures.finish.is_some(),
            double_holds: arm.evidence.iter().filter(begun).cloned().collect(),
            first_error: arm.first_error.clone(),
            // If nothing good can be said of an arm at the end, nothing good is said before.
            later: self.later(index),
            series: Arc::new(series),
            figures,
            // These are not in a record, or only in total.
            recent_tenths: Arc::default(),
            votes: None,
            lacking: Vec::new(),
            last_locks: Vec::new(),
            outlasted: Outlasted::default(),
        }
    }

    /// What casts doubt on an arm that is known at the end only.
    fn later(&self, index: usize) -> Vec<Caveat> {
        let arm = &self.record.arms[index];
        if self.until.is_infinite() {
            return Vec::new();
        }
        let hidden = known_at_end(&arm.figures).map(|figure| Caveat::KnownAtEnd { figure });
        let at_end = self.at_end.arms.get(index).map(|arm| arm.doubts.clone());
        at_end.into_iter().flatten().chain(hidden).collect()
    }

    /// Whether an arm could work, by the hosts that its lock needs and by what it had answered.
    fn live(&self, index: usize, series: &Series) -> Live {
        let of_nodes = self.record.scenario.arms.get(index).map(|spec| self.health(spec));
        let last = |is: fn(&&Point) -> bool| Duration::from_secs(series.iter().rev().take_while(is).count() as u64);
        let refused = last(|point| point.is_refused());
        let silent = last(|point| point.offered > 0 && point.answered == 0);
        // How long another program's work takes nobody has told.
        let is_known = self.record.reported.is_none();
        let is_still = refused >= STILL || is_known && silent >= STILL + self.hold;
        let recent: Vec<u64> = series.last(RECENT).map(|point| point.answered).collect();
        Live {
            health: match of_nodes.unwrap_or_default() {
                Health::Well if is_still => Health::Stalled(refused.max(silent)),
                health => health,
            },
            per_second: recent.iter().sum::<u64>() as f64 / recent.len().max(1) as f64,
            ..Live::default()
        }
    }

    /// Whether the nodes that a lock needs were running. What a cluster was up to is not in a record.
    fn health(&self, spec: &ArmSpec) -> Health {
        let answers = |host: HostId| {
            let host = self.hosts.get(host.index());
            host.is_none_or(|host| host.conditions.answers())
        };
        let mut masters = self.events.iter().rev().filter_map(|event| match event.kind {
            EventKind::Failover { host, .. } => Some(host),
            _ => None,
        });
        match spec.nodes() {
            LockNodes::Cluster | LockNodes::ClusterMasters => Health::Well,
            // The first master is on host 1; of two kinds of masters a record does not say which one has changed.
            LockNodes::Master if self.record.scenario.lab.cluster.is_some() => Health::Well,
            LockNodes::Master if answers(masters.next().unwrap_or(HostId(1))) => Health::Well,
            LockNodes::Master => Health::NoMaster,
            LockNodes::Nowhere | LockNodes::OneHost | LockNodes::FirstMaster | LockNodes::EveryHost => {
                Health::of_nodes(&spec.hosts_in(&self.record.scenario.lab), answers)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::metrics::{Entry, Metric};
    use lockstorm_run::not_begun;

    fn demo() -> Record {
        crate::report::demo().expect("it comes with the program")
    }

    fn shown(record: &Record, at: f64) -> Snapshot {
        picture(record, &not_begun(&Arc::new(record.scenario.clone())), at)
    }

    /// The effects of the faults, in order.
    fn effects(record: &Record) -> Vec<f64> {
        let effect = |event: &Event| match event.kind {
            EventKind::Fault { effect_at, .. } => effect_at,
            _ => None,
        };
        record.events.iter().filter_map(effect).collect()
    }

    #[test]
    fn at_the_end_it_is_what_the_record_has() {
        let record = demo();
        let end = shown(&record, record.elapsed);
        assert!(matches!(end.phase, Phase::Finished { .. }), "{:?}", end.phase);
        assert_eq!(end.judge(), record.judge());
        assert_eq!(*end.events, record.events);
        for (shown, arm) in end.arms.iter().zip(&record.arms) {
            assert_eq!(
                (&shown.figures, &*shown.series),
                (&arm.figures, &arm.series),
                "{}",
                arm.name
            );
            assert_eq!(shown.double_holds, arm.evidence);
        }
    }

    #[test]
    fn counts_grow_up_to_those_of_the_record_and_nothing_is_known_too_early() {
        let record = demo();
        let counts = [
            Metric::Orders,
            Metric::LostUpdates,
            Metric::Oversold,
            Metric::DoubleHolds,
            Metric::DoubleUses,
        ];
        let of = |snapshot: &Snapshot| -> Vec<Vec<f64>> {
            let arm = |arm: &ArmView| counts.map(|metric| metric.of(&arm.figures)).to_vec();
            snapshot.arms.iter().map(arm).collect()
        };
        let mut before = of(&shown(&record, 0.0));
        assert!(before.iter().flatten().all(|count| *count == 0.0), "{before:?}");
        let quarters = (0..).map(|quarter| f64::from(quarter) / 4.0);
        for at in quarters.take_while(|at| *at < record.elapsed) {
            let snapshot = shown(&record, at);
            assert_eq!(snapshot.phase, Phase::Running);
            assert!(snapshot.events.iter().all(|event| event.at <= at));
            let now = of(&snapshot);
            for (now, before) in now.iter().flatten().zip(before.iter().flatten()) {
                assert!(now >= before, "{now} after {before} at {at}");
            }
            for (arm, whole) in snapshot.arms.iter().zip(&record.arms) {
                assert!(arm.series.iter().all(|point| (point.time + 1) as f64 <= at));
                assert!(
                    arm.figures
                        .outages
                        .iter()
                        .all(|outage| outage.at + outage.lasted_us as f64 / 1e6 <= at + 1e-6)
                );
                assert_eq!(arm.figures.acquire_us.count, 0, "it is not known by the second");
                assert!(arm.figures.booked(Entry::LostUpdates) <= whole.figures.booked(Entry::LostUpdatesPeak));
            }
            before = now;
        }
        let last = shown(&record, record.elapsed - 1e-6);
        for (now, arm) in last.arms.iter().zip(&record.arms) {
            let newest = arm.series.newest().expect("points");
            let after = arm.after_end.ledger[Entry::Orders] + newest.ledger[Entry::Orders];
            assert_eq!(
                now.figures.booked(Entry::Orders) + after,
                arm.figures.booked(Entry::Orders),
                "{}",
                arm.name
            );
        }
    }

    #[test]
    fn money_and_runs_are_counted_by_the_second_under_their_own_names() {
        // As if the demo's sales had been something else.
        let figures = |names: &[(Entry, Entry)]| {
            let mut record = demo();
            for arm in &mut record.arms {
                let seconds: Vec<i64> = arm.series.iter().map(|point| point.time).collect();
                for (old, new) in names {
                    arm.figures.ledger[*new] = arm.figures.ledger[*old].take();
                    for second in &seconds {
                        let point = arm.series.at(*second).expect("a second that is there");
                        point.ledger[*new] = std::mem::take(&mut point.ledger[*old]);
                    }
                }
            }
            let shown = shown(&record, record.elapsed - 1e-6).arms.clone();
            let sum = |metric: Metric| shown.iter().map(|arm| metric.of(&arm.figures)).sum::<f64>();
            let own = [Metric::MoneyMade, Metric::MoneyLost, Metric::RunAgain].map(|metric| sum(metric) > 0.0);
            (
                own,
                [Metric::LostUpdates, Metric::Oversold].map(|metric| sum(metric) > 0.0),
            )
        };
        assert_eq!(figures(&[]), ([false; 3], [true; 2]));
        let payments = [
            (Entry::LostUpdatesPeak, Entry::MoneyMade),
            (Entry::LostUpdates, Entry::MoneyMade),
            (Entry::Oversold, Entry::MoneyLost),
        ];
        assert_eq!(figures(&payments), ([true, true, false], [false; 2]));
        let ticks = [
            (Entry::Oversold, Entry::RunAgain),
            (Entry::LostUpdatesPeak, Entry::Runs),
            (Entry::LostUpdates, Entry::Runs),
        ];
        assert_eq!(figures(&ticks), ([false, false, true], [false; 2]));
    }

    #[test]
    fn a_host_is_down_from_the_effect_of_its_death_until_it_is_back() {
        let record = demo();
        let [death, back] = effects(&record)[..2] else {
            panic!("faults");
        };
        let health = |at: f64| {
            let snapshot = shown(&record, at);
            let arm = snapshot.arms.iter().find(|arm| arm.name == "single").expect("an arm");
            (snapshot.hosts[0].conditions.is_up(), arm.live.health.clone())
        };
        let down = Health::NodeDown(HostId(1));
        assert_eq!(health(death - 1e-3), (true, Health::Well));
        assert_eq!(health(death), (false, down.clone()));
        assert_eq!(health(back - 1e-3), (false, down));
        assert_eq!(health(back), (true, Health::Well));
    }

    #[test]
    fn a_fault_is_only_asked_for_until_its_effect() {
        let record = demo();
        let is_fault = |event: &&Event| matches!(event.kind, EventKind::Fault { .. });
        let ordered = record.events.iter().find(is_fault).expect("a fault");
        let effect = effects(&record)[0];
        assert!(ordered.at < effect);
        let known = |at| shown(&record, at).events.iter().find(is_fault).cloned();
        let asked = known(ordered.at).expect("it is asked for");
        assert!(asked.text().starts_with("kill host 1"), "{}", asked.text());
        assert!(matches!(&asked.kind, EventKind::Fault { effect_at: None, proof, .. } if proof.is_empty()));
        assert_eq!(known(effect).as_ref(), Some(ordered));
    }

    #[test]
    fn captions_and_acts_are_those_of_their_time() {
        let record = demo();
        let said = |at| {
            let snapshot = shown(&record, at);
            (snapshot.caption, snapshot.act.map(|act| (act.number, act.of)))
        };
        let (caption, act) = said(1.0);
        assert_eq!((caption.as_deref(), act), (record.scenario.caption.as_deref(), None));
        assert_eq!(said(10.0).1, Some((1, 3)));
        assert_eq!(said(20.0).1, Some((2, 3)));
    }

    #[test]
    fn no_arm_looks_better_than_it_is_at_the_end() {
        let mut record = demo();
        let doubt = |record: &Record, at| shown(record, at).judge().arms[0].doubt().cloned();
        assert_eq!(doubt(&record, 1.0), None);
        record.arms[0].figures.duplicate_pages = 3;
        let figure = Metric::DuplicatePages;
        assert_eq!(doubt(&record, 1.0), Some(Caveat::KnownAtEnd { figure }));
        assert_eq!(doubt(&record, record.elapsed), None, "then they are told");
        record.warnings.push(Caveat::KeeperStopped);
        assert_eq!(doubt(&record, 1.0), Some(Caveat::KeeperStopped));
    }

    #[test]
    fn what_an_old_master_granted_is_told_once_it_has_learned_that_it_is_one() {
        let record = demo();
        let granted = |at| {
            let snapshot = shown(&record, at);
            let arm = snapshot.arms.iter().find(|arm| arm.name == "stays on host 1");
            arm.expect("an arm").figures.granted_by_old_master
        };
        let is_demotion = |event: &&Event| matches!(event.kind, EventKind::Demoted { .. });
        let learned = record.events.iter().find(is_demotion).expect("a demotion").at;
        assert_eq!(granted(learned - 1e-3), 0);
        assert!(granted(learned) > 0);
        assert_eq!(granted(learned), granted(record.elapsed));
    }

    #[test]
    fn a_run_that_was_stopped_before_its_first_second_shows_its_end() {
        let mut record = demo();
        (record.elapsed, record.interrupted) = (0.0, true);
        let phase = shown(&record, 0.0).phase;
        assert!(matches!(phase, Phase::Finished { interrupted: true, .. }), "{phase:?}");
    }
}
