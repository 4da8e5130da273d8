//! Our own I/O fails or is slow: the arms' databases, the record, the run directory, the outputs. In each case there must
//! be no false verdict, the run must end soon, and nothing may be left. A shim (tests/run/shim/io.c) that is preloaded into
//! lockstorm causes the failures; each case checks that it took effect. Linux only: the shim finds a file's name in /proc.
#![cfg(target_os = "linux")]

mod cases;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cases::{Broken, Case};
use lockstorm::report::RecordFile;
use lockstorm_run::{CheckResult, Record};
use tempfile::TempDir;

/// Set-up, three seconds of load, ten seconds without progress, and the same again for a slow machine.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

// No slow write outlasts a TTL, so that no update is lost by the locks.
const SCENARIO: &str = r#"
title = "Faulty I/O"
duration = "3s"
seed = 3
swarm = { servers = 2, workers = 2, think = "5ms" }
workload = { kind = "inventory", products = 16, stock = 1000000, hold = { median = "1ms", sigma = 0.1 } }
arm = [
    { name = "single", lock = "single", ttl = "30s" },
    { name = "redlock", lock = "redlock", ttl = "30s" },
]
[expect]
"single.lost_updates" = "== 0"
"redlock.lost_updates" = "== 0"
"#;

/// The shim, built with the machine's C compiler; `None` if there is none.
fn shim(dir: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run/shim/io.c");
    let shim = dir.join("io.so");
    let made = Command::new("cc")
        .args(["-O1", "-fPIC", "-shared", "-o"])
        .args([&shim, &source])
        .arg("-ldl")
        .output()
        .ok()?;
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(shim)
}

/// The result of a run.
struct Seen {
    code: Option<i32>,
    took: Duration,
    stdout: String,
    stderr: String,
    record: Option<Record>,
    /// What was left behind and should not be.
    left: Vec<String>,
    struck: bool,
}

