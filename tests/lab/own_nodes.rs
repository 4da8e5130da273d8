//! Runs on servers that are not ours: what is done there, what is refused, and that nothing is left.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use lockstorm_data::model::HostId;
use lockstorm_data::scenario::Scenario;
use lockstorm_kit::authority::{Authority, needs_tls};
use lockstorm_kit::lab::{KILL, PAUSE, RESTART, RESUME, SHUTDOWN, runs, tells, up};
use lockstorm_kit::play::texts;
#[cfg(feature = "tls")]
use lockstorm_kit::recorded::recorded_in;
use lockstorm_kit::scenario::scenario;
use lockstorm_kit::{RedisServer, beside, ended, eventually, free_port, lockstorm, parts_of, send};
use lockstorm_lab::{LabError, NodeName, Role};
use lockstorm_run::Record;
use nix::sys::signal::Signal;
use redis::cmd;
use tempfile::TempDir;

/// A part of every password here, except for one. No other test may have it: while some tests run, no command line of this
/// machine may show it.
const SECRET: &str = "kept-by-own-nodes";
/// A password that a command line shows.
const SHOWN: &str = "shown-by-own-nodes";
/// What docs/nodes.md says that a user needs.
const RULES: &str = "~lockstorm:* resetchannels &lockstorm:released:lockstorm:* +set +get +del +pexpire +pttl +eval +evalsha \
                     +script|load +publish +subscribe +unsubscribe +ping +scan +info +config|get +time";
/// The longest TTL, in milliseconds.
const LONGEST: i64 = 600_000;

/// A single lock and a redlock, whose expectations are that they work.
const SCENARIO: &str = r#"
duration = "2s"
[swarm]
servers = 2
workers = 4
[workload]
kind = "inventory"
products = 32
stock = 1000000
hold = "2ms"
[[arm]]
name = "single"
lock = "single"
ttl = "60s"
node_timeout = "1s"
[[arm]]
name = "redlock"
lock = "redlock"
ttl = "60s"
node_timeout = "1s"
[expect]
"single.lost_updates" = "== 0"
"redlock.lost_updates" = "== 0"
"redlock.acquired" = ">= 10"
"#;

/// A directory for a scenario, its record, its log and temporary files.
struct Place {
    dir: TempDir,
    urls: String,
    authority: Option<PathBuf>,
}

