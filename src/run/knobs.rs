//! The values that can be turned while a run goes on.

use super::command::Knob;
use super::engine::Engine;
use super::snapshot::Knobs;
use crate::metrics::units;
use crate::model::EventKind;
use crate::scenario::Scenario;

/// The knobs as the scenario sets them.
pub(super) fn of(scenario: &Scenario) -> Knobs {
    let mut ttls = scenario
        .arms
        .iter()
        .filter(|arm| arm.lock.uses_nodes())
        .map(|arm| arm.ttl);
    let ttl = ttls.next().filter(|first| ttls.all(|ttl| ttl == *first));
    let hold = scenario.workload.about().live_time(&scenario.database).median;
    Knobs {
        ttl,
        workers: scenario.swarm.workers,
        rate: scenario.swarm.rate,
        hold,
    }
}

impl Engine {
    /// Turns a knob for all arms at once, and logs it.
    pub(super) fn turn(&mut self, knob: Knob) {
        let text = match knob {
            Knob::Ttl(ttl) => {
                self.swarm.live_settings.set_ttl(ttl);
                self.knobs.ttl = Some(ttl);
                format!("TTL {}", humantime::format_duration(ttl))
            }
            Knob::Workers(workers) => {
                for server in &self.swarm.servers {
                    server.set_workers(workers);
                }
                self.knobs.workers = workers;
                format!(
                    "{} workers on each app server for each arm",
                    units::count(workers as u64)
                )
            }
            Knob::Rate(rate) => {
                if self.knobs.rate.is_none() {
                    return;
                }
                self.swarm.load.set_rate(rate);
                self.knobs.rate = Some(rate);
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive rate")]
                let whole = rate.round() as u64;
                format!("{} requests a second for each arm", units::count(whole))
            }
            Knob::Hold(hold) => {
                self.swarm.live_settings.set_hold(hold);
                self.knobs.hold = hold;
                format!("median hold {}", humantime::format_duration(hold))
            }
        };
        self.log.push(EventKind::Knob, text);
    }
}
