//! Nodes as containers, on a real Docker engine. `.ci/docker` runs these where there is one.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::{self, sleep};
use std::time::Duration;

use lockstorm_kit::lab::{self, CLAIM, Killed, children_of, keeper_of, runs, tells};
use lockstorm_kit::turn::Turn;
use lockstorm_kit::{alone, ended, lockstorm, program, send};
use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

use super::engine::{QUIET, docker, eventually, start, told};

/// The image that docker/local-image makes.
const IMAGE: &str = "lockstorm-test:local";
/// A place for one lab, and the turn to have one.
struct Place {
    tmp: TempDir,
    _turn: Turn,
}

impl Place {
    fn new() -> Self {
        let turn = alone();
        let made = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("docker/local-image"))
            .arg(IMAGE)
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let tmp = tempfile::tempdir().unwrap();
        Self { tmp, _turn: turn }
    }

    fn lockstorm(&self, arguments: &[&str]) -> Command {
        lockstorm(self.tmp.path(), arguments)
    }

    /// `lockstorm run SCENARIO --lab docker ARGUMENTS`.
    fn in_containers(&self, scenario: &str, arguments: &[&str]) -> Command {
        let own = ["run", scenario, "--lab", "docker", "--image", IMAGE];
        self.lockstorm(&[&own, arguments].concat())
    }

    /// `lockstorm lab ARGUMENTS`, which succeeds: what it prints.
    fn lab(&self, arguments: &[&str]) -> String {
        let output = self.lockstorm(&[&["lab"], arguments].concat()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", told(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Brings up a lab that is kept.
    fn up(&self) -> String {
        self.lab(&["up", "--lab", "docker", "--image", IMAGE, "--port", "0"])
    }

    fn run(&self, scenario: &str) -> Output {
        self.in_containers(scenario, &["--record", "record.json"])
            .output()
            .unwrap()
    }

    /// The events of the last record, as text.
    fn record(&self) -> Value {
        serde_json::from_str(&fs::read_to_string(self.tmp.path().join("record.json")).unwrap()).unwrap()
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.tmp.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// A run of [`QUIET`] that was just started, once its nodes are up.
    fn running(&self) -> Killed {
        self.file("quiet.toml", QUIET);
        let child = Killed(start(
            &mut self.in_containers("quiet.toml", &["--record", "record.json"]),
        ));
        eventually("a lab is up", || self.card().is_some());
        child
    }

    /// The file of a lab that is up.
    fn card(&self) -> Option<PathBuf> {
        let cards = runs(self.tmp.path()).into_iter().map(|run| run.join("lab.json"));
        cards.into_iter().find(|card| card.exists())
    }

    /// The run directory of a lab that is up.
    fn run_dir(&self) -> PathBuf {
        self.card().unwrap().parent().unwrap().to_owned()
    }
}

/// Kills a run and its keeper.
fn kill_both(run: Killed, keeper: u32) {
    // Stopped, it can't clean up after the keeper.
    send(run.0.id(), Signal::SIGSTOP);
    send(keeper, Signal::SIGKILL);
    drop(run);
}

/// A container that is not ours, with a label that our nodes have, too.
struct Other(String);

impl Other {
    fn start() -> Self {
        Self(docker(&["run", "-d", "--label", "lockstorm.place=host-1", IMAGE]))
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = Command::new("docker").args(["rm", "-f", self.0.trim()]).output();
    }
}

/// What `docker` prints for what is labelled as Lockstorm's.
fn ours(arguments: &[&str]) -> Vec<String> {
    let mut all = arguments.to_vec();
    all.extend(["--filter", "label=lockstorm.user"]);
    docker(&all).lines().map(str::to_owned).collect()
}

/// The nodes of all labs, as what `docker ps` with these arguments prints.
fn nodes(arguments: &[&str]) -> Vec<String> {
    ours(&[&["ps", "-q", "--filter", "label=lockstorm.place"], arguments].concat())
        .into_iter()
        .filter(|id| !keepers().contains(id))
        .collect()
}

/// The containers that say that a lab is alive.
fn keepers() -> Vec<String> {
    ours(&["ps", "-a", "-q", "--filter", "label=lockstorm.place=keeper"])
}

fn nothing_is_left() {
    assert_eq!(ours(&["ps", "-a", "-q"]), Vec::<String>::new());
    assert_eq!(ours(&["network", "ls", "-q"]), Vec::<String>::new());
}

/// The container of a host in the only lab.
fn container(host: usize) -> String {
    let filter = format!("label=lockstorm.place=host-{host}");
    docker(&["ps", "-a", "-q", "--filter", &filter]).trim().to_owned()
}

/// An image whose redis-server is this script.
fn image_of(place: &Place, name: &str, script: &str) {
    lab::script(place.tmp.path().join("redis-server"), script);
    let make = format!(
        "set -e; mkdir -p root/bin; cp -L /bin/sh root/bin/sh; cp redis-server root/bin/; \
         ldd /bin/sh | grep -o '/[^ ]*' | while read -r l; do mkdir -p root$(dirname $l); cp -L $l root$l; done; \
         tar -C root -c . | docker import --change 'ENV PATH=/bin' - {name}"
    );
    let made = Command::new("sh")
        .args(["-c", &make])
        .current_dir(&place.tmp)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
}

/// Plays a scenario whose verdict says that it went as with processes.
fn plays_in_containers(scenario: &str) {
    let place = Place::new();
    let output = place.in_containers(scenario, &["--verbose"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{scenario}: {}\n{text}", told(&output));
    assert!(text.contains(&format!("of the image {IMAGE}")), "{text}");
    nothing_is_left();
}

#[test]
#[ignore = "needs a Docker engine: .ci/docker"]
fn single_vs_redlock_plays_in_containers() {
    plays_in_containers("single-vs-redlock");
}

#[test]
#[ignore = "slow: .ci/long docker"]
fn flash_sale_plays_in_containers() {
    plays_in_containers("flash-sale");
}

#[test]
#[ignore = "slow: .ci/long docker"]
fn quorum_loss_plays_in_containers() {
    plays_in_containers("quorum-loss");
}

#[test]
#[ignore = "slow: .ci/long docker"]
fn failover_plays_in_containers() {
    plays_in_containers("failover");
}

/// What makes of [`QUIET`] a scenario with every fault of a host.
const EVERY_FAULT: &str = r#"
fault = [
    { at = "1s", do = "pause", on = "host:1", for = "1s" },
    { at = "3s", do = "kill", on = "host:1", for = "1s" },
    { at = "6s", do = "shutdown", on = "host:2", for = "1s" },
    { at = "1s", do = "lag", on = "host:3", delay = "20ms", for = "1s" },
    { at = "8500ms", do = "cut", on = "host:3", for = "1s" },
    { at = "10500ms", do = "pause", on = "host:2" },
    { at = "11500ms", do = "kill", on = "host:2" },
]
expect = { "redlock.lost_updates" = "== 0" }
"#;

#[test]
#[ignore = "needs a Docker engine: .ci/docker"]
fn every_fault_takes_effect_and_is_proven() {
    let place = Place::new();
    let kept = "hosts = 3\npersistence = \"aof-always\"";
    let scenario = EVERY_FAULT.to_owned() + &QUIET.replace("60s", "12500ms").replace("hosts = 3", kept);
    place.file("faults.toml", &scenario);
    let output = place.run("faults.toml");
    let told = told(&output);
    assert!(
        output.status.success(),
        "{told}\n{}",
        String::from_utf8_lossy(&output.stdout)
    );
    let with = |words: &[&str]| {
        told.lines()
            .filter(|line| words.iter().all(|word| line.contains(word)))
            .count()
    };
    for words in [
        &["host 1 paused", "process is stopped and nothing has arrived for"][..],
        &["host 2 paused", "process is stopped and nothing has arrived for"],
        &["host 1 killed", "process is gone and port"],
        &["host 2 killed", "process is gone and port"],
        &["host 2 shut down", "process is gone and port"],
        &[
            "host 3 cut",
            "its container has left the network and port",
            "can't be reached",
        ],
        &["host 3 uncut", "its container is in the network again and it answers"],
    ] {
        assert_eq!(with(words), 1, "{words:?}: {told}");
    }
    // What is on disk survives, as on a machine that is switched on again.
    assert_eq!(with(&["EMPTY"]), 0, "{told}");
    nothing_is_left();
}

#[test]
#[ignore = "slow: .ci/long docker"]
fn what_somebody_else_does_to_a_container_is_told() {
    let place = Place::new();
    let mut run = place.running();
    sleep(Duration::from_secs(3));
    docker(&["pause", &container(1)]);
    sleep(Duration::from_secs(2));
    docker(&["unpause", &container(1)]);
    sleep(Duration::from_secs(1));
    docker(&["kill", &container(2)]);
    sleep(Duration::from_secs(1));
    send(run.0.id(), Signal::SIGINT);
    assert_eq!(run.0.wait().unwrap().code(), Some(130));
    let events = place.record()["events"].to_string();
    for what in [
        r#""change":"stopped","node":"host 1""#,
        r#""change":"resumed","node":"host 1""#,
        r#""change":"killed","node":"host 2""#,
    ] {
        assert_eq!(events.matches(what).count(), 1, "{what}: {events}");
    }
    nothing_is_left();
}

#[test]
#[ignore = "slow: .ci/long docker"]
fn nothing_outlives_a_run_that_is_killed_even_if_a_container_is_frozen() {
    let place = Place::new();
    let run = place.running();
    docker(&["pause", &container(2)]);
    drop(run);
    eventually("the keeper has removed its containers", || {
        ours(&["ps", "-a", "-q"]).is_empty() && ours(&["network", "ls", "-q"]).is_empty()
    });
    eventually("and its directory", || place.card().is_none());
}

#[test]
#[ignore = "needs a Docker engine: .ci/docker"]
fn what_a_killed_keeper_leaves_is_removed_and_nothing_else() {
    let place = Place::new();
    // Somebody else's container of the same image, with a label of its own.
    let other = Other::start();
    let run = place.running();
    let first = ours(&["ps", "-q", "--filter", "label=lockstorm.place=host-1"]);
    docker(&["pause", &first[0]]);
    kill_both(run, keeper_of(&place.run_dir()));
    assert_eq!(nodes(&["-a"]).len(), 4);
    let said = place.lab(&["down"]);
    tells(&said, &["1 run directory", "5 containers"]);
    nothing_is_left();
    let running = docker(&["ps", "-q", "--no-trunc"]);
    assert_eq!(running, other.0, "it was left alone");

    // The same after all temporary files were lost.
    let (run, run_dir) = (place.running(), place.run_dir());
    kill_both(run, keeper_of(&run_dir));
    fs::remove_dir_all(run_dir).unwrap();
    eventually("the engine has noticed it", || {
        ours(&["ps", "-q", "--filter", "label=lockstorm.place=keeper"]).is_empty()
    });
    let said = place.lab(&["down"]);
    assert!(said.contains("5 containers"), "{said}");
    nothing_is_left();
}

#[test]
#[ignore = "needs a Docker engine: .ci/docker"]
fn what_cannot_be_used_is_refused_in_one_line() {
    let place = Place::new();
    place.file("quiet.toml", QUIET);
    let refused = |output: &Output, words: &[&str]| {
        let told = told(output);
        let lines: Vec<_> = told
            .lines()
            .filter(|line| !line.starts_with("lockstorm: set-up"))
            .collect();
        assert_eq!((output.status.code(), lines.len()), (Some(1), 1), "{told}");
        assert!(words.iter().all(|word| told.contains(word)), "{words:?}: {told}");
    };
    let of_image = |image: &str| {
        let run = ["run", "quiet.toml", "--lab", "docker", "--image", image];
        place.lockstorm(&run).output().unwrap()
    };
    refused(
        &of_image("lockstorm-test:absent"),
        &[
            "lockstorm-test:absent is not here and could not be pulled",
            "docker pull",
            "docker/local-image",
            "--image",
        ],
    );
    let with_engine = |host: &str| {
        let mut run = place.in_containers("quiet.toml", &[]);
        run.env("DOCKER_HOST", host).output().unwrap()
    };
    refused(
        &with_engine("unix:///nowhere/docker.sock"),
        &["no Docker engine at /nowhere/docker.sock", "start Docker"],
    );
    refused(
        &with_engine("nonsense"),
        &["DOCKER_HOST can't be used", "tcp://HOST:PORT"],
    );
    let socket = place.tmp.path().join("no.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let closing = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"-ERR unknown command\r\n").unwrap();
    });
    let output = with_engine(&format!("unix://{}", socket.display()));
    refused(&output, &["is not a Docker engine", "DOCKER_HOST"]);
    closing.join().unwrap();

    image_of(&place, "lockstorm-test:none", "echo no server");
    refused(
        &of_image("lockstorm-test:none"),
        &["lockstorm-test:none does not print that of a server"],
    );
    let dies = &format!("{CLAIM}\necho no memory today\nexit 4");
    image_of(&place, "lockstorm-test:dies", dies);
    let output = of_image("lockstorm-test:dies");
    assert_eq!(output.status.code(), Some(1));
    let told = told(&output);
    tells(&told, &["exit code 4"]);
    assert!(told.contains("no memory today"), "the end of its log: {told}");
    nothing_is_left();
    docker(&["rmi", "lockstorm-test:none", "lockstorm-test:dies"]);
}

#[test]
#[ignore = "slow: .ci/long docker"]
fn a_kept_lab_of_containers_is_broken_mended_and_taken_down() {
    let place = Place::new();
    let lab = |arguments: &[&str]| place.lab(arguments);
    let up = place.up();
    assert!(up.contains("REDIS_URLS"), "{up}");
    assert_eq!(nodes(&[]).len(), 4);
    lab(&["kill", "1"]);
    lab(&["pause", "2"]);
    assert_eq!(docker(&["ps", "-q", "--filter", "status=paused"]).lines().count(), 1);
    assert_eq!(nodes(&[]).len(), 3, "one is dead");
    let status = lab(&["status"]);
    tells(&status, &["down (killed)", "paused"]);
    lab(&["restore", "all"]);
    assert_eq!(nodes(&["--filter", "status=running"]).len(), 4);
    lab(&["down"]);
    nothing_is_left();
}

#[test]
#[ignore = "slow: .ci/long docker"]
fn a_lab_whose_directory_is_not_seen_is_left_alone() {
    let place = Place::new();
    place.up();
    let lab = nodes(&[]);
    assert_eq!((lab.len(), keepers().len()), (4, 1));
    let run = place.run_dir();
    let keeper = keeper_of(&run);
    // As for somebody who has another file system at this path.
    let (base, hidden) = (run.parent().unwrap().to_owned(), place.tmp.path().join("hidden"));
    fs::rename(&base, &hidden).unwrap();
    let down = |more: &[&str]| ended(&mut place.lockstorm(&[&["lab", "down"], more].concat()));
    let alone = format!(
        "no lab left anything behind; 1 lab is running and was left alone: {}\n",
        run.display()
    );
    assert_eq!(down(&[]), (Some(0), alone.clone(), String::new()));
    // A keeper that is stopped is no dead one.
    send(keeper, Signal::SIGSTOP);
    assert_eq!(down(&[]), (Some(0), alone.clone(), String::new()));
    send(keeper, Signal::SIGCONT);
    // The next run cleans up, too.
    place.file("short.toml", &QUIET.replace("60s", "1s"));
    let output = place.run("short.toml");
    assert!(output.status.success(), "{}", told(&output));
    assert_eq!(nodes(&[]), lab, "all go on");
    assert!(!base.exists());

    let (code, out, err) = down(&["--force"]);
    assert_eq!(
        (code, out.as_str(), err.as_str()),
        (Some(0), "removed 5 containers\n", "")
    );
    nothing_is_left();
    fs::rename(&hidden, &base).unwrap();
    eventually("the lab is down without its containers", || !run.exists());
}

#[test]
#[ignore = "slow: .ci/long docker"]
fn however_early_a_keeper_is_killed_nobody_has_to_force_the_removal() {
    let place = Place::new();
    place.file("quiet.toml", QUIET);
    let hidden = tempfile::tempdir().unwrap();
    for after in [0, 50, 100, 150, 200, 300, 400, 600, 900] {
        let run = Killed(start(&mut place.in_containers("quiet.toml", &["--quiet"])));
        let mut keepers = Vec::new();
        eventually("there is a keeper", || {
            keepers = children_of(run.0.id());
            !keepers.is_empty()
        });
        sleep(Duration::from_millis(after));
        kill_both(run, keepers[0]);
        let base = fs::read_dir(place.tmp.path()).unwrap().flatten();
        for base in base.filter(|entry| entry.path().is_dir()) {
            // Servers may still write there.
            fs::rename(base.path(), hidden.path().join(after.to_string())).unwrap();
        }
        // The engine may still carry out what the keeper has asked for last: that is left for the next who removes.
        eventually("its claim is over or was never held, and nothing is left", || {
            let down = place.lockstorm(&["lab", "down"]).output().unwrap();
            assert!(down.status.success(), "after {after} ms: {}", told(&down));
            !String::from_utf8_lossy(&down.stdout).contains("running")
                && ours(&["ps", "-a", "-q"]).is_empty()
                && ours(&["network", "ls", "-q"]).is_empty()
        });
    }
}

#[test]
#[ignore = "slow: .ci/long docker"]
fn a_claim_that_was_never_started_is_no_lab() {
    let place = Place::new();
    let hostname = nix::unistd::gethostname().unwrap();
    let labels = [
        format!("lockstorm.user={}", nix::unistd::geteuid()),
        format!("lockstorm.machine={}", hostname.to_string_lossy()),
        "lockstorm.run=/nowhere/run-1".to_owned(),
        "lockstorm.place=keeper".to_owned(),
    ];
    let mut create = vec!["create"];
    create.extend(labels.iter().flat_map(|label| ["--label", label]));
    create.push(IMAGE);
    docker(&create);
    assert_eq!(place.lab(&["down"]), "removed 1 container\n");
    nothing_is_left();
}

#[test]
#[ignore = "slow: .ci/long docker"]
fn containers_of_which_nothing_says_whether_they_are_used_are_left_alone() {
    let place = Place::new();
    place.up();
    let run = place.run_dir();
    let keeper = keeper_of(&run);
    send(keeper, Signal::SIGSTOP);
    let (base, hidden) = (run.parent().unwrap().to_owned(), place.tmp.path().join("hidden"));
    fs::rename(&base, &hidden).unwrap();
    docker(&["rm", "-f", &keepers()[0]]);
    let down = place.lockstorm(&["lab", "down"]).output().unwrap();
    assert_eq!(down.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&down.stdout), "nothing was removed\n");
    assert!(told(&down).contains("lab down --force"), "{}", told(&down));
    assert_eq!(nodes(&[]).len(), 4);
    fs::rename(&hidden, &base).unwrap();
    // It learns that it does not count as alive any more.
    send(keeper, Signal::SIGCONT);
    eventually("its keeper has ended it", || !run.exists());
    nothing_is_left();
}

#[test]
#[ignore = "slow: .ci/long docker"]
fn an_engine_that_does_not_see_the_run_directory_is_told_and_makes_none() {
    if !nix::unistd::geteuid().is_root() {
        return println!("ignored: it needs root, to mount a file system");
    }
    let (place, hidden) = (Place::new(), TempDir::new().unwrap());
    let script = format!(
        "mount -t tmpfs tmpfs '{0}' && TMPDIR='{0}' '{1}' lab up --lab docker --image {IMAGE} --port 0",
        hidden.path().display(),
        program()
    );
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", &script])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = told(&output);
    tells(&told, &["does not see the run directory", "TMPDIR"]);
    assert_eq!(fs::read_dir(hidden.path()).unwrap().count(), 0);
    drop(place);
    nothing_is_left();
}

/// An engine that can do everything but freeze containers: between it and the real one.
fn engine_without_freezer(socket: &Path) {
    let listener = UnixListener::bind(socket).unwrap();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (Ok(client), Ok(engine)) = (client, UnixStream::connect("/var/run/docker.sock")) else {
                return;
            };
            let (mut answers, mut to_client) = (engine.try_clone().unwrap(), client.try_clone().unwrap());
            thread::spawn(move || {
                let _ = std::io::copy(&mut answers, &mut to_client);
                // An attached stream ends with its container.
                let _ = to_client.shutdown(std::net::Shutdown::Both);
            });
            thread::spawn(move || refuse_to_freeze(client, engine));
        }
    });
}

