//! What remains of a run, and what it proves.

pub(crate) mod doubt;
pub(crate) mod expect;
pub(crate) mod flaws;
pub(crate) mod journal;
pub(crate) mod record;
pub(crate) mod recovered;
mod reported;
