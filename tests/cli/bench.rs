//! `lockstorm bench` from outside, with the real binary on real servers. No speed is asserted, because machines differ.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command};
use std::thread;

use lockstorm_bench::{BenchRecord, CASES, CaseResult, Contender, Metric, Run};
use lockstorm_kit::program::{self, printed, says};
use lockstorm_kit::{alone, beside, ended, eventually, lockstorm, parts_of, send};
use nix::sys::signal::Signal;
use tempfile::TempDir;

/// `lockstorm bench ARGUMENTS`, with its own directory for labs.
fn bench(labs: &Path, arguments: &[&str]) -> Command {
    lockstorm(labs, &[&["bench"], arguments].concat())
}

fn labs() -> TempDir {
    tempfile::tempdir().unwrap()
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

/// What a short bench has measured and printed.
struct Measured {
    record: BenchRecord,
    stdout: String,
    stderr: String,
}

/// Runs short rounds of these cases.
fn measured(arguments: &str) -> Measured {
    measured_in(&labs(), arguments, |_| ())
}

/// The same by a program that was changed in this way, with this directory for labs.
fn measured_in(labs: &TempDir, arguments: &str, change: impl FnOnce(&mut Command)) -> Measured {
    let place = tempfile::tempdir().unwrap();
    let json = place.path().join("bench.json");
    let words: Vec<&str> = arguments.split(' ').collect();
    let mut command = bench(labs.path(), &["--rounds", "1", "--time", "200ms", "--json"]);
    command.arg(&json).args(words);
    change(&mut command);
    let (code, stdout, stderr) = ended(&mut command);
    assert_eq!(code, Some(0), "{stderr}");
    nothing_is_left(labs.path());
    let record = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    Measured { record, stdout, stderr }
}

/// The lock engine's only round of a case.
fn engine(case: &CaseResult) -> &Run {
    case.rounds[0].of(Contender::Engine).unwrap()
}

#[test]
fn a_short_bench_leaves_its_figures_and_nothing_else() {
    let _turn = alone();
    let said = measured("--case own-1 --case killed --case no-quorum-paused --case renewal --case one-4x16");
    let record = &said.record;
    let names: Vec<_> = record.cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names, ["own-1", "killed", "no-quorum-paused", "renewal", "one-4x16"]);
    assert!(!record.interrupted);
    assert_eq!((record.rounds, record.nodes.len()), (1, 4), "three hosts and the cache");
    for case in &record.cases[..2] {
        is_complete(case);
    }
    refusals_are_typed_and_leave_no_keys(&record.cases[2]);
    locks_are_held_and_counted(&record.cases[3]);
    has_a_fairness_and_a_round_trip(&record.cases[4]);
    let judged = |words: &str| record.targets.iter().find(|target| target.words == words);
    assert!(judged("share acquired").unwrap().reached);
    // What no client could do here is no target.
    assert_eq!(judged("acquire p50, of the machine's limit").unwrap().asked, "≤ 1.05");
    let parts = ["own-1 · ", "killed · ", "cycles/s"];
    says(&said.stdout, &parts);
    says(&said.stdout, &["✔ killed: share acquired: 1, reached (≥ 1)"]);
    assert!(
        !said.stdout.contains('\u{1b}'),
        "no colour without a terminal: {}",
        said.stdout
    );
    says(&said.stderr, &["own-1 1/1:  engine "]);
    if cfg!(not(feature = "peers")) {
        assert!(!record.peers);
        says(&said.stdout, &["--features peers"]);
        let runs = record.cases.iter().map(|case| case.rounds[0].runs.len());
        let expected = [2, 1, 1, 1, 1];
        assert_eq!(runs.collect::<Vec<_>>(), expected, "the machine's limit beside own-1");
    }
}

fn is_complete(case: &CaseResult) {
    let run = engine(case);
    let figures = run.figures.as_ref().unwrap();
    assert_eq!(run.error, None);
    assert!(figures.cycles > 0 && figures.cycles_per_s > 0.0);
    assert!(figures.acquire_ns.p50 > 0 && figures.acquire_ns.p50 <= figures.acquire_ns.max);
    assert!(figures.release_ns.count > 0);
    assert!(figures.calls["set"] > 0, "{:?}", figures.calls);
    assert!(figures.commands_per_node_and_cycle.unwrap() > 1.0);
    assert_eq!(figures.acquired_share, Some(1.0), "{:?}", figures.refused);
    assert_eq!(run.orphans, [0, 0, 0]);
    assert_eq!(run.baseline.is_some(), case.name == "killed");
    assert!(case.settings.contains_key(&Contender::Engine));
    assert_eq!(case.summary[0].metrics[&Metric::CyclesPerS].n, 1);
}

