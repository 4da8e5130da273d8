//! The lab on real servers: hosts start, fail and come back as ordered, and nothing outlives its owner.

use lockstorm_kit::beside;
use lockstorm_kit::password;

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use lockstorm::lab::{Lab, LabError, LabOptions, NodeName, NodeSettings, Role, Running, ServerBinary, leftovers};
use lockstorm::lock::{AcquireOptions, Lock, NodeOptions, Nodes};
use lockstorm::model::{
    Action, ClusterNode, ClusterRole, Condition, Direction, Fault, Finding, HostId, How, Proof, ReplicationRole,
    Verified, Wait, Way,
};
use lockstorm::scenario::{ClusterSpec, LabSpec, Password, Persistence, ReplicatedSpec};

/// How a host went down, if it is down.
fn how_down(lab: &Lab, host: HostId) -> Option<How> {
    lab.state(host).conditions.get(Condition::Down)?.how.clone()
}

/// Long enough for any machine; only a test that fails waits this long.
const LONG: Duration = Duration::from_secs(30);

fn spec(hosts: usize, persistence: Persistence) -> LabSpec {
    LabSpec {
        hosts,
        persistence,
        port: None,
        password: Password::Random,
        replicated: None,
        cluster: None,
        nodes: None,
    }
}

fn options() -> LabOptions {
    let binary = ServerBinary::find(None).expect("a server is installed");
    let mut options = LabOptions::new(binary).expect("options");
    options.keeper = env!("CARGO_BIN_EXE_lockstorm").into();
    options
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

fn place(node: &NodeSettings) -> SocketAddr {
    node.address.parse().expect("an address")
}

/// The process id of a host's lock node.
fn process_of(lab: &Lab, host: HostId) -> Option<u32> {
    lab.pid(NodeName::on(host, Role::Lock))
}

async fn up(hosts: usize, persistence: Persistence) -> Lab {
    Lab::up(&spec(hosts, persistence), options())
        .await
        .expect("the lab comes up")
}

/// Sends one inline command, and returns the first line of the answer; `None` if there is no answer in time.
fn ask(node: SocketAddr, command: &str, patience: Duration) -> Option<String> {
    let password = password::run_dir(&std::env::temp_dir(), node.port()).and_then(|dir| password::in_dir(&dir))?;
    let mut stream = TcpStream::connect(node).ok()?;
    stream.set_read_timeout(Some(patience)).ok()?;
    stream
        .write_all(format!("AUTH {password}\r\n{command}\r\n").as_bytes())
        .ok()?;
    let mut lines = BufReader::new(stream).lines();
    assert_eq!(lines.next()?.ok()?, "+OK", "the password");
    lines.next()?.ok()
}

fn reply_to(node: SocketAddr, command: &str) -> String {
    ask(node, command, LONG).unwrap_or_else(|| panic!("{node} does not answer {command}"))
}

/// The state letter of a process, as the kernel shows it; `None` if there is no such process.
fn process_state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Whether the process has ended, even if its new parent has not reaped it yet.
fn is_gone(pid: u32) -> bool {
    matches!(process_state(pid), None | Some('Z' | 'X'))
}

fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < end, "not within {LONG:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn all_pids(lab: &Lab) -> Vec<u32> {
    living_in(lab.dir())
}

fn living_in(dir: &Path) -> Vec<u32> {
    fs::read_dir("/proc")
        .expect("/proc")
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
        .filter(|(_, path)| fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd.starts_with(dir)))
        .map(|(pid, _)| pid)
        .collect()
}

#[tokio::test]
async fn hosts_and_cache_come_up_and_answer() {
    let _one = beside();
    let start = Instant::now();
    let lab = up(3, Persistence::None).await;
    println!("three hosts and the cache node up after {:?}", start.elapsed());
    assert_eq!(nodes(&lab).len(), 3);
    for node in nodes(&lab).into_iter().chain([cache(&lab)]) {
        assert_eq!(reply_to(node, "PING"), "+PONG");
    }
    assert_eq!(all_pids(&lab).len(), 4);
    for host in 1..=3 {
        assert!(lab.state(HostId(host)).is_up());
        assert!(process_of(&lab, HostId(host)).is_some());
    }
    let settings = lab.settings();
    assert_eq!(settings.len(), 4);
    assert_eq!(place(&settings[0]), nodes(&lab)[0]);
    assert_eq!(settings[0].settings["maxmemory-policy"], "noeviction");
    let mode = fs::metadata(lab.dir()).expect("the run directory").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);

    let start = Instant::now();
    let (dir, pids) = (lab.dir().to_owned(), all_pids(&lab));
    lab.down().await;
    println!("down after {:?}", start.elapsed());
    assert!(pids.into_iter().all(is_gone));
    assert!(!dir.exists());
    let base = fs::read_dir(dir.parent().expect("the base directory"));
    assert!(
        base.is_err() || base.is_ok_and(|mut labs| labs.next().is_some()),
        "an empty base directory is removed"
    );
    lab.down().await;
    assert!(matches!(how_down(&lab, HostId(1)), Some(How::Killed)));
    assert!(matches!(
        lab.apply(Action::Undo(Condition::Down), HostId(1)).await,
        Err(LabError::KeeperGone(_))
    ));
}

#[tokio::test]
async fn independent_nodes_up_to_nine_hosts() {
    let _one = beside();
    let lab = up(9, Persistence::None).await;
    let mut ports: Vec<u16> = nodes(&lab)
        .iter()
        .map(SocketAddr::port)
        .chain([cache(&lab).port()])
        .collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 10);
    lab.down().await;
}

#[tokio::test]
async fn kill_and_restart() {
    let _one = beside();
    let lab = up(3, Persistence::None).await;
    let (host, node) = (HostId(2), nodes(&lab)[1]);
    let pid = process_of(&lab, host).expect("a process");
    assert_eq!(reply_to(node, "SET key value"), "+OK");

    let effect = lab.apply(Action::Fault(Fault::Kill), host).await.expect("killed");
    assert!(effect.prose().contains("process is gone"), "{}", effect.prose());
    assert_eq!(process_state(pid), None, "reaped");
    assert!(TcpStream::connect(node).is_err());
    assert!(matches!(how_down(&lab, host), Some(How::Killed)));
    assert_eq!(process_of(&lab, host), None);
    assert_eq!(reply_to(nodes(&lab)[0], "PING"), "+PONG");

    lab.apply(Action::Undo(Condition::Down), host).await.expect("restarted");
    assert_ne!(process_of(&lab, host).expect("a process"), pid);
    assert!(lab.state(host).is_up());
    assert_eq!(
        reply_to(node, "GET key"),
        "$-1",
        "without persistence a kill loses everything"
    );
    lab.down().await;
}

