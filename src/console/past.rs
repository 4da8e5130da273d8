//! What a run showed at an instant, as far as its record knows it. Nothing is made up: what the record has only in total is empty before
//! its end, and counts are those of the seconds that are over.

use std::sync::Arc;
use std::time::Duration;

use super::past_figures::{doubt, figures};
use lockstorm_data::metrics::{Point, Series};
use lockstorm_data::model::{Conditions, Event, EventKind, HostId, ServerId, Target};
use lockstorm_data::scenario::LockNodes;
use lockstorm_lab::Role;
use lockstorm_run::{Act, ArmRecord, ArmView, Health, HostView, Live, Outlasted, Phase, Record, ServerView, Snapshot};

/// Over how many seconds the present rate is the mean.
const RECENT: usize = 5;

/// For how many seconds an arm has answered nobody that is said to stand still.
const STILL: u64 = 2;

/// What the run showed at second `at`; from its end on, all that its record has. `begun` is what was shown before.
pub(super) fn picture(record: &Record, begun: &Snapshot, at: f64) -> Snapshot {
    let is_over = at >= record.elapsed;
    let until = if is_over { f64::INFINITY } else { at };
    let at = at.min(record.elapsed);
    let happened = record.events.iter().filter(|event| event.at <= until);
    let mut events: Vec<Event> = happened.map(|event| known(event, until)).collect();
    let caption = |event: &Event| (event.kind == EventKind::Caption).then(|| event.text.clone());
    let captions: Vec<String> = events.iter().rev().filter_map(caption).collect();
    let hosts = hosts(record, &events, at);
    let arms = (0..record.arms.len()).map(|arm| arm_view(record, arm, &hosts, &events, until));
    let servers = (0..record.scenario.swarm.servers).map(|index| {
        let id = ServerId::from_index(index);
        let conditions = conditions(&events, Target::Server(id), at);
        ServerView { id, conditions }
    });
    let mut nodes = record.nodes.iter().filter(|node| node.name.host.is_some());
    Snapshot {
        server: nodes.next().map_or("", |node| &node.server).into(),
        phase: if is_over { end(record) } else { Phase::Running },
        elapsed: at,
        servers: servers.collect(),
        arms: arms.collect(),
        hosts,
        act: captions.iter().find_map(|caption| act(record, caption)),
        caption: captions.first().map(|caption| caption.as_str().into()),
        ends_at: Some(record.elapsed),
        partial: if is_over { record.partial.clone() } else { Vec::new() },
        events: Arc::new(events.split_off(events.len().saturating_sub(Snapshot::EVENTS))),
        ..begun.clone()
    }
}

fn end(record: &Record) -> Phase {
    let checked = record.expectations.iter();
    Phase::Finished {
        interrupted: record.interrupted,
        expectations: checked.map(|one| (one.result, one.text.clone())).collect(),
    }
}

/// What was known of an event: of a fault only that it was asked for, until its effect.
fn known(event: &Event, until: f64) -> Event {
    let mut event = event.clone();
    if let EventKind::Fault {
        action,
        target,
        effect_at,
        proof,
        ..
    } = &mut event.kind
        && effect_at.is_some_and(|at| at > until)
    {
        event.text = action.on(*target);
        *effect_at = None;
        proof.clear();
    }
    event
}

/// The act that began with this caption, if one did.
fn act(record: &Record, caption: &str) -> Option<Act> {
    let acts = || {
        record
            .scenario
            .faults
            .iter()
            .filter_map(|fault| Some((fault.title.as_deref()?, fault)))
    };
    let number = acts().position(|(_, fault)| fault.caption.as_deref() == Some(caption))?;
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
        let has_lock_node = |name: &lockstorm_lab::NodeName| name.host == Some(id) && name.role == Role::Lock;
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
            behind: None,
            log: Arc::default(),
        }
    };
    (0..lab.hosts).map(HostId::from_index).map(view).collect()
}

fn arm_view(record: &Record, index: usize, hosts: &[HostView], events: &[Event], until: f64) -> ArmView {
    let arm = &record.arms[index];
    let over = arm.series.iter().filter(|point| (point.time + 1) as f64 <= until);
    let mut series = Series::default();
    for point in over {
        if let Some(place) = series.at(point.time) {
            *place = *point;
        }
    }
    let figures = figures(arm, &series, events, until);
    ArmView {
        name: arm.name.clone(),
        live: live(record, index, &series, hosts),
        done: figures.finish.is_some(),
        double_holds: held_twice(arm, until),
        // If nothing good can be said of an arm at the end, nothing good is said before.
        doubt: doubt(arm, until),
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

fn held_twice(arm: &ArmRecord, until: f64) -> Vec<lockstorm_data::history::DoubleHold> {
    let begun = |from_us: i64| from_us as f64 / 1e6 <= until;
    let all = arm.evidence.iter().filter(|double| begun(double.second.from_us));
    all.cloned().collect()
}

/// Whether an arm could work, by the hosts that its lock needs and by what it had answered.
fn live(record: &Record, index: usize, series: &Series, hosts: &[HostView]) -> Live {
    let scenario = &record.scenario;
    let answers = |host: HostId| hosts.get(host.index()).is_none_or(|host| host.conditions.answers());
    let of_nodes = scenario.arms.get(index).map(|spec| match spec.nodes() {
        // Who the master was is not in a record.
        LockNodes::Master | LockNodes::Cluster | LockNodes::ClusterMasters => Health::Well,
        LockNodes::Nowhere | LockNodes::OneHost | LockNodes::FirstMaster | LockNodes::EveryHost => {
            Health::of_nodes(&spec.hosts_in(&scenario.lab), answers)
        }
    });
    let stands = |point: &&Point| point.is_refused() || point.offered > 0 && point.answered == 0;
    let still = series.iter().rev().take_while(stands).count() as u64;
    let recent = series.last(RECENT).map(|point| point.answered);
    let seconds = series.last(RECENT).count().max(1);
    Live {
        health: match of_nodes.unwrap_or_default() {
            Health::Well if still >= STILL => Health::Stalled(Duration::from_secs(still)),
            health => health,
        },
        per_second: recent.sum::<u64>() as f64 / seconds as f64,
        ..Live::default()
    }
}
