//! The program that is tested.

use std::env;

/// The path of `lockstorm`, which Cargo puts above the directory of its tests' programs.
pub fn lockstorm() -> String {
    let test = env::current_exe().expect("the test's own program");
    let directory = test.parent().and_then(|deps| deps.parent()).expect("target/PROFILE");
    directory
        .join("lockstorm")
        .to_str()
        .expect("a path that is text")
        .to_owned()
}
