use super::cost;
use crate::scenario::Scenario;

/// How fast the load is taken to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// As it is asked for; a closed loop is not asked for any.
    Sure,
    /// As fast as it may become.
    Most,
}

/// Cycles of one arm in the whole run, warm-up included: its rate, or what its workers can do at their pauses, as far as a
/// machine was seen to go.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate, never negative"
)]
pub(super) fn cycles(scenario: &Scenario, pace: Pace) -> u64 {
    if pace == Pace::Sure && scenario.swarm.rate.is_none() {
        return 0;
    }
    let swarm = &scenario.swarm;
    let workers = (swarm.servers * swarm.workers) as f64;
    let hold = scenario.workload.about().section().hold.mean();
    let pause = swarm.think.as_secs_f64() + scenario.database.read.mean() + hold;
    let pace = swarm.rate.unwrap_or(workers / pause.max(1e-6)).min(cost::MOST_CYCLES);
    let seconds = (scenario.duration + scenario.warmup).as_secs_f64();
    let cycles = (pace * seconds).ceil() as u64;
    // The warm-up's requests are not among those.
    let warm_up = (pace * scenario.warmup.as_secs_f64()) as u64;
    swarm
        .requests
        .map_or(cycles, |requests| cycles.min(requests.saturating_add(warm_up)))
}

/// Orders of one arm: not more than it has cycles, nor many more than there are units, were they all sold four times.
pub(super) fn orders(scenario: &Scenario, pace: Pace) -> u64 {
    let ledger = scenario.workload.ledger();
    ledger.map_or(0, |ledger| cycles(scenario, pace).min(ledger.units().saturating_mul(4)))
}
