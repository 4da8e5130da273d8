//! How far a run has come, and how it is published.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::watch;

use super::notice::Notice;
use super::snapshot::{Act, Phase, Snapshot};
use lockstorm_data::facts::EventKind;

/// How far a run has come.
#[derive(Debug)]
pub(crate) struct Stage {
    pub phase: Phase,
    /// What a viewer should look at.
    pub caption: Option<Arc<str>>,
    /// The fault that the caption is about, if that ends by itself.
    pub caption_of: Option<usize>,
    /// The act that goes on.
    pub act: Option<Act>,
    /// When the run gives up on the workers, unless they make progress; set while they finish.
    pub gives_up_at: Option<Instant>,
    /// Whether it was told to stop after the load had ended: it waits for nothing any more.
    pub waits_for_nothing: bool,
}

impl Stage {
    /// Says what a viewer should look at from now on, unless it is what was said last. `fault`: the fault that it belongs to; `of`: the
    /// fault that it is about, if that ends by itself.
    pub fn say(&mut self, caption: Option<String>, fault: Option<usize>, of: Option<usize>) -> Option<Notice> {
        let caption: Arc<str> = caption?.into();
        self.caption_of = of;
        if self.caption.as_ref() == Some(&caption) {
            return None;
        }
        self.caption = Some(Arc::clone(&caption));
        let quoted = caption.to_string();
        Some(Notice::now(EventKind::Caption { fault, quoted }))
    }
}

/// Publishes that a run has come to this phase, and nothing else is new.
pub(crate) fn enter(snapshots: &watch::Sender<Arc<Snapshot>>, phase: Phase) {
    snapshots.send_modify(|snapshot| {
        let snapshot = Arc::make_mut(snapshot);
        snapshot.number += 1;
        snapshot.phase = phase;
    });
}
