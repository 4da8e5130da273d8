//! What is left on disk and among the processes when a start fails, or something is killed at a bad moment: nothing.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use lockstorm_data::scenario::LabSpec;
use lockstorm_kit::lab::{
    CLAIM, children_of, installed, is_gone, keeper_of, living_in, options, options_with, script, signal, turn_apart, up,
};
use lockstorm_kit::{beside, ended, eventually, lockstorm, parts_of, program};
use lockstorm_lab::{Lab, LabOptions, ServerBinary, leftovers};
use nix::sys::signal::Signal;
use nix::unistd::geteuid;
use rand::RngExt;
use tempfile::TempDir;

const SCENARIO: &str = r#"
title    = "One arm, as little as possible"
duration = "200ms"
seed     = 1
lab = { hosts = 1 }
swarm = { servers = 1, workers = 1, think = "5ms" }
workload = { kind = "inventory", products = 4, stock = 1000, hold = "1ms" }

[[arm]]
name = "single"
lock = "single"
ttl  = "2s"
"#;

/// What makes of it a scenario with twenty-two servers: five lock nodes, five replicated nodes, five Sentinels, six nodes of a
/// cluster, and the cache node.
const LARGE: &str = r#"
[[arm]]
name = "sentinel"
lock = "single"
topology = "replicated"

[[arm]]
name = "cluster"
lock = "cluster"
"#;

/// Lockstorm with its own directory for temporary files, and the scenario beside it.
struct Place {
    dir: TempDir,
    temp: PathBuf,
}

impl Place {
    fn new(name: &str) -> Self {
        let dir = TempDir::with_prefix("ls-").expect("a directory");
        fs::write(dir.path().join("small.toml"), SCENARIO).expect("the scenario");
        let large = SCENARIO.replace("hosts = 1", "hosts = 5") + LARGE;
        fs::write(dir.path().join("large.toml"), large).expect("the scenario");
        let temp = dir.path().join(name);
        Self { dir, temp }
    }

    fn with_temp_dir() -> Self {
        let place = Self::new("tmp");
        fs::create_dir(&place.temp).expect("a directory");
        place
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = lockstorm(self.dir.path(), args);
        command.env("TMPDIR", &self.temp);
        command
    }

    /// The exit code, and everything that was said.
    fn says(&self, args: &[&str]) -> (Option<i32>, String) {
        let (code, out, err) = ended(&mut self.command(args));
        (code, out + &err)
    }

    fn run(&self, more: &[&str]) -> (Option<i32>, String) {
        self.says(&[&["run", "small.toml", "--quiet"], more].concat())
    }

    fn start(&self, scenario: &str) -> Child {
        let run = self.command(&["run", scenario, "--quiet"]).spawn();
        run.expect("lockstorm")
    }

    /// Kills a run, and its keepers too if they are to be killed, and takes down what is left: whether that was anything.
    fn kill(&self, mut run: Child, keepers: &[u32], with_keepers: bool) -> bool {
        signal(run.id(), Signal::SIGKILL);
        for &keeper in keepers.iter().filter(|_| with_keepers) {
            signal(keeper, Signal::SIGKILL);
        }
        run.wait().expect("reaped");
        // A killed process ends when it gets a core; until then it has its lock, and its lab is in use.
        eventually("the keepers are dead", || keepers.iter().all(|&keeper| is_gone(keeper)));
        let left = !self.left().is_empty();
        let (code, text) = self.says(&["lab", "down"]);
        assert_eq!(code, Some(0), "{text}");
        eventually("no process is left", || living_in(&self.temp).is_empty());
        // A keeper that was started just then removes its directory by itself.
        eventually("nothing is left", || self.left().is_empty());
        left
    }

    /// What is left in the directory for temporary files.
    fn left(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.temp) else {
            return Vec::new();
        };
        entries.flatten().map(|entry| entry.path()).collect()
    }
}

#[test]
fn a_kill_during_the_set_up_leaves_nothing_after_the_next_start() {
    let _one = beside();
    let place = Place::with_temp_dir();
    let mut caught = 0;
    for _ in 0..12 {
        let run = place.start("small.toml");
        thread::sleep(Duration::from_millis(rand::rng().random_range(0..60)));
        let keepers = children_of(run.id());
        caught += usize::from(place.kill(run, &keepers, true));
    }
    // The same for twenty-two servers, which take seconds to get ready.
    for kills_the_keeper in [true, false, false] {
        let run = place.start("large.toml");
        eventually("its servers start", || living_in(&place.temp).len() > 1);
        thread::sleep(Duration::from_millis(rand::rng().random_range(0..3_000)));
        // Servers that are stopped must end too.
        let (living, keepers) = (living_in(&place.temp), children_of(run.id()));
        println!("killed with {} processes", living.len());
        for &server in living.iter().filter(|server| !keepers.contains(server)).take(3) {
            signal(server, Signal::SIGSTOP);
        }
        place.kill(run, &keepers, kills_the_keeper);
    }
    // Killed after it made only the base directory.
    let base = place.temp.join(format!("lockstorm-{}", geteuid()));
    fs::DirBuilder::new().mode(0o700).create(&base).expect("the base");
    place.says(&["lab", "down"]);
    assert_eq!(place.left(), Vec::<PathBuf>::new());
    println!("{caught} of 12 left something for the next start");
}

