//! A machine that is suspended while one of its programs holds a lock, or asks for one. To that program `CLOCK_MONOTONIC` stands
//! still, while keys go on expiring. The program is this test's own, run again under a shim (tests/shim/suspension.c): the test
//! stops it, and hides from its clock how long that was. Linux only: the shim replaces a function of its C library.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};
use std::{env, io, thread};

use crate::kit::moving::PATIENT;
use crate::kit::trio::{KEY, OPTIONS, QUEUE, Trio};
use crate::kit::{RedisServer, TEST_TIMEOUT, eventually};
use lockstorm_lock::{Lock, Nodes};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use tempfile::TempDir;

/// The ports of the nodes that the suspended program uses.
const PORTS: &str = "LOCKSTORM_TEST_PORTS";
/// What its answers begin with, among what the test harness prints.
const MARK: &str = "@ ";

const TTL: Duration = Duration::from_secs(2);
/// How long a suspension takes at least.
const SUSPENDED: Duration = Duration::from_secs(3);

/// The program on the machine that is suspended.
struct Program {
    child: Child,
    hidden: File,
    answers: Receiver<String>,
    _dir: TempDir,
}

impl Program {
    fn start(servers: &[RedisServer]) -> Self {
        let dir = TempDir::with_prefix("lockstorm-suspension-").unwrap();
        let path = dir.path().join("hidden");
        let hidden = File::create(&path).unwrap();
        hidden.write_at(&0_i64.to_ne_bytes(), 0).unwrap();
        let ports: Vec<_> = servers.iter().map(|server| server.port().to_string()).collect();
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "suspension::the_program", "--ignored", "--nocapture"])
            .env(PORTS, ports.join(","))
            .env("LD_PRELOAD", shim(dir.path()))
            .env("LOCKSTORM_HIDDEN", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || {
            let mut told = lines.map_while(Result::ok);
            told.try_for_each(|line| match line.split_once(MARK) {
                Some((_, answer)) => sender.send(answer.to_owned()),
                None => Ok(()),
            })
        });
        Self {
            child,
            hidden,
            answers,
            _dir: dir,
        }
    }

    fn order(&self, word: &str) {
        writeln!(self.child.stdin.as_ref().unwrap(), "{word}").unwrap();
    }

    fn answer(&self) -> String {
        self.answers.recv_timeout(TEST_TIMEOUT).expect("an answer")
    }

    /// Suspends it while `meanwhile` happens, and for [`SUSPENDED`] at least. Returns when it went on.
    async fn suspend(&self, meanwhile: impl AsyncFnOnce()) -> Instant {
        let pid = Pid::from_raw(self.child.id().cast_signed());
        kill(pid, Signal::SIGSTOP).unwrap();
        waitpid(pid, Some(WaitPidFlag::WUNTRACED)).unwrap();
        let start = Instant::now();
        meanwhile().await;
        thread::sleep(SUSPENDED.saturating_sub(start.elapsed()));
        let hidden = i64::try_from(start.elapsed().as_nanos()).unwrap();
        self.hidden.write_at(&hidden.to_ne_bytes(), 0).unwrap();
        kill(pid, Signal::SIGCONT).unwrap();
        Instant::now()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The shim, built with the machine's C compiler.
fn shim(dir: &Path) -> PathBuf {
    let source = crate::package::root().join("tests/shim/suspension.c");
    let shim = dir.join("suspension.so");
    let compile = Command::new("cc")
        .args(["-O1", "-fPIC", "-shared", "-o"])
        .args([&shim, &source])
        .arg("-ldl")
        .output();
    let made = compile.expect("a C compiler, which building lockstorm needs too");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    shim
}

/// What the program does: one line is one order.
#[tokio::test]
#[ignore = "the other tests run it as a program of its own"]
async fn the_program() {
    let Ok(ports) = env::var(PORTS) else { return };
    let addrs = ports.split(',').map(|port| ([127, 0, 0, 1], port.parse().unwrap()));
    let addrs: Vec<std::net::SocketAddr> = addrs.map(Into::into).collect();
    let (sender, mut orders) = tokio::sync::mpsc::unbounded_channel();
    thread::spawn(move || {
        let mut lines = io::stdin().lines().map_while(Result::ok);
        lines.try_for_each(|line| sender.send(line))
    });
    let nodes = Nodes::connect(&addrs, PATIENT);
    assert_eq!(nodes.ready(TEST_TIMEOUT).await, addrs.len());
    let lock = Lock::redlock(&nodes, 1);
    let mut held = None;
    while let Some(order) = orders.recv().await {
        let answer = match order.as_str() {
            "acquire" => match lock.acquire(KEY, &OPTIONS.ttl(TTL)).await {
                Ok(guard) => {
                    let guard = std::sync::Arc::new(guard);
                    held = Some(std::sync::Arc::clone(&guard));
                    tokio::spawn(async move {
                        guard.lost().await;
                        println!("\n{MARK}lost");
                    });
                    "acquired".to_owned()
                }
                Err(refusal) => refusal.to_string(),
            },
            _ => {
                let guard = held.as_ref().unwrap();
                format!("valid {}, lost {}", !guard.validity().is_zero(), guard.is_lost())
            }
        };
        println!("\n{MARK}{answer}");
    }
}

#[tokio::test]
async fn a_holder_that_was_suspended_sees_its_loss_at_once() {
    let trio = Trio::start().await;
    let program = Program::start(&trio.servers);
    program.order("acquire");
    assert_eq!(program.answer(), "acquired");
    program.order("state");
    assert_eq!(program.answer(), "valid true, lost false");
    let mut second = None;
    let meanwhile = async || {
        second = Some(trio.acquire(&QUEUE).await.unwrap());
        program.order("state");
    };
    let resumed = program.suspend(meanwhile).await;
    let mut answers = [program.answer(), program.answer()];
    let took = resumed.elapsed();
    println!("both answers came {took:?} after the resume");
    answers.sort();
    assert_eq!(answers, ["lost", "valid false, lost true"]);
    assert!(
        took < TTL / 2,
        "the loss was told after {took:?}, by a timer that had stood still"
    );
    assert!(!second.unwrap().is_lost());
}

#[tokio::test]
async fn votes_that_are_read_after_a_suspension_come_too_late() {
    let trio = Trio::start().await;
    let program = Program::start(&trio.servers);
    program.order("acquire");
    assert_eq!(program.answer(), "acquired");
    assert_eq!(program.answer(), "lost");
    trio.no_keys().await;
    let slow = &trio.servers[..2];
    slow.iter().for_each(RedisServer::pause);
    program.order("acquire");
    eventually("the third node has voted", || trio.servers[2].keys() == 1);
    let meanwhile = async || {
        slow.iter().for_each(RedisServer::resume);
        eventually("a quorum has voted", || slow.iter().all(|server| server.keys() == 1));
    };
    program.suspend(meanwhile).await;
    let answer = program.answer();
    assert!(answer.contains("when no validity was left"), "{answer}");
}
