//! The servers of a lab, one by one: programs, ports, settings, how they are asked, and how they are.

pub(crate) mod binary;
pub(crate) mod changed;
pub(crate) mod config_file;
pub(crate) mod containers;
pub(crate) mod data_files;
pub(crate) mod install;
pub(crate) mod node;
pub(crate) mod node_name;
pub(crate) mod nodes;
pub(crate) mod ports;
pub(crate) mod probe;
pub(crate) mod probe_keys;
pub(crate) mod programs;
pub(crate) mod secret_url;
pub(crate) mod sessions;
pub(crate) mod settings;
pub(crate) mod state;
pub(crate) mod stats;
pub(crate) mod version;
