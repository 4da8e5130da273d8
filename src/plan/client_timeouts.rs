use serde::Serialize;

use super::formulas::reliable;
use super::question::Question;
use super::setting::Setting;

/// The longest that the waiting for one node may take, as a part of the TTL.
const NODE_PART: f64 = 0.25;
/// The shortest time in seconds for which a node is waited for: a collection of garbage, a scheduler that is busy.
const LEAST_NODE: f64 = 0.005;

/// The timeouts of a client, in seconds, that fit to a setting.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClientTimeouts {
    /// For one node's answer: twice the round trip that one in 10,000 exceeds, at least 5 ms, and at most a quarter of the TTL, so
    /// that a silent node does not use up the validity.
    pub node: f64,
    /// Between two attempts: the median of a section, at least twice the median round trip and at most a tenth of the TTL. Add up to
    /// as much again at random.
    pub retry_delay: f64,
    /// Attempts after the first one that outlast a crashed holder: the TTL divided by the mean time from one attempt to the next.
    pub retries: u32,
    /// For the whole acquire: the TTL and what one more attempt takes.
    pub acquire: f64,
}

impl ClientTimeouts {
    /// The timeouts for this setting.
    #[must_use]
    pub fn of(question: &Question, setting: Setting) -> Self {
        let ttl = setting.ttl.as_secs_f64();
        let round_trip = &question.round_trip;
        let node = (2.0 * round_trip.quantile(0.9999))
            .max(LEAST_NODE)
            .min(NODE_PART * reliable(ttl));
        let least = (2.0 * round_trip.quantile(0.5)).max(0.001);
        let retry_delay = question.hold.quantile(0.5).min(ttl / 10.0).max(least);
        // Half of the jitter on average, and the round trip of the attempt itself.
        let between = 1.5 * retry_delay + round_trip.quantile(0.5);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "cut off at what a u32 holds"
        )]
        let retries = (ttl / between).ceil() as u32;
        Self {
            node,
            retry_delay,
            retries,
            acquire: ttl + 2.0 * retry_delay + node,
        }
    }
}
