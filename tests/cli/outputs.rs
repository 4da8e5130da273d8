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
use std::time::Duration;

use lockstorm_kit::place::Place;
use lockstorm_kit::program::{says, under_way};
use lockstorm_kit::recorded::{recorded, recorded_in};
use lockstorm_kit::scenario::TWO_ARMS;
use lockstorm_kit::{ended, eventually, parts_of, send};
use lockstorm_run::Record;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::{Uid, mkfifo};

fn place() -> Place {
    Place::new("one.toml", TWO_ARMS)
}

/// A place with a named pipe in it.
fn place_with_pipe() -> Place {
    let place = place();
    mkfifo(&place.at("pipe"), Mode::S_IRWXU).unwrap();
    place
}

/// The exit code, standard output and standard error of a run of one second.
fn run(place: &Place, arguments: &[&str]) -> (Option<i32>, String, String) {
    ended(&mut short(place, arguments))
}

/// A run of one second.
fn short(place: &Place, arguments: &[&str]) -> Command {
    place.command(&[&["--duration", "1s"], arguments].concat())
}

fn record(path: &Path) -> Record {
    recorded_in(path)
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
    let (code, stdout, _) = ended(short(&place, &["--record", "out.json"]).stderr(writer));
    assert_eq!(code, Some(0), "{stdout}");
    says(&stdout, &["single ", "standard error was given up: nobody has read"]);
    let record = record(&place.at("out.json"));
    assert!(!record.interrupted && record.elapsed < 5.0, "{}", record.elapsed);
}

#[test]
fn a_standard_output_that_nobody_reads_is_given_up_with_an_error() {
    let place = place();
    let runs = [&["--record", "json.json", "--json"][..], &["--record", "text.json"]].map(|arguments| {
        let (reader, writer) = full_pipe();
        (reader, short(&place, arguments).stdout(writer).spawn().unwrap())
    });
    for (_reader, run) in runs {
        let (code, _, stderr) = parts_of(run.wait_with_output().unwrap());
        assert_eq!(code, Some(1), "{stderr}");
        says(&stderr, &["cannot write to standard output: nobody has read"]);
    }
    record(&place.at("json.json"));
    record(&place.at("text.json"));
}

#[test]
fn a_signal_ends_the_wait_for_a_slow_reader() {
    let place = place();
    let (_reader, writer) = full_pipe();
    let mut command = short(&place, &["--record", "out.json", "--json"]);
    let mut run = command.stdout(writer).spawn().unwrap();
    eventually("a record", || place.at("out.json").exists());
    thread::sleep(Duration::from_millis(500));
    send(run.id(), Signal::SIGTERM);
    assert_eq!(run.wait().unwrap().code(), Some(143));
}

#[test]
fn a_pipe_that_nobody_opens_gets_no_record_but_the_summary_is_printed() {
    let place = place_with_pipe();
    let (code, stdout, stderr) = run(&place, &["--record", "pipe"]);
    assert_eq!(code, Some(1), "{stderr}");
    says(&stdout, &["single "]);
    says(&stderr, &["pipe: nobody has opened it to read"]);
    assert!(place.labs().is_empty());
}

#[test]
fn a_pipe_is_written_to_once_somebody_reads_it() {
    let place = place_with_pipe();
    let pipe = place.at("pipe");
    let reader = thread::spawn(move || {
        // Usually not before the run wants to write.
        thread::sleep(Duration::from_secs(4));
        let mut text = String::new();
        File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
        text
    });
    let (code, _, stderr) = run(&place, &["--record", "pipe"]);
    assert_eq!(code, Some(0), "{stderr}");
    let record = recorded(reader.join().unwrap().as_bytes());
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
    let place = place_with_pipe();
    let _reader = open_and_full(&place.at("pipe"));
    let (code, stdout, stderr) = run(&place, &["--record", "pipe"]);
    assert_eq!(code, Some(1), "{stderr}");
    says(&stdout, &["single "]);
    says(&stderr, &["pipe: nobody has read from it"]);
}

