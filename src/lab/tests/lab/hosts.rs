//! The lab on real servers: hosts start, fail and come back as ordered, and nothing outlives its owner.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use lockstorm_data::model::{
    Action, ClusterNode, ClusterRole, Condition, Direction, Fault, Finding, HostId, How, Proof, Verified, Wait, Way,
};
use lockstorm_data::scenario::{ClusterSpec, LabSpec, Persistence, ReplicatedSpec};
use lockstorm_kit::lab::{
    CLAIM, KILL, Killed, PAUSE, RESTART, RESUME, SHUTDOWN, carry_out, connect, free_ports, installed, is_gone,
    keeper_of, living_in, master_with_replicas, options, options_with, process_state, script, session, signal, tells,
    turn_apart, until, up,
};
use lockstorm_kit::{TEST_TIMEOUT, beside, eventually, password};
use lockstorm_lab::{
    Lab, LabError, LabOptions, MASTER_NAME, NodeName, NodeSettings, NodeStats, Role, Running, ServerBinary, leftovers,
};
use lockstorm_lock::{AcquireOptions, Lock, NodeOptions, Nodes};
use nix::sys::signal::Signal;
use tempfile::TempDir;

const H1: HostId = HostId(1);
const H2: HostId = HostId(2);
const H3: HostId = HostId(3);

/// How a host went down, if it is down.
fn how_down(lab: &Lab, host: HostId) -> Option<How> {
    lab.state(host).conditions.get(Condition::Down)?.how.clone()
}

/// The addresses of the lock nodes.
fn nodes(lab: &Lab) -> Vec<SocketAddr> {
    let of_role = |node: &NodeSettings| (node.name.role == Role::Lock).then(|| place(node));
    lab.settings().iter().filter_map(of_role).collect()
}

fn cache(lab: &Lab) -> SocketAddr {
    let settings = lab.settings();
    let cache = settings.iter().find(|node| node.name == NodeName::CACHE);
    place(cache.expect("the cache node"))
}

/// The addresses of the lock nodes and the cache node.
fn all_nodes(lab: &Lab) -> Vec<SocketAddr> {
    [nodes(lab), vec![cache(lab)]].concat()
}

fn place(node: &NodeSettings) -> SocketAddr {
    node.address.parse().expect("an address")
}

fn port(lab: &Lab, name: NodeName) -> u16 {
    lab.address(name).expect("the node").port()
}

/// The process id of a host's lock node.
fn process_of(lab: &Lab, host: HostId) -> u32 {
    lab.pid(NodeName::on(host, Role::Lock)).expect("a process")
}

/// The same lab with this persistence.
fn that_keeps(persistence: Persistence, hosts: usize) -> LabSpec {
    LabSpec {
        persistence,
        ..LabSpec::of(hosts)
    }
}

/// Sends one inline command, and returns the first line of the answer; `None` if there is no answer in time.
fn ask(node: SocketAddr, command: &str, patience: Duration) -> Option<String> {
    let password = password::run_dir(&std::env::temp_dir(), node.port()).and_then(|dir| password::in_dir(&dir))?;
    let mut stream = TcpStream::connect(node).ok()?;
    stream.set_read_timeout(Some(patience)).ok()?;
    let text = format!("AUTH {password}\r\n{command}\r\n");
    stream.write_all(text.as_bytes()).ok()?;
    let mut lines = BufReader::new(stream).lines();
    assert_eq!(lines.next()?.ok()?, "+OK", "the password");
    lines.next()?.ok()
}

