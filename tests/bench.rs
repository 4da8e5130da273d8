//! `lockstorm bench` from outside, with the real binary on real servers. No speed is asserted: machines differ.

mod support;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

use lockstorm::bench::{BenchRecord, CASES, Contender, Metric};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use support::{eventually, serial};
use tempfile::TempDir;

/// `lockstorm bench ARGUMENTS` with a directory of its own for labs.
fn bench(labs: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockstorm"));
    command.arg("bench").args(arguments).env("TMPDIR", labs);
    command.stdin(Stdio::null());
    command
}

fn labs() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// No directory of a lab, and no process with one as its working directory.
fn nothing_is_left(labs: &Path) {
    eventually("no process and no directory is left", || {
        let mut processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let lives_there = |process: &fs::DirEntry| {
            fs::read_link(process.path().join("cwd")).is_ok_and(|directory| directory.starts_with(labs))
        };
        !processes.any(|process| lives_there(&process)) && fs::read_dir(labs).unwrap().count() == 0
    });
}

/// Runs short rounds of these cases; the record and what was printed.
fn measured(arguments: &[&str]) -> (BenchRecord, Output) {
    let (labs, place) = (labs(), tempfile::tempdir().unwrap());
    let json = place.path().join("bench.json");
    let output = bench(labs.path(), &["--rounds", "1", "--time", "200ms", "--json"])
        .arg(&json)
        .args(arguments)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    nothing_is_left(labs.path());
    let record = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    (record, output)
}

#[test]
fn a_short_bench_leaves_its_figures_and_nothing_else() {
    let _turn = serial();
    let (record, output) = measured(&["--case", "own-1", "--case", "killed"]);
    assert_eq!(
        record.cases.iter().map(|case| &case.name).collect::<Vec<_>>(),
        ["own-1", "killed"]
    );
    assert!(!record.interrupted);
    assert_eq!((record.rounds, record.nodes.len()), (1, 4), "three hosts and the cache");
    for case in &record.cases {
        let run = case.rounds[0].of(Contender::Engine).unwrap();
        let figures = run.figures.as_ref().unwrap();
        assert_eq!(run.error, None);
        assert!(figures.cycles > 0 && figures.cycles_per_s > 0.0);
        assert!(figures.acquire.p50_us > 0.0 && figures.acquire.p50_us <= figures.acquire.max_us);
        assert!(figures.release.n > 0);
        assert!(figures.calls["set"] > 0, "{:?}", figures.calls);
        assert!(figures.commands_per_node_and_cycle.unwrap() > 1.0);
        assert_eq!(figures.acquired_share, Some(1.0), "{:?}", figures.refused);
        assert_eq!(run.orphans, [0, 0, 0]);
        assert_eq!(run.baseline.is_some(), case.name == "killed");
        assert!(case.settings.contains_key(&Contender::Engine));
        assert_eq!(case.summary[0].metrics[&Metric::CyclesPerS].n, 1);
    }
    let judged = |words: &str| record.targets.iter().find(|target| target.words == words);
    assert!(judged("share acquired").unwrap().reached);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    for part in [
        "own-1 · ",
        "killed · ",
        "cycles/s",
        "✔ killed: share acquired: 1, reached (≥ 1)",
    ] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    assert!(!stdout.contains('\u{1b}'), "no colour where nobody looks: {stdout}");
    assert!(stderr.contains("own-1 1/1:  engine "), "{stderr}");
}

#[test]
fn without_a_quorum_refusals_are_typed_and_leave_no_keys() {
    let _turn = serial();
    let (record, _) = measured(&["--case", "no-quorum-paused", "--quiet"]);
    let run = record.cases[0].rounds[0].of(Contender::Engine).unwrap();
    let figures = run.figures.as_ref().unwrap();
    assert!(figures.refusal.n > 0);
    assert!(
        figures
            .refused
            .keys()
            .all(|kind| kind == "no_quorum" || kind == "unknown"),
        "{:?}",
        figures.refused
    );
    let said = figures.refusal_text.as_deref().unwrap();
    assert!(said.contains("node 1 ") && said.contains("node 2 "), "{said}");
    assert_eq!(run.survivor_keys, Some(0));
    assert!(run.baseline.as_ref().unwrap().cycles > 0);
}