impl Place {
    fn new(scenario: &str, urls: &[String]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let scenario = scenario.replace("[swarm]", "[lab]\nnodes_env = \"NODES\"\n[swarm]");
        fs::write(dir.path().join("s.toml"), scenario).unwrap();
        Self {
            dir,
            urls: urls.join(" "),
            authority: None,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = lockstorm(self.dir.path(), arguments);
        command.env("NODES", &self.urls);
        if let Some(authority) = &self.authority {
            command.env("SSL_CERT_FILE", authority).env_remove("SSL_CERT_DIR");
        }
        command
    }

    fn start(&self, more: &[&str]) -> Child {
        let all = ["run", "s.toml", "--record", "out.json", "--log", "log"];
        self.command(&[&all, more].concat()).spawn().unwrap()
    }

    /// The exit code of a command, and everything that it has printed.
    fn says(&self, arguments: &[&str]) -> (i32, String) {
        said(ended(&mut self.command(arguments)))
    }

    /// The exit code of a run, everything that it has printed and written, and its record.
    fn run(&self, more: &[&str]) -> (i32, String, Option<Record>) {
        let (code, mut all) = end_of(self.start(more));
        let record = fs::read_to_string(self.path("out.json")).ok();
        all += &fs::read_to_string(self.path("log")).unwrap_or_default();
        assert!(!all.contains(SECRET), "{all}");
        let record = record.map(|text| {
            assert!(!text.contains(SECRET));
            serde_json::from_str(&text).unwrap()
        });
        (code, all, record)
    }
}

fn said((code, out, err): (Option<i32>, String, String)) -> (i32, String) {
    (code.unwrap_or(-1), out + &err)
}

/// The exit code of a run that ends, and everything that it has printed.
fn end_of(run: Child) -> (i32, String) {
    said(parts_of(run.wait_with_output().unwrap()))
}

fn plain(address: SocketAddr) -> String {
    format!("redis://{address}")
}

/// The keys of a server by its default user, with their TTLs.
fn keys(server: &RedisServer) -> Vec<(String, i64)> {
    let keys: Vec<String> = server.query(cmd("KEYS").arg("*"));
    keys.into_iter()
        .map(|key| {
            let ttl = server.query(cmd("PTTL").arg(&key));
            (key, ttl)
        })
        .collect()
}

/// Watches while `work` goes on: every key is under the prefix of one run and expires soon enough, and no command line has the
/// password. Returns how many keys were seen.
fn watched<T>(servers: &[RedisServer], work: impl FnOnce() -> T) -> (usize, T) {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut seen = BTreeSet::new();
            while !over.load(Ordering::Relaxed) {
                for (key, ttl) in servers.iter().flat_map(keys) {
                    assert!(key.starts_with("lockstorm:"), "{key}");
                    // It may have been deleted since.
                    assert!(ttl == -2 || (0..=LONGEST).contains(&ttl), "{key}: {ttl}");
                    seen.insert(key);
                }
                for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
                    let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
                    assert!(!String::from_utf8_lossy(&line).contains(SECRET), "{process:?}");
                }
                thread::sleep(Duration::from_millis(10));
            }
            let runs: BTreeSet<_> = seen.iter().filter_map(|key| key.split(':').nth(1)).collect();
            let of_runs = runs
                .iter()
                .filter(|run| !run.starts_with("lockstorm-doctor") && **run != "mine")
                .count();
            assert!(of_runs <= 1, "{runs:?}");
            seen.len()
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        (watch.join().unwrap(), done)
    })
}

/// Whether a worker has a redlock there.
fn is_used(server: &RedisServer) -> bool {
    keys(server).iter().any(|(key, _)| key.contains(":redlock:"))
}

/// Servers that ask for no password, with their URLs.
fn open_trio() -> ([RedisServer; 3], Vec<String>) {
    let servers = [RedisServer::start(), RedisServer::start(), RedisServer::start()];
    let urls = servers.iter().map(|server| plain(server.addr())).collect();
    (servers, urls)
}

/// Servers on which the user `app` may do this, with their URLs. The default user stays, for the tests.
fn with_user(count: usize, rules: &str) -> (Vec<RedisServer>, Vec<String>) {
    let servers: Vec<_> = (0..count).map(|_| RedisServer::start()).collect();
    let urls = servers.iter().map(|server| {
        add_user(server, rules);
        format!("redis://app:{SECRET}@{}", server.addr())
    });
    let urls = urls.collect();
    (servers, urls)
}

fn add_user(server: &RedisServer, rules: &str) {
    let mut user = cmd("ACL");
    user.arg("SETUSER").arg("app").arg("on").arg(format!(">{SECRET}"));
    let _: String = server.query(user.arg(rules.split_whitespace().collect::<Vec<_>>()));
}

#[test]
fn a_trio_with_a_password_is_used_and_left_as_it_was() {
    let _turn = beside();
    let (servers, urls) = with_user(3, "~* &* +@all");
    // Keys of somebody else.
    for server in &servers {
        let _: String = server.query(cmd("SET").arg("lockstorm:mine").arg("stays").arg("PX").arg(LONGEST));
    }
    let place = Place::new(SCENARIO, &urls);
    let (seen, (code, said, record)) = watched(&servers, || place.run(&[]));
    assert_eq!(code, 0, "{said}");
    assert!(seen > 1, "keys of locks were seen");
    for server in &servers {
        let left: Vec<String> = server.query(cmd("KEYS").arg("*"));
        assert_eq!(left, ["lockstorm:mine"]);
    }
    let record = record.unwrap();
    let nodes = record.scenario.lab.nodes.unwrap();
    assert_eq!(nodes.urls[0].to_string(), format!("redis://app@{}", servers[0].addr()));
    assert_eq!(record.nodes[1].server, "not ours");
    assert!(
        record.scenario_toml.contains("nodes_env = \"NODES\""),
        "{}",
        record.scenario_toml
    );
}

