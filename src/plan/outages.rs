use serde::Serialize;

use super::spread::Spread;

/// Times in which so many lock nodes can't be reached that no quorum answers: a cut network, a deployment, a failover.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outages {
    /// How many there are in a second.
    pub per_second: f64,
    /// How long they last.
    pub length: Spread,
}