#[tokio::test]
async fn pause_and_resume() {
    let _one = beside();
    let lab = up(1, Persistence::None).await;
    let (host, node) = (HostId(1), nodes(&lab)[0]);
    let pid = process_of(&lab, host).expect("a process");

    lab.apply(Action::Fault(Fault::Pause), host).await.expect("paused");
    assert_eq!(process_state(pid), Some('T'));
    assert!(lab.state(host).conditions.has(Condition::Paused));
    assert_eq!(ask(node, "PING", Duration::from_millis(50)), None);

    lab.apply(Action::Undo(Condition::Paused), host).await.expect("resumed");
    assert_ne!(process_state(pid), Some('T'));
    assert_eq!(reply_to(node, "PING"), "+PONG");
    assert!(lab.state(host).is_up());

    lab.apply(Action::Fault(Fault::Pause), host)
        .await
        .expect("paused again");
    lab.apply(Action::Fault(Fault::Kill), host)
        .await
        .expect("a kill needs no resume");
    assert_eq!(process_state(pid), None);
    lab.down().await;
}

#[tokio::test]
async fn a_shutdown_saves_what_persistence_says() {
    let _one = beside();
    for (persistence, kept) in [(Persistence::None, "$-1"), (Persistence::Rdb, "$5")] {
        let lab = up(1, persistence).await;
        let (host, node) = (HostId(1), nodes(&lab)[0]);
        let pid = process_of(&lab, host).expect("a process");
        assert_eq!(reply_to(node, "SET key value"), "+OK");
        lab.apply(Action::Fault(Fault::Shutdown), host)
            .await
            .expect("shut down");
        assert_eq!(process_state(pid), None);
        assert!(TcpStream::connect(node).is_err());
        assert!(matches!(how_down(&lab, host), Some(How::ShutDown)));
        lab.apply(Action::Undo(Condition::Down), host).await.expect("restarted");
        assert_eq!(reply_to(node, "GET key"), kept, "{persistence:?}");
        lab.down().await;
    }
}

#[tokio::test]
async fn a_kill_keeps_what_persistence_says() {
    let _one = beside();
    let all = [
        (Persistence::Rdb, "$-1"),
        (Persistence::AofEverysec, "$5"),
        (Persistence::AofAlways, "$5"),
    ];
    for (persistence, kept) in all {
        let lab = up(1, persistence).await;
        let (host, node) = (HostId(1), nodes(&lab)[0]);
        assert_eq!(reply_to(node, "SET key value PX 600000"), "+OK");
        lab.apply(Action::Fault(Fault::Kill), host).await.expect("killed");
        lab.apply(Action::Undo(Condition::Down), host).await.expect("restarted");
        assert_eq!(reply_to(node, "GET key"), kept, "{persistence:?}");
        lab.down().await;
    }
}

#[tokio::test]
async fn impossible_actions_are_refused() {
    let _one = beside();
    let lab = up(1, Persistence::None).await;
    let host = HostId(1);
    let refused = async |action| {
        let error = lab.apply(action, host).await.expect_err("refused");
        assert!(matches!(error, LabError::Impossible { .. }), "{error}");
        error.to_string()
    };
    assert_eq!(
        refused(Action::Undo(Condition::Down)).await,
        "cannot restart host 1: it is not down"
    );
    assert_eq!(
        refused(Action::Undo(Condition::Paused)).await,
        "cannot resume host 1: it is not paused"
    );
    lab.apply(Action::Fault(Fault::Pause), host).await.expect("paused");
    assert_eq!(
        refused(Action::Fault(Fault::Pause)).await,
        "cannot pause host 1: it is already paused"
    );
    assert!(
        refused(Action::Fault(Fault::Shutdown))
            .await
            .contains("resume it first")
    );
    assert!(refused(Action::Undo(Condition::Down)).await.contains("is paused"));
    lab.apply(Action::Fault(Fault::Kill), host).await.expect("killed");
    assert_eq!(
        refused(Action::Fault(Fault::Kill)).await,
        "cannot kill host 1: it is already down (killed)"
    );
    assert_eq!(
        refused(Action::Fault(Fault::Pause)).await,
        "cannot pause host 1: it is down (killed); restart it first"
    );
    assert!(
        refused(Action::Undo(Condition::Paused))
            .await
            .contains("restart it first")
    );
    for host in [0, 2] {
        let error = lab
            .apply(Action::Fault(Fault::Kill), HostId(host))
            .await
            .expect_err("no such host");
        assert_eq!(
            error.to_string(),
            format!("there is no host {host}: the lab has hosts 1 to 1")
        );
    }
    lab.down().await;
}

