//! The place of a cell: its own directory, with a scenario that brings lockstorm into the cell's state.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::cell::{Cell, Database, Form, State, Way};

/// A directory with a scenario, server programs that misbehave, and an empty directory for labs.
pub struct Place {
    directory: TempDir,
}

/// The files that are there before lockstorm starts, and may be there afterwards.
const OURS: [&str; 7] = ["labs", "cell.toml", "tiny.toml", "hangs", "fails", "go", "held"];

impl Place {
    pub fn new(cell: Cell, postgres: Option<&str>) -> Self {
        let place = Self {
            directory: TempDir::with_prefix("lockstorm-way-").expect("a temporary directory"),
        };
        let path = place.path();
        fs::create_dir(place.labs()).expect("an empty place");
        fs::write(path.join("cell.toml"), scenario(cell, postgres)).expect("a writable place");
        let its_end = Cell {
            state: State::Closing,
            way: Way::ItsEnd,
            ..cell
        };
        fs::write(path.join("tiny.toml"), scenario(its_end, postgres)).expect("a writable place");
        let server = lockstorm_kit::server_bin();
        let server = server.display();
        // `--version` is asked for before a lab is started.
        let script = |then: &str| {
            format!(
                "#!/bin/sh\ncase \"$1\" in --version) exec '{server}' --version;; esac\n{then}\nexec '{server}' \"$@\"\n"
            )
        };
        let held = path.join("held");
        let go = path.join("go");
        let hangs = format!(
            "touch '{}'\nwhile ! [ -e '{}' ]; do sleep 0.05; done",
            held.display(),
            go.display()
        );
        place.program("hangs", &script(&hangs));
        place.program("fails", &script("echo 'no, not today'; exit 1"));
        place
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn labs(&self) -> PathBuf {
        self.path().join("labs")
    }

    pub fn record(&self) -> PathBuf {
        self.path().join("out.json")
    }

    /// The arguments of lockstorm for this cell.
    pub fn arguments(cell: Cell) -> Vec<String> {
        let mut words: Vec<&str> = match (cell.form, cell.state) {
            (Form::Console, State::Picker) => Vec::new(),
            (Form::Console, _) => vec!["cell.toml", "--no-briefing"],
            (Form::Headless, _) => vec!["run", "cell.toml", "--record", "out.json"],
        };
        match cell.state {
            State::SetUp => words.extend(["--server-bin", "./hangs"]),
            State::Failed => words.extend(["--server-bin", "./fails"]),
            _ => {}
        }
        words.into_iter().map(str::to_owned).collect()
    }

    /// Whether a server of the set-up hangs.
    pub fn is_held(&self) -> bool {
        self.path().join("held").exists()
    }

    /// Lets the servers of the set-up continue.
    pub fn go(&self) {
        fs::write(self.path().join("go"), "").expect("a writable place");
    }

    /// The run directories.
    pub fn runs(&self) -> Vec<PathBuf> {
        let mut runs = Vec::new();
        for user in fs::read_dir(self.labs()).into_iter().flatten().flatten() {
            runs.extend(
                fs::read_dir(user.path())
                    .into_iter()
                    .flatten()
                    .flatten()
                    .map(|run| run.path()),
            );
        }
        runs
    }

    /// Everything below the directory of labs, by name.
    pub fn left(&self) -> Vec<String> {
        let mut left: Vec<String> = self.runs().iter().map(|run| run.display().to_string()).collect();
        if left.is_empty() {
            let entries = fs::read_dir(self.labs()).into_iter().flatten().flatten();
            left.extend(entries.map(|entry| entry.path().display().to_string()));
        }
        left
    }

    /// Files in the working directory that should not be there.
    pub fn strays(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).expect("our own place").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names
            .filter(|name| !OURS.contains(&name.as_str()) && name != "out.json")
            .collect()
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::write(&path, text).expect("a writable place");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("our own file");
    }
}

/// A light load on two arms that lasts until it is ended, unless the cell lets it play to its end.
fn scenario(cell: Cell, postgres: Option<&str>) -> String {
    let plays = cell.way.lets_it_play();
    let ends = matches!(cell.state, State::Draining | State::Closing | State::Finished);
    let duration = match cell.state {
        _ if ends => "1s",
        // Until its progress was seen twice.
        State::FullQueue if plays => "8s",
        _ if plays => "3s",
        _ => "30m",
    };
    let warmup = match cell.state {
        State::WarmUp if plays => "3s",
        State::WarmUp => "20m",
        _ => "0s",
    };
    let hold = if cell.state == State::Draining { "10m" } else { "2ms" };
    let pace = if cell.state == State::FullQueue {
        "rate = \"4000/s\""
    } else {
        "think = \"20ms\""
    };
    let hold = if cell.state == State::FullQueue { "50ms" } else { hold };
    let database = match (cell.database, postgres) {
        (Database::Postgres, Some(url)) => format!("[database]\nurl = \"{url}\"\npool = 2\n"),
        _ => String::new(),
    };
    let fault = |what: &str, on: &str| format!("[[fault]]\nat = \"0s\"\ndo = \"{what}\"\non = \"{on}\"\n");
    let fault = match (cell.form, cell.state) {
        (Form::Headless, State::HostPaused) => fault("pause", "host:1"),
        (Form::Headless, State::HostKilled) => fault("kill", "host:1"),
        (Form::Headless, State::ServerPaused) => fault("pause", "server:1"),
        _ => String::new(),
    };
    format!(
        r#"title = "A way out"
duration = "{duration}"
warmup = "{warmup}"
seed = 7
[swarm]
servers = 2
workers = 2
{pace}
[workload]
kind = "inventory"
products = 16
stock = 1000000
hold = {{ median = "{hold}", sigma = 0.1 }}
{database}
[[arm]]
name = "single"
lock = "single"
[[arm]]
name = "redlock"
lock = "redlock"
{fault}"#
    )
}
