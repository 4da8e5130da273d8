//! `lockstorm bench` from outside, with the real binary on real servers. No speed is asserted, because machines differ.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

use lockstorm::bench::{BenchRecord, CASES, Contender, Metric};
use lockstorm_kit::{beside, eventually};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// `lockstorm bench ARGUMENTS`, with its own directory for labs.
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

/// Asserts that no directory of a lab is left, and no process that works in one.
fn nothing_is_left(labs: &Path) {
    eventually("no process and no directory is left", || {
        let mut processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let lives_there = |process: &fs::DirEntry| {
            fs::read_link(process.path().join("cwd")).is_ok_and(|directory| directory.starts_with(labs))
        };
        !processes.any(|process| lives_there(&process)) && fs::read_dir(labs).unwrap().count() == 0
    });
}

/// Runs short rounds of these cases, and returns the record and the output.
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
    let _turn = beside();
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
    assert!(!stdout.contains('\u{1b}'), "no colour without a terminal: {stdout}");
    assert!(stderr.contains("own-1 1/1:  engine "), "{stderr}");
}

#[test]
fn without_a_quorum_refusals_are_typed_and_leave_no_keys() {
    let _turn = beside();
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
    let _turn = beside();
    let (record, _) = measured(&["--case", "renewal", "--quiet"]);
    let run = record.cases[0].rounds[0].of(Contender::Engine).unwrap();
    assert_eq!(run.lost, Some(0));
    assert_eq!(run.figures.as_ref().unwrap().cycles, 0);
}

#[test]
fn tasks_that_share_a_key_have_a_fairness_and_a_round_trip() {
    let _turn = beside();
    let (record, _) = measured(&["--case", "one-4x16", "--quiet"]);
    let run = record.cases[0].rounds[0].of(Contender::Engine).unwrap();
    let figures = run.figures.as_ref().unwrap();
    // A lock that starves half of the tasks has 0.5.
    let jain = figures.jain.unwrap();
    assert!((0.75..=1.0).contains(&jain), "{jain}");
    assert!(figures.hold_mean_us >= 2000.0);
    // One at a time, so all holds together take no longer than the phase, plus one at each end.
    let held_s = figures.cycles as f64 * figures.hold_mean_us / 1e6;
    assert!(
        held_s <= figures.seconds * 1.05,
        "held for {held_s} s of {}",
        figures.seconds
    );
    assert!(figures.attempts_per_cycle.unwrap() >= 0.9, "each lock took an attempt");
    // An acquire spends nearly all its time waiting for 63 others.
    let (alone, among_others) = (run.uncontended_us.unwrap(), figures.acquire.p50_us);
    assert!(
        alone > 0.0 && alone * 5.0 < among_others,
        "{alone} µs and {among_others} µs"
    );
    let ratio = figures.acquire.p99_us / (64.0 * (figures.hold_mean_us + alone));
    let median = record.cases[0].summary[0].metrics[&Metric::IdealQueueRatio].median;
    assert!((median - ratio).abs() < 1e-9, "{median} and {ratio}");
}

#[test]
fn a_case_of_five_nodes_runs_on_five_and_loses_nothing_with_two_paused() {
    let _turn = beside();
    let (record, output) = measured(&["--case", "five-two-paused", "--case", "own-64", "--quiet"]);
    assert_eq!(record.nodes.len(), 6 + 4, "each lab with its cache");
    let [five, three] = &record.cases[..] else {
        panic!("{} cases", record.cases.len())
    };
    assert_eq!((five.hosts, three.hosts), (5, 3));
    let run = five.rounds[0].of(Contender::Engine).unwrap();
    assert_eq!(run.figures.as_ref().unwrap().acquired_share, Some(1.0));
    assert!(run.baseline.as_ref().unwrap().cycles > 0);
    assert_eq!(run.orphans, [0; 5]);
    let beside = record
        .targets
        .iter()
        .find(|target| target.words == "cycles/s, of own-64");
    let [of_five, of_three] = [five, three].map(|case| case.summary[0].metrics[&Metric::CyclesPerS].median);
    let value = beside.expect("the other case of the same run is found").value;
    assert!(
        (value - of_five / of_three).abs() < 1e-9,
        "{value}: {of_five} of {of_three}"
    );
    assert!(text(&output.stdout).contains(" · 3 and 5 nodes, "), "{output:?}");
}

