//! PostgreSQL servers for tests: each has a cluster of its own in a temporary directory, on loopback, with a password.
//!
//! `initdb`, `postgres` and `pg_ctl` must be on PATH; `.ci/postgres COMMAND` runs a command with a PATH that has them. They
//! refuse to run as root, so root runs them as the user postgres or nobody.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::{OpenOptionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use std::{env, thread};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, User, geteuid};
use tempfile::TempDir;

use super::TEST_TIMEOUT;
use super::server::free_port;

/// The superuser of a cluster.
const USER: &str = "lockstorm";

/// For tests of what happens without a crash of the machine: nothing waits for the disk.
const SETTINGS: [&str; 4] = [
    "fsync=off",
    "listen_addresses=127.0.0.1",
    "shared_buffers=16MB",
    "unix_socket_permissions=0700",
];

/// A database for tests that neither stop nor change its server: the one that `LOCKSTORM_TEST_POSTGRES` names, or one of
/// their own.
pub struct Database {
    url: String,
    _server: Option<Postgres>,
}

impl Database {
    pub fn start() -> Self {
        if let Ok(url) = env::var("LOCKSTORM_TEST_POSTGRES") {
            return Self { url, _server: None };
        }
        let server = Postgres::start();
        Self {
            url: server.url(),
            _server: Some(server),
        }
    }

    /// The URL, with the password.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// A server and its cluster. Stopped and removed when dropped.
pub struct Postgres {
    dir: TempDir,
    port: u16,
    password: String,
    child: Child,
}

impl Postgres {
    /// Makes a cluster, starts its server, and waits until it answers.
    pub fn start() -> Self {
        let dir = TempDir::with_prefix("lockstorm-postgres-").expect("a temporary directory");
        let password = random();
        let file = dir.path().join("password");
        let mut private = OpenOptions::new();
        private.write(true).create_new(true).mode(0o600);
        let mut written = private.open(&file).expect("a new file");
        writeln!(written, "{password}").expect("a writable file");
        if let Some(user) = other_user() {
            for path in [dir.path(), &file] {
                chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw())).expect("root may give files away");
            }
        }
        let mut make = program("initdb", dir.path());
        make.args([
            "-U",
            USER,
            "-A",
            "scram-sha-256",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
        ]);
        make.arg("-D").arg(data(dir.path())).arg("--pwfile").arg(&file);
        succeed(&mut make);
        // Another process may take a free port before the server does; then another one is tried.
        for _ in 0..20 {
            let port = free_port();
            if let Some(child) = serve(dir.path(), port) {
                return Self {
                    dir,
                    port,
                    password,
                    child,
                };
            }
        }
        panic!("no PostgreSQL could be started; its log:\n{}", log(dir.path()));
    }

    pub fn url(&self) -> String {
        self.url_at(self.port)
    }

    /// The URL of this server behind another port.
    pub fn url_at(&self, port: u16) -> String {
        format!("postgres://{USER}:{}@127.0.0.1:{port}/postgres", self.password)
    }

    pub const fn addr(&self) -> SocketAddr {
        SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn password(&self) -> &str {
        &self.password
    }

    /// Ends the server in one of the ways of `pg_ctl`; `immediate` is like a crash.
    pub fn stop(&mut self, mode: &str) {
        let mut stop = program("pg_ctl", self.dir.path());
        stop.arg("-D").arg(data(self.dir.path())).args(["stop", "-m", mode]);
        succeed(&mut stop);
        self.child.wait().expect("our own child can be waited for");
    }

    /// Starts it again with its port and its data.
    pub fn restart(&mut self) {
        let child = serve(self.dir.path(), self.port);
        self.child = child.unwrap_or_else(|| panic!("it does not start again:\n{}", log(self.dir.path())));
    }

    /// Stops the server and all processes that it has started.
    pub fn pause(&self) {
        // First the server, which then can't start others.
        self.signal(Signal::SIGSTOP);
    }

    pub fn resume(&self) {
        self.signal(Signal::SIGCONT);
    }

    /// Runs statements as the superuser, and returns what they select, a row a line.
    pub fn run(&self, statements: &str) -> String {
        let mut psql = program("psql", self.dir.path());
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statements]);
        succeed(psql.env("PGPASSWORD", &self.password).args([
            "-h",
            "127.0.0.1",
            "-p",
            &self.port.to_string(),
            "-U",
            USER,
            "postgres",
        ]))
    }

    fn signal(&self, signal: Signal) {
        for pid in [self.child.id()].into_iter().chain(children(self.child.id())) {
            // A backend may have ended since.
            let _ = kill(Pid::from_raw(pid.cast_signed()), signal);
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.resume();
            // An immediate shutdown: it also ends all the processes that it has started.
            let _ = kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGQUIT);
            let _ = self.child.wait();
        }
    }
}

fn data(dir: &Path) -> PathBuf {
    dir.join("data")
}

fn log(dir: &Path) -> String {
    fs::read_to_string(dir.join("log")).unwrap_or_default()
}

fn random() -> String {
    let mut bytes = [0; 16];
    let mut source = File::open("/dev/urandom").expect("a source of random bytes");
    source.read_exact(&mut bytes).expect("random bytes");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The user to run PostgreSQL as, if that can't be ours.
fn other_user() -> Option<User> {
    let find = |name| User::from_name(name).expect("the list of users");
    geteuid().is_root().then(|| {
        let user = find("postgres").or_else(|| find("nobody"));
        user.expect("a user postgres or nobody: PostgreSQL refuses to run as root")
    })
}

/// One of PostgreSQL's programs, to be run in this directory.
fn program(name: &str, dir: &Path) -> Command {
    let mut command = Command::new(name);
    command.current_dir(dir).stdin(Stdio::null());
    for (variable, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
        command.env_remove(variable);
    }
    if let Some(user) = other_user() {
        command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
    }
    command
}

fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| {
        panic!(
            "{} does not run ({error}): run this test by `.ci/postgres COMMAND`, or put PostgreSQL's programs on PATH",
            command.get_program().display()
        )
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", command.get_program().display());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Starts the server of a cluster and waits until it is ready; `None` if it has ended instead.
fn serve(dir: &Path, port: u16) -> Option<Child> {
    let log = File::create(dir.join("log")).expect("a log");
    let mut command = program("postgres", dir);
    command.arg("-D").arg(data(dir)).arg("-k").arg(dir);
    command.args(["-p", &port.to_string()]);
    command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
    let mut child = command
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("postgres runs");
    let start = Instant::now();
    while child.try_wait().expect("our own child can be waited for").is_none() {
        // As pg_ctl finds out: the first line is the process, the eighth its state.
        let text = fs::read_to_string(data(dir).join("postmaster.pid")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        if lines.first() == Some(&child.id().to_string().as_str()) && lines.get(7) == Some(&"ready") {
            return Some(child);
        }
        assert!(start.elapsed() < TEST_TIMEOUT, "PostgreSQL is not ready");
        thread::sleep(std::time::Duration::from_millis(10));
    }
    None
}

/// The processes that a process has started.
fn children(parent: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}
