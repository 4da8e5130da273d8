use std::time::Duration;

use crate::model::{Action, Target};

/// What the console, a test or a signal handler can tell a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Do this to that, now.
    Fault {
        /// What.
        action: Action,
        /// To whom.
        target: Target,
    },
    /// Turn a knob.
    Turn(Knob),
    /// End the load now, read the ledger, finish.
    Stop,
}

/// A knob and its new value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Knob {
    /// TTL of every lock arm.
    Ttl(Duration),
    /// Workers on each app server for each arm.
    Workers(usize),
    /// Requests a second for each arm; only in an open loop.
    Rate(f64),
    /// Median of the hold time (`inventory`) or of the provider's time (`cache-fill`).
    Hold(Duration),
}
