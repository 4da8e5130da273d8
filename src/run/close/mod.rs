//! What remains of a run, and what it proves.

pub(crate) mod journal;
pub(crate) mod record;
pub(crate) mod recovered;
mod reported;