#[cfg(feature = "tls")]
#[test]
fn tls_and_a_user_who_may_do_little_are_enough_and_hosts_can_lag() {
    needs_tls();
    let _turn = beside();
    let authority = Authority::new("ours");
    let (servers, ports): (Vec<_>, Vec<_>) = (0..3).map(|_| authority.server("localhost", &[])).unzip();
    for server in &servers {
        add_user(server, RULES);
    }
    let urls: Vec<_> = ports
        .iter()
        .map(|port| format!("rediss://app:{SECRET}@localhost:{port}"))
        .collect();
    let lag = "[[fault]]\nat = \"700ms\"\ndo = \"lag\"\non = \"host:1\"\ndelay = \"50ms\"\nfor = \"1s\"\n[expect]";
    let mut place = Place::new(&SCENARIO.replace("[expect]", lag), &urls);
    place.authority = Some(authority.file());
    let (seen, (code, said, record)) = watched(&servers, || place.run(&[]));
    assert_eq!(code, 0, "{said}");
    assert!(seen > 0);
    assert!(servers.iter().all(|server| server.keys() == 0));
    let record = record.unwrap();
    assert!(
        record
            .events
            .iter()
            .any(|event| event.text().starts_with("host 1 lagged by 50 ms")),
        "{said}"
    );
    assert!(!said.contains("can't be removed"), "{said}");
    // Who is not trusted is refused before anything starts.
    let other = Authority::new("another");
    place.authority = Some(other.file());
    let (code, said, _) = place.run(&[]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("reach: ") && said.contains("authority"), "{said}");
}

#[test]
fn nothing_is_left_after_an_interrupt_or_a_kill() {
    let _turn = beside();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGKILL] {
        let (servers, urls) = with_user(3, RULES);
        let place = Place::new(&SCENARIO.replace("\"2s\"", "\"60s\""), &urls);
        let mut run = place.start(&[]);
        eventually("every server has a lock", || servers.iter().all(is_used));
        send(run.id(), signal);
        let code = run.wait().unwrap().code();
        assert_eq!(
            code,
            (signal != Signal::SIGKILL).then_some(128 + signal as i32),
            "{signal}"
        );
        // Their TTL of a minute is not what removes them.
        eventually("no key is left", || servers.iter().all(|server| server.keys() == 0));
        eventually("the keeper is gone", || runs(place.dir.path()).is_empty());
        assert!(servers.iter().all(|server| server.keys() == 0), "{signal}");
    }
}

#[test]
fn keys_that_can_not_be_found_expire() {
    let _turn = beside();
    let (servers, urls) = with_user(3, &RULES.replace("+scan ", ""));
    let place = Place::new(SCENARIO, &urls);
    let (code, said, record) = place.run(&[]);
    assert_eq!(code, 0, "{said}");
    let warnings = texts(&record.unwrap().warnings);
    assert!(
        warnings
            .iter()
            .any(|warning| warning.contains("can't be removed at the end") && warning.contains("SCAN")),
        "{warnings:?}"
    );
    assert!(
        servers.iter().all(|server| server.keys() == 0),
        "every lock was released"
    );
}

#[test]
fn who_may_not_run_scripts_is_refused_with_the_reason() {
    let _turn = beside();
    let (servers, urls) = with_user(3, "~* &* +@all -@scripting");
    let place = Place::new(SCENARIO, &urls);
    let (code, said, record) = place.run(&[]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("permission: ") && said.contains("ACL SETUSER"), "{said}");
    assert!(said.contains("nothing was started") && record.is_none(), "{said}");
    assert!(servers.iter().all(|server| server.keys() == 0));
}

