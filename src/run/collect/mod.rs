//! What was done in each arm, as far as its recorders, its app servers and its ledger tell.

pub(crate) mod activity;
pub(crate) mod announce;
pub(crate) mod arm;
pub(crate) mod arm_history;
pub(crate) mod auditor;
pub(crate) mod availability;
pub(crate) mod collector;
pub(crate) mod curves;
mod evidence;
pub(crate) mod hold_audit;
pub(crate) mod live_swarm;
pub(crate) mod phases;
pub(crate) mod progress_limit;
mod server_hold;
pub(crate) mod takeovers;
pub(crate) mod totals;