/// Fails if the server has no TLS, or there is no openssl. The case is left out then, which another test covers.
#[cfg(feature = "tls")]
#[test]
fn a_case_over_tls_is_measured_and_leaves_no_certificates() {
    let _turn = beside();
    let (record, output) = measured(&["--case", "tls-64"]);
    assert_eq!(record.left_out, []);
    let case = &record.cases[0];
    assert!(case.tls && case.rounds[0].runs.len() == Contender::ALL.len());
    for run in &case.rounds[0].runs {
        assert_eq!(run.error, None, "{}", run.contender);
        assert_eq!(
            run.figures.as_ref().unwrap().acquired_share,
            Some(1.0),
            "{}",
            run.contender
        );
        assert_eq!(run.orphans, [0; 3], "{}", run.contender);
    }
    let with_tls = record
        .nodes
        .iter()
        .filter(|node| node.settings.contains_key("tls-port"));
    assert_eq!(with_tls.count(), 3, "the hosts, and not the cache");
    // It runs itself again in the same process, and must print everything only once.
    assert_eq!(text(&output.stderr).matches("about ").count(), 1, "{output:?}");
}

/// Checks that the clients of this case use TLS: nodes with a certificate from another authority get no votes.
#[cfg(feature = "tls")]
#[test]
fn nodes_that_are_not_trusted_are_not_used() {
    use std::os::unix::fs::DirBuilderExt;

    use nix::unistd::geteuid;
    use rcgen::{CertificateParams, KeyPair};

    let _turn = beside();
    let (labs, place) = (labs(), tempfile::tempdir().unwrap());
    // As for the second run of the bench.
    let base = labs
        .path()
        .canonicalize()
        .unwrap()
        .join(format!("lockstorm-{}", geteuid()));
    let dir = base.join("run-0");
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir).unwrap();
    fs::write(dir.join("keeper.lock"), "").unwrap();
    let signed_by_itself = || {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
    };
    let (authority, (node, key)) = (signed_by_itself().0, signed_by_itself());
    for (name, text) in [("authority.pem", authority), ("node.pem", node), ("node.key", key)] {
        fs::write(dir.join(name), text).unwrap();
    }
    let json = place.path().join("bench.json");
    let output = bench(labs.path(), &["--case", "tls-64", "--rounds", "1", "--time", "200ms"])
        .arg("--json")
        .arg(&json)
        .env("LOCKSTORM_BENCH_CERTIFICATES", "run-0")
        .env("SSL_CERT_FILE", dir.join("authority.pem"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let record: BenchRecord = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let figures = record.cases[0].rounds[0]
        .of(Contender::Engine)
        .unwrap()
        .figures
        .as_ref();
    let figures = figures.unwrap();
    assert_eq!((figures.cycles, figures.acquired_share), (0, Some(0.0)));
    let said = figures.refusal_text.as_deref().unwrap();
    assert!(said.contains("this machine trusts no authority"), "{said}");
    nothing_is_left(labs.path());
}

#[test]
fn a_case_that_can_not_be_measured_here_is_left_out_with_its_reason() {
    let _turn = beside();
    let (labs, place) = (labs(), tempfile::tempdir().unwrap());
    let json = place.path().join("bench.json");
    let server = lockstorm_kit::server_bin();
    let output = bench(
        labs.path(),
        &[
            "--case", "tls-64", "--case", "own-1", "--rounds", "1", "--time", "200ms",
        ],
    )
    .arg("--server-bin")
    .arg(&server)
    .arg("--json")
    .arg(&json)
    // PATH without openssl.
    .env("PATH", place.path())
    .output()
    .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let record: BenchRecord = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let [left_out] = &record.left_out[..] else {
        panic!("{:?}", record.left_out)
    };
    let why = if cfg!(feature = "tls") {
        "openssl"
    } else {
        "the feature `tls`"
    };
    assert!(left_out.name == "tls-64" && left_out.why.contains(why), "{left_out:?}");
    assert_eq!(record.cases.len(), 1, "the other one is measured");
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(stdout.contains("tls-64 was left out: "), "{stdout}");
    assert!(stderr.contains("tls-64 is skipped: "), "{stderr}");
    nothing_is_left(labs.path());
}

/// Like any run directory of a lab.
#[cfg(feature = "tls")]
#[test]
fn certificates_that_a_sudden_death_left_are_cleaned_up() {
    let _turn = beside();
    let labs = labs();
    let mut child = bench(
        labs.path(),
        &["--case", "tls-64", "--rounds", "1000", "--time", "200ms"],
    )
    .stdout(Stdio::null())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(
        lines.any(|line| line.unwrap().contains("tls-64 1/1000")),
        "a round has ended"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    let down = Command::new(env!("CARGO_BIN_EXE_lockstorm"))
        .args(["lab", "down"])
        .env("TMPDIR", labs.path())
        .output()
        .unwrap();
    assert!(text(&down.stdout).contains("removed "), "{down:?}");
    nothing_is_left(labs.path());
}

/// A server that was built without TLS ends at its first TLS option.
#[cfg(feature = "tls")]
#[test]
fn a_server_without_tls_is_reported() {
    use std::os::unix::fs::PermissionsExt;

    let _turn = beside();
    let (labs, place) = (labs(), tempfile::tempdir().unwrap());
    let server = place.path().join("redis-server");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *--tls-port*) echo \"Bad directive or wrong number of arguments: 'tls-port'\"; exit 1;; esac\n\
         exec {} \"$@\"\n",
        lockstorm_kit::server_bin().display()
    );
    fs::write(&server, script).unwrap();
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).unwrap();
    let output = bench(
        labs.path(),
        &[
            "--case", "tls-64", "--case", "own-1", "--rounds", "1", "--time", "200ms",
        ],
    )
    .arg("--server-bin")
    .arg(&server)
    .output()
    .unwrap();
    let stdout = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(
        stdout.contains("tls-64 was left out: ") && stdout.contains("Bad directive"),
        "{stdout}"
    );
    assert!(stdout.contains("own-1 · 1 task"), "{stdout}");
    nothing_is_left(labs.path());
}