#[test]
fn servers_that_can_not_keep_locks_are_refused() {
    let _turn = beside();
    let servers = [RedisServer::start(), RedisServer::start()];
    let twice = format!("redis://localhost:{}", servers[0].port());
    let [first, second] = [plain(servers[0].addr()), plain(servers[1].addr())];
    let nobody = plain(SocketAddr::from(([127, 0, 0, 1], free_port())));
    let third = RedisServer::start();
    let in_cluster = RedisServer::start_with(&["--cluster-enabled", "yes"]);
    for (third, words) in [
        (twice, "the same server more than once"),
        (nobody, "connection refused"),
        (plain(in_cluster.addr()), "a node of a cluster"),
        (format!("redis://app:{SECRET}@{}", third.addr()), "WRONGPASS"),
    ] {
        let place = Place::new(SCENARIO, &[first.clone(), second.clone(), third]);
        let (code, said, _) = place.run(&[]);
        assert_eq!(code, 1, "{said}");
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn faults_that_need_a_process_are_refused_with_line_and_reason() {
    let urls: Vec<_> = (1..=3).map(|n| format!("redis://app:{SECRET}@10.1.2.{n}")).collect();
    for (what, done) in [
        ("kill", "killed"),
        ("shutdown", "shut down"),
        ("pause", "paused"),
        ("resume", "resumed"),
        ("restart", "restarted"),
    ] {
        for on in ["host:1", "minority", "majority", "all", "primary"] {
            let fault = format!("[[fault]]\nat = \"1s\"\ndo = \"{what}\"\non = \"{on}\"\n[expect]");
            let place = Place::new(&SCENARIO.replace("[expect]", &fault), &urls);
            let (code, said) = place.says(&["check", "s.toml"]);
            assert_eq!(code, 2, "{said}");
            let reason = format!("fault.1.do: the nodes are not ours (lab.nodes), so no host can be {done}");
            assert!(said.contains("s.toml:2") && said.contains(&reason), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
            assert!(!said.contains(SECRET));
        }
    }
    let place = Place::new(SCENARIO, &urls);
    let (code, docker) = place.says(&["run", "s.toml", "--lab", "docker"]);
    assert_eq!(code, 2, "{docker}");
    assert!(docker.contains("--lab chooses what our own nodes run as"), "{docker}");
    let fault = "[[fault]]\nat = \"1s\"\ndo = \"kill\"\non = \"server:1\"\n[expect]";
    let place = Place::new(&SCENARIO.replace("[expect]", fault), &urls);
    let (code, said) = place.says(&["check", "s.toml"]);
    assert_eq!(code, 0, "neither asked nor sent: {said}");
}

fn on_nodes(urls: &str) -> Scenario {
    scenario(
        &SCENARIO.replace("[swarm]", &format!("[lab]\nnodes = {urls}\n[swarm]")),
        &[],
    )
}

#[test]
fn what_is_written_of_nodes_is_read_again() {
    let with = |password: &str| format!("[\"redis://me{password}@h:7000/2\", \"redis://[::1]\", \"redis://h:7001\"]");
    let written = on_nodes(&with(&format!(":{SECRET}"))).to_toml();
    assert!(!written.contains(SECRET), "{written}");
    let again = scenario(&written, &[]);
    assert_eq!(again, on_nodes(&with("")));
    // What stands alone before an @ may be meant as a password.
    assert_eq!(again.to_toml(), written.replace("me@", ""));
    assert_eq!(
        (again.lab.hosts, again.lab.processes()),
        (3, 1),
        "only the cache node is ours"
    );
}

#[tokio::test]
async fn the_lab_itself_refuses_what_needs_a_process_and_starts_none() {
    let _turn = beside();
    let (servers, urls) = open_trio();
    let lab = up(&on_nodes(&format!("{urls:?}")).lab).await;
    assert!(lab.key_prefix().starts_with("lockstorm:") && lab.keys_stay().is_empty());
    let host = HostId(2);
    assert_eq!(lab.pid(NodeName::on(host, Role::Lock)), None);
    for action in [KILL, SHUTDOWN, PAUSE, RESTART, RESUME] {
        let refused = lab.apply(action, host).await;
        assert!(
            matches!(refused, Err(LabError::NotOurs(of, _)) if of == host),
            "{refused:?}"
        );
    }
    assert!(lab.state(host).is_up());
    let key = format!("{}left", lab.key_prefix());
    let _: String = servers[1].query(cmd("SET").arg(&key).arg(1).arg("PX").arg(LONGEST));
    assert_eq!(lab.down().await, []);
    assert!(servers.iter().all(|server| server.keys() == 0));
}

#[test]
fn a_server_that_goes_and_comes_back_is_told() {
    let _turn = beside();
    let (mut servers, urls) = open_trio();
    let place = Place::new(&SCENARIO.replace("\"2s\"", "\"60s\""), &urls);
    let mut run = place.start(&[]);
    let lines = BufReader::new(run.stderr.take().unwrap()).lines();
    let said = Arc::new(Mutex::new(String::new()));
    let heard = Arc::clone(&said);
    let listener =
        thread::spawn(move || lines.for_each(|line| heard.lock().unwrap().push_str(&(line.unwrap() + "\n"))));
    let mut events = Vec::new();
    let mut told = |words: &'static str| {
        eventually(words, || said.lock().unwrap().contains(words));
        events.push(words);
    };
    eventually("it runs", || servers.iter().all(is_used));
    servers[1].kill();
    // Whoever asks in that moment is not refused, but finds its connection closed.
    told("host 2 can't be asked any more: ");
    servers[1].restart();
    told("host 2 is back; whether it still has its locks is not known");
    servers[2].pause();
    told("host 3 does not answer any more");
    servers[2].resume();
    told("host 3 answers again");
    eventually("it goes on", || is_used(&servers[1]));
    // The single lock has nothing without its node.
    servers[0].kill();
    told("host 1 can't be asked any more: ");
    send(run.id(), Signal::SIGINT);
    assert_eq!(run.wait_with_output().unwrap().status.code(), Some(130));
    listener.join().unwrap();
    let said = said.lock().unwrap();
    let record = recorded_in(place.path("out.json"));
    for words in events {
        assert!(
            record.events.iter().any(|event| event.text().starts_with(words)),
            "{words}"
        );
    }
    assert!(
        texts(&record.warnings)
            .iter()
            .any(|warning| warning.starts_with("host 1: keys of this run")),
        "{said}"
    );
    let left = servers[1..].iter().map(RedisServer::keys).sum::<usize>();
    assert_eq!(left, 0);
}

#[test]
fn a_fault_on_a_server_that_is_gone_proves_nothing() {
    let _turn = beside();
    let (mut servers, urls) = open_trio();
    let lag = "[[fault]]\nat = \"3s\"\ndo = \"lag\"\non = \"host:2\"\ndelay = \"20ms\"\n[expect]";
    let place = Place::new(&SCENARIO.replace("\"2s\"", "\"4s\"").replace("[expect]", lag), &urls);
    let run = place.start(&[]);
    eventually("it runs", || is_used(&servers[1]));
    servers[1].kill();
    let (code, said) = end_of(run);
    assert_eq!(code, 5, "{said}");
    tells(&said, &["cannot lag host 2: it is down (gone: "]);
}

#[test]
fn servers_that_all_go_away_leave_nothing_to_praise() {
    let _turn = beside();
    let (mut servers, urls) = open_trio();
    // Without the expectation that would fail by itself.
    let scenario = SCENARIO.replace("\"redlock.acquired\" = \">= 10\"\n", "");
    let place = Place::new(&scenario, &urls);
    let run = place.start(&[]);
    eventually("the lab is up", || servers[0].calls("scan") > 0);
    servers.iter_mut().for_each(RedisServer::kill);
    let (code, said) = end_of(run);
    if code == 1 {
        // The machine was so slow that they were gone before the lab had them.
        return assert!(said.contains("host"), "{said}");
    }
    assert_eq!(code, 5, "{said}");
    for host in 1..=3 {
        assert!(said.contains(&format!("host {host} can't be asked any more")), "{said}");
    }
    tells(
        &said,
        &["redlock: no quorum at the end: host 1, host 2, host 3 went down without an order"],
    );
    assert!(!said.contains("✔"), "{said}");
}

#[test]
fn servers_that_take_no_writes_any_more_prove_nothing_and_have_no_stuck_keys() {
    let _turn = beside();
    let (servers, urls) = open_trio();
    let place = Place::new(SCENARIO, &urls);
    let run = place.start(&[]);
    eventually("it runs", || servers.iter().all(is_used));
    for server in &servers {
        let _: String = server.query(cmd("REPLICAOF").arg("127.0.0.1").arg(free_port()));
    }
    let (code, said) = end_of(run);
    assert_eq!(code, 5, "{said}");
    tells(
        &said,
        &["redlock: no lock could be acquired at the end: host 1 a replica"],
    );
    assert!(!said.contains("stayed taken"), "{said}");
}

/// An address of this machine that is not loopback, if it has one.
fn other_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind(("0.0.0.0", 0)).ok()?;
    // Nothing is sent: the kernel only chooses an address.
    socket.connect(("192.0.2.1", 9)).ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|ip| !ip.is_loopback() && !ip.is_unspecified())
}

