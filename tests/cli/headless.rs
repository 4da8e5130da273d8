//! A headless run of the real binary on real servers: what it leaves on disk and prints, and how it ends.

use std::fs;
use std::io::{BufReader, Read};
use std::process::{Child, ChildStderr};
use std::thread;
use std::time::Duration;

use lockstorm_data::metrics::{Count, Quantiles, Time};
use lockstorm_kit::place::Place;
use lockstorm_kit::play::texts;
use lockstorm_kit::program::{children, read_until, says, under_way};
use lockstorm_kit::recorded::recorded_in;
use lockstorm_kit::scenario::TWO_ARMS;
use lockstorm_kit::{ended, eventually, parts_of, program, send};
use lockstorm_run::{CheckResult, Record};
use nix::sys::signal::Signal;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use strum::VariantArray;

/// Added to the scenario: a fault whose condition never holds, and an expectation that depends on it.
const NEVER: &str = r#"
fault = [{ when = "redlock.holding >= 1000", do = "kill", on = "host:1" }]
expect = { "redlock.acquired" = "> 0" }
"#;

fn place() -> Place {
    Place::new("two-arms.toml", TWO_ARMS)
}

/// The same without any other test, since a busy machine leaves an expectation open.
fn place_alone() -> Place {
    Place::alone("two-arms.toml", TWO_ARMS)
}

/// The exit code, standard output and standard error of a run.
fn run(place: &Place, arguments: &[&str]) -> (Option<i32>, String, String) {
    ended(&mut place.command(arguments))
}

/// What the run left in `out.json`.
fn record(place: &Place) -> Record {
    recorded_in(place.at("out.json"))
}

#[test]
fn a_run_leaves_its_record_and_its_summary() {
    let place = place_alone();
    let words = "--verbose --duration 2s --seed 7 --record out.json --set";
    let arguments: Vec<&str> = words.split(' ').chain([HOLDS]).collect();
    let (code, stdout, stderr) = run(&place, &arguments);
    assert_eq!(code, Some(0), "{stderr}");
    let parts = ["two-arms · Two arms", "locks ", "load ", "stock ", "redlock: "];
    says(&stdout, &parts);
    says(
        &stdout,
        &[
            "1 of 1 predictions of the scenario came true",
            "= redlock: acquired ",
            "seed 7",
        ],
    );
    assert!(
        !stdout.contains('\u{1b}') && !stderr.contains('\u{1b}'),
        "colour without a terminal"
    );
    assert!(stderr.lines().all(|line| line.starts_with("lockstorm: ")), "{stderr}");
    let record = record(&place);
    assert_eq!((record.seed, record.interrupted), (7, false));
    assert!(record.arms.iter().all(|arm| arm.figures.outcomes.acquired > 0));
    assert_eq!(place.labs().len(), 0);
    // The histograms agree with the figures.
    for arm in &record.arms {
        let figures = &arm.figures;
        assert_eq!(Quantiles::of(&arm.acquires().unwrap()), figures.acquire_us);
        for &time in Time::VARIANTS {
            assert_eq!(
                Quantiles::of(&arm.histogram(time).unwrap()),
                figures.times[time],
                "{time:?}"
            );
        }
    }
}

#[test]
fn round_trips_are_counted_of_the_nodes_that_answer_commands_and_of_no_other() {
    // Redlock asks all three nodes; the arm "single" only asks host 1.
    for (left_out, hosts) in [("single", vec![true; 3]), ("redlock", vec![true, false, false])] {
        let place = Place::alone("one-arm.toml", &without_arm(left_out));
        let arguments = ["--duration", "2s", "--record", "out.json"];
        let (code, _, stderr) = run(&place, &arguments);
        assert_eq!(code, Some(0), "{stderr}");
        let record = record(&place);
        let counted: Vec<_> = record.round_trips.iter().map(|node| node.quantiles_us.count).collect();
        assert_eq!(
            counted.iter().map(|count| *count > 0).collect::<Vec<_>>(),
            hosts,
            "{counted:?}"
        );
        for node in &record.round_trips {
            assert_eq!(Quantiles::of(&node.histogram.decode().unwrap()), node.quantiles_us);
        }
        // A SET and a delete for each lock, except for those that the start or the end of the measured part cut off.
        let nodes = &record.arms[0].figures.nodes;
        let sent: u64 = nodes.iter().map(|node| node.sets + node.extends + node.deletes).sum();
        let trips: u64 = counted.iter().sum();
        assert!(trips.abs_diff(sent) * 50 < sent, "{trips} round trips, {sent} commands");
    }
}