fn base() -> PathBuf {
    std::env::temp_dir().join(format!("lockstorm-{}", geteuid()))
}

#[tokio::test]
async fn a_keeper_that_dies_leaves_no_directory() {
    let _one = beside();
    // It ends unasked, after it has made its directory and before it can report it.
    let dir = TempDir::with_prefix("ls-").expect("a directory");
    let body = format!(
        "cd {dir} && mkfifo orders\n{real} __keeper <orders >/dev/null &\nexec 3>orders\n\
         until grep -qsx $! {base}/run-*/keeper.lock; do sleep 0.01; done\n\
         grep -lx $! {base}/run-*/keeper.lock >made\nkill -KILL $!\nwait $!\nexit 1",
        dir = dir.path().display(),
        real = program(),
        base = base().display()
    );
    let keeper = script(dir.path().join("keeper"), &body);
    let error = Lab::up(&LabSpec::of(1), LabOptions { keeper, ..options() }).await;
    assert!(error.is_err());
    let made = fs::read_to_string(dir.path().join("made")).expect("it had made its directory");
    assert!(!Path::new(made.trim()).exists(), "{made}");

    // It is killed while the lab runs.
    for ends_in_order in [true, false] {
        let lab = up(&LabSpec::of(1)).await;
        let dir = lab.dir().to_owned();
        signal(keeper_of(&dir), Signal::SIGKILL);
        eventually("gone", || lab.keeper_gone().is_some());
        if ends_in_order {
            lab.down().await;
        } else {
            drop(lab);
        }
        assert!(!dir.exists());
    }
}

#[tokio::test]
async fn only_what_a_keeper_left_is_removed() {
    let Some(_one) = turn_apart("leftovers::only_what_a_keeper_left_is_removed") else {
        return;
    };
    let lab = up(&LabSpec::of(1)).await;
    let base = lab.dir().parent().expect("the base directory").to_owned();
    let make = |name: &str, files: &[&str]| {
        let path = base.join(name);
        fs::create_dir(&path).expect("a directory");
        for file in files {
            fs::write(path.join(file), "").expect("a file");
        }
        path
    };
    // Killed before, or after, it made its lock file.
    let bare = make("run-test-1", &[]);
    let unlocked = make("run-test-2", &["keeper.lock", "more"]);
    let foreign = make("run-test-3", &["thesis"]);
    // Made by a Docker engine that has not seen the directory of a lab.
    let hollow = make("run-test-4", &[]);
    let inhabited = make("run-test-5", &[]);
    for place in ["host-1", "cache"] {
        fs::create_dir(hollow.join(place)).expect("a directory");
        fs::create_dir(inhabited.join(place)).expect("a directory");
    }
    fs::write(inhabited.join("host-1/thesis"), "").expect("a file");
    let report = leftovers::remove().expect("removed");
    assert!(!bare.exists() && !unlocked.exists(), "{report:?}");
    assert!(report.directories.contains(&bare) && report.directories.contains(&unlocked));
    assert!(!hollow.exists() && report.directories.contains(&hollow), "{report:?}");
    assert!(foreign.join("thesis").exists() && lab.dir().exists());
    assert!(inhabited.join("host-1/thesis").exists());
    fs::remove_dir_all(foreign).expect("removed");
    fs::remove_dir_all(inhabited).expect("removed");
    lab.down().await;
}

#[test]
fn many_start_and_sweep_at_once() {
    let _one = beside();
    let place = Place::with_temp_dir();
    let start = |n| match n % 2 {
        0 => place.start("small.toml"),
        _ => place.command(&["lab", "down"]).spawn().expect("lockstorm"),
    };
    let runs: Vec<Child> = (0..12).map(start).collect();
    for run in runs {
        let (code, out, err) = parts_of(run.wait_with_output().expect("it ends"));
        assert!(matches!(code, Some(0 | 5)), "{code:?}: {out}{err}");
    }
    eventually("nothing is left", || place.left().is_empty());
}

#[test]
fn a_missing_temporary_directory_is_refused_and_not_made() {
    let _one = beside();
    let place = Place::new("missing");
    let (code, text) = place.run(&[]);
    assert_eq!(code, Some(2), "{text}");
    let said = format!("{} does not exist: set TMPDIR to a directory", place.temp.display());
    assert!(text.contains(&said) && text.lines().count() == 1, "{text}");
    assert!(!place.temp.exists());
    fs::write(&place.temp, "").expect("a file");
    let (code, text) = place.run(&[]);
    assert!(
        code == Some(2) && text.contains("is not a directory: set TMPDIR"),
        "{text}"
    );
}

