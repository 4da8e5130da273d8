//! The program that is tested.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, fs};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// How long a command may take that ends by itself, on the slowest machine.
const LIMIT: Duration = Duration::from_mins(3);

/// The path of `lockstorm`.
pub fn program() -> String {
    built("lockstorm")
}

/// The path of the keeper that is a program of its own.
pub fn keeper() -> PathBuf {
    built("lockstorm-keeper").into()
}

/// The path of an example, which `cargo build --examples` makes.
pub fn example(name: &str) -> String {
    built(&format!("examples/{name}"))
}

/// The path of one of our programs, which Cargo puts above the directory of its tests' programs.
fn built(name: &str) -> String {
    let test = env::current_exe().expect("the test's own program");
    let directory = test.parent().and_then(|deps| deps.parent()).expect("target/PROFILE");
    let program = directory.join(name);
    assert!(
        program.exists(),
        "run `cargo build` (for an example with --examples) first: there is no {}",
        program.display()
    );
    program.to_str().expect("a path that is text").to_owned()
}

/// `lockstorm ARGUMENTS` in this directory, which contains all its labs, too. Its outputs are piped.
pub fn lockstorm(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(arguments).current_dir(directory);
    command.env("TMPDIR", directory).env_remove("NO_COLOR");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs a command to its end: the exit code, standard output, standard error.
pub fn ended(command: &mut Command) -> (Option<i32>, String, String) {
    let child = command.spawn().expect("the program starts");
    let process = child.id();
    let (done, waiting) = std::sync::mpsc::channel::<()>();
    let limit = thread::spawn(move || {
        // An end of the other side is the end of the command.
        if waiting.recv_timeout(LIMIT) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            send(process, Signal::SIGKILL);
        }
    });
    let start = Instant::now();
    let output = child.wait_with_output().expect("our own child can be waited for");
    drop(done);
    limit.join().expect("it only waits");
    assert!(start.elapsed() < LIMIT, "killed after {LIMIT:?}: {output:?}");
    parts_of(output)
}

/// Sends a signal to one of our processes.
pub fn send(process: u32, signal: Signal) {
    let process = i32::try_from(process).expect("a process id");
    kill(Pid::from_raw(process), signal).expect("a process of ours can be signalled");
}

/// The exit code, standard output, standard error.
pub fn parts_of(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Runs `lockstorm ARGUMENTS` in a directory of its own: the exit code, standard output, standard error.
pub fn told(arguments: &[&str]) -> (Option<i32>, String, String) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    ended(&mut lockstorm(directory.path(), arguments))
}

/// What `lockstorm ARGUMENTS` prints, which ends with this exit code.
pub fn printed(code: i32, arguments: &[&str]) -> String {
    let (ended, stdout, stderr) = told(arguments);
    assert_eq!(ended, Some(code), "{arguments:?}: {stderr}");
    stdout
}

/// Runs `lockstorm ARGUMENTS`, which must be refused with this exit code before anything starts: one line on standard error
/// that contains all of `parts`, nothing on standard output, and no directory of a lab.
pub fn refused(code: i32, arguments: &[&str], parts: &[&str]) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (ended, stdout, stderr) = ended(&mut lockstorm(directory.path(), arguments));
    assert_eq!(ended, Some(code), "{arguments:?}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{arguments:?}: {stderr}");
    assert!(stderr.starts_with("lockstorm: "), "{arguments:?}: {stderr}");
    says(&stderr, parts);
    assert!(stdout.is_empty(), "{arguments:?}: {stdout}");
    let mut left = fs::read_dir(directory.path()).expect("our own directory");
    assert!(left.next().is_none(), "{arguments:?} started a lab");
}

/// Asserts that a text contains all of these.
#[track_caller]
pub fn says(text: &str, parts: &[&str]) {
    // A sentence may go on in the next line.
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in parts {
        assert!(
            text.contains(part) || folded.contains(part),
            "{part:?} is missing: {text}"
        );
    }
}

/// Lines of standard error until one contains `wanted`.
pub fn read_until(stderr: &mut impl BufRead, wanted: &str) -> String {
    let mut all = String::new();
    loop {
        let from = all.len();
        assert!(stderr.read_line(&mut all).expect("text") > 0, "no {wanted:?} in {all}");
        if all[from..].contains(wanted) {
            return all;
        }
    }
}

/// Starts a run that tells how it goes on, and waits until it is under way. Returns it with the rest of its standard error.
pub fn under_way(command: &mut Command) -> (Child, BufReader<ChildStderr>) {
    let mut run = command.spawn().expect("the program starts");
    let mut stderr = BufReader::new(run.stderr.take().expect("a pipe"));
    read_until(&mut stderr, "s of ");
    (run, stderr)
}

/// The process ids of the children of `parent`.
pub fn children(parent: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task"));
    let lists = tasks
        .into_iter()
        .flatten()
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .map(|pid| pid.parse().expect("a process id"))
                .collect::<Vec<u32>>()
        })
        .collect()
}

/// A process and all its descendants.
pub fn family(root: u32) -> Vec<u32> {
    let below = children(root).into_iter().flat_map(family);
    [root].into_iter().chain(below).collect()
}
