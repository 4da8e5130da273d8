//! Links between hosts on real servers: the proxy stands in front of masters, replicas and Sentinels, and what a fault of a
//! link does is measured at the nodes themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lockstorm_data::model::{
    Action, Condition, Direction, Fault, Finding, HostId, Link, Observer, ReplicationRole, Target, Verified,
};
use lockstorm_data::scenario::{LabSpec, ReplicatedSpec};
use lockstorm_kit::lab::{KILL, PAUSE, RESTART, ask, carry_out, connect, master_with_replicas, options, until};
use lockstorm_kit::{TEST_TIMEOUT, alone, beside};
use lockstorm_lab::{Lab, LabError, LabOptions, MASTER_NAME, NodeName, Role};
use redis::Value;

const DELAY: Duration = Duration::from_millis(500);

async fn up(proxy: bool, down_after: Duration) -> Lab {
    let replicated = Some(ReplicatedSpec {
        down_after,
        ..ReplicatedSpec::default()
    });
    let spec = LabSpec {
        replicated,
        ..LabSpec::of(3)
    };
    let options = LabOptions { proxy, ..options() };
    Lab::up(&spec, options).await.expect("the lab comes up")
}

/// A lab in which no Sentinel takes a node for down that is only slow.
async fn up_patient() -> Lab {
    up(true, Duration::from_mins(10)).await
}

fn data(host: usize) -> NodeName {
    NodeName::on(HostId(host), Role::Replicated)
}

fn sentinel(host: usize) -> NodeName {
    NodeName::on(HostId(host), Role::Sentinel)
}

/// The port of a node itself, behind its door.
fn port(lab: &Lab, node: NodeName) -> u16 {
    lab.address(node).expect("the node").port()
}

/// A connection to the node itself, not through the proxy.
fn to(lab: &Lab, node: NodeName) -> redis::Connection {
    connect(lab, port(lab, node))
}

