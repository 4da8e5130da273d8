use std::time::Instant;

use super::snapshot::Phase;

/// How far a run is.
#[derive(Debug)]
pub(super) struct Stage {
    pub phase: Phase,
    /// While the workers finish: until when they are waited for, unless they get on.
    pub gives_up_at: Option<Instant>,
    /// Whether it was told to stop once the load had ended: nothing is waited for any more.
    pub waits_for_nothing: bool,
}
