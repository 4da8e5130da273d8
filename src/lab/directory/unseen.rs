//! What is known of containers without their engine, or when their run directory can't be seen.

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

/// What became of this user's containers whose run directory can't be seen from here.
#[derive(Debug, Default)]
pub(crate) struct Unseen {
    /// How many were removed.
    pub removed: usize,
    /// The run directories of labs that are alive.
    pub alive: Vec<PathBuf>,
    /// Those of labs of which nobody says whether they are.
    pub untold: Vec<PathBuf>,
    /// Why no engine was asked, if there is one.
    pub unasked: Option<Unasked>,
}
