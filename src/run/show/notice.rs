use std::time::Instant;

use lockstorm_data::facts::{Caveat, EventKind};

/// What a part of a run has noticed; the run writes it down.
#[derive(Debug)]
pub(crate) enum Notice {
    /// This happened then.
    Event(Instant, EventKind),
    /// Something that a reader of the figures should know; the record's warnings have it too.
    Warning(Caveat),
    /// The same, but only once, however often it is noticed.
    Once(Caveat),
}

impl Notice {
    /// Something that happens now.
    pub fn now(kind: EventKind) -> Self {
        Self::Event(Instant::now(), kind)
    }

    /// A warning about something that happened then.
    pub const fn warning_at(at: Instant, caveat: Caveat) -> Self {
        Self::Event(at, EventKind::Warning { caveat })
    }
}
