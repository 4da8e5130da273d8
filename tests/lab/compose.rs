//! The stack of docker/compose.yaml, from images that docker/local-stack makes of what this machine has. `.ci/docker` runs these
//! where there is a Docker engine, with every version of Compose that there is.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};
use std::time::Duration;

use lockstorm_kit::lab::{Killed, children_of, tells};
use lockstorm_kit::turn::Turn;
use lockstorm_kit::{alone, lockstorm, program, send};
use nix::sys::signal::Signal;
use tempfile::TempDir;

use super::engine::{QUIET, docker, eventually, start};

/// What is brought down in the end, whatever was brought up.
const DOWN: [&str; 7] = [
    "--profile",
    "five",
    "--profile",
    "sentinel",
    "down",
    "-v",
    "--remove-orphans",
];

const PROJECT: &str = "lockstorm-test";
fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The ways to call a Compose that works here: 1.29, and v2.
fn composes() -> Vec<Vec<String>> {
    let fetched = top().join("target/trixie/docker-compose/docker-compose");
    let known = [
        vec!["docker-compose"],
        vec!["docker", "compose"],
        vec![fetched.to_str().unwrap()],
    ];
    let works = |call: &Vec<&str>| {
        let version = Command::new(call[0]).args(&call[1..]).arg("version").output();
        version.is_ok_and(|output| output.status.success())
    };
    let found: Vec<Vec<String>> = known
        .into_iter()
        .filter(works)
        .map(|call| call.into_iter().map(str::to_owned).collect())
        .collect();
    assert!(!found.is_empty(), "there is no Compose here");
    found
}

/// A stack that one test has for itself, with the images of this machine.
struct Stack {
    call: Vec<String>,
    images: BTreeMap<String, String>,
    tmp: TempDir,
    _turn: Turn,
}

impl Stack {
    fn new(call: Vec<String>) -> Self {
        let turn = alone();
        let made = Command::new(top().join("docker/local-stack"))
            .arg(program())
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let printed = String::from_utf8(made.stdout).unwrap();
        let variables = printed.trim().strip_prefix("export ").unwrap().split(' ');
        let mut images: BTreeMap<String, String> = variables
            .map(|variable| variable.split_once('=').unwrap())
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let group = Command::new("stat")
            .args(["-c", "%g", "/var/run/docker.sock"])
            .output()
            .unwrap();
        let group = String::from_utf8(group.stdout).unwrap().trim().to_owned();
        images.insert("DOCKER_GID".to_owned(), group);
        let tmp = tempfile::tempdir().unwrap();
        let stack = Self {
            call,
            images,
            tmp,
            _turn: turn,
        };
        stack.composed(&DOWN);
        stack
    }

    fn compose(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.call[0]);
        command
            .args(&self.call[1..])
            .args(["-p", PROJECT, "-f"])
            .arg(top().join("docker/compose.yaml"))
            .args(arguments)
            .envs(&self.images);
        command
    }

    /// Brings up the nodes, with this profile.
    fn up(&self, profile: &[&str]) {
        let mut arguments = profile.to_vec();
        arguments.extend(["up", "-d", "host-1", "host-2", "host-3", "cache", "postgres"]);
        if !profile.is_empty() {
            arguments.extend(["host-1-replicated", "host-1-sentinel"]);
            arguments.extend(["host-2-replicated", "host-2-sentinel"]);
            arguments.extend(["host-3-replicated", "host-3-sentinel"]);
        }
        self.composed(&arguments);
    }

    /// A command of Compose that succeeds: what it prints.
    fn composed(&self, arguments: &[&str]) -> String {
        let output = self.compose(arguments).output().unwrap();
        assert!(output.status.success(), "{:?}: {}", self.call, text(&output));
        text(&output)
    }

    /// The number that PostgreSQL answers.
    fn sql(&self, query: &str) -> u64 {
        let psql = [
            "exec",
            "-T",
            "-e",
            "PGPASSWORD=lockstorm",
            "postgres",
            "psql",
            "-h",
            "127.0.0.1",
            "-U",
            "lockstorm",
            "-Atc",
            query,
        ];
        let output = self.compose(&psql).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
    }

    /// Lockstorm on this machine.
    fn lockstorm(&self, arguments: &[&str]) -> Command {
        let mut command = lockstorm(self.tmp.path(), arguments);
        command.env("LOCKSTORM_LAB", format!("compose:{PROJECT}"));
        command
    }

    /// A run on this machine, once the faults of [`BROKEN`] have taken effect.
    fn broken(&self) -> Killed {
        self.file("broken.toml", &(BROKEN.to_owned() + QUIET));
        let run = Killed(start(&mut self.lockstorm(&["run", "broken.toml", "--quiet"])));
        eventually("one node is frozen, one is dead, and one is cut off", || {
            state("host-1").contains("Paused") && state("host-2").starts_with("Exited") && !answers(7103)
        });
        run
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.tmp.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let _ = self.compose(&DOWN).output();
    }
}

