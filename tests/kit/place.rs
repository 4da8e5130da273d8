//! A directory for runs of the real program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::program::program;
use super::turn::{Turn, alone};
use super::{beside, eventually};

/// A directory with a scenario in it, and the directory of all labs below it. It has a turn as long as it exists.
pub struct Place {
    directory: TempDir,
    scenario: &'static str,
    _turn: Turn,
}

impl Place {
    /// A place with a scenario of this name and text.
    pub fn new(scenario: &'static str, text: &str) -> Self {
        Self::in_turn(beside(), scenario, text)
    }

    /// The same for a test whose verdicts a busy machine would leave open.
    pub fn alone(scenario: &'static str, text: &str) -> Self {
        Self::in_turn(alone(), scenario, text)
    }

    fn in_turn(turn: Turn, scenario: &'static str, text: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::write(directory.path().join(scenario), text).expect("a writable place");
        fs::create_dir(directory.path().join("labs")).expect("an empty place");
        Self {
            directory,
            scenario,
            _turn: turn,
        }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The path of this name here.
    pub fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// `lockstorm run SCENARIO ARGUMENTS`, to be started here with its outputs piped.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.command_by(&[], arguments)
    }

    /// `BY… lockstorm run SCENARIO ARGUMENTS`.
    pub fn command_by(&self, by: &[&str], arguments: &[&str]) -> Command {
        let lockstorm = program();
        let own = [lockstorm.as_str(), "run", self.scenario];
        let words: Vec<&str> = [by, &own, arguments].concat();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(self.path());
        command.env("TMPDIR", self.at("labs")).env_remove("NO_COLOR");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The directories of labs that exist.
    pub fn labs(&self) -> Vec<PathBuf> {
        let users = fs::read_dir(self.at("labs")).expect("the directory of all labs");
        let labs = users.filter_map(|user| fs::read_dir(user.ok()?.path()).ok());
        labs.flatten().flatten().map(|lab| lab.path()).collect()
    }

    pub fn wait_for_labs(&self, n: usize) {
        eventually(&format!("{n} labs"), || self.labs().len() == n);
    }

    /// The names here, except for those that [`Place::new`] made.
    pub fn others(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).expect("the place");
        let names = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name != self.scenario && name != "labs").collect()
    }
}
