use serde::Serialize;

use super::formulas::{reliable, restart_delay};
use super::question::Question;
use super::setting::Setting;
use lockstorm_data::metrics::units::rounded;
use lockstorm_data::model::in_us;

/// The longest that the waiting for one node may take, as a part of the TTL.
const NODE_PART: f64 = 0.25;
/// The shortest time in seconds for which a node is waited for: a collection of garbage, a scheduler that is busy.
const LEAST_NODE: f64 = 0.005;
/// The part of the TTL for which it is waited anyway: a longer lock may forgive more.
const LEAST_PART: f64 = 0.01;
/// The least part of the TTL between two attempts: a scenario's lock has a million retries at most.
const LEAST_DELAY: f64 = 1e-6;

/// The timeouts of a client, in seconds, that fit to a setting; they are rounded up to whole milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ClientTimeouts {
    /// For one node's answer: twice the round trip that one in 10,000 exceeds, at least 5 ms and a hundredth of the TTL, and at most a
    /// quarter of it, so that a silent node does not use up the validity.
    #[serde(rename = "node_us", with = "in_us")]
    pub node: f64,
    /// Between two attempts: the median of a section, at most a tenth of the TTL and half of what it leaves of the takeover, and at
    /// least a millionth of the TTL and twice the median round trip. Add up to as much again at random.
    #[serde(rename = "retry_delay_us", with = "in_us")]
    pub retry_delay: f64,
    /// For the whole acquire: the time after which every lock of a crashed holder has expired ([`restart_delay`]), the longest delay,
    /// and one more attempt with what it gives back.
    #[serde(rename = "acquire_us", with = "in_us")]
    pub acquire: f64,
}

impl ClientTimeouts {
    /// The timeouts for this setting.
    pub fn of(question: &Question, setting: Setting) -> Self {
        let ttl = setting.ttl.as_secs_f64();
        let round_trip = &question.round_trip;
        let node = (2.0 * round_trip.quantile(0.9999))
            .max(LEAST_NODE)
            .max(LEAST_PART * ttl)
            .min(NODE_PART * reliable(ttl));
        let least = (2.0 * round_trip.quantile(0.5)).max(LEAST_DELAY * ttl);
        let left = question.goal.takeover.map_or(f64::INFINITY, |most| {
            // Rounded up, it would be more than what is left.
            (((most - ttl) / 2.0 * 1e6).round() / 1e3).floor() / 1e3
        });
        let retry_delay = question.hold.quantile(0.5).min(ttl / 10.0).min(left).max(least);
        let [node, retry_delay] = [whole(node), whole(retry_delay)];
        Self {
            node,
            retry_delay,
            acquire: whole(restart_delay(ttl)) + 2.0 * (retry_delay + node),
        }
    }
}

/// Rounded up to whole milliseconds, at least one. What a float is off by is not rounded up.
pub(super) fn whole(seconds: f64) -> f64 {
    ((seconds * 1e6).round() / 1e3).ceil().max(1.0) / 1e3
}

/// How many waits last for at least `time` together but for one time in 30,000, if each is equally likely any whole number of
/// milliseconds from `least` to `most`: the least n for which the mean of n waits less four standard deviations is this time, since
/// sums are about normal. The time of the attempts comes on top.
pub(super) fn waits(time: u64, [least, most]: [u64; 2]) -> u64 {
    let mean = (least + most) as f64 / 2.0;
    // The variance of an even draw from n whole numbers is (n² − 1) / 12.
    let deviation = (((most - least + 1) as f64).powi(2) - 1.0).max(0.0).sqrt() / 12_f64.sqrt();
    // n · mean − 4 · √n · deviation = time, solved for √n.
    let root = (2.0 * deviation + (4.0 * deviation * deviation + mean * time as f64).sqrt()) / mean;
    rounded((root * root).ceil())
}
