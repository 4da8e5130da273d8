//! The line that suggests the next key to press.

use super::app::{AfterStop, App, RunStage, View};
use super::keys::Overlay;
use lockstorm_data::model::{Action, Target, TargetKind};
use lockstorm_data::scenario::{ArmSpec, LockNodes, Persistence};
use lockstorm_run::{HostView, Phase, ServerView, Snapshot};

/// The hints, the most useful first; those that don't fit on the line are left out.
pub(super) fn hint(app: &App, snapshot: &Snapshot) -> Vec<String> {
    let parts: &[&str] = match (&app.stage, &snapshot.phase) {
        (RunStage::Stopping(AfterStop::Quit), _) => &["stopping: lockstorm quits when the lab is down …"],
        (RunStage::Stopping(AfterStop::Launch(_)), _) => &["stopping: a fresh lab starts when this one is down …"],
        _ if app.overlay == Some(Overlay::Lanes) && app.replay.is_some() => &[
            "Enter or Esc closes the lanes",
            "← → show others of this lock",
            "d goes to the next of all locks",
        ],
        _ if app.overlay == Some(Overlay::Lanes) => &["Enter or Esc closes the lanes", "← → show others"],
        _ if app.is_frozen() => &["Display frozen; run continues. Space: resume", "the fault keys work"],
        _ if app.plays() => &[
            "a recorded run: Space stops it",
            "n goes to the next event",
            "d to the next double hold",
        ],
        _ if app.replay.is_some() && app.knows_totals() => &[
            "the end of the record",
            "v goes through the views",
            "Space plays it again",
            "p goes back to the last event",
        ],
        _ if app.replay.is_some() => &[
            "Space goes on",
            "n goes to the next event",
            "d to the next double hold",
            "→ by a second",
        ],
        (_, Phase::SetUp(_) | Phase::Failed(_)) => &[],
        (_, Phase::Draining) => &["the load has ended; the workers finish", "then the ledger is read"],
        (_, Phase::Finished { .. }) if app.view == View::Summary => {
            &["R runs it again", "S saves it", "o chooses another scenario"]
        }
        (_, Phase::Finished { .. }) => &["the run is over", "v goes through the views to the summary"],
        (_, Phase::WarmUp | Phase::Running) if app.fault_seen => return after_a_fault(app, snapshot),
        (_, Phase::WarmUp | Phase::Running) => return before_any_fault(app, snapshot),
    };
    parts.iter().map(ToString::to_string).collect()
}

fn on_every_host(arm: &&ArmSpec) -> bool {
    arm.nodes() == LockNodes::EveryHost
}

fn before_any_fault(app: &App, snapshot: &Snapshot) -> Vec<String> {
    let scheduled = scheduled(app, snapshot);
    if !scheduled.is_empty() {
        return scheduled;
    }
    let mut hosts = snapshot.hosts.iter();
    let single = hosts.find_map(|host| Some((host, host.single_arms.first()?)));
    let redlock = snapshot.scenario.arms.iter().find(on_every_host);
    let part = if let Some((host, arm)) = single {
        let keys = on_host(app, host, 'b');
        Some(format!("press {keys}: bounce {}, the node under arm {arm}", host.id))
    } else if let (Some(arm), Some(host)) = (redlock, snapshot.hosts.first()) {
        let keys = on_host(app, host, 'b');
        let under = format!("one of the nodes under arm {}", arm.name);
        Some(format!("press {keys}: bounce {}, {under}", host.id))
    } else {
        let server = snapshot.servers.first();
        server.map(|server| {
            let keys = keys(app, Target::Server(server.id), 'p');
            format!("press {keys}: pause {}, timers and all", server.id)
        })
    };
    part.into_iter().collect()
}

/// Whether the present act has a key to try, which stands on the screen.
fn teaches(snapshot: &Snapshot) -> bool {
    snapshot.act.as_ref().is_some_and(|act| act.teaches.is_some())
}

/// What the scenario will do by itself, and then the user's turn: a key before that could prevent it.
fn scheduled(app: &App, snapshot: &Snapshot) -> Vec<String> {
    let (Some(next), Some(host)) = (&snapshot.next, snapshot.hosts.first()) else {
        return Vec::new();
    };
    let mut parts = vec![match next.at {
        Some(at) => format!(
            "next: {} in {:.0} s",
            next.step,
            (at - snapshot.elapsed).max(0.0).ceil()
        ),
        None => format!("next: {}", next.step),
    }];
    if snapshot.held {
        parts.push("held: Enter lets it happen, g lets the schedule go on".to_owned());
        if snapshot.arms.iter().any(|arm| arm.figures.sold_out_all) {
            parts.push("sold out: no more damage shows".to_owned());
        }
    }
    // The scenario may be waiting for a host that is down and that it does not bring back itself.
    let down = snapshot.hosts.iter().find(|host| !host.conditions.is_up());
    let restored = |host: &HostView| next.returns.contains(&Target::Host(host.id));
    match down {
        Some(down) if !restored(down) && app.orders.expected(Target::Host(down.id)).is_none() => {
            parts.push(format!("{}: restore {}", on_host(app, down, 'r'), down.id));
        }
        // What the act teaches stands above.
        None if !teaches(snapshot) && !snapshot.held => {
            let keys = on_host(app, host, 'b');
            parts.push(format!("then your turn, {keys}: bounce {}", host.id));
        }
        _ => {}
    }
    parts
}

