//! Outputs that nobody reads, records that can't be written, and signals, with the real binary on real servers: a run
//! ends, says what is missing, and destroys nothing.
#![cfg(target_os = "linux")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use lockstorm::run::Record;
use lockstorm_kit::place::Place;
use lockstorm_kit::{parts_of, send};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::{Uid, mkfifo};

/// Long enough for any machine; nothing is measured here.
const TEST_TIMEOUT: Duration = Duration::from_secs(90);

const SCENARIO: &str = r#"
duration = "60s"

[swarm]
servers = 1
workers = 2
think   = "5ms"

[workload]
kind     = "inventory"
products = 16
stock    = 1000000
hold     = "1ms"

[[arm]]
name = "single"
lock = "single"
"#;

fn place() -> Place {
    Place::new("one.toml", SCENARIO)
}

/// The exit code, standard output and standard error of a run of one second.
fn run(place: &Place, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = place.command(&[&["--duration", "1s"], arguments].concat());
    parts_of(command.output().unwrap())
}

/// Waits until there is a lab, and one more second.
fn wait_for_lab(place: &Place) {
    place.wait_for_labs(1);
    thread::sleep(Duration::from_secs(1));
}

/// Asserts that nothing of any run is left.
fn is_clean(place: &Place) -> bool {
    place.labs().is_empty()
}

fn record(path: &Path) -> Record {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// A full pipe, with its reader, which does not read.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = io::pipe().unwrap();
    fill(&mut writer);
    (reader, writer)
}

fn fill(mut pipe: &mut (impl Write + std::os::fd::AsFd)) {
    let size = fcntl(&*pipe, FcntlArg::F_GETPIPE_SZ).unwrap();
    (&mut pipe)
        .write_all(&vec![b'x'; usize::try_from(size).unwrap()])
        .unwrap();
}

#[test]
fn a_standard_error_that_nobody_reads_delays_no_run() {
    let place = place();
    let (_reader, writer) = full_pipe();
    let mut command = place.command(&["--duration", "1s", "--record", "out.json"]);
    let (code, stdout, _) = parts_of(command.stderr(writer).output().unwrap());
    assert_eq!(code, Some(0), "{stdout}");
    assert!(
        stdout.contains("single: ") && stdout.contains("standard error was given up: nobody has read"),
        "{stdout}"
    );
    let record = record(&place.at("out.json"));
    assert!(!record.interrupted && record.elapsed < 5.0, "{}", record.elapsed);
}

#[test]
fn a_standard_output_that_nobody_reads_is_given_up_with_an_error() {
    let place = place();
    for arguments in [&["--json"][..], &[]] {
        let (_reader, writer) = full_pipe();
        let mut command = place.command(&[&["--duration", "1s", "--record", "out.json"], arguments].concat());
        let (code, _, stderr) = parts_of(command.stdout(writer).output().unwrap());
        assert_eq!(code, Some(1), "{stderr}");
        assert!(
            stderr.contains("cannot write to standard output: nobody has read"),
            "{stderr}"
        );
        record(&place.at("out.json"));
    }
}

#[test]
fn a_signal_ends_the_wait_for_a_slow_reader() {
    let place = place();
    let (_reader, writer) = full_pipe();
    let arguments = ["--duration", "1s", "--record", "out.json", "--json"];
    let mut run = place.command(&arguments).stdout(writer).spawn().unwrap();
    let end = Instant::now() + TEST_TIMEOUT;
    while !place.at("out.json").exists() {
        assert!(Instant::now() < end, "no record");
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(500));
    send(run.id(), Signal::SIGTERM);
    assert_eq!(run.wait().unwrap().code(), Some(143));
}

