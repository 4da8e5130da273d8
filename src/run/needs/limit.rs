use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::cost;
use super::estimate::Needs;

/// Raises the limit of open files as far as a run with these needs requires, if the hard limit allows it: most systems
/// start with 1,024 (macOS with 256), and let every program have more. It does not go up to the hard limit, which may be a
/// thousand million, because our child processes inherit the limit, and some programs close all files up to it. A
/// redis-server raises its own limit to what its `maxclients` needs.
pub fn raise(needs: &Needs) {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return;
    };
    let wanted = needs.files + needs.files / 2 + cost::FILES_BASE;
    if wanted > soft {
        // A limit that can't be raised was compared with the needs before.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, wanted.min(hard), hard);
    }
}
