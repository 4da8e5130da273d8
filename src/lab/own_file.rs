//! Configuration files of nodes that write there what they are told while they run: who is whose replica, and everything that
//! a Sentinel knows. A node that is started again goes on from its file, as on a real machine.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::LabError;
use super::node_name::Role;
use super::password::Password;

/// The name of the file in the node's directory.
pub(super) const NAME: &str = "own.conf";

/// The first contents of the file; `None` for a node without one.
pub(super) fn first_text(role: Role, password: Option<&Password>) -> Option<String> {
    let password = password.map(Password::text);
    match role {
        Role::Lock | Role::Cache => None,
        Role::Replicated => Some(password.map_or_else(String::new, |password| {
            format!("requirepass {password}\nmasterauth {password}\n")
        })),
        Role::Sentinel => Some(password.map_or_else(String::new, |password| {
            format!("requirepass {password}\nsentinel sentinel-pass {password}\n")
        })),
    }
}

/// Creates the file, which only this user can read.
pub(super) fn create(dir: &Path, text: &str) -> Result<(), LabError> {
    let path = dir.join(NAME);
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(&path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|source| LabError::Directory { path, source })
}