/// The scenario without the arm of this name.
fn without_arm(name: &str) -> String {
    let mut parts = TWO_ARMS.split("[[arm]]");
    let head = parts.next().unwrap().to_owned();
    let named = format!("name = \"{name}\"");
    parts
        .filter(|arm| !arm.contains(&named))
        .fold(head, |text, arm| format!("{text}[[arm]]{arm}"))
}

#[test]
fn the_summary_and_the_progress_print_no_title_raw() {
    let place = place();
    let title = "title=up\u{202e}down\u{2028}two\u{200b}lines";
    let (code, stdout, stderr) = run(&place, &["--duration", "1s", "--set", title]);
    assert_eq!(code, Some(0), "{stderr}");
    says(&stdout, &["\nup\u{fffd}down two\u{fffd}lines\n"]);
    let all = stdout + &stderr;
    assert!(!all.contains(['\u{202e}', '\u{2028}', '\u{200b}']), "{all:?}");
}

#[test]
fn quiet_hides_progress_and_no_warning() {
    let place = place();
    let arguments = ["--duration", "1s", "--quiet", "--set", "lab.hosts=4"];
    let (code, _, stderr) = run(&place, &arguments);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("warning: lab.hosts: "), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn json_goes_to_standard_output_alone() {
    let place = place();
    let (code, stdout, stderr) = run(&place, &["--duration", "1s", "--json", "--quiet"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let record: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let arm = &record["arms"][1];
    let fields = "outcomes acquire_us response_us no_quorum_us throughput orders oversold lost_updates series";
    for field in fields.split(' ') {
        assert!(!arm[field].is_null(), "{field} is missing: {arm}");
    }
}

#[test]
fn readers_that_leave_early_do_not_end_the_run() {
    let place = place();
    let piped = ["bash", "-c", "\"$0\" \"$@\" 2>&1 | true; exit ${PIPESTATUS[0]}"];
    let mut command = place.command_by(&piped, &["--duration", "1s", "--record", "out.json"]);
    assert_eq!(ended(&mut command).0, Some(0));
    assert!(place.at("out.json").is_file());
}

#[test]
fn expectations_decide_the_exit_code() {
    let place = place_alone();
    let (code, stdout, _) = run(
        &place,
        &[
            "--duration",
            "1s",
            "--color",
            "always",
            "--set",
            "expect.redlock.acquired=< 1",
        ],
    );
    assert_eq!(code, Some(3), "{stdout}");
    assert!(stdout.contains("≠ redlock: acquired "), "{stdout}");
    assert!(stdout.contains("\u{1b}["), "colour was asked for");
    fs::write(place.at("two-arms.toml"), format!("{NEVER}{TWO_ARMS}")).unwrap();
    let (code, stdout, _) = run(&place, &["--duration", "1s"]);
    assert_eq!(code, Some(5), "a fault that does not occur proves nothing: {stdout}");
    let open = "fault 1 never fired: redlock.holding reached ";
    says(&stdout, &["? redlock: acquired ", open, " of 1,000"]);
    assert!(
        !stdout.contains('✔'),
        "nothing is praised that proves nothing: {stdout}"
    );
}

/// The exit code of a run that is under way and then gets these signals.
fn signalled(place: &Place, signals: &[Signal]) -> Option<i32> {
    let (run, stderr) = going_on(place, &[]);
    for signal in signals {
        send(run.id(), *signal);
    }
    let (code, record, stdout, said) = rest(place, run, stderr);
    assert!(
        stdout.contains("(interrupted)"),
        "{signals:?}: no summary: {stdout} {said}"
    );
    assert!(record.interrupted);
    assert_eq!(place.labs().len(), 0);
    code
}

#[test]
fn a_signal_ends_the_run_with_a_summary_and_a_second_one_at_once() {
    let place = place();
    for (signal, code) in [
        (Signal::SIGINT, 130),
        (Signal::SIGTERM, 143),
        (Signal::SIGHUP, 129),
        (Signal::SIGQUIT, 131),
    ] {
        assert_eq!(signalled(&place, &[signal]), Some(code));
    }
    // Two signals of the same kind could merge on their way.
    let code = signalled(&place, &[Signal::SIGINT, Signal::SIGTERM]);
    assert!(matches!(code, Some(130 | 143)), "{code:?}");
}

#[test]
fn a_third_signal_does_not_wait_and_leaves_nothing() {
    let place = place();
    let child = place.command(&[]).spawn().unwrap();
    place.wait_for_labs(1);
    send(child.id(), Signal::SIGINT);
    send(child.id(), Signal::SIGTERM);
    thread::sleep(Duration::from_millis(20));
    send(child.id(), Signal::SIGINT);
    let (ended, _, stderr) = parts_of(child.wait_with_output().unwrap());
    // Whichever signal the program sees first, it ended by a signal.
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
    let mut command = CommandBuilder::new(program());
    command.args(["run", "two-arms.toml", "--duration", "1s", "--set", HOLDS]);
    command.cwd(place.path());
    command.env("TMPDIR", place.at("labs"));
    command.env("TERM", "xterm-256color");
    command.env_remove("NO_COLOR");
    if let Some(value) = no_color {
        command.env("NO_COLOR", value);
    }
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let mut shown = Vec::new();
    // On Linux the end of a terminal is an error.
    let _ = reader.read_to_end(&mut shown);
    assert!(child.wait().unwrap().success());
    String::from_utf8(shown).unwrap()
}

/// Whether the text contains a colour or emphasis: `ESC [ … m`.
fn is_painted(text: &str) -> bool {
    text.split("\u{1b}[").skip(1).any(|rest| {
        rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';')
            .starts_with('m')
    })
}

#[test]
fn a_terminal_gets_a_bar_and_colour_unless_no_color_is_set() {
    let place = place_alone();
    let painted = on_a_terminal(&place, None);
    assert!(is_painted(&painted), "{painted:?}");
    assert!(painted.contains("==>"), "no bar: {painted:?}");
    assert!(
        is_painted(&on_a_terminal(&place, Some(""))),
        "an empty NO_COLOR asks for nothing"
    );
    let plain = on_a_terminal(&place, Some("1"));
    assert!(!is_painted(&plain), "{plain:?}");
    assert!(
        plain.contains("1 of 1 predictions of the scenario came true"),
        "{plain:?}"
    );
}

/// The keeper of a run, and the servers that it started, by their directories: hosts 1 to 3, then the others.
fn processes(run: &Child) -> (u32, Vec<(String, u32)>) {
    let mut found = None;
    eventually("a lab", || {
        let [keeper] = children(run.id())[..] else { return false };
        let directory = |pid| fs::read_link(format!("/proc/{pid}/cwd")).ok();
        let name = |pid| Some((directory(pid)?.file_name()?.to_string_lossy().into_owned(), pid));
        let servers: Vec<_> = children(keeper).into_iter().filter_map(name).collect();
        let all = servers.iter().filter(|(name, _)| name != "/").count() >= 4;
        found = all.then_some((keeper, servers));
        all
    });
    found.expect("a lab")
}

/// The rest of a run whose standard error has been read in part: its exit code, its record, standard output and the rest
/// of standard error.
fn rest(place: &Place, mut run: Child, mut stderr: impl Read) -> (Option<i32>, Record, String, String) {
    let (mut out, mut rest) = (String::new(), String::new());
    stderr.read_to_string(&mut rest).unwrap();
    run.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    let code = run.wait().unwrap().code();
    assert!(place.at("out.json").exists(), "no record: {rest}");
    (code, record(place), out, rest)
}

/// A run of the two arms that is under way, with its standard error.
fn going_on(place: &Place, arguments: &[&str]) -> (Child, BufReader<ChildStderr>) {
    under_way(&mut place.command(&[&["--record", "out.json"], arguments].concat()))
}

/// Asserts that one of the texts contains this.
#[track_caller]
fn is_said(texts: &[String], wanted: &str) {
    assert!(
        texts.iter().any(|text| text.contains(wanted)),
        "no {wanted:?} in {texts:?}"
    );
}

const HOLDS: &str = "expect.redlock.acquired=> 0";

#[test]
fn a_killed_keeper_ends_the_run_with_a_summary() {
    let place = place();
    for arguments in [&[][..], &["--set", HOLDS]] {
        let (run, stderr) = going_on(&place, arguments);
        let (keeper, servers) = processes(&run);
        thread::sleep(Duration::from_millis(300));
        send(keeper, Signal::SIGKILL);
        let (code, record, stdout, said) = rest(&place, run, stderr);
        assert_eq!(code, Some(5), "{stdout}{said}");
        assert!(said.contains("the keeper process is gone"), "{said}");
        assert!(record.interrupted && record.elapsed < 60.0);
        assert!(record.arms.iter().all(|arm| arm.figures.outcomes.acquired > 0));
        is_said(&texts(&record.inconclusive), "the keeper process is gone");
        assert!(!stdout.contains('✔'), "{stdout}");
        assert_eq!(place.labs().len(), 0, "its directory is removed");
        for (name, pid) in servers {
            eventually(&format!("{name} is gone"), || {
                fs::read_link(format!("/proc/{pid}/cwd")).is_err()
            });
        }
    }
}

#[test]
fn a_keeper_that_is_stopped_sees_nothing_and_proves_nothing() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let place = place();
    let (run, mut stderr) = going_on(&place, &["--duration", "4s", "--set", HOLDS]);
    let (keeper, _) = processes(&run);
    send(keeper, Signal::SIGSTOP);
    read_until(&mut stderr, "stopped the keeper process");
    send(keeper, Signal::SIGCONT);
    let (code, record, stdout, said) = rest(&place, run, stderr);
    assert_eq!(code, Some(5), "{stdout}{said}");
    is_said(&texts(&record.inconclusive), "stopped the keeper process");
    assert_eq!(place.labs().len(), 0, "its directory is removed");
}

#[test]
fn a_run_that_is_stopped_for_longer_than_a_ttl_proves_nothing() {
    let place = place();
    let (run, mut stderr) = going_on(&place, &["--duration", "6s", "--set", HOLDS]);
    let own = run.id();
    send(own, Signal::SIGSTOP);
    thread::sleep(Duration::from_millis(2_500));
    send(own, Signal::SIGCONT);
    read_until(&mut stderr, "this program was stopped for ");
    let (code, record, stdout, said) = rest(&place, run, stderr);
    assert_eq!(code, Some(5), "{stdout}{said}");
    is_said(&texts(&record.inconclusive), "this program was stopped for 2.");
    assert_eq!(record.expectations[0].result, CheckResult::Inconclusive);
    assert_eq!(place.labs().len(), 0, "its directory is removed");
}

#[test]
fn a_cache_node_that_dies_leaves_everything_open() {
    let place = place();
    for (signal, fate) in [
        (Signal::SIGKILL, "the cache node died: killed by a signal from outside"),
        (Signal::SIGSTOP, "the cache node was stopped by a signal from outside"),
    ] {
        let (run, mut stderr) = going_on(&place, &["--duration", "4s", "--set", HOLDS]);
        let (_, servers) = processes(&run);
        let cache = servers.iter().find(|(name, _)| name == "cache").unwrap().1;
        send(cache, signal);
        read_until(&mut stderr, fate);
        let (code, record, stdout, said) = rest(&place, run, stderr);
        assert_eq!(code, Some(5), "{stdout}{said}");
        is_said(&texts(&record.inconclusive), fate);
        is_said(&texts(&record.warnings), fate);
        assert_eq!(record.expectations[0].result, CheckResult::Inconclusive);
        assert!(!stdout.contains('✔'), "{stdout}");
        assert_eq!(place.labs().len(), 0);
    }
}

#[test]
fn hosts_that_somebody_else_kills_or_stops_are_events_and_void_nothing() {
    let place = place_alone();
    let (run, mut stderr) = going_on(&place, &["--duration", "4s", "--set", HOLDS]);
    let (_, servers) = processes(&run);
    let pid = |name: &str| servers.iter().find(|(server, _)| server == name).unwrap().1;
    send(pid("host-3"), Signal::SIGSTOP);
    read_until(&mut stderr, "host 3 was stopped by a signal from outside");
    send(pid("host-3"), Signal::SIGCONT);
    read_until(&mut stderr, "host 3 was resumed by a signal from outside");
    send(pid("host-1"), Signal::SIGKILL);
    read_until(
        &mut stderr,
        "host 1 died: killed by a signal from outside: single has no lock node",
    );
    let (code, record, stdout, said) = rest(&place, run, stderr);
    assert_eq!(code, Some(0), "{stdout}{said}");
    assert_eq!(texts(&record.inconclusive), [""; 0]);
    for fate in ["host 3 was stopped", "host 3 was resumed", "host 1 died"] {
        is_said(&texts(&record.warnings), fate);
        assert!(record.events.iter().any(|event| event.text().contains(fate)), "{fate}");
    }
}

#[test]
fn a_lock_misses_its_own_nodes_and_no_others_of_their_hosts() {
    let place = place();
    let (run, mut stderr) = going_on(&place, &["--duration", "6s", "--set", "arm.single.topology=replicated"]);
    let (_, servers) = processes(&run);
    let kill = |name: &str| {
        send(
            servers.iter().find(|(server, _)| server == name).unwrap().1,
            Signal::SIGKILL,
        );
    };
    for host in [2, 3] {
        kill(&format!("host-{host}-replicated"));
        read_until(&mut stderr, &format!("the replicated node of host {host} died"));
    }
    kill("host-2");
    read_until(&mut stderr, "the lock node of host 2 died");
    kill("host-3");
    read_until(
        &mut stderr,
        "the lock node of host 3 died: killed by a signal from outside: redlock has no quorum (1 of 3)",
    );
    let (_, record, ..) = rest(&place, run, stderr);
    let told = record.events.iter().filter(|event| event.text().contains("no quorum"));
    assert_eq!(told.count(), 1, "{:?}", record.events);
}

#[test]
fn a_database_that_can_not_write_is_not_a_success() {
    let place = place_alone();
    // Like a full disk, but for this run alone: a file that grows beyond 256 KiB gives an error.
    let limited = ["bash", "-c", "trap '' XFSZ; ulimit -f 256; exec \"$0\" \"$@\""];
    let output = |sets: &[&str]| {
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        let words: Vec<&str> = ["--duration", "3s", "--record", "out.json"]
            .into_iter()
            .chain(sets)
            .collect();
        (ended(&mut place.command_by(&limited, &words)), record(&place))
    };
    let ((code, stdout, stderr), record) = output(&[]);
    assert_eq!(code, Some(5), "{stdout}{stderr}");
    let failed: Vec<_> = record
        .arms
        .iter()
        .filter(|arm| arm.figures.counts[Count::Errors] > 0)
        .collect();
    assert!(!failed.is_empty(), "{stdout}{stderr}");
    for arm in failed {
        let first = arm.first_error.as_ref().expect("the words of the first failure");
        assert!(
            stderr.contains(&format!("{}: requests fail: {first}", arm.name)),
            "{stderr}"
        );
        assert!(stdout.contains(first), "{stdout}");
        assert!(arm.doubt.is_some() && !texts(&record.inconclusive).is_empty());
    }
    // A scenario that expects failures takes them into account; the other arms stay inconclusive.
    let expected = ["expect.single.errors=> 0", "expect.single.acquired=> 0", HOLDS];
    let ((code, stdout, stderr), record) = output(&expected);
    let open = |name: &str| {
        let mut of = record
            .expectations
            .iter()
            .filter(|checked| checked.expectation.arm == name);
        of.any(|checked| checked.result == CheckResult::Inconclusive)
    };
    assert!(!open("single"), "{stdout}{stderr}");
    assert!(open("redlock"), "{stdout}{stderr}");
    assert_eq!(code, Some(5), "{stdout}{stderr}");
}

#[test]
fn a_database_that_is_lost_leaves_its_arm_open() {
    let place = place_alone();
    let own = "expect.single.acquired=> 0";
    let (run, mut stderr) = going_on(&place, &["--duration", "8s", "--set", own, "--set", HOLDS]);
    let labs = fs::read_dir(place.at("labs")).unwrap();
    let lab = fs::read_dir(labs.map(|user| user.unwrap().path()).next().unwrap());
    let database = lab.unwrap().next().unwrap().unwrap().path().join("arm-0.sqlite");
    // Another process overwrites the arm's database and then deletes it.
    fs::write(&database, vec![7; 1 << 17]).unwrap();
    fs::write(&database, "").unwrap();
    let lost = "single: its ledger can't be read: ";
    read_until(&mut stderr, lost);
    let (code, record, stdout, said) = rest(&place, run, stderr);
    assert_eq!(code, Some(5), "{stdout}{said}");
    is_said(&texts(&record.inconclusive), lost);
    is_said(&texts(&record.partial), lost);
    let of = |arm: &str| {
        let mut expectations = record.expectations.iter();
        expectations
            .find(|checked| checked.expectation.arm.starts_with(arm))
            .unwrap()
            .result
    };
    assert_eq!(of("single"), CheckResult::Inconclusive, "{stdout}");
    assert_eq!(
        of("redlock"),
        CheckResult::Held,
        "it has a database of its own: {stdout}"
    );
}

#[test]
fn an_ascii_summary_has_nothing_but_ascii() {
    let place = place();
    let summary = |more: &[&str]| {
        let arguments = [&["--duration", "1s", "--quiet"], more].concat();
        let (code, stdout, stderr) = run(&place, &arguments);
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stdout.contains("redlock"), "{stdout}");
        stdout
    };
    assert!(!summary(&[]).is_ascii(), "there are signs to replace");
    let ascii = summary(&["--ascii"]);
    assert!(ascii.is_ascii(), "{ascii}");
}
