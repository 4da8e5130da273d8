//! Real servers.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use redis::{Cmd, FromRedisValue};
use tempfile::TempDir;

use super::TEST_TIMEOUT;

/// The server in `LOCKSTORM_TEST_SERVER`, or the first of redis-server and valkey-server on PATH.
pub fn server_bin() -> PathBuf {
    if let Some(named) = env::var_os("LOCKSTORM_TEST_SERVER") {
        return named.into();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    ["redis-server", "valkey-server"]
        .iter()
        .flat_map(|name| env::split_paths(&path).map(move |dir| dir.join(name)))
        .find(|file| file.is_file())
        .expect("redis-server or valkey-server is on PATH")
}

/// A server on loopback with a directory of its own. Killed when dropped.
pub struct RedisServer {
    port: u16,
    dir: TempDir,
    options: Vec<String>,
    child: Child,
}

impl RedisServer {
    /// Starts a server without persistence and waits until it answers.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with more command-line options.
    pub fn start_with(options: &[&str]) -> Self {
        let dir = TempDir::with_prefix("lockstorm-test-").expect("a temporary directory");
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        // Another process may take a free port before the server does; then another one is tried.
        for _ in 0..20 {
            let port = free_port();
            let mut child = spawn(port, dir.path(), &options);
            if answers(port, &mut child) {
                return Self {
                    port,
                    dir,
                    options,
                    child,
                };
            }
        }
        panic!("no server could be started");
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    pub const fn addr(&self) -> SocketAddr {
        addr(self.port)
    }

    /// Ends the server without a chance to save.
    pub fn kill(&mut self) {
        self.child.kill().expect("our own child can be killed");
        self.child.wait().expect("our own child can be waited for");
    }

    /// Starts it again with its port and directory after a kill.
    pub fn restart(&mut self) {
        self.child = spawn(self.port, self.dir.path(), &self.options);
        assert!(answers(self.port, &mut self.child), "the server starts again");
    }

    /// Stops the process, and waits until it is stopped.
    pub fn pause(&self) {
        kill(self.pid(), Signal::SIGSTOP).expect("our own child can be stopped");
        waitpid(self.pid(), Some(WaitPidFlag::WUNTRACED)).expect("our own child can be waited for");
    }

    pub fn resume(&self) {
        kill(self.pid(), Signal::SIGCONT).expect("our own child can be continued");
    }

    /// Closes all connections.
    pub fn cut(&self) {
        let kill = ["KILL", "TYPE", "normal", "SKIPME", "yes"];
        let _: usize = self.query(redis::cmd("CLIENT").arg(&kill));
    }

    /// Runs a command on a connection of its own.
    pub fn query<T: FromRedisValue>(&self, command: &Cmd) -> T {
        query(self.port, command).expect("the server answers")
    }

    /// The number of keys that have not expired.
    pub fn keys(&self) -> usize {
        self.query::<Vec<String>>(redis::cmd("KEYS").arg("*")).len()
    }

    /// How often the server ran a command, inside and outside of scripts, since it started or its statistics were reset.
    pub fn calls(&self, command: &str) -> u64 {
        calls_in(&self.query::<String>(redis::cmd("INFO").arg("commandstats")), command)
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How often a command ran, by a server's statistics.
pub fn calls_in(stats: &str, command: &str) -> u64 {
    let line = stats
        .lines()
        .find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
    let digits = line.and_then(|rest| rest.split(',').next());
    digits.map_or(0, |digits| digits.parse().expect("a number"))
}

const fn addr(port: u16) -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

pub fn free_port() -> u16 {
    let listener = TcpListener::bind(addr(0)).expect("a free port on loopback");
    listener.local_addr().expect("a bound socket has an address").port()
}

fn spawn(port: u16, dir: &Path, options: &[String]) -> Child {
    Command::new(server_bin())
        .args([
            "--bind",
            "127.0.0.1",
            "--port",
            &port.to_string(),
            "--save",
            "",
            "--maxmemory-policy",
            "noeviction",
        ])
        .arg("--dir")
        .arg(dir)
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server's binary runs")
}

/// Waits until the server has loaded its data; false if it has ended instead.
fn answers(port: u16, child: &mut Child) -> bool {
    let start = Instant::now();
    while start.elapsed() < TEST_TIMEOUT {
        if child.try_wait().expect("our own child can be waited for").is_some() {
            return false;
        }
        // Another process on the port would answer with another pid.
        if let Ok(info) = query::<String>(port, &redis::cmd("INFO"))
            && info.contains("\nloading:0\r\n")
            && info.contains(&format!("process_id:{}\r\n", child.id()))
        {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    false
}

fn query<T: FromRedisValue>(port: u16, command: &Cmd) -> redis::RedisResult<T> {
    let client = redis::Client::open(format!("redis://{}", addr(port)))?;
    let mut connection = client.get_connection_with_timeout(TEST_TIMEOUT)?;
    connection.set_read_timeout(Some(TEST_TIMEOUT))?;
    command.query(&mut connection)
}
