use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::{Needs, cost};

/// Raises the limit of open files so far that a run of these needs fits, if the hard limit allows: most systems begin with 1,024
/// (macOS with 256) and let every program have more. Not to the hard limit, which may be a thousand million: what we start
/// inherits the limit, and there are programs that close all files up to it. A redis-server raises its own to what its
/// `maxclients` asks for.
pub fn raise(needs: &Needs) {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return;
    };
    let wanted = needs.files + needs.files / 2 + cost::FILES_AT_ALL;
    if wanted > soft {
        // What can't be raised was compared with the limit before.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, wanted.min(hard), hard);
    }
}
