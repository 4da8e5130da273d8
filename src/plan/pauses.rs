use serde::Serialize;

use super::spread::Spread;

/// The pauses of an app server: collections of garbage, a machine that is moved or overloaded, a suspended process.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pauses {
    /// How many there are in a second of one app server.
    pub per_second: f64,
    /// How long they last.
    pub length: Spread,
    /// Whether the holds were measured with them, so that they must not be added to sections whose lock is not renewed.
    pub in_holds: bool,
}
