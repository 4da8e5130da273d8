//! How far a run has come, and how it is published.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::watch;

use super::notice::Notice;
use super::snapshot::{Phase, Snapshot};
use lockstorm_data::model::EventKind;

/// How far a run has come.
#[derive(Debug)]
pub(crate) struct Stage {
    pub phase: Phase,
    /// What a viewer should look at.
    pub caption: Option<Arc<str>>,
    /// When the run gives up on the workers, unless they make progress; set while they finish.
    pub gives_up_at: Option<Instant>,
    /// Whether it was told to stop after the load had ended: it waits for nothing any more.
    pub waits_for_nothing: bool,
}

impl Stage {
    /// Says what a viewer should look at from now on, unless it is what was said last.
    pub fn say(&mut self, caption: Option<String>) -> Option<Notice> {
        let caption: Arc<str> = caption?.into();
        if self.caption.as_ref() == Some(&caption) {
            return None;
        }
        self.caption = Some(Arc::clone(&caption));
        Some(Notice::now(EventKind::Caption, &*caption))
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