fn reply_to(node: SocketAddr, command: &str) -> String {
    ask(node, command, TEST_TIMEOUT).unwrap_or_else(|| panic!("{node} does not answer {command}"))
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

/// Takes the lab down, and checks that it leaves neither these many processes nor its directory.
async fn down_without_a_trace(lab: &Lab, processes: usize) {
    let (dir, pids) = (lab.dir().to_owned(), living_in(lab.dir()));
    assert_eq!(pids.len(), processes);
    lab.down().await;
    assert!(pids.into_iter().all(is_gone) && !dir.exists());
}

/// Waits until nothing of a lab is left that has this directory and had these processes.
fn until_gone(dir: &Path, pids: &[u32]) {
    eventually("all gone", || pids.iter().all(|&pid| is_gone(pid)) && !dir.exists());
}

#[tokio::test]
async fn up_to_nine_hosts_and_the_cache_come_up_and_answer() {
    let _one = beside();
    let start = Instant::now();
    let lab = up(&LabSpec::of(9)).await;
    println!("nine hosts and the cache node up after {:?}", start.elapsed());
    assert_eq!(nodes(&lab).len(), 9);
    for node in all_nodes(&lab) {
        assert_eq!(reply_to(node, "PING"), "+PONG");
    }
    let ports: BTreeSet<u16> = all_nodes(&lab).iter().map(SocketAddr::port).collect();
    assert_eq!(ports.len(), 10);
    for host in (1..=9).map(HostId) {
        assert!(lab.state(host).is_up() && process_of(&lab, host) > 0);
    }
    let settings = lab.settings();
    assert_eq!(settings.len(), 10);
    assert_eq!(place(&settings[0]), nodes(&lab)[0]);
    assert_eq!(settings[0].settings["maxmemory-policy"], "noeviction");
    assert_eq!(mode_of(lab.dir()), 0o700);

    let dir = lab.dir().to_owned();
    down_without_a_trace(&lab, 10).await;
    let base = fs::read_dir(dir.parent().expect("the base directory"));
    assert!(
        base.is_err() || base.is_ok_and(|mut labs| labs.next().is_some()),
        "an empty base directory is removed"
    );
    lab.down().await;
    assert!(matches!(how_down(&lab, H1), Some(How::By(Fault::Kill))));
    assert!(matches!(lab.apply(RESTART, H1).await, Err(LabError::KeeperGone(_))));
}

#[tokio::test]
async fn a_kill_loses_what_is_not_kept_and_pauses_end() {
    let _one = beside();
    let lab = up(&LabSpec::of(3)).await;
    let (host, node) = (H2, nodes(&lab)[1]);
    let pid = process_of(&lab, host);
    assert_eq!(reply_to(node, "SET key value"), "+OK");

    let effect = carry_out(&lab, KILL, host).await;
    assert!(effect.prose().contains("process is gone"), "{}", effect.prose());
    assert_eq!(process_state(pid), None, "reaped");
    assert!(TcpStream::connect(node).is_err());
    assert!(matches!(how_down(&lab, host), Some(How::By(Fault::Kill))));
    assert_eq!(lab.pid(NodeName::on(host, Role::Lock)), None);
    assert_eq!(reply_to(nodes(&lab)[0], "PING"), "+PONG");

    carry_out(&lab, RESTART, host).await;
    let second = process_of(&lab, host);
    assert!(second != pid && lab.state(host).is_up());
    assert_eq!(reply_to(node, "GET key"), "$-1", "nothing is kept");

    carry_out(&lab, PAUSE, host).await;
    assert_eq!(process_state(second), Some('T'));
    assert!(lab.state(host).conditions.has(Condition::Paused));
    assert_eq!(ask(node, "PING", Duration::from_millis(50)), None);

    carry_out(&lab, RESUME, host).await;
    assert_ne!(process_state(second), Some('T'));
    assert_eq!(reply_to(node, "PING"), "+PONG");
    assert!(lab.state(host).is_up());

    carry_out(&lab, PAUSE, host).await;
    carry_out(&lab, KILL, host).await;
    assert_eq!(process_state(second), None, "a kill needs no resume");
    lab.down().await;
}

#[tokio::test]
async fn a_node_that_ends_keeps_what_persistence_says() {
    let _one = beside();
    for (persistence, end, kept) in [
        (Persistence::None, SHUTDOWN, "$-1"),
        (Persistence::Rdb, SHUTDOWN, "$5"),
        (Persistence::Rdb, KILL, "$-1"),
        (Persistence::AofEverysec, KILL, "$5"),
        (Persistence::AofAlways, KILL, "$5"),
    ] {
        let lab = up(&that_keeps(persistence, 1)).await;
        let (node, pid) = (nodes(&lab)[0], process_of(&lab, H1));
        assert_eq!(reply_to(node, "SET key value PX 600000"), "+OK");
        carry_out(&lab, end, H1).await;
        assert_eq!(process_state(pid), None);
        assert!(TcpStream::connect(node).is_err());
        let how = how_down(&lab, H1);
        assert!(
            matches!(how, Some(How::By(Fault::Shutdown))) == (end == SHUTDOWN),
            "{end:?}: {how:?}"
        );
        carry_out(&lab, RESTART, H1).await;
        assert_eq!(reply_to(node, "GET key"), kept, "{persistence:?}, {end:?}");
        lab.down().await;
    }
}

#[tokio::test]
async fn impossible_actions_are_refused() {
    let _one = beside();
    let lab = up(&LabSpec::of(1)).await;
    let refused = async |action| {
        let error = lab.apply(action, H1).await.expect_err("refused");
        assert!(matches!(error, LabError::Impossible { .. }), "{error}");
        error.to_string()
    };
    assert_eq!(refused(RESTART).await, "cannot restart host 1: it is not down");
    assert_eq!(refused(RESUME).await, "cannot resume host 1: it is not paused");
    carry_out(&lab, PAUSE, H1).await;
    assert_eq!(refused(PAUSE).await, "cannot pause host 1: it is already paused");
    assert!(refused(SHUTDOWN).await.contains("resume it first"));
    assert!(refused(RESTART).await.contains("is paused"));
    carry_out(&lab, KILL, H1).await;
    assert_eq!(refused(KILL).await, "cannot kill host 1: it is already down (killed)");
    let down = "cannot pause host 1: it is down (killed); restart it first";
    assert_eq!(refused(PAUSE).await, down);
    assert!(refused(RESUME).await.contains("restart it first"));
    for host in [0, 2] {
        let error = lab.apply(KILL, HostId(host)).await.expect_err("no such host");
        let said = format!("there is no host {host}: the lab has hosts 1 to 1");
        assert_eq!(error.to_string(), said);
    }
    lab.down().await;
}

#[tokio::test]
async fn what_a_lab_has_not_can_not_fail() {
    let _one = beside();
    let cuts = LabOptions {
        cuts: true,
        ..options()
    };
    let refused = Lab::up(&LabSpec::of(2), cuts).await.unwrap_err();
    assert!(matches!(refused, LabError::CutsNeedContainers), "{refused}");
    assert!(refused.to_string().contains("--lab docker"), "{refused}");

    let lab = up(&LabSpec::of(3)).await;
    let refused = async |fault: Fault, host| lab.apply(fault.into(), host).await.expect_err("refused");
    let direction = Direction::Both;
    let delay = Duration::from_millis(1);
    let lag = refused(Fault::Lag { delay, direction }, H1).await.to_string();
    assert!(lag.contains("this lab has no proxy"), "{lag}");
    let cut = refused(Fault::Cut { direction }, H1).await;
    assert!(matches!(cut, LabError::CutsNeedContainers), "{cut}");
    for by in [Way::Hand, Way::Sentinel] {
        let said = refused(Fault::Failover { by }, H2).await.to_string();
        assert_eq!(said, "there was no failover: this lab has no replicated nodes");
    }
    assert!(lab.state(H1).is_up());
    lab.down().await;
}

#[tokio::test]
async fn a_lag_delays_one_host_both_ways_until_it_is_undone() {
    let _one = beside();
    let proxy = true;
    let lab = Lab::up(&LabSpec::of(2), LabOptions { proxy, ..options() })
        .await
        .expect("up");
    let (first, delay, direction) = (H1, Duration::from_millis(60), Direction::Both);
    let lag = Action::Fault(Fault::Lag { delay, direction });
    let unlag = Action::Undo(Condition::Lagging);
    let entrances: Vec<u16> = lab.lock_nodes().iter().map(|(_, node)| node.port()).collect();
    for (entrance, node) in entrances.iter().zip(nodes(&lab)) {
        assert_ne!(*entrance, node.port(), "the proxy is in front");
    }
    let took = |port: u16| {
        let mut connection = connect(&lab, port);
        // The shortest of a few: this machine may be busy.
        let times = (0..3).map(|_| {
            let start = Instant::now();
            assert_eq!(lockstorm_kit::lab::ask::<String>(&mut connection, &["PING"]), "PONG");
            start.elapsed()
        });
        times.min().expect("three")
    };
    assert!(took(entrances[0]) < 2 * delay);
    let verified = carry_out(&lab, lag, first).await;
    assert!(
        verified.prose().starts_with("a round trip on port "),
        "{}",
        verified.prose()
    );
    let Finding::RoundTrip { took_us, .. } = verified.proof[0].finding else {
        panic!("{verified:?}");
    };
    assert!(Duration::from_micros(took_us) >= 2 * delay, "{took_us}");
    assert!(took(entrances[0]) >= 2 * delay);
    assert!(took(entrances[1]) < 2 * delay, "host 2 has its own line");
    assert!(lab.state(first).conditions.has(Condition::Lagging));
    let again = lab.apply(lag, first).await.expect_err("once is enough").to_string();
    assert_eq!(again, "cannot lag host 1: it is already lagging (60 ms each way)");

    // A kill does not mend the network, and neither does a restart.
    carry_out(&lab, KILL, first).await;
    let closed = TcpStream::connect(("127.0.0.1", entrances[0])).map(drop);
    assert!(
        closed.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused),
        "nobody is behind the door"
    );
    carry_out(&lab, RESTART, first).await;
    assert!(took(entrances[0]) >= 2 * delay);
    carry_out(&lab, unlag, first).await;
    assert!(took(entrances[0]) < 2 * delay);
    assert!(lab.state(first).is_up());

    // While the host is paused nobody can measure it, and the proxy tells what it does.
    carry_out(&lab, lag, first).await;
    carry_out(&lab, PAUSE, first).await;
    let verified = carry_out(&lab, unlag, first).await;
    assert_eq!(verified.prose(), "its proxy delays nothing");
    lab.down().await;
    drop(lab);
    eventually("the doors are closed", || {
        TcpStream::connect(("127.0.0.1", entrances[1])).is_err()
    });
}