/// As in records from before cases had a number of hosts.
#[test]
fn older_records_are_read() {
    let _turn = beside();
    let (record, _) = measured(&["--case", "own-1", "--quiet"]);
    let mut json = serde_json::to_value(&record).unwrap();
    json.as_object_mut().unwrap().remove("left_out");
    let case = json["cases"][0].as_object_mut().unwrap();
    case.remove("hosts");
    case.remove("tls");
    assert_eq!(serde_json::from_value::<BenchRecord>(json).unwrap(), record);
}

#[cfg(feature = "peers")]
#[test]
fn peers_are_measured_in_the_same_round_and_compared() {
    let _turn = beside();
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
fn without_peers_it_says_how_to_get_them() {
    let _turn = beside();
    let (record, output) = measured(&["--case", "own-1", "--quiet"]);
    assert!(!record.peers);
    assert!(text(&output.stdout).contains("--features peers"), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    assert_eq!(record.cases[0].rounds[0].runs.len(), 1);
}

#[test]
fn ctrl_c_ends_a_bench_with_the_results_so_far() {
    let _turn = beside();
    let labs = labs();
    let mut child = bench(labs.path(), &["--case", "own-1", "--rounds", "1000", "--time", "200ms"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = lines.find(|line| line.as_ref().unwrap().contains("own-1 1/1000"));
    assert!(line.is_some(), "a round has ended");
    // It must not block on a pipe that nobody reads.
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
