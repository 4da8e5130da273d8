use std::collections::HashMap;
use std::path::Path;

use nix::unistd::{geteuid, gethostname};

/// The run directory of the lab.
pub(super) const RUN: &str = "lockstorm.run";
/// The id of the user whose lab it is.
const USER: &str = "lockstorm.user";
/// The machine on which that directory is: an engine may be used from several.
const MACHINE: &str = "lockstorm.machine";

/// The number of the node in its lab.
pub(super) const NODE: &str = "lockstorm.node";

/// What says of a container or network whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::lab) struct Labels(Vec<(&'static str, String)>);

impl Labels {
    /// Those of the lab with this run directory.
    pub(in crate::lab) fn of_run(dir: &Path) -> Self {
        let mut labels = Self::of_user();
        labels.0.push((RUN, dir.to_string_lossy().into_owned()));
        labels
    }

    /// Those that all labs of this user on this machine have.
    pub(in crate::lab) fn of_user() -> Self {
        let machine = gethostname().unwrap_or_default().to_string_lossy().into_owned();
        Self(vec![(USER, geteuid().to_string()), (MACHINE, machine)])
    }

    /// Those of a node besides.
    pub(super) fn of_node(&self, id: usize) -> Self {
        let mut labels = self.clone();
        labels.0.push((NODE, id.to_string()));
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
