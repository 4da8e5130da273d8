//! What stands for the module `docker` in a build without the feature: no engine is ever asked.

use std::io;
use std::path::Path;

use crate::directory::run_dir::RunDir;
use crate::error::LabError;
use crate::server::binary::ServerBinary;
use crate::server::containers::Containers;
use crate::server::node_name::NodeName;
use lockstorm_data::scenario::LabSpec;

const WITHOUT: &str = "this Lockstorm was built without Docker; build it with the feature \"docker\"";

fn refused<T>() -> Result<T, LabError> {
    Err(LabError::Other(WITHOUT.to_owned()))
}

impl ServerBinary {
    /// Would be the server program of an image.
    ///
    /// # Errors
    /// Always.
    pub async fn in_image(_: &str) -> Result<Self, LabError> {
        refused()
    }

    /// Would be the server program of a stack.
    ///
    /// # Errors
    /// Always.
    pub async fn in_stack(_: Option<&str>) -> Result<Self, LabError> {
        refused()
    }
}

/// Would say whether a stack has a Sentinel.
///
/// # Errors
/// Always.
pub async fn stack_has_sentinels(_: Option<&str>) -> Result<bool, LabError> {
    refused()
}

pub(crate) async fn check(containers: Option<&Containers>, _: &[NodeName], _: &LabSpec) -> Result<(), LabError> {
    containers.map_or(Ok(()), |_| refused())
}

pub(crate) fn keep(_: &Containers, _: RunDir) -> io::Result<()> {
    Err(io::Error::other(WITHOUT))
}

pub(super) mod leftovers {
    use super::{Path, WITHOUT, io};
    use crate::directory::report::{NOTE, Report};

    /// Refuses to remove a run that may have containers.
    pub(crate) fn remove_of_run(run_dir: &Path) -> io::Result<usize> {
        match run_dir.join(NOTE).exists() {
            true => Err(io::Error::other(WITHOUT)),
            false => Ok(0),
        }
    }

    pub(crate) fn remove_without_directory(_: bool) -> io::Result<Report> {
        Ok(Report::default())
    }
}