#[test]
fn load_on_other_machines_needs_a_yes() {
    let _turn = beside();
    let Some(ip) = other_address() else {
        eprintln!("skipped: this machine has only loopback addresses");
        return;
    };
    let ip = ip.to_string();
    let server = RedisServer::start_with(&["--bind", "127.0.0.1", &ip, "--protected-mode", "no"]);
    let single = SCENARIO.split("[[arm]]\nname = \"redlock\"").next().unwrap();
    let place = Place::new(single, &[format!("redis://{ip}:{}", server.port())]);
    let address = format!("{ip}:{}", server.port());
    for command in [
        &["run", "s.toml"][..],
        &["s.toml"],
        &["sweep", "s.toml", "--over", "arm.single.ttl=2s"],
    ] {
        let (code, said) = place.says(command);
        assert_eq!(code, 2, "{said}");
        let last = said.lines().last().unwrap();
        assert!(
            last.contains("this sends the locks of 8 workers") && last.contains(&address),
            "{said}"
        );
        assert!(last.ends_with("say --yes if that is meant"), "{said}");
    }
    assert_eq!(server.calls("set"), 0);
    let (code, _, record) = place.run(&["--yes"]);
    assert_eq!((code, server.keys()), (0, 0));
    assert!(record.is_some() && server.calls("set") > 0);
}

