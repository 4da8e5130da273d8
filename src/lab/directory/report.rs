//! What was removed of crashed labs, and what can't be told of them.

use std::fmt;
use std::path::PathBuf;

/// The file in a run directory that says at which engine its containers are.
pub(crate) const NOTE: &str = "docker";

/// Why an engine was not asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unasked {
    /// It is the usual one of this machine, which this user may not use.
    NotAllowed,
    /// It should have answered.
    Silent(String),
}

/// What was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The run directories.
    pub directories: Vec<PathBuf>,
    /// The ids of the processes that were still running in them, and were killed.
    pub processes: Vec<u32>,
    /// The number of containers.
    pub containers: usize,
    /// Run directories whose keeper is alive, which were left alone.
    pub running: Vec<PathBuf>,
    /// Run directories that can't be seen from here and whose containers don't say whether they are in use; left alone, too.
    pub untold: Vec<PathBuf>,
    /// Why no Docker engine was asked for containers, if there is one.
    pub unasked: Option<Unasked>,
}

impl Report {
    /// Why nobody can say that nothing is left, if that is so.
    pub fn doubt(&self) -> Option<String> {
        if let Some(Unasked::Silent(why)) = &self.unasked {
            return Some(format!("it can't be told whether containers are left: {why}"));
        }
        (!self.untold.is_empty()).then(|| {
            format!(
                "there are containers, but nothing from which to tell whether a lab uses them: {}; `lockstorm lab down --force` \
                 removes them",
                listed(&self.untold)
            )
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let removed: Vec<String> = [
            (self.directories.len(), "run directory", "run directories"),
            (self.processes.len(), "process", "processes"),
            (self.containers, "container", "containers"),
        ]
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }))
        .collect();
        match removed.split_last() {
            Some((last, [])) => write!(f, "removed {last}")?,
            Some((last, others)) => write!(f, "removed {} and {last}", others.join(", "))?,
            None if self.doubt().is_some() => f.write_str("nothing was removed")?,
            None => f.write_str("no lab left anything behind")?,
        }
        if !self.running.is_empty() {
            let (labs, were) = match self.running.len() {
                1 => ("lab is", "was"),
                _ => ("labs are", "were"),
            };
            let (count, running) = (self.running.len(), listed(&self.running));
            write!(f, "; {count} {labs} running and {were} left alone: {running}")?;
        }
        if self.unasked == Some(Unasked::NotAllowed) {
            f.write_str("; the Docker engine of this machine was not asked, because this user may not use it")?;
        }
        Ok(())
    }
}

fn listed(directories: &[PathBuf]) -> String {
    let paths = directories.iter().map(|dir| dir.display().to_string());
    paths.collect::<Vec<_>>().join(", ")
}