/// Host 1 stands still, host 2 is dead and host 3 is cut off to the end.
const BROKEN: &str = r#"
fault = [
    { at = "1s", do = "pause", on = "host:1" },
    { at = "1s", do = "kill", on = "host:2" },
    { at = "1s", do = "cut", on = "host:3" },
]
"#;

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes))
        .concat()
}

/// What the engine says of the container of a service.
fn state(service: &str) -> String {
    let project = format!("label=com.docker.compose.project={PROJECT}");
    let service = format!("label=com.docker.compose.service={service}");
    docker(&[
        "ps",
        "-a",
        "--filter",
        &project,
        "--filter",
        &service,
        "--format",
        "{{.Status}}",
    ])
}

/// Whether a node answers at its port on this machine, where programs of the user reach it.
fn answers(port: u16) -> bool {
    let ping = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 7];
        stream.read_exact(&mut answer)?;
        Ok(&answer == b"+PONG\r\n")
    };
    ping().unwrap_or(false)
}

fn all_run() -> bool {
    let reached = || [7101, 7102, 7103, 7110].into_iter().all(answers);
    ["host-1", "host-2", "host-3", "cache"]
        .iter()
        .all(|service| state(service).starts_with("Up") && !state(service).contains("Paused"))
        && reached()
}

/// What runs have made: the container that says who uses a stack, and those that they ask an image's version.
fn claims() -> String {
    docker(&["ps", "-a", "-q", "--filter", "label=lockstorm.run"])
}

/// Plays quorum-loss in a container of the stack.
fn plays_from_inside(call: Vec<String>) {
    let stack = Stack::new(call);
    let said = stack.composed(&["run", "--rm", "-T", "lockstorm", "run", "quorum-loss"]);
    assert!(said.contains(&format!("of the stack {PROJECT}")), "{said}");
    assert!(said.contains("✔ redlock: lost updates 0"), "{said}");
    assert!(all_run() && claims().is_empty());
    // PostgreSQL itself says that it was used, and that nothing is left.
    assert!(stack.sql("select xact_commit from pg_stat_database where datname = 'lockstorm'") > 1000);
    let schemas = stack.sql("select count(*) from pg_namespace where nspname like 'lockstorm%'");
    assert_eq!(schemas, 0);
}

#[test]
#[ignore = "slow: .ci/long docker"]
fn the_stack_plays_quorum_loss_from_inside() {
    plays_from_inside(composes().remove(0));
}

#[test]
#[ignore = "slow: .ci/long docker"]
fn every_other_compose_plays_it_too() {
    composes().into_iter().skip(1).for_each(plays_from_inside);
}

#[test]
#[ignore = "needs a Docker engine: .ci/docker"]
fn every_compose_takes_the_file() {
    for call in composes() {
        let stack = Stack::new(call);
        stack.composed(&["--profile", "five", "--profile", "sentinel", "config", "-q"]);
    }
}

#[test]
#[ignore = "slow: .ci/long docker"]
fn the_runtime_stage_of_the_image_is_built_and_the_stack_plays_what_it_is_for() {
    let Some(call) = composes().into_iter().find(|call| call != &["docker-compose"]) else {
        println!("ignored: there is no Compose v2, whose BuildKit is needed");
        return;
    };
    let mut stack = Stack::new(call);
    stack
        .images
        .insert("LOCKSTORM_IMAGE".to_owned(), "lockstorm-built:local".to_owned());
    stack.composed(&["build", "lockstorm"]);
    stack.up(&["--profile", "sentinel"]);
    // Without a scenario: the one that this profile is for.
    let said = stack.composed(&["--profile", "sentinel", "run", "--rm", "-T", "lockstorm"]);
    assert!(said.contains("failover · "), "{said}");
    assert!(said.contains("✔ fixed: granted by old master"), "{said}");
}