/// A lab with a master, its replicas and a Sentinel on each host, which waits for one second only.
async fn up_replicated() -> Lab {
    up_replicated_with(ReplicatedSpec {
        down_after: Duration::from_secs(1),
        ..ReplicatedSpec::default()
    })
    .await
}

/// The same with Sentinels that are set up like this.
async fn up_replicated_with(replicated: ReplicatedSpec) -> Lab {
    up(&LabSpec {
        replicated: Some(replicated),
        ..LabSpec::of(3)
    })
    .await
}

/// What a host's Sentinel answers.
fn ask_sentinel<T: redis::FromRedisValue>(lab: &Lab, host: HostId, words: &[&str]) -> T {
    let mut sentinel = connect(lab, port(lab, NodeName::on(host, Role::Sentinel)));
    lockstorm_kit::lab::ask(&mut sentinel, &[&["SENTINEL"], words].concat())
}

/// How often a Sentinel asks for roles and publishes what it knows, in milliseconds.
fn periods(lab: &Lab, host: HostId) -> [i64; 2] {
    let all: HashMap<String, String> = ask_sentinel(lab, host, &["DEBUG"]);
    ["INFO-PERIOD", "PUBLISH-PERIOD"].map(|name| {
        let found = all.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.expect("a period").1.parse().expect("a number")
    })
}

#[tokio::test]
async fn sentinels_hurry_if_asked_and_after_a_restart_too() {
    let _one = beside();
    let hurried = ReplicatedSpec {
        sentinel_period: Some(Duration::from_millis(100)),
        ..ReplicatedSpec::default()
    };
    let lab = up_replicated_with(hurried).await;
    assert_eq!([H1, H2, H3].map(|host| periods(&lab, host)), [[100; 2]; 3]);
    carry_out(&lab, KILL, H2).await;
    carry_out(&lab, RESTART, H2).await;
    assert_eq!(periods(&lab, H2), [100; 2]);
    lab.down().await;
}

/// Waits until every Sentinel sees this many nodes follow the master that it knows, as they should: one that has not seen it makes
/// an old master a replica, even if another Sentinel has just made that the master again.
async fn sentinels_see_replicas(lab: &Lab, wanted: usize) {
    type Fields = HashMap<String, String>;
    let sees_them = |host: HostId| {
        let master: Fields = ask_sentinel(lab, host, &["MASTER", MASTER_NAME]);
        let replicas: Vec<Fields> = ask_sentinel(lab, host, &["REPLICAS", MASTER_NAME]);
        let follows = |node: &&Fields| node["role-reported"] == "slave" && node["master-port"] == master["port"];
        replicas.iter().filter(follows).count() == wanted
    };
    until("the Sentinels see them", async || {
        [H1, H2, H3].into_iter().all(sees_them).then_some(()).ok_or(())
    })
    .await;
}

#[tokio::test]
async fn a_master_that_dies_is_replaced_and_comes_back_as_a_replica() {
    let _one = beside();
    let lab = up_replicated().await;
    assert_eq!(lab.names().count(), 10);
    let first = master_with_replicas(&lab, 3, None).await;
    assert_eq!(first, H1, "the first host has the first master");
    let ordinary = [10_000, 2_000];
    assert_eq!([H1, H2, H3].map(|host| periods(&lab, host)), [ordinary; 3]);
    assert_eq!(nodes(&lab).len(), 3, "the independent nodes are there too");

    // The host takes its Sentinel with it, and its independent node.
    carry_out(&lab, KILL, first).await;
    for role in [Role::Lock, Role::Replicated, Role::Sentinel] {
        let state = lab.node_state(NodeName::on(first, role));
        assert!(state.conditions.has(Condition::Down), "{role:?}");
    }
    let second = master_with_replicas(&lab, 2, Some(first)).await;
    carry_out(&lab, RESTART, first).await;
    assert_eq!(master_with_replicas(&lab, 3, Some(first)).await, second);
    assert_eq!(periods(&lab, first), ordinary);

    // Paused, it is replaced too, and follows after it goes on.
    carry_out(&lab, PAUSE, second).await;
    let third = master_with_replicas(&lab, 2, Some(second)).await;
    carry_out(&lab, RESUME, second).await;
    assert_eq!(master_with_replicas(&lab, 3, Some(second)).await, third);
    down_without_a_trace(&lab, 10).await;
}

/// The host whose node the proof of a failover names.
fn new_master(done: &Verified<Instant>) -> HostId {
    let [proof] = &done.proof[..] else {
        panic!("{:?}", done.proof)
    };
    let Finding::TakesWrites { host } = proof.finding else {
        panic!("{proof:?}")
    };
    assert_eq!(
        done.prose(),
        format!("the replicated node of {host} accepted a write as the master")
    );
    host
}

