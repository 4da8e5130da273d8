use std::sync::Arc;
use std::time::Instant;

use crate::show::snapshot::Phase;

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