#[test]
fn a_log_that_nobody_reads_delays_no_run() {
    let place = place_with_pipe();
    let pipe = place.at("pipe");
    let (code, _, stderr) = run(&place, &["--log", "missing/log"]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("its directory is not there"), "{stderr}");
    let (code, _, stderr) = run(&place, &["--log", "pipe"]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("--log pipe: cannot be written: nobody"), "{stderr}");
    let _reader = open_and_full(&pipe);
    let (code, stdout, stderr) = run(&place, &["--log", "pipe"]);
    assert_eq!(code, Some(0), "{stderr}");
    says(&stdout, &["single "]);
    says(&stderr, &["--log pipe: is not complete"]);
}

#[test]
fn a_history_or_a_report_in_a_file_that_the_run_uses_already_is_refused_before_anything_starts() {
    let place = place();
    fs::write(place.at("out.json"), "an old one").unwrap();
    std::os::unix::fs::symlink("out.json", place.at("link")).unwrap();
    for path in ["out.json", "./out.json", "link", "out.json.journal", "one.toml"] {
        for what in ["--history", "-o"] {
            let (code, stdout, stderr) = run(&place, &["--record", "out.json", what, path]);
            assert_eq!((code, stdout.as_str()), (Some(2), ""), "{what} {path}: {stderr}");
            assert!(
                stderr.contains("is used twice; name another file"),
                "{what} {path}: {stderr}"
            );
        }
    }
    assert_eq!(fs::read_to_string(place.at("one.toml")).unwrap(), TWO_ARMS);
    assert_eq!(fs::read_to_string(place.at("out.json")).unwrap(), "an old one");
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
        ("/proc/out.json", "cannot write /proc/out.json"),
    ] {
        let (code, stdout, stderr) = run(&place, &["--record", path]);
        assert_eq!(code, Some(2), "{path}: {stderr}");
        assert!(stderr.contains(why) && stdout.is_empty(), "{path}: {stdout} {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{path}: {stderr}");
    }
    assert_eq!(fs::read_to_string(place.at("one.toml")).unwrap(), TWO_ARMS);
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
    // After the path has been checked.
    let (child, mut stderr) = under_way(&mut command);
    let planted = open.join(format!(".out.json.{}.part", child.id()));
    let plant = |path: &Path| {
        let mut link = Command::new("ln");
        link.arg("-s").arg(place.at("victim")).arg(path);
        assert!(link.uid(65_534).gid(65_534).status().unwrap().success());
    };
    plant(&planted);
    let mut said = String::new();
    stderr.read_to_string(&mut said).unwrap();
    let (code, ..) = parts_of(child.wait_with_output().unwrap());
    assert_eq!(fs::read_to_string(place.at("victim")).unwrap(), "precious");
    assert_eq!(code, Some(0), "{said}");
    assert!(!open.join("out.json").is_symlink());
    record(&open.join("out.json"));
    // A link with this very name.
    plant(&open.join("mine"));
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
    let (code, _, stderr) = ended(&mut place.command_by(&limited, &["--duration", "1s", "--record", "out.json"]));
    assert!(matches!(code, Some(1 | 5)), "{code:?} {stderr}");
    assert!(stderr.contains("lockstorm: "), "{stderr}");
    assert!(place.labs().is_empty() && !place.at("out.json").exists());
}

#[test]
fn a_hang_up_that_is_ignored_stays_ignored() {
    let place = place();
    let (mut run, _stderr) = under_way(&mut place.command_by(&["nohup"], &["--record", "out.json"]));
    send(run.id(), Signal::SIGHUP);
    thread::sleep(Duration::from_secs(2));
    assert!(
        run.try_wait().unwrap().is_none(),
        "it ended by a signal that nohup ignores"
    );
    send(run.id(), Signal::SIGTERM);
    assert_eq!(run.wait().unwrap().code(), Some(143));
    assert!(record(&place.at("out.json")).interrupted && place.labs().is_empty());
}
