//! Follows the master of some Sentinels, with a task for each of them.

use std::sync::Arc;

use tokio::sync::watch;

use super::heard::Heard;
use super::watcher::Watcher;
use crate::node::address::NodeAddress;
use crate::node::options::NodeOptions;
use crate::node::place::Named;

/// Starts to ask the Sentinels, and does not wait. The tasks end with the runtime, or when all receivers are dropped.
pub(crate) fn follow(sentinels: Vec<NodeAddress>, master: &str, options: NodeOptions) -> watch::Receiver<Named> {
    let heard = Arc::new(Heard::new(sentinels.len()));
    let named = heard.named();
    for (index, sentinel) in sentinels.into_iter().enumerate() {
        let heard = Arc::clone(&heard);
        let watcher = Watcher::new(index, sentinel, master, options);
        tokio::spawn(async move {
            tokio::select! {
                () = heard.abandoned() => {}
                () = watcher.run(&heard) => {}
            }
        });
    }
    named
}