#[test]
fn a_password_in_a_file_or_on_the_command_line_is_warned_of_and_hidden() {
    let place = Place::new(SCENARIO, &[]);
    let text = SCENARIO.replace(
        "[swarm]",
        &format!("[lab]\nnodes = [\"redis://app:{SHOWN}@127.0.0.1:1\"]\n[swarm]"),
    );
    let text = text.split("[[arm]]\nname = \"redlock\"").next().unwrap();
    fs::write(place.path("s.toml"), text).unwrap();
    let check = |more: &[&str]| place.says(&[&["check", "s.toml"], more].concat());
    let (code, said) = check(&[]);
    assert_eq!(code, 0, "{said}");
    tells(
        &said,
        &["warning: lab.nodes: others on this machine can read this file"],
    );
    let mut all = said;
    let (code, said) = check(&["--set", &format!("lab.nodes=redis://app:{SHOWN}@127.0.0.1:2")]);
    assert_eq!(code, 0, "{said}");
    tells(&said, &["everybody on this machine can see a command line"]);
    all += &said;
    for wrong in [
        format!("lab.nodes=redis://app:{SHOWN}@127.0.0.1:port"),
        format!("lab.nodes=app:{SHOWN}@127.0.0.1"),
        format!("lab.nodes=[\"redis://app:{SHOWN}@h\", 7]"),
        format!("lab.nodes_env=redis://app:{SHOWN}@h"),
        format!("lab.port=redis://app:{SHOWN}@h"),
        format!("lab.nodes=redis://app:a {SHOWN} b@h"),
        format!("lab.nodes={SHOWN}"),
    ] {
        let (code, said) = check(&["--set", &wrong]);
        assert_eq!(code, 2, "{said}");
        all += &said;
    }
    assert!(!all.contains(SHOWN), "{all}");
}
