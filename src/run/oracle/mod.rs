//! The only judges of invariants: what the ledger proves of an arm's stock (`stock`), and what holds that overlap prove of its lock
//! (`holds`; whether lost keys explain that, the law of `lockstorm-judge` says), in a history of a run that is over too (`past`), and in
//! what another program reported (`reported`).

pub mod holds;
pub mod past;
pub mod reported;
pub(crate) mod stock;
