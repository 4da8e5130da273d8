//! Configuration files of nodes that work together: they send each other the password, and most of them write to their file
//! what they are told while they run (who is whose replica, everything that a Sentinel knows). A node that is started again
//! goes on from its file, as on a real machine.

use std::net::SocketAddr;

use crate::directory::password::Password;
use crate::server::node_name::Role;

/// The name of the file in the node's directory.
pub(crate) const NAME: &str = "own.conf";

/// Whether a node of this role has such a file.
pub(crate) const fn is_for(role: Role) -> bool {
    matches!(role, Role::Replicated | Role::Sentinel)
}

/// The first contents of the file of a node behind this door, if it has one; `None` for a node without a file.
pub(crate) fn first_text(role: Role, password: Option<&Password>, door: Option<SocketAddr>) -> Option<String> {
    let password = password.map(Password::text);
    match role {
        Role::Lock | Role::Cache | Role::Etcd => None,
        Role::Replicated | Role::FirstInCluster | Role::SecondInCluster => {
            Some(password.map_or_else(String::new, |password| {
                format!("requirepass {password}\nmasterauth {password}\n")
            }))
        }
        Role::Sentinel => {
            let password = password.map_or_else(String::new, |password| {
                format!("requirepass {password}\nsentinel sentinel-pass {password}\n")
            });
            let door = door.map_or_else(String::new, |door| {
                let (ip, port) = (door.ip(), door.port());
                format!("sentinel announce-ip {ip}\nsentinel announce-port {port}\n")
            });
            Some(password + &door)
        }
    }
}
