//! Whose turn it is: what measures has the machine to itself, what only waits runs side by side.
//!
//! The turns are locks of files beside the tests' programs, so they hold between threads and between processes, and end with
//! the process.

use std::env;
use std::fs::File;

use nix::fcntl::{Flock, FlockArg};

/// A turn, which ends when it is dropped.
pub struct Turn {
    _lock: Flock<File>,
}

/// A turn that others may have at the same time.
pub fn beside() -> Turn {
    take(FlockArg::LockShared)
}

/// A turn that nobody else has at the same time.
pub fn alone() -> Turn {
    take(FlockArg::LockExclusive)
}

fn take(how: FlockArg) -> Turn {
    // Whoever waits for the machine holds the door, so that no stream of others passes by.
    let _door = lock("door", FlockArg::LockExclusive);
    Turn {
        _lock: lock("turn", how),
    }
}

fn lock(name: &str, how: FlockArg) -> Flock<File> {
    let program = env::current_exe().expect("the test's own program");
    let mut file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(program.with_file_name(format!("tests.{name}")))
        .expect("a file beside the test's program");
    loop {
        file = match Flock::lock(file, how) {
            Ok(lock) => return lock,
            Err((again, nix::errno::Errno::EINTR)) => again,
            Err((_, error)) => panic!("the lock {name}: {error}"),
        };
    }
}