#[test]
#[ignore = "slow: .ci/long docker"]
fn a_stack_is_given_back_as_it_was_however_a_run_ends() {
    let stack = Stack::new(composes().remove(0));
    stack.up(&[]);
    let ended_by = |mut run: Killed, signal| -> ExitStatus {
        send(run.0.id(), signal);
        run.0.wait().unwrap()
    };
    let run = stack.broken();
    // Nobody else can use it meanwhile.
    let second = stack.lockstorm(&["run", "broken.toml"]).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second).contains("is in use by another run"), "{}", text(&second));
    assert!(state("host-1").contains("Paused"), "the second one has touched it");
    assert_eq!(ended_by(run, Signal::SIGINT).code(), Some(130));
    assert!(all_run() && claims().is_empty());

    let run = stack.broken();
    ended_by(run, Signal::SIGKILL);
    eventually("the keeper has mended the stack", || all_run() && claims().is_empty());

    // A keeper that is killed too leaves it broken, until the next start.
    let run = stack.broken();
    send(children_of(run.0.id())[0], Signal::SIGKILL);
    ended_by(run, Signal::SIGKILL);
    assert!(!all_run() && !claims().is_empty());
    let down = stack.lockstorm(&["lab", "down"]).output().unwrap();
    assert!(down.status.success(), "{}", text(&down));
    assert!(all_run() && claims().is_empty());

    // A run in a container that is killed leaves its claim; the next one knows that it is gone.
    let run = ["run", "-d", "--no-deps", "lockstorm", "run", "quorum-loss"];
    stack.composed(&[&run[..], &["--set", "database.url=sqlite"]].concat());
    let uses = || docker(&["ps", "-a", "-q", "--filter", "name=lockstorm-uses-"]);
    eventually("it uses the stack", || !uses().is_empty());
    let id = docker(&["ps", "-q", "--filter", "label=com.docker.compose.oneoff=True"]);
    docker(&["rm", "-f", id.trim()]);
    assert!(!claims().is_empty());
    let run = stack.broken();
    assert_eq!(ended_by(run, Signal::SIGINT).code(), Some(130));
    assert!(all_run() && claims().is_empty());

    // One that was killed before it started its claim has not got the stack.
    docker(&[
        "create",
        "--name",
        &format!("lockstorm-uses-{PROJECT}"),
        "lockstorm-redis:local",
    ]);
    let run = stack.broken();
    assert_eq!(ended_by(run, Signal::SIGINT).code(), Some(130));
    assert!(all_run() && uses().is_empty());
}

#[test]
#[ignore = "slow: .ci/long docker"]
fn what_a_stack_has_not_is_refused_with_the_profile_that_has_it() {
    let stack = Stack::new(composes().remove(0));
    let refused = |arguments: &[&str], why: &str, code: i32| {
        let output = stack.lockstorm(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output));
        assert!(text(&output).contains(why), "{arguments:?}: {}", text(&output));
    };
    let flash = ["run", "flash-sale"];
    let with = |more: &[&'static str]| [&flash[..], more].concat();
    refused(&flash, "docker compose -f docker/compose.yaml up -d", 1);
    stack.up(&[]);
    refused(&["run", "failover"], "bring the stack up with --profile sentinel", 1);
    refused(
        &with(&["--set", "lab.hosts=5"]),
        "has no host-4: bring the stack up with --profile five",
        1,
    );
    refused(
        &["run", "cluster-counts-as-one"],
        "play this scenario with --lab docker",
        1,
    );
    refused(&with(&["--set", "lab.port=9000"]), "lab.port = 9000", 1);
    refused(&with(&["--lab", "compose:nobody"]), "no stack named nobody", 1);
    refused(&with(&["--image", "redis:7"]), "add --lab docker", 2);
    refused(
        &with(&["--lab", "podman"]),
        "write process, docker, compose, or compose:PROJECT",
        2,
    );
    // A group that may not use the socket.
    let output = stack
        .compose(&["run", "--rm", "-T", "--no-deps", "lockstorm", "run", "flash-sale"])
        .env("DOCKER_GID", "65533")
        .output()
        .unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    tells(&said, &["no permission to use the Docker engine", "DOCKER_GID"]);
    assert!(all_run() && claims().is_empty());
}
