//! Labs of a test, and their nodes and processes as somebody outside of them sees them.

use std::env;
use std::fmt::Debug;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use lockstorm_data::model::{Action, Condition, Fault, HostId, ReplicationRole, Verified};
use lockstorm_data::scenario::LabSpec;
use lockstorm_lab::{Lab, LabOptions, ServerBinary};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use super::program::keeper;
use super::turn::Turn;
use super::{TEST_TIMEOUT, beside, password};

pub const KILL: Action = Action::Fault(Fault::Kill);
pub const SHUTDOWN: Action = Action::Fault(Fault::Shutdown);
pub const RESTART: Action = Action::Undo(Condition::Down);
pub const PAUSE: Action = Action::Fault(Fault::Pause);
pub const RESUME: Action = Action::Undo(Condition::Paused);

/// What a program for `--server-bin` begins with that claims to be a server.
pub const CLAIM: &str = r#"[ "$1" = --version ] && { echo "Redis server v=7.0.15 sha=0:0"; exit 0; }"#;

/// A lab of the server that is installed, kept by the program that is tested.
pub fn options() -> LabOptions {
    options_with(installed())
}

/// The same of another server.
pub fn options_with(binary: ServerBinary) -> LabOptions {
    let mut options = LabOptions::new(binary).expect("options");
    options.keeper = keeper();
    options
}

pub fn installed() -> ServerBinary {
    ServerBinary::find(None).expect("a server is installed")
}

/// A lab that is up.
pub async fn up(spec: &LabSpec) -> Lab {
    Lab::up(spec, options()).await.expect("the lab comes up")
}

/// Carries out what is possible.
pub async fn carry_out(lab: &Lab, action: Action, host: HostId) -> Verified<Instant> {
    let done = lab.apply(action, host).await;
    done.unwrap_or_else(|error| panic!("{action:?} on {host}: {error}"))
}

/// Waits until this gives a value; until then it tells what it has seen.
pub async fn until<T, E: Debug>(what: &str, mut found: impl AsyncFnMut() -> Result<T, E>) -> T {
    let start = Instant::now();
    loop {
        let seen = match found().await {
            Ok(found) => return found,
            Err(seen) => seen,
        };
        assert!(
            start.elapsed() < TEST_TIMEOUT,
            "not within {TEST_TIMEOUT:?}: {what}: {seen:?}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until one of `up` replicated nodes is the master, on another host than `not`, and all others are its connected
/// replicas.
pub async fn master_with_replicas(lab: &Lab, up: usize, not: Option<HostId>) -> HostId {
    until("one master with its replicas", async || {
        let roles = lab.replication_roles().await;
        let is_master = |role: &ReplicationRole| matches!(role, ReplicationRole::Master { .. });
        let masters = roles.iter().filter(|(_, role)| is_master(role));
        let masters: Vec<Option<HostId>> = masters.map(|(name, _)| name.host).collect();
        let [Some(only)] = masters[..] else { return Err(roles) };
        // A replica of a paused master goes on to call itself connected.
        let follows = |role: &&ReplicationRole| {
            matches!(role, ReplicationRole::Replica { master, connected: true, .. } if *master == Some(only))
        };
        let all = roles.values().filter(follows).count() == up - 1;
        if all && Some(only) != not { Ok(only) } else { Err(roles) }
    })
    .await
}

/// A turn beside others in a directory for temporary files that no other lab has: whoever starts a lab removes what others
/// left. That takes a process of its own, which runs the test of this name again; in the first one there is no turn.
pub fn turn_apart(test: &str) -> Option<Turn> {
    const APART: &str = "LOCKSTORM_TEST_APART";
    if env::var_os(APART).is_some() {
        return Some(beside());
    }
    let dir = TempDir::with_prefix("ls-").expect("a directory");
    let mut again = Command::new(env::current_exe().expect("this test"));
    again
        .args(["--exact", test, "--nocapture"])
        .env(APART, "")
        .env("TMPDIR", dir.path());
    let output = again.output().expect("it runs");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    None
}

/// A connection to a node of a lab, or to its door.
pub fn connect(lab: &Lab, port: u16) -> redis::Connection {
    let password = password::in_dir(lab.dir()).expect("a password");
    connect_to(&format!("redis://:{password}@127.0.0.1:{port}"))
}

pub fn connect_to(url: &str) -> redis::Connection {
    let client = redis::Client::open(url).expect("a URL");
    let connection = client.get_connection_with_timeout(TEST_TIMEOUT);
    let connection = connection.expect("the node lets us in");
    connection.set_read_timeout(Some(TEST_TIMEOUT)).expect("a limit");
    connection
}

/// What a node answers to a command.
pub fn ask<T: redis::FromRedisValue>(connection: &mut redis::Connection, words: &[&str]) -> T {
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]).query(connection).expect("an answer")
}

/// Checks that a text contains all these.
#[track_caller]
pub fn tells(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "not told: {part}\nbut: {text}");
    }
}

/// The run directories below a directory for temporary files.
pub fn runs(temp_dir: &Path) -> Vec<PathBuf> {
    let users = fs::read_dir(temp_dir).into_iter().flatten().flatten();
    let runs = users.filter_map(|user| fs::read_dir(user.path()).ok());
    runs.flatten().flatten().map(|run| run.path()).collect()
}

/// The first of so many free ports in a row. Labs and systems choose ports above these, so that nothing that starts beside takes
/// them. Tests that start at the same time, and so have ids in a row, begin at different ones; there are 20 for each.
pub fn free_ports(count: u16) -> u16 {
    let free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let first = (0..300)
        .map(|n| 10_000 + 20 * u16::try_from((std::process::id() + n) % 300).expect("less than 300"))
        .find(|&first| (first..first + count).all(free));
    first.expect("free ports")
}

/// The process id of the keeper of this run directory.
pub fn keeper_of(run_dir: &Path) -> u32 {
    let text = fs::read_to_string(run_dir.join("keeper.lock")).expect("its lock file");
    text.trim().parse().expect("a process id")
}

/// A shell script with this text that can be run.
pub fn script(path: PathBuf, body: &str) -> PathBuf {
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    path
}

/// A process that is killed when the test ends in any way.
pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a signal to a process that may have ended by itself.
pub fn signal(pid: u32, signal: Signal) {
    let _ = kill(Pid::from_raw(pid.cast_signed()), signal);
}

/// All processes of this machine.
pub fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("the processes").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The processes that work below a directory.
pub fn living_in(dir: &Path) -> Vec<u32> {
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let lives = |pid: &u32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(&dir));
    processes().filter(lives).collect()
}

pub fn children_of(parent: u32) -> Vec<u32> {
    processes()
        .filter(|&pid| stat(pid, 1) == Some(parent.to_string()))
        .collect()
}

/// The state letter of a process, as the kernel shows it; `None` if there is no such process.
pub fn process_state(pid: u32) -> Option<char> {
    stat(pid, 0)?.chars().next()
}

/// Whether the process has ended, even if its new parent has not reaped it yet.
pub fn is_gone(pid: u32) -> bool {
    matches!(process_state(pid), None | Some('Z' | 'X'))
}

/// The session of a process.
pub fn session(pid: u32) -> Option<u32> {
    stat(pid, 3)?.parse().ok()
}

/// A field that the kernel shows of a process: behind its name, which may contain anything.
fn stat(pid: u32, field: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(field).map(str::to_owned)
}
