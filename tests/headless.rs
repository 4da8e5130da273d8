//! A headless run of the real binary on real servers: what it leaves on disk and on its outputs, and how it ends.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lockstorm::run::Record;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use tempfile::TempDir;

/// Servers of two tests at once would disturb each other's figures.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Long enough for any machine; nothing here is measured.
const PATIENCE: Duration = Duration::from_secs(60);

const SCENARIO: &str = r#"
title    = "Two arms on the same products"
duration = "60s"
seed     = 1

[swarm]
servers = 2
workers = 2
think   = "5ms"

[workload]
kind     = "inventory"
products = 16
stock    = 1000000
hold     = { median = "1ms", sigma = 0.1 }

[[arm]]
name = "single"
lock = "single"
ttl  = "2s"

[[arm]]
name = "redlock"
lock = "redlock"
ttl  = "2s"
"#;

/// More of it: a fault whose condition never holds, and an expectation that waits for it.
const NEVER: &str = r#"
[[fault]]
when = "redlock.holding >= 1000"
do   = "kill"
on   = "host:1"

[expect]
"redlock.acquired" = "> 0"
"#;

/// A directory with the scenario, which also stands in for the one of all labs.
struct Place {
    directory: TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Place {
    fn new() -> Self {
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("two-arms.toml"), SCENARIO).unwrap();
        fs::create_dir(directory.path().join("labs")).unwrap();
        Self {
            directory,
            _alone: alone,
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn run(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockstorm"));
        command
            .args(["run", "two-arms.toml"])
            .args(arguments)
            .current_dir(self.path());
        command.env("TMPDIR", self.path().join("labs")).env_remove("NO_COLOR");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// The directories of labs that are there.
    fn labs(&self) -> usize {
        let users = fs::read_dir(self.path().join("labs")).unwrap();
        users
            .filter_map(|user| fs::read_dir(user.unwrap().path()).ok())
            .map(Iterator::count)
            .sum()
    }

    fn wait_for_labs(&self, n: usize) {
        let end = Instant::now() + PATIENCE;
        while self.labs() != n {
            assert!(Instant::now() < end, "{} labs instead of {n}", self.labs());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
}

/// The exit code, standard output, standard error.
fn told(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_run_leaves_its_record_and_its_summary() {
    let place = Place::new();
    let arguments = [
        "--duration",
        "2s",
        "--seed",
        "7",
        "--record",
        "out.json",
        "--set",
        "expect.redlock.acquired=> 0",
    ];
    let (code, stdout, stderr) = told(place.run(&arguments).wait_with_output().unwrap());
    assert_eq!(code, Some(0), "{stderr}");
    for part in [
        "two-arms · Two arms",
        "locks ",
        "load ",
        "stock ",
        "redlock: ",
        "✔ redlock.acquired is ",
        "seed 7",
    ] {
        assert!(stdout.contains(part), "{part:?} is missing: {stdout}");
    }
    assert!(
        !stdout.contains('\u{1b}') && !stderr.contains('\u{1b}'),
        "colour without a terminal"
    );
    assert!(stderr.lines().all(|line| line.starts_with("lockstorm: ")), "{stderr}");
    let record: Record = serde_json::from_slice(&fs::read(place.path().join("out.json")).unwrap()).unwrap();
    assert_eq!((record.seed, record.interrupted), (7, false));
    assert!(record.arms.iter().all(|arm| arm.figures.outcomes.acquired > 0));
    assert_eq!(place.labs(), 0);
}

#[test]
fn the_summary_and_the_progress_print_no_title_raw() {
    let place = Place::new();
    let title = "title=up\u{202e}down\u{2028}two\u{200b}lines";
    let (code, stdout, stderr) = told(
        place
            .run(&["--duration", "1s", "--set", title])
            .wait_with_output()
            .unwrap(),
    );
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stdout.contains("two-arms · up\u{fffd}down two\u{fffd}lines"),
        "{stdout}"
    );
    let all = stdout + &stderr;
    assert!(!all.contains(['\u{202e}', '\u{2028}', '\u{200b}']), "{all:?}");
}

#[test]
fn json_goes_to_standard_output_alone() {
    let place = Place::new();
    let (code, stdout, stderr) = told(
        place
            .run(&["--duration", "1s", "--json", "--quiet"])
            .wait_with_output()
            .unwrap(),
    );
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let record: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let arm = &record["arms"][1];
    for field in [
        "outcomes",
        "acquire_us",
        "response_us",
        "throughput",
        "orders",
        "oversold",
        "lost_updates",
        "series",
    ] {
        assert!(!arm[field].is_null(), "{field} is missing: {arm}");
    }
}

#[test]
fn readers_that_leave_early_do_not_end_the_run() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_lockstorm");
    let run = format!("'{program}' run two-arms.toml --duration 1s --record out.json");
    let script = format!("{run} 2>&1 | true; exit ${{PIPESTATUS[0]}}");
    let mut command = Command::new("bash");
    command
        .args(["-c", &script])
        .current_dir(place.path())
        .env("TMPDIR", place.path().join("labs"));
    assert_eq!(command.status().unwrap().code(), Some(0));
    assert!(place.path().join("out.json").is_file());
}

#[test]
fn expectations_decide_the_exit_code() {
    let place = Place::new();
    let (code, stdout, _) = told(
        place
            .run(&[
                "--duration",
                "1s",
                "--color",
                "always",
                "--set",
                "expect.redlock.acquired=< 1",
            ])
            .wait_with_output()
            .unwrap(),
    );
    assert_eq!(code, Some(3), "{stdout}");
    assert!(stdout.contains("✖ redlock.acquired is "), "{stdout}");
    assert!(stdout.contains("\u{1b}["), "colour was asked for");
    fs::write(place.path().join("two-arms.toml"), format!("{SCENARIO}{NEVER}")).unwrap();
    let (code, stdout, _) = told(place.run(&["--duration", "1s"]).wait_with_output().unwrap());
    assert_eq!(code, Some(5), "a fault that does not occur proves nothing: {stdout}");
    assert!(stdout.contains("? redlock.acquired is "), "{stdout}");
}

#[test]
fn a_signal_ends_the_run_with_what_ran() {
    let place = Place::new();
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let child = place.run(&["--record", "out.json"]);
        place.wait_for_labs(1);
        thread::sleep(Duration::from_secs(1));
        send(&child, signal);
        let (ended, stdout, stderr) = told(child.wait_with_output().unwrap());
        assert_eq!(ended, Some(code), "{stderr}");
        assert!(stdout.contains("(interrupted)"), "{stdout}");
        let record: Record = serde_json::from_slice(&fs::read(place.path().join("out.json")).unwrap()).unwrap();
        assert!(record.interrupted);
        assert_eq!(place.labs(), 0);
    }
}

#[test]
fn a_second_signal_ends_the_run_at_once_with_what_ran() {
    let place = Place::new();
    let child = place.run(&["--record", "out.json"]);
    place.wait_for_labs(1);
    thread::sleep(Duration::from_secs(1));
    // Two of a kind could become one on their way.
    send(&child, Signal::SIGINT);
    send(&child, Signal::SIGTERM);
    let (ended, stdout, stderr) = told(child.wait_with_output().unwrap());
    assert!(matches!(ended, Some(130 | 143)), "{ended:?} {stderr}");
    assert!(stdout.contains("(interrupted)"), "no summary: {stdout} {stderr}");
    let record: Record = serde_json::from_slice(&fs::read(place.path().join("out.json")).unwrap()).unwrap();
    assert!(record.interrupted);
    assert_eq!(place.labs(), 0);
}

#[test]
fn a_third_signal_does_not_wait_and_leaves_nothing() {
    let place = Place::new();
    let child = place.run(&[]);
    place.wait_for_labs(1);
    send(&child, Signal::SIGINT);
    send(&child, Signal::SIGTERM);
    thread::sleep(Duration::from_millis(20));
    send(&child, Signal::SIGINT);
    let (ended, _, stderr) = told(child.wait_with_output().unwrap());
    // Whichever the program sees first, it ended by a signal.
    assert!(matches!(ended, Some(130 | 143)), "{ended:?} {stderr}");
    place.wait_for_labs(0);
}

/// Everything that a run writes to a terminal of 120 columns.
fn on_a_terminal(place: &Place, no_color: Option<&str>) -> String {
    let size = PtySize {
        rows: 36,
        cols: 120,
        pixel_width: 0,
        pixel_height: 0,
    };
    let pair = native_pty_system().openpty(size).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_lockstorm"));
    command.args([
        "run",
        "two-arms.toml",
        "--duration",
        "1s",
        "--set",
        "expect.redlock.acquired=> 0",
    ]);
    command.cwd(place.path());
    command.env("TMPDIR", place.path().join("labs"));
    command.env("TERM", "xterm-256color");
    command.env_remove("NO_COLOR");
    if let Some(value) = no_color {
        command.env("NO_COLOR", value);
    }
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let mut shown = Vec::new();
    // The end of a terminal is an error on Linux.
    let _ = reader.read_to_end(&mut shown);
    assert!(child.wait().unwrap().success());
    String::from_utf8(shown).unwrap()
}

/// Whether the text sets a colour or an emphasis: `ESC [ … m`.
fn is_painted(text: &str) -> bool {
    text.split("\u{1b}[").skip(1).any(|rest| {
        rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';')
            .starts_with('m')
    })
}

#[test]
fn a_terminal_gets_a_bar_and_colour_unless_no_color_is_set() {
    let place = Place::new();
    let painted = on_a_terminal(&place, None);
    assert!(is_painted(&painted), "{painted:?}");
    assert!(painted.contains('━'), "no bar: {painted:?}");
    assert!(
        is_painted(&on_a_terminal(&place, Some(""))),
        "an empty NO_COLOR asks for nothing"
    );
    let plain = on_a_terminal(&place, Some("1"));
    assert!(!is_painted(&plain), "{plain:?}");
    assert!(plain.contains("✔ redlock.acquired is "), "{plain:?}");
}

#[test]
fn an_ascii_summary_has_nothing_but_ascii() {
    let place = Place::new();
    let summary = |more: &[&str]| {
        let arguments = [&["--duration", "1s", "--quiet"], more].concat();
        let (code, stdout, stderr) = told(place.run(&arguments).wait_with_output().unwrap());
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stdout.contains("redlock"), "{stdout}");
        stdout
    };
    assert!(!summary(&[]).is_ascii(), "there are signs to replace");
    let ascii = summary(&["--ascii"]);
    assert!(ascii.is_ascii(), "{ascii}");
}