fn play(case: &Case, shim: &Path) -> Seen {
    let place = TempDir::with_prefix("lockstorm-io-").expect("a temporary directory");
    let path = place.path();
    fs::create_dir(path.join("labs")).expect("an empty place");
    fs::create_dir(path.join("here")).expect("an empty place");
    fs::create_dir(path.join("hits")).expect("an empty place");
    fs::write(path.join("faulty.toml"), SCENARIO).expect("a writable place");
    let output = |name: &str| Stdio::from(File::create(path.join(name)).expect("a writable place"));
    let begin = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_lockstorm"))
        .args(["run", "../faulty.toml", "--record", "out.json"])
        .arg("--log")
        .arg(path.join("inside.log"))
        .current_dir(path.join("here"))
        .env("TMPDIR", path.join("labs"))
        .env("LD_PRELOAD", shim)
        .env("LOCKSTORM_IO", &case.rule)
        .env("LOCKSTORM_IO_HIT", path.join("hits"))
        .stdin(Stdio::null())
        .stdout(output("stdout"))
        .stderr(output("stderr"))
        .spawn()
        .expect("lockstorm starts");
    let mut code = None;
    while code.is_none() && begin.elapsed() < TEST_TIMEOUT {
        let ended = child.try_wait().expect("our own child");
        // Ending by a signal is not a documented exit code.
        code = ended.map(|status| status.code().unwrap_or(-1));
        thread::sleep(Duration::from_millis(10));
    }
    let took = begin.elapsed();
    if code.is_none() {
        child.kill().expect("our own child");
    }
    child.wait().expect("our own child");
    let text = |name: &str| {
        let bytes = fs::read(path.join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let record = path.join("here/out.json");
    let read = RecordFile::read(&record).ok();
    // Half a record is a leftover; a whole one is what was asked for.
    let mut kept = if read.is_some() { vec![record] } else { Vec::new() };
    // Without one, the journal has what was measured, and that is told.
    let journal = path.join("here/out.json.journal");
    if read.is_none() && text("stderr").contains("is in out.json.journal") && RecordFile::read(&journal).is_ok() {
        kept.push(journal);
    }
    let end = Instant::now() + Duration::from_secs(15);
    let mut left = remains(path, &kept);
    while !left.is_empty() && Instant::now() < end {
        thread::sleep(Duration::from_millis(20));
        left = remains(path, &kept);
    }
    Seen {
        code,
        took,
        stdout: text("stdout"),
        stderr: text("stderr"),
        record: read,
        left,
        struck: (0..case.rule.lines().count()).all(|rule| path.join("hits").join(rule.to_string()).exists()),
    }
}

/// Files, directories and processes that are left.
fn remains(place: &Path, kept: &[PathBuf]) -> Vec<String> {
    let of = |name: &str| fs::read_dir(place.join(name)).into_iter().flatten().flatten();
    let files = of("labs").chain(of("here")).map(|entry| entry.path());
    let mut left: Vec<String> = files
        .filter(|path| !kept.contains(path))
        .map(|path| path.display().to_string())
        .collect();
    for entry in fs::read_dir("/proc").expect("the processes").flatten() {
        let cwd = fs::read_link(entry.path().join("cwd"));
        if cwd.is_ok_and(|cwd| cwd.starts_with(place)) {
            left.push(format!("process {}", entry.file_name().to_string_lossy()));
        }
    }
    left
}

/// What is wrong with the result.
fn faults(case: &Case, seen: &Seen) -> Vec<String> {
    let mut faults = Vec::new();
    let mut must = |so: bool, what: &str| {
        if !so {
            faults.push(what.to_owned());
        }
    };
    must(seen.struck, "the shim never struck: this shows nothing");
    must(seen.left.is_empty(), &format!("left: {}", seen.left.join(" ")));
    let said = format!("{}{}", seen.stdout, seen.stderr);
    must(
        !said.contains("panicked") && !said.contains("this is a bug"),
        "panicked",
    );
    let Some(code) = seen.code else {
        faults.push(format!("did not end within {} s", TEST_TIMEOUT.as_secs()));
        return faults;
    };
    let codes: &[i32] = match case.broken {
        Broken::Database => &[1, 3, 5],
        Broken::SlowDatabase => &[0, 5],
        Broken::SetUp | Broken::Record => &[1, 2],
        Broken::Stdout => &[1],
        Broken::SlowRecord | Broken::Aside => &[0],
    };
    must(
        codes.contains(&code),
        &format!("exit code {code}, not one of {codes:?}"),
    );
    let summary = seen.stdout.contains("verdict");
    match case.broken {
        Broken::Database => {
            must(summary || code == 1, "no summary");
            let row = |line: &&str| line.starts_with("single") && line.contains('✔');
            must(
                !seen.stdout.lines().any(|line| row(&line)),
                "a ✔ for an arm without its database",
            );
            let green = |record: &Record| {
                let good = |checked: &&lockstorm_data::facts::CheckedExpectation| checked.result == CheckResult::Held;
                record
                    .expectations
                    .iter()
                    .filter(good)
                    .any(|checked| checked.expectation.arm.starts_with("single"))
            };
            must(
                !seen.record.as_ref().is_some_and(green),
                "an expectation held without the database",
            );
        }
        Broken::SetUp => must(!summary && seen.record.is_none(), "a summary or a record of no run"),
        Broken::Record => {
            // Errors that could be found beforehand are found beforehand.
            must(summary == (code == 1), "no summary");
            must(seen.record.is_none(), "a record that can't be there");
            must(seen.stderr.contains("out.json"), "no word about which file");
        }
        Broken::Stdout => must(seen.record.is_some(), "no record"),
        Broken::SlowDatabase | Broken::SlowRecord | Broken::Aside => {
            must(summary && seen.record.is_some(), "no summary or no record");
        }
    }
    faults
}

fn hold(cases: &[Case]) {
    let _turn = lockstorm_kit::beside();
    let dir = TempDir::with_prefix("lockstorm-shim-").expect("a temporary directory");
    let shim = shim(dir.path()).expect("a C compiler, which building lockstorm needs too");
    let mut bad = 0;
    // Two at a time: most of a case is waiting.
    let pairs = cases.chunks(2).flat_map(|pair| {
        thread::scope(|scope| {
            let plays: Vec<_> = pair.iter().map(|case| scope.spawn(|| play(case, &shim))).collect();
            let ended = plays.into_iter().map(|play| play.join().expect("it only looks"));
            pair.iter().zip(ended.collect::<Vec<_>>()).collect::<Vec<_>>()
        })
    });
    for (case, seen) in pairs {
        let faults = faults(case, &seen);
        let mark = if faults.is_empty() { '✔' } else { '✖' };
        let code = seen.code.map_or("–".to_owned(), |code| code.to_string());
        println!(
            "{mark} {:<46} exit {code:>2} after {:>4.1} s",
            case.name,
            seen.took.as_secs_f64()
        );
        if !faults.is_empty() {
            bad += 1;
            println!("    {}", faults.join("; "));
            for line in seen
                .stdout
                .lines()
                .rev()
                .take(6)
                .chain(seen.stderr.lines().rev().take(8))
            {
                println!("    | {line}");
            }
        }
    }
    assert_eq!(bad, 0, "of {} cases; see above", cases.len());
}

#[test]
fn a_sample_of_faulty_io_is_reported_correctly() {
    let mut sample = cases::all();
    sample.retain(|case| case.sample);
    hold(&sample);
}

#[test]
#[ignore = "slow: .ci/long faulty-io"]
fn all_faulty_io_is_reported_correctly() {
    // One of them, by a part of its name.
    let wanted = std::env::var("LOCKSTORM_FAULTY_IO").unwrap_or_default();
    let mut cases = cases::all();
    cases.retain(|case| case.name.contains(&wanted));
    assert!(!cases.is_empty(), "LOCKSTORM_FAULTY_IO=\"{wanted}\" names no case");
    hold(&cases);
}