#[tokio::test]
async fn the_master_moves_by_hand_and_by_sentinel_there_and_back() {
    let _one = beside();
    // With ordinary periods an old master that is still up follows only ten seconds later. With periods much shorter than this
    // the other Sentinels undo a promotion before the one that ordered it has seen it. Nobody is down here: a machine that stands still
    // for a second is not to make Sentinels move the master by themselves.
    let hurried = ReplicatedSpec {
        sentinel_period: Some(Duration::from_secs(1)),
        down_after: Duration::from_mins(1),
        ..ReplicatedSpec::default()
    };
    let lab = up_replicated_with(hurried).await;
    let by = |by| Action::Fault(Fault::Failover { by });
    assert_eq!(master_with_replicas(&lab, 3, None).await, H1);
    for to in [H2, H1, H3] {
        let done = carry_out(&lab, by(Way::Hand), to).await;
        assert_eq!(new_master(&done), to);
        assert_eq!(master_with_replicas(&lab, 3, None).await, to);
    }
    let again = lab.apply(by(Way::Hand), H3).await.expect_err("refused");
    assert!(again.to_string().contains("host 3 has the master already"), "{again}");

    // The Sentinels know what was done by hand, and choose another one than host 3 now.
    let mut last = H3;
    for _ in 0..2 {
        sentinels_see_replicas(&lab, 2).await;
        let done = carry_out(&lab, by(Way::Sentinel), H2).await;
        let master = new_master(&done);
        assert_ne!(master, last);
        last = master_with_replicas(&lab, 3, Some(last)).await;
        assert_eq!(last, master);
    }
    lab.down().await;
}

#[tokio::test]
async fn hosts_that_miss_a_failover_by_hand_come_back_as_replicas() {
    let _one = beside();
    let lab = up_replicated().await;
    let by_hand = Action::Fault(Fault::Failover { by: Way::Hand });
    master_with_replicas(&lab, 3, None).await;
    carry_out(&lab, KILL, H1).await;
    let dead = lab.apply(by_hand, H1).await.expect_err("it is down");
    assert!(matches!(dead, LabError::Impossible { .. }), "{dead}");
    carry_out(&lab, by_hand, H2).await;
    assert_eq!(master_with_replicas(&lab, 2, None).await, H2);
    carry_out(&lab, RESTART, H1).await;
    assert_eq!(master_with_replicas(&lab, 3, None).await, H2);

    // The paused one goes on as a master that nobody follows, until the Sentinels see it.
    carry_out(&lab, PAUSE, H2).await;
    carry_out(&lab, by_hand, H3).await;
    carry_out(&lab, RESUME, H2).await;
    assert_eq!(master_with_replicas(&lab, 3, None).await, H3);
    lab.down().await;
}

/// A spec with a cluster too.
fn with_cluster(spec: LabSpec) -> LabSpec {
    LabSpec {
        cluster: Some(ClusterSpec {
            node_timeout: Duration::from_secs(1),
            ..ClusterSpec::default()
        }),
        ..spec
    }
}

/// The hosts of the masters that have slots, once every slot has a master that takes writes, and each of `up` nodes is such a
/// master or a connected replica of one.
async fn cluster_in_order(lab: &Lab, up: usize) -> Vec<HostId> {
    let mut known: BTreeMap<NodeName, ClusterNode> = BTreeMap::new();
    until("the cluster is in order", async || {
        let said = lab.cluster_roles().await;
        // On a busy machine an answer may be too late: then the one before it counts.
        known.retain(|name, _| said.contains_key(name));
        known.extend(said.into_iter().filter_map(|(name, node)| Some((name, node?))));
        let masters = || known.iter().filter(|(_, node)| node.has_slots());
        let follows = |node: &ClusterNode| match node.role {
            ClusterRole::Replica { master, connected } => {
                connected && masters().any(|(name, _)| port(lab, *name) == master)
            }
            ClusterRole::Master { .. } => false,
        };
        let replicas = known.values().filter(|node| node.is_ok && follows(node)).count();
        let slots: u32 = known.values().map(|node| u32::from(node.usable_slots())).sum();
        if slots == u32::from(ClusterNode::SLOTS) && masters().count() + replicas == up {
            return Ok(masters().filter_map(|(name, _)| name.host).collect());
        }
        Err(known.clone())
    })
    .await
}

#[tokio::test]
async fn a_cluster_replaces_a_master_that_dies_and_a_host_that_is_back_follows() {
    let _one = beside();
    let lab = up(&with_cluster(LabSpec::of(4))).await;
    let count = lab.names().count();
    assert_eq!(count, 4 + 1 + 6, "three of four hosts have two nodes each");
    assert_eq!(lab.names().filter(|name| name.host == Some(HostId(4))).count(), 1);
    assert_eq!(cluster_in_order(&lab, 6).await, [H1, H2, H3], "each host has a master");
    // A slow machine may not answer in time.
    let roles = until("each node answers", async || {
        let roles = lab.cluster_roles().await;
        match roles.len() == 6 && roles.values().all(Option::is_some) {
            true => Ok(roles),
            false => Err(roles),
        }
    });
    for (name, node) in roles.await {
        let begins_as_master = name.role == Role::FirstInCluster;
        assert_eq!(node.map(ClusterNode::has_slots), Some(begins_as_master), "{name}");
    }
    let ports = || Role::IN_CLUSTER.map(|role| port(&lab, NodeName::on(H1, role)));
    let before = ports();
    let [masters, replicas] = lab.cluster_nodes().expect("a cluster");
    assert_eq!((masters.len(), replicas.len()), (3, 3));
    assert_eq!(lab.lock_nodes().len(), 4, "the independent nodes are there too");

    // A master that bounces comes back empty and stays the master.
    carry_out(&lab, KILL, H1).await;
    carry_out(&lab, RESTART, H1).await;
    assert_eq!(cluster_in_order(&lab, 6).await, [H1, H2, H3]);

    // The replica of its master is on host 2.
    carry_out(&lab, KILL, H1).await;
    assert_eq!(lab.cluster_roles().await.len(), 4, "both nodes of the host are dead");
    assert_eq!(cluster_in_order(&lab, 4).await, [H2, H3, H2]);
    carry_out(&lab, RESTART, H1).await;
    assert_eq!(cluster_in_order(&lab, 6).await, [H2, H3, H2]);
    assert_eq!(ports(), before, "the others know it by its ports");

    // Paused, it is replaced too, and follows after it goes on.
    carry_out(&lab, PAUSE, H3).await;
    assert_eq!(cluster_in_order(&lab, 4).await, [H2, H1, H2]);
    carry_out(&lab, RESUME, H3).await;
    assert_eq!(cluster_in_order(&lab, 6).await, [H2, H1, H2]);
    down_without_a_trace(&lab, 11).await;
}