/// Writes a key on the replicated node of one host, and returns how long it takes until it is on another's; `None` if it is
/// not there after `limit`.
fn carried(lab: &Lab, [from, to_host]: [usize; 2], limit: Duration) -> Option<Duration> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let key = format!("key {}", NEXT.fetch_add(1, Ordering::Relaxed));
    let (mut master, mut replica) = (to(lab, data(from)), to(lab, data(to_host)));
    let start = Instant::now();
    ask::<()>(&mut master, &["SET", &key, "1"]);
    while start.elapsed() < limit {
        if ask::<bool>(&mut replica, &["EXISTS", &key]) {
            return Some(start.elapsed());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}

/// The shortest of a few: this machine may be busy.
fn shortest(lab: &Lab, ends: [usize; 2]) -> Duration {
    let times = (0..5).map(|_| carried(lab, ends, TEST_TIMEOUT).expect("it arrives"));
    times.min().expect("five")
}

fn lag(direction: Direction) -> Action {
    Action::Fault(Fault::Lag {
        delay: DELAY,
        direction,
    })
}

const fn cut(direction: Direction) -> Action {
    Action::Fault(Fault::Cut { direction })
}

/// Carries out what is possible.
async fn on_link(lab: &Lab, action: Action, link: Link) -> Verified<Instant> {
    lab.apply_to_link(action, link).await.expect("it is possible")
}

/// Why this is not possible.
async fn refused(lab: &Lab, action: Action, link: Link) -> String {
    let done = lab.apply_to_link(action, link).await;
    done.expect_err("refused").to_string()
}

const UNLAG: Action = Action::Undo(Condition::Lagging);
const UNCUT: Action = Action::Undo(Condition::Cut);

const fn between(one: usize, other: usize) -> Link {
    Link::Between(HostId(one), HostId(other))
}

/// What was found for each connection.
fn findings(verified: &Verified<Instant>) -> BTreeMap<&str, &Finding> {
    let proofs = verified.proof.iter();
    proofs.map(|proof| (proof.of.as_str(), &proof.finding)).collect()
}

/// How long after the effect it was known on all connections.
fn known_after(verified: &Verified<Instant>) -> Duration {
    let known = verified.proof.iter().map(|proof| proof.at).max();
    known.expect("a proof").saturating_duration_since(verified.at)
}

/// All ports that a node tells others: of its master, of its replicas, of other Sentinels.
fn told(lab: &Lab) -> BTreeMap<NodeName, BTreeSet<u16>> {
    let mut told = BTreeMap::new();
    for host in 1..=3 {
        let info: String = ask(&mut to(lab, data(host)), &["INFO", "replication"]);
        let ports = info.split(['\n', ',']).filter_map(|line| {
            let (name, value) = line.trim().split_once(['=', ':'])?;
            let value = if name.starts_with("slave") { return None } else { value };
            ["port", "master_port"]
                .contains(&name)
                .then(|| value.parse().expect("a port"))
        });
        told.insert(data(host), ports.collect());
        let mut watcher = to(lab, sentinel(host));
        let mut ports = BTreeSet::new();
        let (_, master): (String, String) = ask(&mut watcher, &["SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER_NAME]);
        ports.insert(master.parse().expect("a port"));
        for others in ["REPLICAS", "SENTINELS"] {
            let all: Vec<Value> = ask(&mut watcher, &["SENTINEL", others, MASTER_NAME]);
            for one in all {
                let fields: BTreeMap<String, String> = redis::from_redis_value(one).expect("fields");
                ports.insert(fields["port"].parse().expect("a port"));
            }
        }
        told.insert(sentinel(host), ports);
    }
    told
}

/// Checks that every node tells others of doors only: a replica of its master's, a master of its replicas', and a Sentinel of
/// all but its own.
fn doors_are_told(lab: &Lab, master: usize) {
    let (sentinels, _) = lab.replicated_nodes().expect("replicated nodes");
    let behind: Vec<u16> = lab.names().map(|name| port(lab, name)).collect();
    let told = told(lab);
    for (node, ports) in &told {
        for port in ports {
            assert!(!behind.contains(port), "{node} tells of a node itself: {told:?}");
        }
    }
    assert_eq!(told[&data(master)].len(), 2, "{told:?}");
    for host in (1..=3).filter(|host| *host != master) {
        assert_eq!(told[&data(host)].len(), 1, "{told:?}");
    }
    for host in 1..=3 {
        let others = (1..=3).filter(|other| *other != host);
        let doors: Vec<u16> = others.map(|other| sentinels[other - 1].port()).collect();
        let ports = &told[&sentinel(host)];
        assert!(doors.iter().all(|door| ports.contains(door)), "{told:?}");
        assert_eq!(ports.len(), 5, "master, two replicas, two Sentinels: {told:?}");
    }
}

#[tokio::test]
async fn nodes_tell_others_of_their_doors_also_after_a_restart() {
    let _one = beside();
    let lab = up_patient().await;
    doors_are_told(&lab, 1);
    carry_out(&lab, KILL, HostId(2)).await;
    carry_out(&lab, RESTART, HostId(2)).await;
    assert_eq!(master_with_replicas(&lab, 3, None).await, HostId(1));
    doors_are_told(&lab, 1);
    lab.down().await;
}

#[tokio::test]
async fn without_a_fault_of_the_network_there_is_no_proxy() {
    let _one = beside();
    let lab = up(false, Duration::from_secs(1)).await;
    let (sentinels, first) = lab.replicated_nodes().expect("replicated nodes");
    assert_eq!(first.port(), port(&lab, data(1)));
    assert_eq!(sentinels[2].port(), port(&lab, sentinel(3)));
    for (action, link) in [
        (lag(Direction::Both), Link::Replication),
        (cut(Direction::Both), between(1, 2)),
    ] {
        let refused = refused(&lab, action, link).await;
        assert!(refused.contains("this lab has no proxy"), "{refused}");
    }
    lab.down().await;
}

#[tokio::test]
async fn a_lag_of_replication_is_what_it_claims() {
    let _one = alone();
    let lab = up_patient().await;
    assert!(shortest(&lab, [1, 2]) < DELAY);
    let ordered = Instant::now();
    let verified = on_link(&lab, lag(Direction::There), Link::Replication).await;
    assert!(ordered <= verified.at && known_after(&verified) >= DELAY);
    let found = findings(&verified);
    for host in [2, 3] {
        let Some(Finding::Arrives { took_us }) = found.get(data(host).to_string().as_str()) else {
            panic!("{verified:?}");
        };
        assert!(Duration::from_micros(*took_us) >= DELAY, "{took_us}");
        // What is measured at the nodes: 500 ± 20 ms.
        let took = shortest(&lab, [1, host]);
        assert!(took.abs_diff(DELAY) <= Duration::from_millis(20), "{took:?}");
    }
    assert_eq!(verified.proof[0].by, Observer::Replica);
    let again = refused(&lab, lag(Direction::There), Link::Replication).await;
    assert_eq!(
        again,
        "cannot lag replication: it is already lagging (500 ms on the way there)"
    );

    // Lock nodes are not on it, and neither are the Sentinels.
    let (_, entrance) = &lab.lock_nodes()[0];
    let start = Instant::now();
    let mut through = connect(&lab, entrance.port());
    ask::<String>(&mut through, &["PING"]);
    assert!(start.elapsed() < DELAY);

    on_link(&lab, UNLAG, Link::Replication).await;
    assert!(shortest(&lab, [1, 2]) < DELAY);
    assert!(lab.link_conditions(Link::Replication).is_up());

    // The other way only confirmations are late.
    let verified = on_link(&lab, lag(Direction::Back), Link::Replication).await;
    let Some(Finding::Confirmed { took_us }) = findings(&verified).get(data(1).to_string().as_str()).copied() else {
        panic!("{verified:?}");
    };
    assert!(Duration::from_micros(*took_us) >= DELAY, "{took_us}");
    assert!(shortest(&lab, [1, 2]) < DELAY);
    lab.down().await;
}

#[tokio::test]
async fn a_cut_is_silent_and_heals() {
    let _one = alone();
    let lab = up_patient().await;
    let ordered = Instant::now();
    let verified = on_link(&lab, cut(Direction::Both), Link::Replication).await;
    assert_eq!(verified.prose(), "2 connections are silent");
    assert!(ordered <= verified.at && known_after(&verified) >= Duration::from_millis(300));
    assert_eq!(carried(&lab, [1, 2], DELAY), None);
    let roles = lab.replication_roles().await;
    for host in [2, 3] {
        // Nobody has told the replica: the connection is open.
        assert!(
            matches!(roles[&data(host)], ReplicationRole::Replica { connected: true, .. }),
            "{roles:?}"
        );
    }
    let verified = on_link(&lab, UNCUT, Link::Replication).await;
    assert!(
        findings(&verified)
            .values()
            .any(|found| matches!(found, Finding::Arrives { .. })),
        "{verified:?}"
    );
    assert!(carried(&lab, [1, 2], TEST_TIMEOUT).is_some());

    // One way between two hosts: what host 1 sends does not reach host 2, which the others don't notice.
    let verified = on_link(&lab, cut(Direction::There), between(1, 2)).await;
    let silent: Vec<&str> = findings(&verified).into_keys().collect();
    assert_eq!(
        silent,
        [
            "the Sentinel of host 1 to the replicated node of host 2",
            "the Sentinel of host 2 to the replicated node of host 1",
            "the replicated node of host 2"
        ]
    );
    assert_eq!(carried(&lab, [1, 2], DELAY), None);
    assert!(carried(&lab, [1, 3], TEST_TIMEOUT).is_some());
    // The same link by its other name.
    let again = refused(&lab, cut(Direction::Both), between(2, 1)).await;
    assert_eq!(
        again,
        "cannot cut the link of hosts 2 and 1: it is cut (on the way there); uncut it first"
    );
    on_link(&lab, UNCUT, between(1, 2)).await;
    assert!(carried(&lab, [1, 2], TEST_TIMEOUT).is_some());

    // Between two replicas only Sentinels have something to say.
    let verified = on_link(&lab, cut(Direction::Both), between(2, 3)).await;
    assert_eq!(verified.proof.len(), 2, "{verified:?}");
    assert!(carried(&lab, [1, 3], TEST_TIMEOUT).is_some());
    on_link(&lab, UNCUT, between(2, 3)).await;

    // A link that nobody uses can't be measured.
    carry_out(&lab, PAUSE, HostId(1)).await;
    let done = lab.apply_to_link(cut(Direction::Both), Link::Replication).await;
    assert!(matches!(done, Err(LabError::Unmeasurable { .. })), "{done:?}");
    assert!(lab.link_conditions(Link::Replication).is_up());
    let refused = refused(&lab, UNCUT, Link::Replication).await;
    assert_eq!(refused, "cannot uncut replication: it is not cut");
    lab.down().await;
}

#[tokio::test]
async fn a_master_that_is_cut_off_is_replaced_and_follows_once_it_hears_of_that() {
    let _one = alone();
    let lab = up(true, Duration::from_secs(1)).await;
    let first = HostId(1);
    for other in [2, 3] {
        on_link(&lab, cut(Direction::Both), between(1, other)).await;
    }
    let second = until("another master", async || {
        let roles = lab.replication_roles().await;
        let masters = roles
            .iter()
            .filter(|(_, role)| matches!(role, ReplicationRole::Master { .. }));
        let other = masters.filter_map(|(name, _)| name.host).find(|host| *host != first);
        other.ok_or(roles)
    })
    .await;
    // It knows nothing of that, and takes writes from whoever knows only it.
    ask::<()>(&mut to(&lab, data(1)), &["SET", "only here", "1"]);
    for other in [2, 3] {
        let verified = on_link(&lab, UNCUT, between(1, other)).await;
        let pings = findings(&verified);
        assert!(
            pings.keys().any(|of| of.starts_with("the Sentinel of host 1")),
            "{verified:?}"
        );
    }
    assert_eq!(master_with_replicas(&lab, 3, Some(first)).await, second);
    doors_are_told(&lab, second.0);
    let kept: bool = ask(&mut to(&lab, data(1)), &["EXISTS", "only here"]);
    assert!(!kept, "its own writes are gone");
    assert_eq!(Target::Link(between(1, 2)).to_string(), "the link of hosts 1 and 2");
    lab.down().await;
}

#[tokio::test]
async fn sentinels_that_are_cut_off_from_each_other_replace_nobody() {
    let _one = alone();
    let lab = up(true, Duration::from_secs(1)).await;
    let verified = on_link(&lab, cut(Direction::Both), Link::Sentinels).await;
    assert_eq!(verified.prose(), "6 connections are silent");
    // The Sentinels of hosts 2 and 3 take the master for down, but can't agree on it.
    until("it is down for a Sentinel", async || {
        let fields: BTreeMap<String, String> = ask(&mut to(&lab, sentinel(2)), &["SENTINEL", "MASTER", MASTER_NAME]);
        fields["flags"].contains("s_down").then_some(()).ok_or(fields)
    })
    .await;
    assert_eq!(master_with_replicas(&lab, 3, None).await, HostId(1));
    assert!(carried(&lab, [1, 2], TEST_TIMEOUT).is_some());
    on_link(&lab, UNCUT, Link::Sentinels).await;
    lab.down().await;
}