#[test]
fn renewed_locks_are_held_and_counted() {
    let _turn = serial();
    let (record, _) = measured(&["--case", "renewal", "--quiet"]);
    let run = record.cases[0].rounds[0].of(Contender::Engine).unwrap();
    assert_eq!(run.lost, Some(0));
    assert_eq!(run.figures.as_ref().unwrap().cycles, 0);
}

#[test]
fn tasks_that_share_a_key_have_a_fairness_and_a_round_trip() {
    let _turn = serial();
    let (record, _) = measured(&["--case", "one-4x16", "--quiet"]);
    let run = record.cases[0].rounds[0].of(Contender::Engine).unwrap();
    let figures = run.figures.as_ref().unwrap();
    let jain = figures.jain.unwrap();
    assert!((1.0 / 64.0..=1.0).contains(&jain), "{jain}");
    assert!(run.uncontended_us.unwrap() > 0.0);
    assert!(figures.hold_mean_us >= 2000.0);
    assert!(figures.attempts_per_cycle.unwrap() > 0.0);
    let ideal = record.cases[0].summary[0].metrics.get(&Metric::IdealQueueRatio);
    assert!(ideal.is_some());
}

#[cfg(feature = "peers")]
#[test]
fn peers_are_measured_in_the_same_round_and_compared() {
    let _turn = serial();
    let (record, _) = measured(&["--case", "own-64", "--case", "one-64", "--quiet"]);
    assert!(record.peers);
    for case in &record.cases {
        for &contender in Contender::ALL {
            let run = case.rounds[0].of(contender).unwrap();
            assert!(run.figures.as_ref().unwrap().cycles > 0, "{contender} in {}", case.name);
            assert_eq!(run.orphans, [0, 0, 0], "{contender} in {}", case.name);
            assert!(case.settings[&contender].contains_key("wait"));
        }
        for ratio in &case.ratios {
            assert!(ratio.metrics[&Metric::CyclesPerS].median > 0.0, "{}", ratio.peer);
        }
        assert_eq!(case.ratios.len(), Contender::ALL.len() - 1);
    }
}

#[cfg(not(feature = "peers"))]
#[test]
fn without_peers_it_says_how_to_have_them() {
    let _turn = serial();
    let (record, output) = measured(&["--case", "own-1", "--quiet"]);
    assert!(!record.peers);
    assert!(text(&output.stdout).contains("--features peers"), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    assert_eq!(record.cases[0].rounds[0].runs.len(), 1);
}

#[test]
fn ctrl_c_ends_it_with_what_was_measured() {
    let _turn = serial();
    let labs = labs();
    let mut child = bench(labs.path(), &["--case", "own-1", "--rounds", "1000", "--time", "200ms"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let told = lines.find(|line| line.as_ref().unwrap().contains("own-1 1/1000"));
    assert!(told.is_some(), "a round has ended");
    // It must not be blocked by a pipe that nobody reads.
    let rest = thread::spawn(move || lines.count());
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    rest.join().unwrap();
    let stdout = text(&output.stdout);
    assert_eq!(output.status.code(), Some(130), "{stdout}");
    assert!(
        stdout.contains("(interrupted)") && stdout.contains("engine"),
        "{stdout}"
    );
    nothing_is_left(labs.path());
}

#[test]
fn bad_requests_start_nothing() {
    let labs = labs();
    for (arguments, part) in [
        (&["--case", "own-46"][..], "did you mean \"own-64\"?"),
        (&["--case", "nonsense"], "known: \"own-1\""),
        (&["--rounds", "0"], "from 1 to 1000"),
        (&["--time", "1"], "with its unit"),
        (&["--time", "1h"], "50ms to 1m"),
        (&["--json", "/no/such/place.json"], "there is no directory"),
        (&["--cas", "own-1"], "--case"),
    ] {
        let output = bench(labs.path(), arguments).output().unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{arguments:?}: {stderr}");
        assert!(stderr.contains(part), "{arguments:?}: {stderr}");
        assert!(output.stdout.is_empty());
        assert_eq!(fs::read_dir(labs.path()).unwrap().count(), 0);
    }
}

#[test]
fn the_list_names_every_case_once() {
    let output = bench(labs().path(), &["--list"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let stdout = text(&output.stdout);
    let names: Vec<_> = stdout
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(names, CASES.iter().map(|case| case.name).collect::<Vec<_>>());
}
