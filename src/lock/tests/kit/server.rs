//! Real servers.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use redis::{Cmd, Connection, FromRedisValue, RedisResult, cmd};
use tempfile::TempDir;

use super::waiting::TEST_TIMEOUT;

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
    password: &'static str,
    arguments: Vec<String>,
    child: Child,
    // Removed after the process is dead.
    _dir: TempDir,
}

impl RedisServer {
    /// Starts a server without persistence and waits until it answers.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with more command-line options.
    pub fn start_with(options: &[&str]) -> Self {
        Self::start_as("", |port, dir| {
            let (port, dir) = (port.to_string(), dir.to_str().expect("a readable path"));
            let mut all = vec!["--bind", "127.0.0.1", "--port", &port, "--save", "", "--dir", dir];
            all.extend(["--maxmemory-policy", "noeviction"].iter().chain(options));
            all.into_iter().map(str::to_owned).collect()
        })
    }

    /// Starts a server or Sentinel with a password and this configuration, which may not name the port.
    pub fn configured(password: &'static str, config: &str, arguments: &[&str]) -> Self {
        Self::start_as(password, |port, dir| {
            // Sentinels write to their file.
            let path = dir.join("server.conf");
            let own = format!(
                "port {port}\nbind 127.0.0.1\ndir {}\nrequirepass {password}\n",
                dir.display()
            );
            fs::write(&path, own + config).expect("a writable directory");
            let file = path.to_str().expect("a readable path");
            [file].iter().chain(arguments).map(ToString::to_string).collect()
        })
    }

    fn start_as(password: &'static str, arguments: impl Fn(u16, &Path) -> Vec<String>) -> Self {
        // Another process may take a free port before the server does; then another one is tried.
        for _ in 0..20 {
            let dir = TempDir::with_prefix("lockstorm-test-").expect("a temporary directory");
            let port = free_port();
            let arguments = arguments(port, dir.path());
            let mut server = Self {
                port,
                password,
                child: spawn(&arguments),
                arguments,
                _dir: dir,
            };
            if server.answers() {
                return server;
            }
        }
        panic!("no server could be started");
    }

    /// Waits until the server has loaded its data; false if it has ended instead.
    fn answers(&mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < TEST_TIMEOUT {
            if self
                .child
                .try_wait()
                .expect("our own child can be waited for")
                .is_some()
            {
                return false;
            }
            // Another process on the port would answer with another pid.
            if let Ok(info) = self.try_query::<String>(&cmd("INFO"))
                && !info.contains("\nloading:1\r\n")
                && info.contains(&format!("process_id:{}\r\n", self.child.id()))
            {
                return true;
            }
            thread::sleep(Duration::from_millis(5));
        }
        false
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    pub const fn addr(&self) -> SocketAddr {
        addr(self.port)
    }

    /// The URL, with the password if it has one.
    pub fn url(&self) -> String {
        match self.password {
            "" => format!("redis://{}", self.addr()),
            password => format!("redis://:{password}@{}", self.addr()),
        }
    }

    /// Ends the server without a chance to save.
    pub fn kill(&mut self) {
        self.child.kill().expect("our own child can be killed");
        self.child.wait().expect("our own child can be waited for");
    }

    /// Starts it again with its port and directory after a kill.
    pub fn restart(&mut self) {
        self.child = spawn(&self.arguments);
        assert!(self.answers(), "the server starts again");
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
        let _: usize = self.query(cmd("CLIENT").arg(&kill));
    }

    pub fn connection(&self) -> RedisResult<Connection> {
        let connection = redis::Client::open(self.url())?.get_connection_with_timeout(TEST_TIMEOUT)?;
        connection.set_read_timeout(Some(TEST_TIMEOUT))?;
        Ok(connection)
    }

    pub fn try_query<T: FromRedisValue>(&self, command: &Cmd) -> RedisResult<T> {
        command.query(&mut self.connection()?)
    }

    /// Runs a command on a connection of its own.
    pub fn query<T: FromRedisValue>(&self, command: &Cmd) -> T {
        self.try_query(command).expect("the server answers")
    }

    /// Asks again when the server closes the connection: each Sentinel that gives it another master closes all its clients.
    fn read<T: FromRedisValue>(&self, command: &Cmd) -> T {
        let start = Instant::now();
        loop {
            match self.try_query(command) {
                Err(error)
                    if error.is_connection_dropped()
                        && !error.is_connection_refusal()
                        && start.elapsed() < TEST_TIMEOUT => {}
                answer => break answer.expect("the server answers"),
            }
        }
    }

    /// The keys that have not expired.
    pub fn names(&self) -> Vec<String> {
        self.read(cmd("KEYS").arg("*"))
    }

    /// The number of keys that have not expired.
    pub fn keys(&self) -> usize {
        self.names().len()
    }

    /// Loses a key.
    pub fn forget(&self, key: &str) {
        self.query::<()>(cmd("DEL").arg(key));
    }

    /// `master` or `slave`, by its own word.
    pub fn role(&self) -> String {
        let info: String = self.read(cmd("INFO").arg("replication"));
        let role = info.lines().find_map(|line| line.strip_prefix("role:"));
        role.expect("a role").to_owned()
    }

    /// How often the server ran a command, inside and outside of scripts, since it started or its statistics were reset.
    pub fn calls(&self, command: &str) -> u64 {
        calls_in(&self.query::<String>(cmd("INFO").arg("commandstats")), command)
    }

    /// Those of its commands that compare and delete without a script.
    pub fn natives(&self) -> Vec<&'static str> {
        let known: Vec<String> = self.query(cmd("ACL").arg("CAT").arg("write"));
        let mut natives = vec!["delifeq", "delex"];
        natives.retain(|native| known.iter().any(|command| command == native));
        natives
    }

    /// Sets up the user `locks` with the password `secret` and these rules.
    pub fn add_user(&self, rules: &str) {
        let mut command = cmd("ACL");
        command.arg(&["SETUSER", "locks", "on", ">secret"]);
        self.query::<()>(command.arg(rules.split_whitespace().collect::<Vec<_>>()));
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

fn spawn(arguments: &[String]) -> Child {
    Command::new(server_bin())
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server's binary runs")
}
