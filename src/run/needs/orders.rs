use super::cost;
use lockstorm_data::scenario::Scenario;

/// The assumed speed of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// The rate that is asked for; zero for a closed loop.
    Sure,
    /// The highest possible rate.
    Most,
}

/// Cycles of one arm in the whole run, warm-up included: from its rate, or from what its workers can do with their pauses,
/// up to the speed that a machine was seen to reach.
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
    // The fixed number of requests does not include those of the warm-up.
    let warm_up = (pace * scenario.warmup.as_secs_f64()) as u64;
    swarm
        .requests
        .map_or(cycles, |requests| cycles.min(requests.saturating_add(warm_up)))
}

/// Orders of one arm: at most one for each cycle, and at most as many as if all units were sold four times.
pub(super) fn orders(scenario: &Scenario, pace: Pace) -> u64 {
    let ledger = scenario.workload.ledger();
    ledger.map_or(0, |ledger| cycles(scenario, pace).min(ledger.units().saturating_mul(4)))
}