#[tokio::test]
async fn twenty_two_servers_start_and_end_with_paused_nodes_too() {
    let _one = beside();
    let spec = LabSpec {
        replicated: Some(ReplicatedSpec::default()),
        ..with_cluster(LabSpec::of(5))
    };
    let told = std::sync::Mutex::new(Vec::new());
    let tell = |what: &str| told.lock().expect("not poisoned").push(what.to_owned());
    let lab = Lab::up_telling(&spec, options(), tell).await.expect("the lab comes up");
    assert_eq!((lab.names().count(), spec.processes()), (22, 22));
    let told = told.into_inner().expect("not poisoned");
    assert_eq!(told[0], "starting 22 servers");
    for awaited in [
        "until the replicas have acknowledged a write",
        "until the Sentinels know each other",
        "until the nodes of the cluster know each other",
        "until the cluster is in order",
    ] {
        assert!(told.iter().any(|what| what.contains(awaited)), "{awaited}: {told:?}");
    }
    master_with_replicas(&lab, 5, None).await;
    cluster_in_order(&lab, 6).await;
    only_the_owner_can_read_passwords(&lab);
    for host in [H1, HostId(5)] {
        carry_out(&lab, PAUSE, host).await;
    }
    down_without_a_trace(&lab, 22).await;
}

fn only_the_owner_can_read_passwords(lab: &Lab) {
    let password = password::in_dir(lab.dir()).expect("a password");
    let mut with_password = 0;
    for entry in fs::read_dir(lab.dir()).expect("the run directory").flatten() {
        let inner = fs::read_dir(entry.path()).into_iter().flatten().flatten();
        for path in inner.map(|entry| entry.path()).chain([entry.path()]) {
            if fs::read_to_string(&path).is_ok_and(|text| text.contains(&password)) {
                with_password += 1;
                assert_eq!(mode_of(&path) & 0o077, 0, "{}", path.display());
            }
        }
    }
    // Five replicated nodes, five Sentinels, six nodes of the cluster, and the file of all others.
    assert_eq!(with_password, 17);
}

#[tokio::test]
async fn the_ports_of_a_cluster_come_last() {
    let _one = beside();
    let first = free_ports(16);
    let fixed = LabSpec {
        port: Some(first),
        ..with_cluster(LabSpec::of(3))
    };
    let lab = up(&fixed).await;
    assert_eq!(cache(&lab).port(), first + 3);
    let mut settings = lab.settings();
    settings.retain(|node| node.name.role.is_in_cluster());
    let mut ports: Vec<u16> = settings.iter().map(|node| place(node).port()).collect();
    let bus = |node: &NodeSettings| node.settings["cluster-port"].parse::<u16>().expect("a port");
    ports.extend(settings.iter().map(bus));
    ports.sort_unstable();
    assert_eq!(ports, (first + 4..first + 16).collect::<Vec<_>>());
    lab.down().await;
}

/// A server that is a shell script with this text.
fn claimed(dir: &TempDir, body: &str) -> ServerBinary {
    let program = script(dir.path().join("server"), body);
    ServerBinary::find(Some(&program)).expect("it says that it is a server")
}

#[tokio::test]
async fn a_server_without_cluster_mode_is_refused_in_one_line() {
    let _one = beside();
    let dir = tempfile::tempdir().expect("a directory");
    // It takes no notice of the setting.
    let body = format!(
        "for word in \"$@\"; do shift; case $word in --cluster-enabled) set -- \"$@\" --cluster-enabled no; skip=1;;\n\
         *) if [ -n \"$skip\" ]; then skip=; else set -- \"$@\" \"$word\"; fi;; esac; done\nexec {} \"$@\"",
        installed().path.display()
    );
    let refused = Lab::up(&with_cluster(LabSpec::of(3)), options_with(claimed(&dir, &body))).await;
    let said = refused.expect_err("refused").to_string();
    assert!(
        said.contains("cluster support disabled") && said.lines().count() == 1,
        "{said}"
    );
    assert!(said.contains("the first cluster node of host 1"), "{said}");
}

#[tokio::test]
async fn a_server_without_sentinel_mode_is_refused_before_any_other_starts() {
    let _one = beside();
    let dir = tempfile::tempdir().expect("a directory");
    let started = dir.path().join("started");
    let body = format!(
        "{CLAIM}\ncase \"$*\" in *--sentinel*) echo 'there is no such mode'; exit 1;; esac\n\
         echo one >> {}\nexec {} \"$@\"",
        started.display(),
        installed().path.display()
    );
    let spec = LabSpec {
        replicated: Some(ReplicatedSpec::default()),
        ..LabSpec::of(3)
    };
    let refused = Lab::up(&spec, options_with(claimed(&dir, &body))).await;
    let said = refused.expect_err("refused").to_string();
    tells(
        &said,
        &["the Sentinel of host", "a program without Sentinel mode can't be one"],
    );
    assert!(!started.exists(), "other servers were started");
}

#[tokio::test]
async fn changes_from_outside_to_a_host_are_noticed() {
    let _one = beside();
    let lab = up(&LabSpec::of(2)).await;
    let send = |host, by| signal(process_of(&lab, host), by);
    send(H1, Signal::SIGKILL);
    eventually("killed", || matches!(how_down(&lab, H1), Some(How::By(Fault::Kill))));
    send(H2, Signal::SIGSTOP);
    eventually("paused", || lab.state(H2).conditions.has(Condition::Paused));
    send(H2, Signal::SIGCONT);
    eventually("up", || lab.state(H2).is_up());
    send(H2, Signal::SIGABRT);
    eventually("died", || matches!(how_down(&lab, H2), Some(How::Died(_))));
    carry_out(&lab, RESTART, H1).await;
    lab.down().await;
}

/// The statistics, once they come from these nodes and no others: on a busy machine one may be too late.
async fn stats_of(lab: &Lab, nodes: &[NodeName]) -> BTreeMap<NodeName, NodeStats> {
    until("statistics", async || {
        let stats = lab.stats().await;
        if stats.keys().eq(nodes) { Ok(stats) } else { Err(stats) }
    })
    .await
}