/// Without a quorum.
fn refusals_are_typed_and_leave_no_keys(case: &CaseResult) {
    let run = engine(case);
    let figures = run.figures.as_ref().unwrap();
    assert!(figures.refusal_ns.count > 0);
    let mut kinds = figures.refused.keys();
    assert!(
        kinds.all(|kind| kind == "no_quorum" || kind == "unknown"),
        "{:?}",
        figures.refused
    );
    says(figures.refusal_text.as_deref().unwrap(), &["node 1 ", "node 2 "]);
    assert_eq!(run.survivor_keys, Some(0));
    assert!(run.baseline.as_ref().unwrap().cycles > 0);
}

/// Locks that are renewed.
fn locks_are_held_and_counted(case: &CaseResult) {
    let run = engine(case);
    assert_eq!(run.lost, Some(0));
    assert_eq!(run.figures.as_ref().unwrap().cycles, 0);
}

/// Tasks that share a key.
fn has_a_fairness_and_a_round_trip(case: &CaseResult) {
    let run = engine(case);
    let figures = run.figures.as_ref().unwrap();
    // A lock that starves half of the tasks has 0.5.
    let jain = figures.jain.unwrap();
    assert!((0.75..=1.0).contains(&jain), "{jain}");
    assert!(figures.hold_mean_ns >= 2_000_000);
    // One at a time, so all holds together take no longer than the phase, plus one at each end.
    let held_s = figures.cycles as f64 * figures.hold_mean_ns as f64 / 1e9;
    let elapsed = figures.elapsed.as_secs_f64();
    assert!(held_s <= elapsed * 1.05, "held for {held_s} s of {elapsed}");
    assert!(figures.attempts_per_cycle.unwrap() >= 0.9, "each lock took an attempt");
    // An acquire spends nearly all its time waiting for 63 others.
    let (alone, among_others) = (run.uncontended_ns.unwrap(), figures.acquire_ns.p50);
    assert!(
        alone > 0 && alone * 5 < among_others,
        "{alone} ns and {among_others} ns"
    );
    let ratio = figures.acquire_ns.p99 as f64 / (64 * (figures.hold_mean_ns + alone)) as f64;
    let median = case.summary[0].metrics[&Metric::IdealQueueRatio].median;
    assert!((median - ratio).abs() < 1e-9, "{median} and {ratio}");
}

/// Tasks that would send more than their links carry. It asserts no share, because that depends on the machine.
#[test]
fn links_and_fleets_show_what_they_carry_and_why_the_rest_was_refused() {
    let _turn = alone();
    let said = measured("--case link-300 --case fleet-4x64");
    let [link, fleet] = &said.record.cases[..] else {
        panic!("{} cases", said.record.cases.len())
    };
    assert_eq!((link.link, fleet.link, fleet.servers), (Some(1_000_000), None, 4));
    // SET and EVALSHA with a key and a token each.
    let bytes = engine(link).link_bytes_per_cycle.unwrap();
    assert!((150.0..400.0).contains(&bytes), "{bytes}");
    let of_link = |contender| {
        let summary = link.summary.iter().find(|one| one.contender == contender).unwrap();
        summary.metrics[&Metric::OfLink].max
    };
    // The burst of a millisecond is half a percent of 200 ms; keys and the ends of the phase are a little more.
    for contender in [Contender::Engine, Contender::Bare] {
        let share = of_link(contender);
        assert!(share > 0.0 && share < 1.1, "{contender}: {share}");
    }
    let figures = engine(link).figures.as_ref().unwrap();
    let refused = figures.refused.values().sum::<u64>();
    assert_eq!(refused, figures.refusal_ns.count);
    assert_eq!(
        refused > 0,
        said.stdout.contains("engine was refused: "),
        "{}",
        said.stdout
    );
    assert!(
        figures.causes.keys().all(|cause| cause != "error"),
        "{:?}",
        figures.causes
    );
    let figures = fleet.rounds[0].of(Contender::Bare).unwrap().figures.as_ref().unwrap();
    assert_eq!((figures.acquired_share, figures.unfinished), (Some(1.0), 0));
    says(
        &said.stdout,
        &["of link", "link-300: goodput, of what the links carry: "],
    );
}

