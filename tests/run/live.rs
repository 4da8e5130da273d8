//! A lockstorm that goes on: what it says, its processes, and what is left of it in the end.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command};

use lockstorm_kit::place::Place;
use lockstorm_kit::recorded::recorded;
use lockstorm_kit::send;
use lockstorm_run::Record;
use nix::sys::signal::Signal;

/// A lockstorm whose standard error is read. Killed when dropped.
pub struct Live<'a> {
    place: &'a Place,
    child: Child,
    stderr: BufReader<ChildStderr>,
    said: String,
}

/// What is left of one.
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// `out.json`; `None` if there is none.
    pub record: Option<Record>,
}

impl<'a> Live<'a> {
    /// Starts a command whose place this is, and whose outputs are piped.
    pub fn start(place: &'a Place, command: &mut Command) -> Self {
        let mut child = command.spawn().expect("lockstorm starts");
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        Self {
            place,
            child,
            stderr,
            said: String::new(),
        }
    }

    /// Reads its output until this text comes.
    pub fn until(&mut self, wanted: &str) {
        loop {
            let from = self.said.len();
            let read = self.stderr.read_line(&mut self.said).expect("text");
            assert!(read > 0, "no {wanted:?} in {}", self.said);
            if self.said[from..].contains(wanted) {
                return;
            }
        }
    }

    /// Waits until its load is on.
    pub fn until_it_sells(&mut self) {
        self.until("s of ");
    }

    pub fn send(&self, signal: Signal) {
        send(self.child.id(), signal);
    }

    /// A process that its keeper has started, by its directory.
    pub fn server(&self, name: &str) -> u32 {
        let mut found = None;
        lockstorm_kit::eventually(name, || {
            let mut servers = children(self.child.id()).into_iter().flat_map(children);
            found = servers.find(|pid| {
                let directory = fs::read_link(format!("/proc/{pid}/cwd"));
                directory.is_ok_and(|directory| directory.ends_with(name))
            });
            found.is_some()
        });
        found.expect("it was found")
    }

    /// Waits for its end.
    pub fn over(mut self) -> Ended {
        let mut stdout = String::new();
        self.stderr.read_to_string(&mut self.said).expect("text");
        let mut pipe = self.child.stdout.take().expect("a pipe");
        pipe.read_to_string(&mut stdout).expect("text");
        let code = self.child.wait().expect("our own child").code();
        let record = fs::read(self.place.at("out.json")).ok();
        Ended {
            code,
            stdout,
            stderr: std::mem::take(&mut self.said),
            record: record.map(|bytes| recorded(&bytes)),
        }
    }

    /// Waits for its end, and until its keeper has removed its lab, which on a starved machine may take a moment longer.
    pub fn end(self) -> Ended {
        let place = self.place;
        let ended = self.over();
        place.wait_for_labs(0);
        ended
    }

    /// Waits for its end with this exit code and a record.
    #[track_caller]
    pub fn record(self, code: i32) -> (Ended, Record) {
        let mut ended = self.end();
        assert_eq!(ended.code, Some(code), "{}", ended.said());
        let record = ended.record.take();
        let record = record.unwrap_or_else(|| panic!("no record: {}", ended.stderr));
        (ended, record)
    }
}

impl Ended {
    /// All that it said.
    pub fn said(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.send(Signal::SIGKILL);
            let _ = self.child.wait();
        }
    }
}

/// The processes that a process has started.
fn children(parent: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok());
    let words: Vec<String> = lists
        .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    words.iter().filter_map(|pid| pid.parse().ok()).collect()
}

/// The processes that were started to put their labs into `labs`, or work there. Zombies, which only wait for their
/// parent, don't count.
pub fn living(labs: &Path) -> BTreeSet<i32> {
    let ours = format!("TMPDIR={}", labs.display());
    let entries = fs::read_dir("/proc").expect("the processes").flatten();
    let found = entries.filter_map(|entry| {
        let process = entry.file_name().to_str()?.parse().ok()?;
        let cwd = fs::read_link(entry.path().join("cwd")).ok()?;
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let has_labs = environment.split(|&byte| byte == 0).any(|one| one == ours.as_bytes());
        (has_labs || cwd.starts_with(labs)).then_some(process)
    });
    found.collect()
}
