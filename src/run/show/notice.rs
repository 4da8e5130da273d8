use std::time::Instant;

use lockstorm_data::model::EventKind;

/// What a part of a run has noticed; the run writes it down.
#[derive(Debug)]
pub(crate) enum Notice {
    /// This happened then.
    Event(Instant, EventKind, String),
    /// Something that a reader of the figures should know; the record's warnings have it too.
    Warning(String),
    /// Something is gone without which the run proves nothing good. It is told once.
    Loss(String),
    /// Why all figures are worthless, in short for the verdicts and in a sentence.
    Void { why: String, text: String },
    /// Nothing good can be said any more about the arm at this position. It is told once.
    Doubt(usize, String),
}

impl Notice {
    /// Something that happens now.
    pub fn now(kind: EventKind, text: impl Into<String>) -> Self {
        Self::Event(Instant::now(), kind, text.into())
    }
}
