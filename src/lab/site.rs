//! Where a lab is: its keeper and its run directory.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::client::Client;
use super::leftovers;

/// How long everything may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// A keeper and its run directory. Dropping it ends the keeper, and with it every process, and removes the directory.
#[derive(Debug)]
pub(super) struct Site {
    pub client: Arc<Client>,
    pub dir: PathBuf,
}

impl Site {
    /// Ends all processes, paused ones too, and removes the run directory; returns when both are gone.
    pub(super) async fn clear(&self) {
        if !self.client.close(END_TIMEOUT).await {
            self.client.kill();
            self.client.close(END_TIMEOUT).await;
        }
        // Only after a keeper that did not end in good order is there anything left.
        let dir = self.dir.clone();
        let _ = tokio::task::spawn_blocking(move || leftovers::remove_run(&dir)).await;
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // A keeper that lives removes the directory when its pipe closes, a moment from now; one that is gone can't.
        if self.client.gone().is_some() {
            let _ = leftovers::remove_run(&self.dir);
        }
    }
}