#[tokio::test]
async fn stats_come_from_hosts_that_answer() {
    let _one = beside();
    let lab = up(&LabSpec::of(3)).await;
    for n in 0..10 {
        assert_eq!(reply_to(nodes(&lab)[0], &format!("SET key{n} value")), "+OK");
    }
    let node = |host| NodeName::on(HostId(host), Role::Lock);
    let all = stats_of(&lab, &[node(1), node(2), node(3)]).await;
    assert_eq!(all[&node(1)].keys, 10);
    assert!(all[&node(2)].used_memory > 0);
    carry_out(&lab, PAUSE, H2).await;
    carry_out(&lab, KILL, H3).await;
    stats_of(&lab, &[node(1)]).await;
    carry_out(&lab, RESUME, H2).await;
    carry_out(&lab, RESTART, H3).await;
    // The first request after a restart may find the old connection broken.
    stats_of(&lab, &[node(1), node(2), node(3)]).await;
    lab.down().await;
}

#[tokio::test]
async fn a_dropped_lab_leaves_nothing() {
    let _one = beside();
    let lab = up(&that_keeps(Persistence::AofEverysec, 2)).await;
    carry_out(&lab, PAUSE, H1).await;
    let (dir, pids) = (lab.dir().to_owned(), living_in(lab.dir()));
    drop(lab);
    until_gone(&dir, &pids);
}

/// Not a test of its own: the owner of a lab, which the tests below kill. It prints where its lab is, and waits.
#[tokio::test]
#[ignore = "run by other tests"]
async fn owner_of_a_lab() {
    let lab = up(&LabSpec::of(2)).await;
    carry_out(&lab, PAUSE, H2).await;
    println!("\nLAB {}", lab.dir().display());
    std::thread::sleep(TEST_TIMEOUT * 4);
    lab.down().await;
}

/// Starts [`owner_of_a_lab`] in a process of its own, and returns it with its stdout and its run directory.
fn owner() -> (Child, BufReader<ChildStdout>, PathBuf) {
    let mut owner = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "hosts::owner_of_a_lab", "--ignored", "--nocapture"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the owner starts");
    let mut stdout = BufReader::new(owner.stdout.take().expect("its stdout"));
    let line = stdout
        .by_ref()
        .lines()
        .map_while(Result::ok)
        .find(|line| line.starts_with("LAB "));
    let dir = PathBuf::from(line.expect("its lab is up").trim_start_matches("LAB "));
    (owner, stdout, dir)
}

/// Whether this process, and what it starts, ignores SIGINT.
fn ignores_interrupts() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 0b10 != 0))
}

#[tokio::test]
async fn nothing_outlives_an_owner_that_is_killed() {
    let _one = beside();
    for by in [Signal::SIGKILL, Signal::SIGTERM, Signal::SIGINT] {
        if by == Signal::SIGINT && ignores_interrupts() {
            // A shell starts what runs in its background so, and the owner would inherit it.
            println!("SIGINT is ignored here, so it ends nobody");
            continue;
        }
        let (mut owner, _stdout, dir) = owner();
        let pids = living_in(&dir);
        assert_eq!(pids.len(), 3);
        signal(owner.id(), by);
        owner.wait().expect("it ended");
        until_gone(&dir, &pids);
    }
}

#[tokio::test]
async fn a_keeper_does_not_hear_signals_of_a_terminal_and_is_killed_if_it_hangs() {
    let _one = beside();
    let lab = up(&LabSpec::of(1)).await;
    let keeper = keeper_of(lab.dir());
    for by in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        signal(keeper, by);
    }
    carry_out(&lab, KILL, H1).await;
    carry_out(&lab, RESTART, H1).await;
    signal(keeper, Signal::SIGSTOP);
    down_without_a_trace(&lab, 2).await;
}

#[tokio::test]
async fn servers_die_with_a_killed_keeper_and_leftovers_are_removed() {
    let Some(_one) = turn_apart("hosts::servers_die_with_a_killed_keeper_and_leftovers_are_removed") else {
        return;
    };
    let lab = up(&LabSpec::of(2)).await;
    carry_out(&lab, PAUSE, H2).await;
    let (dir, pids) = (lab.dir().to_owned(), living_in(lab.dir()));
    let keeper = keeper_of(&dir);
    leftovers::remove().expect("looked");
    assert!(
        dir.exists() && !pids.iter().any(|&pid| is_gone(pid)),
        "a lab in use is not touched"
    );
    signal(keeper, Signal::SIGKILL);
    eventually("all gone", || pids.iter().all(|&pid| is_gone(pid)));
    eventually("down", || lab.state(H1).conditions.has(Condition::Down));
    assert!(dir.exists());
    let report = leftovers::remove().expect("removed");
    assert!(report.directories.contains(&dir), "{report:?}");
    assert!(!dir.exists());
    lab.down().await;
}

#[tokio::test]
async fn a_process_left_in_a_run_directory_is_killed_and_a_visitor_is_not() {
    let Some(_one) = turn_apart("hosts::a_process_left_in_a_run_directory_is_killed_and_a_visitor_is_not") else {
        return;
    };
    let lab = up(&LabSpec::of(1)).await;
    let dir = lab.dir().to_owned();
    // On Linux a dead keeper can't leave living servers, so this process plays both parts.
    let fake = dir.with_file_name("run-test");
    fs::create_dir(&fake).expect("a run directory");
    let works_there = |program: &str, arguments: &[&str]| {
        let child = Command::new(program).args(arguments).current_dir(&fake).spawn();
        Killed(child.expect("a process"))
    };
    let mut visitor = works_there("sleep", &["600"]);
    let mut left = works_there("setsid", &["sleep", "600"]);
    let pid = left.0.id();
    eventually("its own session", || session(pid) == Some(pid));
    fs::write(fake.join("keeper.lock"), format!("{pid}\n")).expect("its lock file");

    let report = leftovers::remove().expect("removed");
    assert!(report.directories.contains(&fake) && !fake.exists(), "{report:?}");
    assert!(report.processes.contains(&pid), "{report:?}");
    assert!(!left.0.wait().expect("it ended").success());

    assert!(visitor.0.try_wait().expect("asked").is_none(), "the visitor lives");
    lab.down().await;
}

