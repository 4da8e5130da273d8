use std::collections::HashMap;
use std::path::Path;

use bollard::models::ContainerSummary;
use nix::unistd::{geteuid, gethostname};

/// The run directory of the lab.
pub(super) const RUN: &str = "lockstorm.run";
/// The id of the user whose lab it is.
const USER: &str = "lockstorm.user";
/// The machine on which that directory is: an engine may be used from several.
const MACHINE: &str = "lockstorm.machine";
/// Which node of a lab it is: `host-1`, `cache`.
pub(crate) const PLACE: &str = "lockstorm.place";
/// Where processes are, as directories.
pub(super) const PROCESSES: &str = "/proc";
/// The port at which a node listens that somebody else has made.
pub(super) const PORT: &str = "lockstorm.port";
/// The Compose project that a container belongs to, by Compose itself.
pub(super) const PROJECT: &str = "com.docker.compose.project";

/// What says of a container or network whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Labels(Vec<(&'static str, String)>);

impl Labels {
    /// Those of the lab with this run directory.
    pub(crate) fn of_run(dir: &Path) -> Self {
        let mut labels = Self::of_user();
        labels.0.push((RUN, dir.to_string_lossy().into_owned()));
        labels
    }

    /// Those of what this process makes for a moment: it stands for the directory, which is gone when the process is (Linux).
    pub(crate) fn of_process() -> Self {
        Self::of_run(&Path::new(PROCESSES).join(std::process::id().to_string()))
    }

    /// Those that all labs of this user on this machine have.
    pub(crate) fn of_user() -> Self {
        // In a container the first part of the container's id.
        let machine = gethostname().unwrap_or_default().to_string_lossy().into_owned();
        Self(vec![(USER, geteuid().to_string()), (MACHINE, machine)])
    }

    /// Those that Compose gives to all containers of a project.
    pub(crate) fn of_project(project: &str) -> Self {
        Self(vec![(PROJECT, project.to_owned())])
    }

    /// Those of a node besides.
    pub(super) fn of_node(&self, place: &str) -> Self {
        let mut labels = self.clone();
        labels.0.push((PLACE, place.to_owned()));
        labels
    }

    /// For what is created.
    pub(super) fn map(&self) -> HashMap<String, String> {
        let owned = |(name, value): &(&str, String)| ((*name).to_owned(), value.clone());
        self.0.iter().map(owned).collect()
    }

    /// A filter that lets only pass what carries all of them.
    pub(super) fn filter(&self) -> HashMap<String, Vec<String>> {
        let equal = self.0.iter().map(|(name, value)| format!("{name}={value}"));
        HashMap::from([("label".to_owned(), equal.collect())])
    }
}

/// What a container carries as its label of this name.
pub(super) fn label<'a>(container: &'a ContainerSummary, name: &str) -> Option<&'a str> {
    container.labels.as_ref()?.get(name).map(String::as_str)
}