#[tokio::test]
async fn a_lag_delays_one_host_both_ways_until_it_is_undone() {
    let _one = beside();
    let with_proxy = LabOptions {
        proxy: true,
        ..options()
    };
    let lab = Lab::up(&spec(2, Persistence::None), with_proxy).await.expect("up");
    let (first, delay) = (HostId(1), Duration::from_millis(60));
    let direction = Direction::Both;
    let (lag, unlag) = (
        Action::Fault(Fault::Lag { delay, direction }),
        Action::Undo(Condition::Lagging),
    );
    let entrances: Vec<SocketAddr> = lab
        .lock_nodes()
        .iter()
        .map(|(_, node)| SocketAddr::from(([127, 0, 0, 1], node.port())))
        .collect();
    for (entrance, node) in entrances.iter().zip(nodes(&lab)) {
        assert_ne!(*entrance, node, "the proxy is in front");
    }
    // The proxy's port has no run directory of its own that could tell the password.
    let password = password::in_dir(lab.dir()).expect("a password");
    let took = |node: SocketAddr| {
        let mut stream = BufReader::new(TcpStream::connect(node).expect("the door is open"));
        let mut say = |text: &str, answer: &str| {
            let start = Instant::now();
            stream
                .get_mut()
                .write_all(format!("{text}\r\n").as_bytes())
                .expect("sent");
            let mut line = String::new();
            stream.read_line(&mut line).expect("an answer");
            assert_eq!(line.trim(), answer);
            start.elapsed()
        };
        say(&format!("AUTH {password}"), "+OK");
        // The shortest of a few: this machine may be busy.
        (0..3).map(|_| say("PING", "+PONG")).min().expect("three")
    };
    assert!(took(entrances[0]) < 2 * delay);
    let verified = lab.apply(lag, first).await.expect("lagged");
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
    lab.apply(Action::Fault(Fault::Kill), first).await.expect("killed");
    let closed = TcpStream::connect(entrances[0]).map(|mut stream| stream.read(&mut [0]));
    assert!(
        matches!(closed, Ok(Ok(0) | Err(_)) | Err(_)),
        "nobody is behind the door"
    );
    lab.apply(Action::Undo(Condition::Down), first)
        .await
        .expect("restarted");
    assert!(took(entrances[0]) >= 2 * delay);
    lab.apply(unlag, first).await.expect("unlagged");
    assert!(took(entrances[0]) < 2 * delay);
    assert!(lab.state(first).is_up());

    // While the host is paused nobody can measure it, and the proxy tells what it does.
    lab.apply(lag, first).await.expect("lagged");
    lab.apply(Action::Fault(Fault::Pause), first).await.expect("paused");
    let verified = lab.apply(unlag, first).await.expect("unlagged");
    assert_eq!(verified.prose(), "its proxy delays nothing");
    lab.down().await;
    drop(lab);
    eventually("the doors are closed", || TcpStream::connect(entrances[1]).is_err());
}

#[tokio::test]
async fn without_a_proxy_a_lag_is_refused() {
    let _one = beside();
    let lab = up(1, Persistence::None).await;
    let lag = Action::Fault(Fault::Lag {
        delay: Duration::from_millis(1),
        direction: Direction::Both,
    });
    let refused = lab.apply(lag, HostId(1)).await.expect_err("refused").to_string();
    assert!(refused.contains("this lab has no proxy"), "{refused}");
    assert!(lab.state(HostId(1)).is_up());
    lab.down().await;
}

/// A lab with a master, its replicas and a Sentinel on each host.
async fn up_replicated(hosts: usize) -> Lab {
    up_replicated_with(hosts, ReplicatedSpec::default()).await
}

/// The same with Sentinels that are set up like this, but wait for one second only.
async fn up_replicated_with(hosts: usize, replicated: ReplicatedSpec) -> Lab {
    let spec = LabSpec {
        replicated: Some(ReplicatedSpec {
            down_after: Duration::from_secs(1),
            ..replicated
        }),
        ..spec(hosts, Persistence::None)
    };
    Lab::up(&spec, options()).await.expect("the lab comes up")
}

/// A connection to a host's Sentinel.
fn sentinel(lab: &Lab, host: HostId) -> redis::Connection {
    let address = lab.address(NodeName::on(host, Role::Sentinel)).expect("a Sentinel");
    let password = password::in_dir(lab.dir()).expect("a password");
    let client = redis::Client::open(format!("redis://:{password}@127.0.0.1:{}", address.port())).expect("a URL");
    client.get_connection().expect("it is there")
}

/// How often a Sentinel asks for roles and publishes what it knows, in milliseconds.
fn periods(lab: &Lab, host: HostId) -> [i64; 2] {
    let mut ask = redis::cmd("SENTINEL");
    let all: HashMap<String, String> = ask.arg("DEBUG").query(&mut sentinel(lab, host)).expect("an answer");
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
    for (spec, expected) in [(hurried, [100; 2]), (ReplicatedSpec::default(), [10_000, 2_000])] {
        let lab = up_replicated_with(3, spec).await;
        assert_eq!([1, 2, 3].map(|host| periods(&lab, HostId(host))), [expected; 3]);
        lab.apply(Fault::Kill.into(), HostId(2)).await.expect("killed");
        lab.apply(Action::Undo(Condition::Down), HostId(2)).await.expect("back");
        assert_eq!(periods(&lab, HostId(2)), expected);
        lab.down().await;
    }
}