#[tokio::test]
async fn fixed_ports_are_used_or_the_taken_one_is_named() {
    let _one = beside();
    let first = free_ports(3);
    let from = |port, hosts| LabSpec {
        port: Some(port),
        ..LabSpec::of(hosts)
    };
    let fixed = from(first, 2);
    let lab = up(&fixed).await;
    let ports: Vec<u16> = all_nodes(&lab).iter().map(SocketAddr::port).collect();
    assert_eq!(ports, [first, first + 1, first + 2]);

    carry_out(&lab, KILL, H2).await;
    let _taken = TcpListener::bind(("127.0.0.1", first + 1)).expect("a port");
    let is_named = |error: &LabError| {
        let said = format!("port {} for host 2 is taken", first + 1);
        assert!(error.to_string().starts_with(&said), "{error}");
    };
    is_named(&lab.apply(RESTART, H2).await.expect_err("taken"));
    assert_eq!(nodes(&lab)[1].port(), first + 1);
    lab.down().await;
    is_named(&Lab::up(&fixed, options()).await.expect_err("taken"));
    let last = Lab::up(&from(65_534, 3), options()).await;
    assert!(matches!(last, Err(LabError::PortRange { .. })));
}

#[test]
fn programs_that_are_not_servers_give_an_error() {
    let dir = tempfile::tempdir().expect("a directory");
    let reject = |path: &Path| ServerBinary::find(Some(path)).expect_err("no server").to_string();
    for program in ["/bin/true", "/bin/cat", "/etc/passwd", "/", "/no/such/file"] {
        let error = reject(Path::new(program));
        assert!(
            error.starts_with(&format!("{program} is not a redis-server: ")),
            "{error}"
        );
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    for body in [
        "head -c 100000 /dev/urandom",
        "yes",
        "exit 1",
        "kill -SEGV $$",
        "printf '\\033[2J\\n'",
    ] {
        let error = reject(&script(dir.path().join("server"), body));
        assert!(error.contains("is not a redis-server"), "{error}");
        assert!(!error.chars().any(char::is_control), "{error:?}");
    }
    let error = reject(&script(dir.path().join("server"), "sleep 600"));
    assert!(error.contains("did not answer within"), "{error}");
    let error = reject(&script(
        dir.path().join("server"),
        "echo 'Redis server v=5.0.14 sha=0:0'",
    ));
    assert!(error.contains("has version 5.0.14, but 6.2 is the oldest"), "{error}");
}

#[test]
fn a_server_is_found_by_name_and_by_path() {
    let found = installed();
    assert!(found.path.is_absolute());
    assert_eq!(ServerBinary::find(Some(&found.path)).expect("by path"), found);
    let name = found.path.file_name().expect("a name");
    assert_eq!(ServerBinary::find(Some(Path::new(name))).expect("by name"), found);
}

/// Not a test of its own: prints the result of the search for a server.
#[test]
#[ignore = "run by other tests"]
fn look_for_a_server() {
    match ServerBinary::find(None) {
        Ok(found) => println!("\nFOUND {found}"),
        Err(error) => println!("\nERROR {error}"),
    }
}

#[test]
fn without_a_server_the_command_that_installs_one_is_named() {
    let look = |path: &Path| {
        let output = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "hosts::look_for_a_server", "--ignored", "--nocapture"])
            .env("PATH", path)
            .output()
            .expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let system = tempfile::tempdir().expect("a directory");
    let add = |program: &str, body: &str| {
        script(system.path().join(program), body);
    };
    let elsewhere = ["/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"];
    if !elsewhere.iter().any(|dir| Path::new(dir).join("redis-server").exists()) {
        assert!(look(system.path()).contains("ERROR no redis-server or valkey-server found: install Redis or Valkey"));
        add("apt-get", "");
        let said = look(system.path());
        assert!(
            said.contains("apt-get update && ") && said.contains("apt-get install -y redis-server`"),
            "{said}"
        );
    }
    // A bad redis-server does not hide a good valkey-server.
    add("redis-server", "echo 'Redis server v=5.0.3'");
    assert!(look(system.path()).contains("has version 5.0.3, but 6.2 is the oldest"));
    add("valkey-server", "echo 'Valkey server v=8.0.1 sha=0:0'");
    assert!(look(system.path()).contains("FOUND valkey-server 8.0.1"));
}

#[tokio::test]
async fn a_server_that_does_not_start_is_quoted() {
    let _one = beside();
    let dir = tempfile::tempdir().expect("a directory");
    let said = async |body: &str| {
        let options = LabOptions {
            start_timeout: Duration::from_millis(500),
            ..options_with(claimed(&dir, &format!("{CLAIM}\n{body}")))
        };
        Lab::up(&LabSpec::of(1), options)
            .await
            .expect_err("it does not start")
            .to_string()
    };
    let dies = said("for n in 1 2 3 4 5 6 7; do echo line $n; done\necho 'out of luck' >&2\nexit 3").await;
    assert!(dies.contains("did not start (died: exit code 3)"), "{dies}");
    let end = "\n  line 4\n  line 5\n  line 6\n  line 7\n  out of luck";
    assert!(dies.ends_with(end), "{dies}");
    let hangs = said("head -c 100000 /dev/urandom\necho\necho busy\nexec sleep 600").await;
    assert!(hangs.contains("did not answer at 127.0.0.1:"), "{hangs}");
    assert!(hangs.ends_with("\n  busy"), "{hangs}");
}

#[tokio::test]
async fn a_lost_race_for_a_port_is_tried_again() {
    let _one = beside();
    let dir = tempfile::tempdir().expect("a directory");
    let (port, go) = (dir.path().join("port"), dir.path().join("go"));
    // The first one to start writes down its port, and waits until another process has taken it.
    let body = format!(
        "{CLAIM}\nif mkdir {first} 2>/dev/null; then\n\
         echo $3 > {port}.new; mv {port}.new {port}; until [ -e {go} ]; do sleep 0.01; done\nfi\nexec {real} \"$@\"",
        first = dir.path().join("first").display(),
        port = port.display(),
        go = go.display(),
        real = installed().path.display()
    );
    let options = options_with(claimed(&dir, &body));
    let thief = std::thread::spawn(move || {
        eventually("a port", || port.exists());
        let port = fs::read_to_string(&port).expect("a port");
        let port: u16 = port.trim().parse().expect("a number");
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
        fs::write(go, "").expect("the signal to go on");
        (port, listener)
    });
    let lab = Lab::up(&LabSpec::of(2), options).await.expect("up at last");
    let (stolen, _listener) = thief.join().expect("it took a port");
    for node in all_nodes(&lab) {
        assert_ne!(node.port(), stolen);
        assert_eq!(reply_to(node, "PING"), "+PONG");
    }
    lab.down().await;
}