fn refuse_to_freeze(mut client: UnixStream, mut engine: UnixStream) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = client.read(&mut buffer) {
        let request = &buffer[..read];
        let freezes = request.starts_with(b"POST ") && request.windows(11).any(|part| part == b"/pause HTTP");
        let written = if freezes {
            let why = r#"{"message":"no freezer on this machine"}"#;
            let head = format!(
                "HTTP/1.1 500 Error\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                why.len()
            );
            client.write_all((head + why).as_bytes())
        } else {
            engine.write_all(request)
        };
        if written.is_err() {
            break;
        }
    }
    let _ = engine.shutdown(std::net::Shutdown::Both);
}

#[test]
#[ignore = "slow: .ci/long docker"]
fn an_engine_that_can_not_freeze_makes_a_pause_inconclusive() {
    let place = Place::new();
    let paused = QUIET.replace("60s", "4s")
        + "[[fault]]\nat = \"1s\"\ndo = \"pause\"\non = \"host:1\"\n[expect]\n\"redlock.lost_updates\" = \"== 0\"\n";
    place.file("paused.toml", &paused);
    let socket = place.tmp.path().join("engine.sock");
    engine_without_freezer(&socket);
    let mut run = place.in_containers("paused.toml", &[]);
    let run = run.env("DOCKER_HOST", format!("unix://{}", socket.display()));
    let output = run.output().unwrap();
    let told = told(&output);
    assert_eq!(output.status.code(), Some(5), "{told}");
    assert!(told.contains("no freezer on this machine"), "{told}");
    nothing_is_left();
}
