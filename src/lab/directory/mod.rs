//! The directories of a lab, what is in them, and what a crash left of others.

pub(crate) mod base_dir;
pub mod leftovers;
pub(crate) mod opened_run;
pub(crate) mod password;
pub(crate) mod processes;
pub(crate) mod report;
pub(crate) mod run_dir;
pub(crate) mod site;
pub(crate) mod start_lock;