#[test]
fn a_temporary_directory_with_an_odd_name_works() {
    let _one = beside();
    for name in ["a%41b with space", "why? no#1 it's", "a\"b back\\slash a&b=c é"] {
        let place = Place::new(name);
        fs::create_dir(&place.temp).expect("a directory");
        let (code, text) = place.run(&["--json"]);
        assert_eq!(code, Some(0), "{name}: {text}");
        assert!(place.left().is_empty(), "{name}");
        let beside: Vec<_> = fs::read_dir(place.dir.path()).expect("read").flatten().collect();
        // The two scenarios and the directory.
        assert_eq!(beside.len(), 3, "{name}: {beside:?}");
    }
}

#[tokio::test]
async fn a_server_program_that_leaves_its_session_leaves_no_server() {
    let Some(_one) = turn_apart("leftovers::a_server_program_that_leaves_its_session_leaves_no_server") else {
        return;
    };
    let real = installed().path;
    let dir = TempDir::with_prefix("ls-").expect("a directory");
    let options = |start: &str| {
        let body = start.replace("{real}", &real.to_string_lossy());
        let program = script(dir.path().join("server"), &format!("{CLAIM}\n{body}"));
        options_with(ServerBinary::find(Some(&program)).expect("it claims to be one"))
    };
    let in_another_session = "setsid --fork sleep 600\nexec {real} \"$@\"";
    for (start, answers) in [
        ("setsid --fork {real} \"$@\"\nexit 0", true),
        ("{real} \"$@\" &\nexit 0", true),
        // From then on it is in another group and session, and it never answers.
        ("setsid --fork sleep 600\nexit 0", false),
        (in_another_session, false),
    ] {
        let runs_before = runs();
        let lab = Lab::up(&LabSpec::of(1), options(start)).await;
        match lab {
            Ok(lab) => {
                let dir = lab.dir().to_owned();
                assert_eq!(living_in(&dir).len(), 4, "{start}");
                lab.down().await;
                assert!(!dir.exists());
            }
            Err(error) => {
                let error = error.to_string();
                assert_eq!(error.contains(" answers in its place"), answers, "{start}: {error}");
            }
        }
        assert_eq!(runs(), runs_before, "{start}");
    }
    // The same with a keeper that can't do this any more: the next sweep finds them by their logs.
    let lab = Lab::up(&LabSpec::of(1), options(in_another_session)).await.expect("up");
    let run_dir = lab.dir().to_owned();
    let living = living_in(&run_dir);
    signal(keeper_of(&run_dir), Signal::SIGKILL);
    eventually("gone", || lab.keeper_gone().is_some());
    lab.down().await;
    assert!(!run_dir.exists());
    let lives = |pid: &u32| {
        Path::new(&format!("/proc/{pid}/cwd"))
            .read_link()
            .is_ok_and(|cwd| cwd.starts_with(&run_dir))
    };
    eventually("all gone", || !living.iter().any(lives));
}

/// The number of processes that work in run directories of this user.
fn runs() -> usize {
    base().canonicalize().map_or(0, |base| living_in(&base).len())
}

/// Runs `lockstorm` on a file system of its own with this size.
#[test]
#[ignore = "needs root: it mounts a small file system"]
fn a_full_temporary_directory_is_reported_and_nothing_is_left() {
    let _one = beside();
    // A disk without space is refused beforehand; a disk with space but without a free inode is full all the same.
    let without_files = [2, 3, 4, 6, 8, 10].map(|files| (format!("size=64m,nr_inodes={files}"), 1));
    for (disk, expected) in without_files.into_iter().chain([("size=64k".to_owned(), 2)]) {
        let place = Place::with_temp_dir();
        let script = format!(
            "mount -t tmpfs -o {disk} tmpfs '{tmp}' && TMPDIR='{tmp}' '{program}' run small.toml --quiet; code=$?; \
             ls -A '{tmp}' >left; exit $code",
            tmp = place.temp.display(),
            program = program()
        );
        // A mount of this process alone, which ends with it.
        let mut unshare = Command::new("unshare");
        unshare.args(["-m", "sh", "-c", &script]).current_dir(place.dir.path());
        let (code, out, err) = parts_of(unshare.output().expect("unshare"));
        let text = out + &err;
        println!("{disk}: {text}");
        assert_eq!(code, Some(expected), "{disk}: {text}");
        let reports = [
            "No space left",
            "disk is full",
            "disk I/O",
            "unable to open",
            "of disk below TMPDIR",
        ];
        assert!(reports.iter().any(|words| text.contains(words)), "{text}");
        let left = fs::read_to_string(place.dir.path().join("left")).expect("listed");
        assert_eq!(left, "", "{disk}");
    }
}
