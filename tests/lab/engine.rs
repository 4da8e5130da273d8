//! A Docker engine, for the tests of containers and of the stack.

use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Long enough for any machine; only a test that fails waits this long.
const LONG: Duration = Duration::from_mins(1);

/// A run of a minute on three hosts in which nothing is ordered.
pub const QUIET: &str = r#"
title    = "Nothing is ordered"
duration = "60s"
[lab]
hosts = 3
[swarm]
servers = 1
workers = 2
think   = "20ms"
[workload]
kind     = "inventory"
products = 8
stock    = 100000
hold     = "5ms"
[[arm]]
name = "redlock"
lock = "redlock"
ttl  = "2s"
"#;

/// What `docker` prints.
pub fn docker(arguments: &[&str]) -> String {
    let output = Command::new("docker").args(arguments).output().unwrap();
    assert!(output.status.success(), "docker {arguments:?}: {}", told(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// What a command has printed as an error.
pub fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Starts a command that nobody listens to.
pub fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < end, "not within {LONG:?}: {what}");
        sleep(Duration::from_millis(20));
    }
}