#[test]
fn a_case_of_five_nodes_runs_on_five_and_loses_nothing_with_two_paused() {
    let _turn = alone();
    let said = measured("--case five-two-paused --case own-64 --quiet");
    let record = &said.record;
    if cfg!(not(feature = "peers")) {
        assert_eq!(said.stderr, "");
    }
    assert_eq!(record.nodes.len(), 6 + 4, "each lab with its cache");
    let [five, three] = &record.cases[..] else {
        panic!("{} cases", record.cases.len())
    };
    assert_eq!((five.hosts, three.hosts), (5, 3));
    let run = engine(five);
    assert_eq!(run.figures.as_ref().unwrap().acquired_share, Some(1.0));
    assert!(run.baseline.as_ref().unwrap().cycles > 0);
    assert_eq!(run.orphans, [0; 5]);
    let mut targets = record.targets.iter();
    let beside = targets.find(|target| target.words == "cycles/s, of own-64");
    let [of_five, of_three] = [five, three].map(|case| case.summary[0].metrics[&Metric::CyclesPerS].median);
    let value = beside.expect("the other case of the same run is found").value;
    assert!(
        (value - of_five / of_three).abs() < 1e-9,
        "{value}: {of_five} of {of_three}"
    );
    says(&said.stdout, &[" · 3 and 5 nodes, "]);
}

/// Fails if the server has no TLS, or there is no openssl. The case is left out then, which another test covers.
#[cfg(feature = "tls")]
#[test]
fn a_case_over_tls_is_measured_and_leaves_no_certificates() {
    let _turn = alone();
    let Measured { record, stderr, .. } = measured("--case tls-64");
    assert_eq!(record.left_out, []);
    let case = &record.cases[0];
    assert!(case.tls && case.rounds[0].runs.len() == case.settings.len());
    for run in &case.rounds[0].runs {
        assert_eq!(run.error, None, "{}", run.contender);
        let share = run.figures.as_ref().unwrap().acquired_share;
        assert_eq!((share, &run.orphans[..]), (Some(1.0), &[0; 3][..]), "{}", run.contender);
    }
    let with_tls = record
        .nodes
        .iter()
        .filter(|node| node.settings.contains_key("tls-port"));
    assert_eq!(with_tls.count(), 3, "the hosts, and not the cache");
    // It runs itself again in the same process, and must print everything only once.
    assert_eq!(stderr.matches("about ").count(), 1, "{stderr}");
}

/// Checks that the clients of this case use TLS: nodes with a certificate from another authority get no votes.
#[cfg(feature = "tls")]
#[test]
fn nodes_that_are_not_trusted_are_not_used() {
    use std::os::unix::fs::DirBuilderExt;

    use nix::unistd::geteuid;
    use rcgen::{CertificateParams, KeyPair};

    let _turn = beside();
    let labs = labs();
    // As for the second run of the bench.
    let user = format!("lockstorm-{}", geteuid());
    let base = labs.path().canonicalize().unwrap().join(user);
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
    let record = measured_in(&labs, "--case tls-64", |command| {
        command.env("LOCKSTORM_BENCH_CERTIFICATES", "run-0");
        command.env("SSL_CERT_FILE", dir.join("authority.pem"));
    });
    let figures = engine(&record.record.cases[0]).figures.as_ref().unwrap();
    assert_eq!((figures.cycles, figures.acquired_share), (0, Some(0.0)));
    says(
        figures.refusal_text.as_deref().unwrap(),
        &["this machine trusts no authority"],
    );
}

#[test]
fn a_case_that_can_not_be_measured_here_is_left_out_with_its_reason() {
    let _turn = beside();
    let (server, nothing) = (lockstorm_kit::server_bin(), labs());
    let said = measured_in(&labs(), "--case tls-64 --case own-1", |command| {
        // PATH without openssl.
        command.arg("--server-bin").arg(&server).env("PATH", nothing.path());
    });
    let record = &said.record;
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
    says(&said.stdout, &["tls-64 was left out: "]);
    says(&said.stderr, &["tls-64 is skipped: "]);
}

