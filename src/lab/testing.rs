//! Labs for tests within this crate.

use std::path::PathBuf;

use tokio::sync::{Mutex, MutexGuard};

use super::{LabOptions, ServerBinary};

/// The turn to have a lab: two at once are slow enough to break things. And the options for it.
pub(crate) async fn turn() -> (LabOptions, MutexGuard<'static, ()>) {
    static TURN: Mutex<()> = Mutex::const_new(());
    let turn = TURN.lock().await;
    // Tests are in a directory of the one with the program.
    let tests = std::env::current_exe().unwrap();
    let keeper: PathBuf = tests.ancestors().nth(2).unwrap().join("lockstorm");
    assert!(
        keeper.exists(),
        "run `cargo build` first: {} becomes the keeper",
        keeper.display()
    );
    let mut options = LabOptions::new(ServerBinary::find(None).unwrap()).unwrap();
    options.keeper = keeper;
    (options, turn)
}
