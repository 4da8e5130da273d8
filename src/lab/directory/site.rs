//! The place of a lab: its keeper and its run directory.

use std::path::PathBuf;
use std::time::Duration;

use crate::client::Client;
use crate::directory::leftovers;

/// How long it may take to end everything.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// A keeper and its run directory. Dropping this ends the keeper, and with it every process, and removes the directory.
#[derive(Debug)]
pub(crate) struct Site {
    pub client: Client,
    pub dir: PathBuf,
    /// How long the end may take longer, since keys are removed from servers that are not ours.
    pub patience: Duration,
}

impl Site {
    /// Ends all processes, even paused ones, and removes the run directory. Returns when both are gone.
    pub(crate) async fn clear(&self) {
        if !self.client.close(END_TIMEOUT + self.patience).await {
            self.client.kill();
            self.client.close(END_TIMEOUT).await;
        }
        // Something is left only if the keeper did not end in good order.
        let dir = self.dir.clone();
        let _ = tokio::task::spawn_blocking(move || leftovers::remove_run(&dir)).await;
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // A living keeper removes the directory a moment from now, when its pipe closes; a dead one can't.
        if self.client.gone().is_some() {
            let _ = leftovers::remove_run(&self.dir);
        }
    }
}