fn after_a_fault(app: &App, snapshot: &Snapshot) -> Vec<String> {
    let mut parts = scheduled(app, snapshot);
    if !parts.is_empty() {
        return parts;
    }
    // While a host has an order under way, wait for the next snapshot.
    let is_impaired =
        |host: &&HostView| !host.conditions.is_up() && app.orders.expected(Target::Host(host.id)).is_none();
    let impaired = snapshot.hosts.iter().find(is_impaired);
    if let Some((host, ongoing)) = impaired.and_then(|host| Some((host, host.conditions.first()?))) {
        let keys = on_host(app, host, 'r');
        parts.push(if ongoing.condition.forgets() {
            match host.affected.as_slice() {
                [] => format!("{keys} brings {} back: {}", host.id, memory_of(snapshot)),
                nodes => {
                    let nodes: Vec<&str> = nodes.iter().map(|role| role.noun()).collect();
                    format!("{keys} brings the {} of {} back", nodes.join(" and the "), host.id)
                }
            }
        } else {
            format!("{keys}: {} {}", Action::Undo(ongoing.condition).verbs()[0], host.id)
        });
        parts.extend(next_kill(app, snapshot));
    }
    let can_resume = |server: &&ServerView| {
        let mut conditions = server.conditions.iter();
        conditions.any(|ongoing| ongoing.condition.is_undone_on(TargetKind::Server))
    };
    if let Some(server) = snapshot.servers.iter().find(can_resume) {
        let keys = keys(app, Target::Server(server.id), 'r');
        parts.push(format!("{keys} resumes {}", server.id));
    }
    if parts.is_empty() {
        if let Some(host) = snapshot.hosts.first().filter(|_| !teaches(snapshot)) {
            let keys = on_host(app, host, 'b');
            parts.push(format!("{keys} bounces {}", host.id));
        }
        let looks: &[&str] = match app.view {
            View::Dashboard => &[
                "v shows the scoreboard",
                "Tab shows the latency",
                "t and T turn the TTL",
            ],
            _ => &["v shows the next view", "t and T turn the TTL"],
        };
        parts.extend(looks.iter().map(ToString::to_string));
    }
    parts
}

/// The kill that would take the majority away, while redlock still has one.
fn next_kill(app: &App, snapshot: &Snapshot) -> Option<String> {
    let redlock = snapshot.scenario.arms.iter().find(on_every_host)?;
    let nodes = redlock.hosts_in(&snapshot.scenario.lab);
    let counts = |host: &&HostView| nodes.contains(&host.id) && host.has_lock_node();
    let up: Vec<&HostView> = snapshot.hosts.iter().filter(counts).collect();
    let majority = nodes.len() / 2 + 1;
    let host = up.first().filter(|_| up.len() == majority)?;
    let keys = on_host(app, host, 'k');
    Some(format!("{keys} loses the quorum of {}", redlock.name))
}

fn memory_of(snapshot: &Snapshot) -> &'static str {
    match snapshot.scenario.lab.persistence {
        Persistence::None => "empty",
        Persistence::Rdb => "with its last snapshot",
        Persistence::AofEverysec | Persistence::AofAlways => "with what it logged",
    }
}

fn on_host(app: &App, host: &HostView, key: char) -> String {
    keys(app, Target::Host(host.id), key)
}

/// The keys that select the target and press `key`: `k`, `1 then k`, `s, 1, p`.
fn keys(app: &App, target: Target, key: char) -> String {
    let (number, is_server) = match target {
        Target::Host(id) => (id.0, false),
        Target::Server(id) => (id.0, true),
        // No key selects a link or a client.
        Target::Link(_) | Target::Client(_) => return String::new(),
    };
    if app.selected == target {
        key.to_string()
    } else if app.digits_pick_servers == is_server {
        format!("{number} then {key}")
    } else if number == 1 {
        // Switching selects the first app server.
        format!("s then {key}")
    } else {
        format!("s, {number}, {key}")
    }
}