/// A bench of this case that goes on for long and has finished a round, with the rest of what it says.
fn going_on(labs: &TempDir, case: &str) -> (Child, impl Iterator<Item = io::Result<String>> + Send + use<>) {
    let arguments = ["--case", case, "--rounds", "1000", "--time", "200ms"];
    let mut child = bench(labs.path(), &arguments).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let round = format!("{case} 1/1000");
    assert!(lines.any(|line| line.unwrap().contains(&round)), "a round has ended");
    (child, lines)
}

/// Like any run directory of a lab.
#[cfg(feature = "tls")]
#[test]
fn certificates_that_a_sudden_death_left_are_cleaned_up() {
    let _turn = beside();
    let labs = labs();
    let (mut child, _lines) = going_on(&labs, "tls-64");
    child.kill().unwrap();
    child.wait().unwrap();
    let (_, stdout, stderr) = ended(&mut lockstorm(labs.path(), &["lab", "down"]));
    assert!(stdout.contains("removed "), "{stdout}{stderr}");
    nothing_is_left(labs.path());
}

/// A server that was built without TLS ends at its first TLS option.
#[cfg(feature = "tls")]
#[test]
fn a_server_without_tls_is_reported() {
    use std::os::unix::fs::PermissionsExt;

    let _turn = beside();
    let place = labs();
    let server = place.path().join("redis-server");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *--tls-port*) echo \"Bad directive or wrong number of arguments: 'tls-port'\"; exit 1;; esac\n\
         exec {} \"$@\"\n",
        lockstorm_kit::server_bin().display()
    );
    fs::write(&server, script).unwrap();
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).unwrap();
    let said = measured_in(&labs(), "--case tls-64 --case own-1", |command| {
        command.arg("--server-bin").arg(&server);
    });
    let parts = ["tls-64 was left out: ", "Bad directive", "own-1 · 1 task"];
    says(&said.stdout, &parts);
}

#[cfg(feature = "peers")]
#[test]
fn peers_are_measured_in_the_same_round_and_compared() {
    let _turn = alone();
    let record = measured("--case own-64 --case one-64 --quiet").record;
    assert!(record.peers);
    for case in &record.cases {
        let takes_part = |contender: &Contender| case.settings.contains_key(contender);
        assert_eq!(case.name == "own-64", Contender::ALL.iter().all(takes_part));
        for &contender in Contender::ALL.iter().filter(|one| takes_part(one)) {
            let run = case.rounds[0].of(contender).unwrap();
            assert!(run.figures.as_ref().unwrap().cycles > 0, "{contender} in {}", case.name);
            assert_eq!(run.orphans, [0, 0, 0], "{contender} in {}", case.name);
            assert!(case.settings[&contender].contains_key("wait"));
        }
        for ratio in &case.ratios {
            assert!(ratio.metrics[&Metric::CyclesPerS].median > 0.0, "{}", ratio.peer);
        }
        assert_eq!(case.ratios.len(), case.settings.len() - 1);
    }
}

#[test]
fn ctrl_c_ends_a_bench_with_the_results_so_far() {
    let _turn = beside();
    let labs = labs();
    let (child, lines) = going_on(&labs, "own-1");
    // It must not block on a pipe that nobody reads.
    let rest = thread::spawn(move || lines.count());
    send(child.id(), Signal::SIGINT);
    let output = child.wait_with_output().unwrap();
    rest.join().unwrap();
    let (code, stdout, _) = parts_of(output);
    assert_eq!(code, Some(130), "{stdout}");
    says(&stdout, &["(interrupted)", "engine"]);
    nothing_is_left(labs.path());
}

#[test]
fn bad_requests_start_nothing() {
    for (arguments, part) in [
        ("--case own-46", "did you mean \"own-64\"?"),
        ("--case nonsense", "known: \"own-1\""),
        ("--rounds 0", "from 1 to 1000"),
        ("--time 1", "with its unit"),
        ("--time 1h", "50ms to 1m"),
        ("--json /no/such/place.json", "there is no directory"),
        ("--cas own-1", "--case"),
    ] {
        let words: Vec<&str> = ["bench"].into_iter().chain(arguments.split(' ')).collect();
        program::refused(2, &words, &[part]);
    }
}

#[test]
fn the_list_names_every_case_once() {
    let list = printed(0, &["bench", "--list"]);
    let names: Vec<_> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, CASES.iter().map(|case| case.name).collect::<Vec<_>>());
}