#[tokio::test]
async fn a_restart_waits_for_its_port() {
    let _one = beside();
    let lab = up(&LabSpec::of(1)).await;
    carry_out(&lab, KILL, H1).await;
    let squatter = TcpListener::bind(nodes(&lab)[0]).expect("the port is free");
    let free_it = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        drop(squatter);
    });
    carry_out(&lab, RESTART, H1).await;
    free_it.join().expect("freed");
    lab.down().await;
}

/// Takes the port of host 1 while it is down, and starts it again.
async fn restart_without_its_port(lab: &Lab) -> (TcpListener, Result<Verified<Instant>, LabError>) {
    carry_out(lab, KILL, H1).await;
    let squatter = TcpListener::bind(nodes(lab)[0]).expect("the port is free");
    (squatter, lab.apply(RESTART, H1).await)
}

#[tokio::test]
async fn a_node_whose_port_is_taken_comes_back_at_another_one_and_everything_follows() {
    let _one = beside();
    for proxy in [false, true] {
        let options = LabOptions { proxy, ..options() };
        let lab = Lab::up(&LabSpec::of(2), options).await.expect("up");
        everything_follows(&lab, proxy).await;
        lab.down().await;
    }
}

async fn everything_follows(lab: &Lab, proxy: bool) {
    let users = lab.follow_lock_nodes().into_iter().map(|(_, address)| address);
    let users = Nodes::follow(users.collect(), NodeOptions::default());
    assert_eq!(users.ready(TEST_TIMEOUT).await, 2);
    let both = [H1, H2].map(|host| NodeName::on(host, Role::Lock));
    stats_of(lab, &both).await;
    let (before, entrance) = (nodes(lab), lab.lock_nodes()[0].1.port());
    let (squatter, restarted) = restart_without_its_port(lab).await;
    let after = nodes(lab);
    assert_eq!(squatter.local_addr().expect("its address"), before[0]);
    assert!(before[0] != after[0] && before[1] == after[1], "{before:?} {after:?}");
    let port = after[0].port();
    let proof = restarted.expect("restarted").proof;
    assert!(
        matches!(proof[..], [Proof { finding: Finding::Answers { port: of }, .. }] if of == port),
        "{proof:?}"
    );
    let settings = &lab.settings()[0];
    assert_eq!(
        (settings.settings["port"].clone(), place(settings)),
        (port.to_string(), after[0])
    );
    // The door of a proxy stays where it is, and leads to the node.
    assert_eq!(lab.lock_nodes()[0].1.port(), if proxy { entrance } else { port });
    let name = NodeName::on(H1, Role::Lock);
    assert_eq!(lab.address(name).expect("its address").port(), port);
    let id = lab
        .dir()
        .file_name()
        .and_then(|name| name.to_str()?.strip_prefix("run-"));
    let running = Running::find(Some(id.expect("an id"))).expect("it is running");
    let cli = running.cli(name).expect("a client is installed");
    assert!(format!("{cli:?}").contains(&format!("127.0.0.1:{port}")), "{cli:?}");
    assert_eq!(reply_to(after[0], "PING"), "+PONG");
    assert_eq!(mode_of(&lab.dir().join("lab.json")), 0o600);

    // Both must vote.
    let lock = Lock::redlock(&users, 1);
    let options = AcquireOptions::new()
        .ttl(TEST_TIMEOUT)
        .wait(Wait::Retry {
            retries: u32::MAX,
            delay: Duration::from_millis(5),
            jitter: Duration::ZERO,
        })
        .timeout(TEST_TIMEOUT)
        .repair(false);
    let guard = lock
        .acquire("moved", &options)
        .await
        .expect("the new address is followed");
    assert_eq!(reply_to(after[0], "EXISTS moved"), ":1");
    guard.release().await;
    stats_of(lab, &both).await;
    // It stays there, although the old port is free again.
    drop(squatter);
    carry_out(lab, KILL, H1).await;
    carry_out(lab, RESTART, H1).await;
    assert_eq!(nodes(lab), after);
}

#[tokio::test]
async fn a_node_whose_users_keep_its_address_does_not_move() {
    let _one = beside();
    let options = LabOptions {
        ports_stay: true,
        ..options()
    };
    let lab = Lab::up(&LabSpec::of(1), options).await.expect("up");
    let before = nodes(&lab);
    let (_squatter, restarted) = restart_without_its_port(&lab).await;
    assert!(matches!(restarted, Err(LabError::PortTaken { .. })), "{restarted:?}");
    assert_eq!(nodes(&lab), before);
    lab.down().await;
}

#[tokio::test]
async fn a_program_that_is_not_a_keeper_gives_an_error() {
    let _one = beside();
    for program in ["/bin/echo", "/bin/cat", "/bin/true", "/no/such/file"] {
        let keeper = program.into();
        let error = Lab::up(&LabSpec::of(1), LabOptions { keeper, ..options() }).await;
        let error = error.expect_err("no keeper").to_string();
        assert!(
            error.starts_with(&format!("the keeper process did not start: {program}: ")),
            "{error}"
        );
    }
}

#[tokio::test]
async fn the_keeper_and_the_servers_hold_no_stream_of_their_owner() {
    let _one = beside();
    let (mut owner, stdout, dir) = owner();
    let mut stderr = owner.stderr.take().expect("its stderr");
    let (keeper, pids) = (keeper_of(&dir), living_in(&dir));
    signal(keeper, Signal::SIGSTOP);
    owner.kill().expect("killed");
    owner.wait().expect("reaped");
    // Keeper and servers live, and the streams end all the same, as `lockstorm … | head` needs.
    let (sender, counts) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(stdout.lines().count() + stderr.read_to_end(&mut Vec::new()).unwrap_or(0)));
    let ended = counts.recv_timeout(TEST_TIMEOUT);
    assert!(!pids.iter().any(|&pid| is_gone(pid)));
    signal(keeper, Signal::SIGCONT);
    until_gone(&dir, &pids);
    ended.expect("the streams end");
}
