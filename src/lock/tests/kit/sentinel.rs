//! A master, two replicas and three Sentinels, all with passwords.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use std::io::Write;

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use redis::{Cmd, Connection, FromRedisValue, RedisResult, cmd};
use tempfile::TempDir;

use super::{TEST_TIMEOUT, calls_in, eventually, free_port, server_bin};

/// The name of the master.
pub const NAME: &str = "watched";

/// The password of the data servers.
pub const PASSWORD: &str = "of-the-servers";

/// The password of the Sentinels.
pub const SENTINEL_PASSWORD: &str = "of-the-sentinels";

/// One process, killed when it is dropped.
pub struct Process {
    pub port: u16,
    password: &'static str,
    config: PathBuf,
    arguments: &'static [&'static str],
    child: Child,
}

impl Process {
    /// Starts a server with this configuration, which may not name the port, and waits until it answers.
    pub fn start(dir: &Path, password: &'static str, config: &str, arguments: &'static [&'static str]) -> Self {
        // Another process may take a free port before the server does; then another one is tried.
        for _ in 0..20 {
            let port = free_port();
            // Sentinels write to their file.
            let path = dir.join(format!("{port}.conf"));
            let own = dir.join(port.to_string());
            fs::create_dir(&own).expect("a directory of its own");
            let text = format!(
                "port {port}\nbind 127.0.0.1\ndir {}\nrequirepass {password}\n{config}",
                own.display()
            );
            let mut options = fs::OpenOptions::new();
            let file = options.write(true).create_new(true).mode(0o600).open(&path);
            file.and_then(|mut file| file.write_all(text.as_bytes()))
                .expect("a writable directory");
            let mut process = Self {
                port,
                password,
                child: spawn(&path, arguments),
                config: path,
                arguments,
            };
            if process.answers() {
                return process;
            }
        }
        panic!("no server could be started");
    }

    /// Waits until the server has loaded its data; false if it has ended instead.
    fn answers(&mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < TEST_TIMEOUT {
            if self.child.try_wait().expect("our own child").is_some() {
                return false;
            }
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

    /// Ends the process without a chance to do anything.
    pub fn kill(&mut self) {
        self.child.kill().expect("our own child can be killed");
        self.child.wait().expect("our own child can be waited for");
    }

    /// Starts it again with its port and file after a kill.
    pub fn restart(&mut self) {
        self.child = spawn(&self.config, self.arguments);
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

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// The URL with the password.
    pub fn url(&self) -> String {
        format!("redis://:{}@127.0.0.1:{}", self.password, self.port)
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

    /// `master` or `slave`, by its own word.
    pub fn role(&self) -> String {
        let info: String = self.query(cmd("INFO").arg("replication"));
        let role = info.lines().find_map(|line| line.strip_prefix("role:"));
        role.expect("a role").to_owned()
    }

    /// How often the server ran a command.
    pub fn calls(&self, command: &str) -> u64 {
        calls_in(&self.query::<String>(cmd("INFO").arg("commandstats")), command)
    }

    /// The keys that have not expired.
    pub fn keys(&self) -> Vec<String> {
        self.query(cmd("KEYS").arg("*"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be dead already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(config: &Path, arguments: &[&str]) -> Child {
    Command::new(server_bin())
        .arg(config)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server's binary runs")
}

/// A master with two replicas, and three Sentinels that watch it.
pub struct Watched {
    /// At first the master is the first one.
    pub servers: Vec<Process>,
    pub sentinels: Vec<Process>,
    // Removed after the processes are dead.
    dir: TempDir,
}

impl Watched {
    /// The Sentinels fail over to a replica when the master has been silent for a second.
    pub fn start() -> Self {
        let mut watched = Self::unwatched();
        let master = watched.servers[0].port;
        let config = format!(
            "sentinel sentinel-pass {SENTINEL_PASSWORD}\n\
             sentinel monitor {NAME} 127.0.0.1 {master} 2\n\
             sentinel auth-pass {NAME} {PASSWORD}\n\
             sentinel down-after-milliseconds {NAME} 1000\n\
             sentinel failover-timeout {NAME} 5000\n\
             sentinel parallel-syncs {NAME} 2\n"
        );
        let dir = watched.dir.path();
        let start = |_| Process::start(dir, SENTINEL_PASSWORD, &config, &["--sentinel"]);
        watched.sentinels = (0..3).map(start).collect();
        eventually("all Sentinels know each other and the replicas", || {
            watched.sentinels.iter().all(|sentinel| {
                let fields = fields_of(sentinel);
                fields["num-other-sentinels"] == "2" && fields["num-slaves"] == "2" && fields["flags"] == "master"
            })
        });
        watched
    }

    /// Without Sentinels.
    pub fn unwatched() -> Self {
        let dir = TempDir::with_prefix("lockstorm-test-").expect("a temporary directory");
        let config = format!(
            "save \"\"\nmaxmemory-policy noeviction\nmasterauth {PASSWORD}\nrepl-diskless-sync-delay 0\n\
             repl-ping-replica-period 1\n"
        );
        let master = Process::start(dir.path(), PASSWORD, &config, &[]);
        let config = format!("{config}replicaof 127.0.0.1 {}\n", master.port);
        let replica = |_| Process::start(dir.path(), PASSWORD, &config, &[]);
        let servers: Vec<_> = [master].into_iter().chain((0..2).map(replica)).collect();
        let watched = Self {
            servers,
            sentinels: Vec::new(),
            dir,
        };
        watched.replicated(0, 2);
        watched
    }

    /// Waits until so many replicas have acknowledged what this server, a master, has written.
    pub fn replicated(&self, master: usize, replicas: usize) {
        let mut connection = self.servers[master].connection().expect("the master answers");
        eventually("the replicas have acknowledged a write", || {
            let mut pipe = redis::pipe();
            pipe.cmd("SET")
                .arg("proof")
                .arg(1)
                .ignore()
                .cmd("WAIT")
                .arg(replicas)
                .arg(100);
            let (acknowledged,): (usize,) = pipe.query(&mut connection).expect("a master");
            acknowledged >= replicas
        });
        let _: usize = cmd("DEL").arg("proof").query(&mut connection).expect("a master");
    }

    /// The URLs of the Sentinels.
    pub fn urls(&self) -> Vec<String> {
        self.sentinels.iter().map(Process::url).collect()
    }

    /// The index of the server that this Sentinel names as the master.
    pub fn master_by(&self, sentinel: usize) -> usize {
        let named: (String, u16) =
            self.sentinels[sentinel].query(cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(NAME));
        let at = self.servers.iter().position(|server| server.port == named.1);
        at.expect("it is one of ours")
    }

    /// Orders a failover as soon as the Sentinel can do it.
    pub fn fail_over(&self, sentinel: usize) {
        eventually("a replica can be promoted", || {
            let ordered = self.sentinels[sentinel].try_query::<()>(cmd("SENTINEL").arg("FAILOVER").arg(NAME));
            ordered.is_ok()
        });
    }
}

fn fields_of(sentinel: &Process) -> HashMap<String, String> {
    sentinel.query(cmd("SENTINEL").arg("MASTER").arg(NAME))
}