/// Waits until one of `up` replicated nodes is the master, on another host than `not`, and all others are its connected
/// replicas.
async fn master_with_replicas(lab: &Lab, up: usize, not: Option<HostId>) -> HostId {
    let end = Instant::now() + LONG;
    loop {
        let roles = lab.replication_roles().await;
        let masters: Vec<NodeName> = roles
            .iter()
            .filter(|(_, role)| matches!(role, ReplicationRole::Master { .. }))
            .map(|(node, _)| *node)
            .collect();
        if let [node] = masters[..]
            && node.host != not
        {
            // A replica of a paused master goes on to call itself connected.
            let follows = |role: &&ReplicationRole| match role {
                ReplicationRole::Replica { master, connected, .. } => *connected && *master == node.host,
                ReplicationRole::Master { .. } => false,
            };
            if roles.values().filter(follows).count() == up - 1 {
                return node.host.expect("it is on a host");
            }
        }
        assert!(Instant::now() < end, "not within {LONG:?}: {roles:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until every Sentinel sees this many nodes follow the master that it knows, as they should: one that has not seen it makes
/// an old master a replica, even if another Sentinel has just made that the master again.
async fn sentinels_see_replicas(lab: &Lab, wanted: usize) {
    type Fields = HashMap<String, String>;
    let sees_them = |host: HostId| {
        let ask = |about: &str| {
            let mut ask = redis::cmd("SENTINEL");
            ask.arg(about).arg("lockstorm");
            ask
        };
        let mut connection = sentinel(lab, host);
        let master: Fields = ask("MASTER").query(&mut connection).expect("an answer");
        let replicas: Vec<Fields> = ask("REPLICAS").query(&mut connection).expect("an answer");
        let follows = |node: &&Fields| node["role-reported"] == "slave" && node["master-port"] == master["port"];
        replicas.iter().filter(follows).count() == wanted
    };
    let end = Instant::now() + LONG;
    while ![HostId(1), HostId(2), HostId(3)].into_iter().all(sees_them) {
        assert!(Instant::now() < end, "not within {LONG:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_master_that_dies_is_replaced_and_comes_back_as_a_replica() {
    let _one = beside();
    let lab = up_replicated(3).await;
    assert_eq!(lab.names().count(), 10);
    let first = master_with_replicas(&lab, 3, None).await;
    assert_eq!(first, HostId(1), "the first host has the first master");
    assert_eq!(nodes(&lab).len(), 3, "the independent nodes are there too");

    // The host takes its Sentinel with it, and its independent node.
    lab.apply(Fault::Kill.into(), first).await.expect("killed");
    for role in [Role::Lock, Role::Replicated, Role::Sentinel] {
        let state = lab.node_state(NodeName::on(first, role));
        assert!(state.conditions.has(Condition::Down), "{role:?}");
    }
    let second = master_with_replicas(&lab, 2, Some(first)).await;
    lab.apply(Action::Undo(Condition::Down), first).await.expect("back");
    assert_eq!(master_with_replicas(&lab, 3, Some(first)).await, second);

    // Paused, it is replaced too, and follows after it goes on.
    lab.apply(Fault::Pause.into(), second).await.expect("paused");
    let third = master_with_replicas(&lab, 2, Some(second)).await;
    lab.apply(Action::Undo(Condition::Paused), second)
        .await
        .expect("resumed");
    assert_eq!(master_with_replicas(&lab, 3, Some(second)).await, third);
    let pids = all_pids(&lab);
    assert_eq!(pids.len(), 10);
    lab.down().await;
    assert!(pids.iter().all(|&pid| is_gone(pid)));
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
    // the other Sentinels undo a promotion before the one that ordered it has seen it.
    let hurried = ReplicatedSpec {
        sentinel_period: Some(Duration::from_secs(1)),
        ..ReplicatedSpec::default()
    };
    let lab = up_replicated_with(3, hurried).await;
    let [host_1, host_2, host_3] = [1, 2, 3].map(HostId);
    let by = |by| Action::Fault(Fault::Failover { by });
    assert_eq!(master_with_replicas(&lab, 3, None).await, host_1);
    for to in [host_2, host_1, host_3] {
        let done = lab.apply(by(Way::Hand), to).await.expect("failed over");
        assert_eq!(new_master(&done), to);
        assert_eq!(master_with_replicas(&lab, 3, None).await, to);
    }
    let again = lab.apply(by(Way::Hand), host_3).await.expect_err("refused");
    assert!(again.to_string().contains("host 3 has the master already"), "{again}");

    // The Sentinels know what was done by hand, and choose another one than host 3 now.
    let mut last = host_3;
    for _ in 0..2 {
        sentinels_see_replicas(&lab, 2).await;
        let done = lab.apply(by(Way::Sentinel), host_2).await.expect("failed over");
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
    let lab = up_replicated(3).await;
    let [host_1, host_2, host_3] = [1, 2, 3].map(HostId);
    let by_hand = Action::Fault(Fault::Failover { by: Way::Hand });
    master_with_replicas(&lab, 3, None).await;
    lab.apply(Fault::Kill.into(), host_1).await.expect("killed");
    let dead = lab.apply(by_hand, host_1).await.expect_err("it is down");
    assert!(matches!(dead, LabError::Impossible { .. }), "{dead}");
    lab.apply(by_hand, host_2).await.expect("failed over");
    assert_eq!(master_with_replicas(&lab, 2, None).await, host_2);
    lab.apply(Action::Undo(Condition::Down), host_1).await.expect("back");
    assert_eq!(master_with_replicas(&lab, 3, None).await, host_2);

    // The paused one goes on as a master that nobody follows, until the Sentinels see it.
    lab.apply(Fault::Pause.into(), host_2).await.expect("paused");
    lab.apply(by_hand, host_3).await.expect("failed over");
    lab.apply(Action::Undo(Condition::Paused), host_2)
        .await
        .expect("resumed");
    assert_eq!(master_with_replicas(&lab, 3, None).await, host_3);
    lab.down().await;
}

#[tokio::test]
async fn nothing_fails_over_without_replicated_nodes_or_sentinels() {
    let _one = beside();
    let lab = up(3, Persistence::None).await;
    for (by, why) in [
        (Way::Hand, "this lab has no replicated nodes"),
        (Way::Sentinel, "no Sentinel answers"),
    ] {
        let refused = lab.apply(Fault::Failover { by }.into(), HostId(2)).await;
        let refused = refused.expect_err("refused").to_string();
        assert_eq!(refused, format!("there was no failover: {why}"));
    }
    lab.down().await;
}

#[tokio::test]
async fn five_hosts_with_replication_start_and_end_with_paused_nodes_too() {
    let _one = beside();
    let lab = up_replicated(5).await;
    assert_eq!(lab.names().count(), 16);
    master_with_replicas(&lab, 5, None).await;
    for host in [HostId(2), HostId(5)] {
        lab.apply(Fault::Pause.into(), host).await.expect("paused");
    }
    let (pids, dir) = (all_pids(&lab), lab.dir().to_owned());
    assert_eq!(pids.len(), 16);
    lab.down().await;
    assert!(pids.iter().all(|&pid| is_gone(pid)) && !dir.exists());
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
    let end = Instant::now() + LONG;
    loop {
        let said = lab.cluster_roles().await;
        let known: Vec<(NodeName, ClusterNode)> =
            said.iter().filter_map(|(name, node)| Some((*name, (*node)?))).collect();
        let masters = || known.iter().filter(|(_, node)| node.has_slots());
        let port = |name: NodeName| lab.address(name).map(|address| address.port());
        let follows = |node: &ClusterNode| match node.role {
            ClusterRole::Replica { master, connected } => {
                connected && masters().any(|(name, _)| port(*name) == Some(master))
            }
            ClusterRole::Master { .. } => false,
        };
        let replicas = known.iter().filter(|(_, node)| node.is_ok && follows(node)).count();
        let slots: u32 = known.iter().map(|(_, node)| u32::from(node.usable_slots())).sum();
        if slots == u32::from(ClusterNode::SLOTS) && masters().count() + replicas == up {
            return masters().filter_map(|(name, _)| name.host).collect();
        }
        assert!(Instant::now() < end, "not within {LONG:?}: {said:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_cluster_replaces_a_master_that_dies_and_a_host_that_is_back_follows() {
    let _one = beside();
    let lab = Lab::up(&with_cluster(spec(4, Persistence::None)), options())
        .await
        .expect("the lab comes up");
    assert_eq!(
        lab.names().count(),
        4 + 1 + 6,
        "three of four hosts have two nodes each"
    );
    assert_eq!(lab.names().filter(|name| name.host == Some(HostId(4))).count(), 1);
    let [h1, h2, h3] = [1, 2, 3].map(HostId);
    assert_eq!(cluster_in_order(&lab, 6).await, [h1, h2, h3], "each host has a master");
    for (name, node) in lab.cluster_roles().await {
        let begins_as_master = name.role == Role::FirstInCluster;
        assert_eq!(node.map(ClusterNode::has_slots), Some(begins_as_master), "{name}");
    }
    let ports = || Role::IN_CLUSTER.map(|role| lab.address(NodeName::on(h1, role)).map(|address| address.port()));
    let before = ports();

    // The replica of its master is on host 2.
    lab.apply(Fault::Kill.into(), h1).await.expect("killed");
    assert_eq!(lab.cluster_roles().await.len(), 4, "both nodes of the host are dead");
    assert_eq!(cluster_in_order(&lab, 4).await, [h2, h3, h2]);
    lab.apply(Action::Undo(Condition::Down), h1).await.expect("back");
    assert_eq!(cluster_in_order(&lab, 6).await, [h2, h3, h2]);
    assert_eq!(ports(), before, "the others know it by its ports");

    // Paused, it is replaced too, and follows after it goes on.
    lab.apply(Fault::Pause.into(), h3).await.expect("paused");
    assert_eq!(cluster_in_order(&lab, 4).await, [h2, h1, h2]);
    lab.apply(Action::Undo(Condition::Paused), h3).await.expect("resumed");
    assert_eq!(cluster_in_order(&lab, 6).await, [h2, h1, h2]);
    let pids = all_pids(&lab);
    lab.down().await;
    assert!(pids.iter().all(|&pid| is_gone(pid)));
}

#[tokio::test]
async fn a_cluster_master_that_bounces_comes_back_empty_and_stays_the_master() {
    let _one = beside();
    let lab = Lab::up(&with_cluster(spec(3, Persistence::None)), options())
        .await
        .expect("the lab comes up");
    let [masters, replicas] = lab.cluster_nodes().expect("a cluster");
    assert_eq!((masters.len(), replicas.len()), (3, 3));
    assert_eq!(lab.lock_nodes().len(), 3, "the independent nodes are there too");
    lab.apply(Fault::Kill.into(), HostId(1)).await.expect("killed");
    lab.apply(Action::Undo(Condition::Down), HostId(1)).await.expect("back");
    assert_eq!(cluster_in_order(&lab, 6).await, [1, 2, 3].map(HostId));
    lab.down().await;
}

#[tokio::test]
async fn twenty_two_servers_start_and_end_with_paused_nodes_too() {
    let _one = beside();
    let spec = LabSpec {
        replicated: Some(ReplicatedSpec::default()),
        ..with_cluster(spec(5, Persistence::None))
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
    for host in [HostId(1), HostId(5)] {
        lab.apply(Fault::Pause.into(), host).await.expect("paused");
    }
    let (pids, dir) = (all_pids(&lab), lab.dir().to_owned());
    assert_eq!(pids.len(), 22);
    lab.down().await;
    assert!(pids.iter().all(|&pid| is_gone(pid)) && !dir.exists());
}

#[tokio::test]
async fn the_ports_of_a_cluster_come_last() {
    let _one = beside();
    let first = (18_000..31_000)
        .step_by(100)
        .find(|&first| (first..first + 16).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok()))
        .expect("sixteen free ports");
    let fixed = LabSpec {
        port: Some(first),
        ..with_cluster(spec(3, Persistence::None))
    };
    let lab = Lab::up(&fixed, options()).await.expect("the lab comes up");
    let port = |name| lab.address(name).map(|address| address.port());
    assert_eq!(port(NodeName::CACHE), Some(first + 3));
    let mut settings = lab.settings();
    settings.retain(|node| node.name.role.is_in_cluster());
    let mut ports: Vec<u16> = settings.iter().map(|node| place(node).port()).collect();
    let bus = |node: &NodeSettings| node.settings["cluster-port"].parse::<u16>().expect("a port");
    ports.extend(settings.iter().map(bus));
    ports.sort_unstable();
    assert_eq!(ports, (first + 4..first + 16).collect::<Vec<_>>());
    lab.down().await;
}

#[tokio::test]
async fn a_server_without_cluster_mode_is_refused_in_one_line() {
    let _one = beside();
    let dir = tempfile::tempdir().expect("a directory");
    let server = dir.path().join("redis-server");
    let real = ServerBinary::find(None).expect("a server is installed").path;
    // It takes no notice of the setting.
    let body = format!(
        "#!/bin/sh\nfor word in \"$@\"; do shift; case $word in --cluster-enabled) set -- \"$@\" --cluster-enabled no; skip=1;;\n\
         *) if [ -n \"$skip\" ]; then skip=; else set -- \"$@\" \"$word\"; fi;; esac; done\nexec {} \"$@\"\n",
        real.display()
    );
    fs::write(&server, body).expect("written");
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).expect("executable");
    let options = LabOptions {
        binary: ServerBinary::find(Some(&server)).expect("it is a server"),
        ..options()
    };
    let refused = Lab::up(&with_cluster(spec(3, Persistence::None)), options).await;
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
    let real = ServerBinary::find(None).expect("a server is installed").path;
    let started = dir.path().join("started");
    let body = format!(
        "{CLAIM}\ncase \"$*\" in *--sentinel*) echo 'there is no such mode'; exit 1;; esac\n\
         echo one >> {}\nexec {} \"$@\"",
        started.display(),
        real.display()
    );
    let options = LabOptions {
        binary: ServerBinary::find(Some(&script(dir.path(), &body))).expect("it says that it is a server"),
        ..options()
    };
    let spec = LabSpec {
        replicated: Some(ReplicatedSpec::default()),
        ..spec(3, Persistence::None)
    };
    let refused = Lab::up(&spec, options).await;
    let said = refused.expect_err("refused").to_string();
    assert!(
        said.contains("the Sentinel of host") && said.contains("a program without Sentinel mode can't be one"),
        "{said}"
    );
    assert!(!started.exists(), "other servers were started");
}

#[tokio::test]
async fn files_with_passwords_are_readable_by_their_owner_only() {
    let _one = beside();
    let spec = LabSpec {
        replicated: Some(ReplicatedSpec::default()),
        ..with_cluster(spec(2, Persistence::None))
    };
    let lab = Lab::up(&spec, options()).await.expect("the lab comes up");
    let password = password::in_dir(lab.dir()).expect("a password");
    let mut with_password = 0;
    for entry in fs::read_dir(lab.dir()).expect("the run directory").flatten() {
        let inner = fs::read_dir(entry.path()).into_iter().flatten().flatten();
        for path in inner.map(|entry| entry.path()).chain([entry.path()]) {
            if fs::read_to_string(&path).is_ok_and(|text| text.contains(&password)) {
                with_password += 1;
                let mode = fs::metadata(&path).expect("its mode").permissions().mode();
                assert_eq!(mode & 0o077, 0, "{}", path.display());
            }
        }
    }
    // Two replicated nodes, two Sentinels, four nodes of the cluster, and the file of all others.
    assert_eq!(with_password, 9);
    lab.down().await;
}

#[tokio::test]
async fn changes_from_outside_to_a_host_are_noticed() {
    let _one = beside();
    let lab = up(2, Persistence::None).await;
    let signal = |host, signal: &str| send(process_of(&lab, host).expect("a process"), signal);
    signal(HostId(1), "-KILL");
    eventually("killed", || matches!(how_down(&lab, HostId(1)), Some(How::Killed)));
    signal(HostId(2), "-STOP");
    eventually("paused", || lab.state(HostId(2)).conditions.has(Condition::Paused));
    signal(HostId(2), "-CONT");
    eventually("up", || lab.state(HostId(2)).is_up());
    signal(HostId(2), "-ABRT");
    eventually("died", || matches!(how_down(&lab, HostId(2)), Some(How::Died(_))));
    lab.apply(Action::Undo(Condition::Down), HostId(1))
        .await
        .expect("restarted");
    lab.down().await;
}

#[tokio::test]
async fn stats_come_from_hosts_that_answer() {
    let _one = beside();
    let lab = up(3, Persistence::None).await;
    for n in 0..10 {
        assert_eq!(reply_to(nodes(&lab)[0], &format!("SET key{n} value")), "+OK");
    }
    let stats = lab.stats().await;
    let node = |host| NodeName::on(HostId(host), Role::Lock);
    assert_eq!(stats[&node(1)].keys, 10);
    assert!(stats[&node(2)].used_memory > 0);
    lab.apply(Action::Fault(Fault::Pause), HostId(2)).await.expect("paused");
    lab.apply(Action::Fault(Fault::Kill), HostId(3)).await.expect("killed");
    let stats = lab.stats().await;
    assert_eq!(stats.into_keys().collect::<Vec<_>>(), [node(1)]);
    lab.apply(Action::Undo(Condition::Paused), HostId(2))
        .await
        .expect("resumed");
    lab.apply(Action::Undo(Condition::Down), HostId(3))
        .await
        .expect("restarted");
    // The first request after a restart may find the old connection broken.
    for host in 1..=3 {
        let end = Instant::now() + LONG;
        while !lab.stats().await.contains_key(&node(host)) {
            assert!(Instant::now() < end, "host {host} has no stats");
        }
    }
    lab.down().await;
}

#[tokio::test]
async fn a_dropped_lab_leaves_nothing() {
    let _one = beside();
    let lab = up(2, Persistence::AofEverysec).await;
    lab.apply(Action::Fault(Fault::Pause), HostId(1)).await.expect("paused");
    let (dir, pids) = (lab.dir().to_owned(), all_pids(&lab));
    drop(lab);
    eventually("all gone", || pids.iter().all(|&pid| is_gone(pid)) && !dir.exists());
}

/// Not a test of its own: the owner of a lab, which the tests below kill. It prints where its lab is, and waits.
#[tokio::test]
#[ignore = "run by other tests"]
async fn owner_of_a_lab() {
    let lab = up(2, Persistence::None).await;
    lab.apply(Action::Fault(Fault::Pause), HostId(2)).await.expect("paused");
    println!("\nLAB {}", lab.dir().display());
    std::thread::sleep(LONG * 4);
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

/// Sends a signal to one of our processes.
fn send(pid: u32, signal: &str) {
    assert!(
        Command::new("kill")
            .args([signal, &pid.to_string()])
            .status()
            .expect("kill")
            .success()
    );
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
    for signal in ["-KILL", "-TERM", "-INT"] {
        if signal == "-INT" && ignores_interrupts() {
            // A shell starts what runs in its background so, and the owner would inherit it.
            println!("SIGINT is ignored here, so it ends nobody");
            continue;
        }
        let (mut owner, _stdout, dir) = owner();
        let pids = living_in(&dir);
        assert_eq!(pids.len(), 3);
        send(owner.id(), signal);
        owner.wait().expect("it ended");
        eventually("all gone", || pids.iter().all(|&pid| is_gone(pid)) && !dir.exists());
    }
}

fn keeper_of(dir: &Path) -> u32 {
    fs::read_to_string(dir.join("keeper.lock"))
        .expect("the lock file")
        .trim()
        .parse()
        .expect("a process id")
}

#[tokio::test]
async fn the_keeper_does_not_hear_signals_of_a_terminal() {
    let _one = beside();
    let lab = up(1, Persistence::None).await;
    let keeper = keeper_of(lab.dir());
    for signal in ["-INT", "-TERM", "-HUP"] {
        send(keeper, signal);
    }
    lab.apply(Action::Fault(Fault::Kill), HostId(1))
        .await
        .expect("the keeper still works");
    lab.down().await;
}

#[tokio::test]
async fn servers_die_with_a_killed_keeper_and_leftovers_are_removed() {
    let _one = beside();
    let lab = up(2, Persistence::None).await;
    lab.apply(Action::Fault(Fault::Pause), HostId(2)).await.expect("paused");
    let (dir, pids) = (lab.dir().to_owned(), all_pids(&lab));
    let keeper = keeper_of(&dir);
    leftovers::remove().expect("looked");
    assert!(
        dir.exists() && !pids.iter().any(|&pid| is_gone(pid)),
        "a lab in use is not touched"
    );
    send(keeper, "-KILL");
    eventually("all gone", || pids.iter().all(|&pid| is_gone(pid)));
    eventually("down", || lab.state(HostId(1)).conditions.has(Condition::Down));
    assert!(dir.exists());
    let report = leftovers::remove().expect("removed");
    assert!(report.directories.contains(&dir), "{report:?}");
    assert!(!dir.exists());
    lab.down().await;
}

#[tokio::test]
async fn a_process_left_in_a_run_directory_is_killed_and_a_visitor_is_not() {
    let _one = beside();
    let lab = up(1, Persistence::None).await;
    let dir = lab.dir().to_owned();
    // On Linux a dead keeper can't leave living servers, so this process plays both parts.
    let fake = dir.with_file_name("run-test");
    fs::create_dir(&fake).expect("a run directory");
    let mut visitor = Command::new("sleep")
        .arg("600")
        .current_dir(&fake)
        .spawn()
        .expect("a visitor");
    let mut left = Command::new("setsid")
        .arg("sleep")
        .arg("600")
        .current_dir(&fake)
        .spawn()
        .expect("a process left");
    eventually("its own session", || session(left.id()) == Some(left.id()));
    fs::write(fake.join("keeper.lock"), format!("{}\n", left.id())).expect("its lock file");

    let report = leftovers::remove().expect("removed");
    assert!(report.directories.contains(&fake) && !fake.exists(), "{report:?}");
    assert!(report.processes.contains(&left.id()), "{report:?}");
    assert!(!left.wait().expect("it ended").success());

    assert!(visitor.try_wait().expect("asked").is_none(), "the visitor lives");
    visitor.kill().expect("killed");
    visitor.wait().expect("reaped");
    lab.down().await;
}

fn session(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(3)?.parse().ok()
}

#[tokio::test]
async fn fixed_ports_are_used_or_the_taken_one_is_named() {
    let _one = beside();
    let free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let first = (21_000..30_000)
        .step_by(10)
        .find(|&port| (port..port + 3).all(free))
        .expect("free ports");
    let fixed = LabSpec {
        hosts: 2,
        persistence: Persistence::None,
        port: Some(first),
        password: Password::Random,
        replicated: None,
        cluster: None,
        nodes: None,
    };
    let lab = Lab::up(&fixed, options()).await.expect("up");
    let ports: Vec<u16> = nodes(&lab)
        .iter()
        .map(SocketAddr::port)
        .chain([cache(&lab).port()])
        .collect();
    assert_eq!(ports, [first, first + 1, first + 2]);
    lab.down().await;

    let lab = Lab::up(&fixed, options()).await.expect("up");
    lab.apply(Fault::Kill.into(), HostId(2)).await.expect("killed");
    let taken = TcpListener::bind(("127.0.0.1", first + 1)).expect("a port");
    let error = lab.apply(Action::Undo(Condition::Down), HostId(2)).await;
    let (error, all) = (error.expect_err("taken").to_string(), nodes(&lab));
    assert!(
        error.starts_with(&format!("port {} for host 2 is taken", first + 1)),
        "{error}"
    );
    assert_eq!(all[1].port(), first + 1);
    lab.down().await;
    let error = Lab::up(&fixed, options()).await.expect_err("taken");
    assert!(
        error
            .to_string()
            .starts_with(&format!("port {} for host 2 is taken", first + 1)),
        "{error}"
    );
    drop(taken);
    let last = LabSpec {
        hosts: 3,
        persistence: Persistence::None,
        port: Some(65_534),
        password: Password::Random,
        replicated: None,
        cluster: None,
        nodes: None,
    };
    assert!(matches!(
        Lab::up(&last, options()).await,
        Err(LabError::PortRange { .. })
    ));
}

/// A program for `--server-bin`: a shell script with this text.
fn script(dir: &Path, body: &str) -> PathBuf {
    let path = dir.join("server");
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    path
}

const CLAIM: &str = r#"[ "$1" = --version ] && { echo "Redis server v=7.0.15 sha=0:0"; exit 0; }"#;

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
        let error = reject(&script(dir.path(), body));
        assert!(error.contains("is not a redis-server"), "{error}");
        assert!(!error.chars().any(char::is_control), "{error:?}");
    }
    let error = reject(&script(dir.path(), "sleep 600"));
    assert!(error.contains("did not answer within"), "{error}");
    let error = reject(&script(dir.path(), "echo 'Redis server v=5.0.14 sha=0:0'"));
    assert!(error.contains("has version 5.0.14, but 6.2 is the oldest"), "{error}");
}

#[test]
fn a_server_is_found_by_name_and_by_path() {
    let found = ServerBinary::find(None).expect("a server is installed");
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
        let path = script(system.path(), body);
        fs::rename(path, system.path().join(program)).expect("renamed");
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

async fn up_with(path: PathBuf) -> Result<Lab, LabError> {
    let binary = ServerBinary::find(Some(&path))?;
    let options = LabOptions {
        binary,
        start_timeout: Duration::from_millis(500),
        ..options()
    };
    Lab::up(&spec(1, Persistence::None), options).await
}

#[tokio::test]
async fn a_server_that_dies_at_its_start_is_quoted() {
    let _one = beside();
    let dir = tempfile::tempdir().expect("a directory");
    let body = format!("{CLAIM}\nfor n in 1 2 3 4 5 6 7; do echo line $n; done\necho 'out of luck' >&2\nexit 3");
    let error = up_with(script(dir.path(), &body))
        .await
        .expect_err("it dies")
        .to_string();
    assert!(error.contains("did not start (died: exit code 3)"), "{error}");
    assert!(
        error.ends_with("\n  line 4\n  line 5\n  line 6\n  line 7\n  out of luck"),
        "{error}"
    );
}

#[tokio::test]
async fn a_server_that_never_answers_is_quoted() {
    let _one = beside();
    let dir = tempfile::tempdir().expect("a directory");
    let body = format!("{CLAIM}\nhead -c 100000 /dev/urandom\necho\necho busy\nexec sleep 600");
    let error = up_with(script(dir.path(), &body))
        .await
        .expect_err("it hangs")
        .to_string();
    assert!(error.contains("did not answer at 127.0.0.1:"), "{error}");
    assert!(error.ends_with("\n  busy"), "{error}");
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
        real = ServerBinary::find(None).expect("a server is installed").path.display()
    );
    let binary = ServerBinary::find(Some(&script(dir.path(), &body))).expect("it claims to be one");
    let thief = std::thread::spawn(move || {
        eventually("a port", || port.exists());
        let port = fs::read_to_string(&port)
            .expect("a port")
            .trim()
            .parse::<u16>()
            .expect("a number");
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
        fs::write(go, "").expect("the signal to go on");
        (port, listener)
    });
    let lab = Lab::up(&spec(2, Persistence::None), LabOptions { binary, ..options() })
        .await
        .expect("up at last");
    let (stolen, _listener) = thief.join().expect("it took a port");
    for node in nodes(&lab).into_iter().chain([cache(&lab)]) {
        assert_ne!(node.port(), stolen);
        assert_eq!(reply_to(node, "PING"), "+PONG");
    }
    lab.down().await;
}

#[tokio::test]
async fn a_restart_waits_for_its_port() {
    let _one = beside();
    let lab = up(1, Persistence::None).await;
    lab.apply(Action::Fault(Fault::Kill), HostId(1)).await.expect("killed");
    let squatter = TcpListener::bind(nodes(&lab)[0]).expect("the port is free");
    let free_it = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        drop(squatter);
    });
    lab.apply(Action::Undo(Condition::Down), HostId(1))
        .await
        .expect("restarted");
    free_it.join().expect("freed");
    lab.down().await;
}

/// Takes the port of host 1 while it is down, and starts it again.
async fn restart_without_its_port(lab: &Lab) -> (TcpListener, Result<Verified<Instant>, LabError>) {
    lab.apply(Fault::Kill.into(), HostId(1)).await.expect("killed");
    let squatter = TcpListener::bind(nodes(lab)[0]).expect("the port is free");
    (squatter, lab.apply(Action::Undo(Condition::Down), HostId(1)).await)
}

#[tokio::test]
async fn a_host_that_is_a_process_can_not_be_cut_off() {
    let _one = beside();
    let cuts = LabOptions {
        cuts: true,
        ..options()
    };
    let refused = Lab::up(&spec(2, Persistence::None), cuts).await.unwrap_err();
    assert!(matches!(refused, LabError::CutsNeedContainers), "{refused}");
    assert!(refused.to_string().contains("--lab docker"), "{refused}");
    let lab = Lab::up(&spec(2, Persistence::None), options()).await.expect("up");
    let cut = Action::Fault(Fault::Cut {
        direction: Direction::Both,
    });
    let refused = lab.apply(cut, HostId(1)).await.unwrap_err();
    assert!(matches!(refused, LabError::CutsNeedContainers), "{refused}");
    assert!(lab.state(HostId(1)).is_up());
    lab.down().await;
}

#[tokio::test]
async fn a_node_whose_port_is_taken_comes_back_at_another_one_and_everything_follows() {
    let _one = beside();
    for proxy in [false, true] {
        let options = LabOptions { proxy, ..options() };
        let lab = Lab::up(&spec(2, Persistence::None), options).await.expect("up");
        everything_follows(&lab, proxy).await;
        lab.down().await;
    }
}

async fn everything_follows(lab: &Lab, proxy: bool) {
    let users = lab.follow_lock_nodes().into_iter().map(|(_, address)| address);
    let users = Nodes::follow(users.collect(), NodeOptions::default());
    assert_eq!(users.ready(LONG).await, 2);
    assert_eq!(lab.stats().await.len(), 2);
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
    let name = NodeName::on(HostId(1), Role::Lock);
    assert_eq!(lab.address(name).expect("its address").port(), port);
    let running = Running::find(None).expect("it is running");
    let cli = running.cli(name).expect("a client is installed");
    assert!(cli.get_args().any(|arg| arg == &*port.to_string()), "{cli:?}");
    assert_eq!(reply_to(after[0], "PING"), "+PONG");
    let mode = fs::metadata(lab.dir().join("lab.json"))
        .expect("the list")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);

    // Both must vote.
    let lock = Lock::redlock(&users, 1);
    let options = AcquireOptions {
        ttl: LONG,
        renew: None,
        wait: Wait::Retry {
            retries: u32::MAX,
            delay: Duration::from_millis(5),
            jitter: Duration::ZERO,
        },
        timeout: LONG,
        reply_timeout: None,
        lifetime: None,
        repair: false,
    };
    let guard = lock
        .acquire("moved", &options)
        .await
        .expect("the new address is followed");
    assert_eq!(reply_to(after[0], "EXISTS moved"), ":1");
    guard.release().await;
    let start = Instant::now();
    while lab.stats().await.len() < 2 {
        assert!(start.elapsed() < LONG, "its statistics");
    }
    // It stays there, although the old port is free again.
    drop(squatter);
    lab.apply(Fault::Kill.into(), HostId(1)).await.expect("killed");
    lab.apply(Action::Undo(Condition::Down), HostId(1))
        .await
        .expect("restarted");
    assert_eq!(nodes(lab), after);
}

#[tokio::test]
async fn a_node_whose_users_keep_its_address_does_not_move() {
    let _one = beside();
    let options = LabOptions {
        ports_stay: true,
        ..options()
    };
    let lab = Lab::up(&spec(1, Persistence::None), options).await.expect("up");
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
        let error = Lab::up(
            &spec(1, Persistence::None),
            LabOptions {
                keeper: program.into(),
                ..options()
            },
        )
        .await;
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
    send(keeper, "-STOP");
    owner.kill().expect("killed");
    owner.wait().expect("reaped");
    // Keeper and servers live, and the streams end all the same, as `lockstorm … | head` needs.
    let (sender, counts) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(stdout.lines().count() + stderr.read_to_end(&mut Vec::new()).unwrap_or(0)));
    let ended = counts.recv_timeout(LONG);
    assert!(!pids.iter().any(|&pid| is_gone(pid)));
    send(keeper, "-CONT");
    eventually("all gone", || pids.iter().all(|&pid| is_gone(pid)) && !dir.exists());
    ended.expect("the streams end");
}

#[tokio::test]
async fn a_keeper_that_hangs_is_killed_in_the_end() {
    let _one = beside();
    let lab = up(1, Persistence::None).await;
    let (dir, pids) = (lab.dir().to_owned(), all_pids(&lab));
    send(keeper_of(&dir), "-STOP");
    lab.down().await;
    assert!(pids.into_iter().all(is_gone));
    assert!(!dir.exists());
}