#[test]
fn a_pipe_that_nobody_opens_gets_no_record_but_the_summary_is_printed() {
    let place = place();
    mkfifo(&place.at("pipe"), Mode::S_IRWXU).unwrap();
    let (code, stdout, stderr) = run(&place, &["--record", "pipe"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stdout.contains("single: "), "{stdout}");
    assert!(stderr.contains("pipe: nobody has opened it to read"), "{stderr}");
    assert!(is_clean(&place));
}

#[test]
fn a_pipe_is_written_to_once_somebody_reads_it() {
    let place = place();
    let pipe = place.at("pipe");
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    let reader = thread::spawn(move || {
        // Usually not before the run wants to write.
        thread::sleep(Duration::from_secs(4));
        let mut text = String::new();
        File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
        text
    });
    let (code, _, stderr) = run(&place, &["--record", "pipe"]);
    assert_eq!(code, Some(0), "{stderr}");
    let record: Record = serde_json::from_str(&reader.join().unwrap()).unwrap();
    assert_eq!(record.scenario.name, "one");
}

/// Opens a pipe for reading and fills it, so that a writer has to wait.
fn open_and_full(pipe: &Path) -> File {
    let mut reader = OpenOptions::new();
    reader.read(true).custom_flags(OFlag::O_NONBLOCK.bits());
    let reader = reader.open(pipe).unwrap();
    fill(&mut OpenOptions::new().write(true).open(pipe).unwrap());
    reader
}

#[test]
fn a_pipe_that_is_open_but_not_read_is_given_up() {
    let place = place();
    let pipe = place.at("pipe");
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    let _reader = open_and_full(&pipe);
    let (code, stdout, stderr) = run(&place, &["--record", "pipe"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stdout.contains("single: "), "{stdout}");
    assert!(stderr.contains("pipe: nobody has read from it"), "{stderr}");
}

#[test]
fn a_log_that_nobody_reads_delays_no_run() {
    let place = place();
    let pipe = place.at("pipe");
    mkfifo(&pipe, Mode::S_IRWXU).unwrap();
    let (code, _, stderr) = run(&place, &["--log", "missing/log"]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("its directory is not there"), "{stderr}");
    let (code, _, stderr) = run(&place, &["--log", "pipe"]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("--log pipe: cannot be written: nobody"), "{stderr}");
    let _reader = open_and_full(&pipe);
    let (code, stdout, stderr) = run(&place, &["--log", "pipe"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("single: "), "{stdout}");
    assert!(stderr.contains("--log pipe: is not complete"), "{stderr}");
}

#[test]
fn an_unsuitable_record_file_is_refused_before_anything_starts() {
    let place = place();
    let _socket = UnixListener::bind(place.at("socket")).unwrap();
    fs::create_dir(place.at("directory")).unwrap();
    let long = "x".repeat(300);
    for (path, why) in [
        ("newx/", "that is how a directory is written"),
        ("newx/.", "that is how a directory is written"),
        ("directory", "is a directory"),
        ("directory/", "is a directory"),
        ("one.toml/", "directory"),
        ("one.toml/x", "irectory"),
        ("missing/out.json", "create it first"),
        ("/dev/full", "No space left"),
        ("socket", "a socket"),
        (&long, "too long"),
        ("/proc/out.json", "cannot write the record to /proc/out.json"),
    ] {
        let (code, stdout, stderr) = run(&place, &["--record", path]);
        assert_eq!(code, Some(2), "{path}: {stderr}");
        assert!(stderr.contains(why) && stdout.is_empty(), "{path}: {stdout} {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{path}: {stderr}");
    }
    assert_eq!(fs::read_to_string(place.at("one.toml")).unwrap(), SCENARIO);
}

#[test]
fn a_record_replaces_the_file_a_link_leads_to_and_keeps_its_mode() {
    let place = place();
    fs::write(place.at("old.json"), "old").unwrap();
    fs::set_permissions(place.at("old.json"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("old.json", place.at("link.json")).unwrap();
    let (code, _, stderr) = run(&place, &["--record", "link.json"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(place.at("link.json").is_symlink());
    record(&place.at("old.json"));
    assert_eq!(fs::metadata(place.at("old.json")).unwrap().mode() & 0o777, 0o640);
    let mut others = place.others();
    others.sort();
    assert_eq!(others, ["link.json", "old.json"]);
}

/// Anybody who may write to the directory could guess the record's temporary name.
#[test]
#[ignore = "needs root: it acts as another user; run with --ignored"]
fn a_link_that_somebody_else_planted_is_not_followed() {
    assert!(Uid::effective().is_root(), "this test needs root");
    let place = place();
    let open = place.at("open");
    fs::create_dir(&open).unwrap();
    for directory in [place.path(), &open] {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).unwrap();
    }
    fs::write(place.at("victim"), "precious").unwrap();
    let mut command = place.command(&["--duration", "5s", "--record", "open/out.json"]);
    let child = command.spawn().unwrap();
    // After the path has been checked.
    wait_for_lab(&place);
    let planted = open.join(format!(".out.json.{}.part", child.id()));
    let mut link = Command::new("ln");
    link.arg("-s").arg(place.at("victim")).arg(&planted);
    assert!(link.uid(65_534).gid(65_534).status().unwrap().success());
    let (code, _, stderr) = parts_of(child.wait_with_output().unwrap());
    assert_eq!(fs::read_to_string(place.at("victim")).unwrap(), "precious");
    assert_eq!(code, Some(0), "{stderr}");
    assert!(!open.join("out.json").is_symlink());
    record(&open.join("out.json"));
    // A link with this very name.
    let mut link = Command::new("ln");
    link.arg("-s").arg(place.at("victim")).arg(open.join("mine"));
    assert!(link.uid(65_534).gid(65_534).status().unwrap().success());
    for option in ["--record", "--log"] {
        let (code, _, stderr) = run(&place, &[option, "open/mine"]);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("a link that user 65534 has made"), "{stderr}");
        assert_eq!(fs::read_to_string(place.at("victim")).unwrap(), "precious");
    }
}

#[test]
fn a_limit_of_file_sizes_is_reported_as_an_error() {
    let place = place();
    let limited = ["sh", "-c", "ulimit -f 1; exec \"$0\" \"$@\""];
    let mut run = place.command_by(&limited, &["--duration", "1s", "--record", "out.json"]);
    let (code, _, stderr) = parts_of(run.output().unwrap());
    assert!(matches!(code, Some(1 | 5)), "{code:?} {stderr}");
    assert!(stderr.contains("lockstorm: "), "{stderr}");
    assert!(is_clean(&place) && !place.at("out.json").exists());
}

#[test]
fn a_hang_up_and_sigquit_end_the_run_with_a_summary() {
    let place = place();
    for (signal, code) in [(Signal::SIGHUP, 129), (Signal::SIGQUIT, 131)] {
        let run = place.command(&["--record", "out.json"]).spawn().unwrap();
        wait_for_lab(&place);
        send(run.id(), signal);
        let (ended, stdout, stderr) = parts_of(run.wait_with_output().unwrap());
        assert_eq!(ended, Some(code), "{stderr}");
        assert!(stdout.contains("(interrupted)"), "{stdout}");
        assert!(record(&place.at("out.json")).interrupted && is_clean(&place));
        fs::remove_file(place.at("out.json")).unwrap();
    }
}

#[test]
fn a_hang_up_that_is_ignored_stays_ignored() {
    let place = place();
    let mut run = place.command_by(&["nohup"], &["--record", "out.json"]).spawn().unwrap();
    wait_for_lab(&place);
    send(run.id(), Signal::SIGHUP);
    thread::sleep(Duration::from_secs(2));
    assert!(
        run.try_wait().unwrap().is_none(),
        "it ended by a signal that nohup ignores"
    );
    send(run.id(), Signal::SIGTERM);
    let (code, _, stderr) = parts_of(run.wait_with_output().unwrap());
    assert_eq!(code, Some(143), "{stderr}");
    assert!(record(&place.at("out.json")).interrupted && is_clean(&place));
}
