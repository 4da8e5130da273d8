//! What the servers of a run and its machine do.

pub(crate) mod clock_watch;
pub(crate) mod cluster;
pub(crate) mod cluster_watch;
pub(crate) mod disk_watch;
pub(crate) mod health;
pub(crate) mod host_view;
pub(crate) mod lab;
pub(crate) mod lacks;
pub(crate) mod log_watch;
pub(crate) mod machine_watch;
pub(crate) mod master_watch;
pub(crate) mod masters;
pub(crate) mod new_master;
pub(crate) mod offsets;
pub(crate) mod processes;
pub(crate) mod processor_use;
pub(crate) mod roles;
pub(crate) mod stall_watch;
pub(crate) mod zombies;
