//! The values that can be turned while a run goes on.

use crate::orders::command::Knob;
use crate::show::snapshot::Knobs;
use lockstorm_data::metrics::units;
use lockstorm_data::metrics::units::rounded;
use lockstorm_data::scenario::Scenario;

/// The knobs as the scenario sets them.
pub(crate) fn of(scenario: &Scenario) -> Knobs {
    let hold = scenario.workload.about().live_time(&scenario.database).median;
    Knobs {
        ttl: scenario
            .ttls()
            .filter(|[least, most]| least == most)
            .map(|[ttl, _]| ttl),
        workers: scenario.swarm.workers,
        rate: scenario.swarm.rate,
        hold,
        turns: 0,
    }
}

impl Knobs {
    /// Turns a knob for all arms at once. A closed loop has no rate, and gets none.
    pub fn turn(&mut self, knob: Knob) {
        self.turns += 1;
        match knob {
            Knob::Ttl(ttl) => self.ttl = Some(ttl),
            Knob::Workers(workers) => self.workers = workers,
            Knob::Rate(rate) => self.rate = self.rate.map(|_| rate),
            Knob::Hold(hold) => self.hold = hold,
        }
    }

    /// What it means to turn this knob from these values: `TTL 20 ms for all arms (was 50 ms to 2 s)`.
    pub fn meaning(&self, knob: Knob, scenario: &Scenario) -> String {
        match (knob, self.ttl, scenario.ttls()) {
            (Knob::Ttl(_), None, Some([least, most])) => format!(
                "{} for all arms (was {} to {})",
                short(knob),
                units::setting(least),
                units::setting(most)
            ),
            (Knob::Ttl(_), ..) => short(knob),
            (Knob::Workers(workers), ..) => format!(
                "{} on each app server for each arm",
                units::counted(workers as u64, "worker", "workers")
            ),
            (Knob::Rate(rate), ..) => format!(
                "{} a second for each arm",
                units::counted(whole(rate), "request", "requests")
            ),
            (Knob::Hold(_), ..) => format!("median {}", short(knob)),
        }
    }
}

/// `TTL 10 s`, `workers 5`, `rate 200/s`, `hold 2 ms`.
pub(crate) fn short(knob: Knob) -> String {
    match knob {
        Knob::Ttl(ttl) => format!("TTL {}", units::setting(ttl)),
        Knob::Workers(workers) => format!("workers {}", units::count(workers as u64)),
        Knob::Rate(rate) => format!("rate {}/s", units::count(whole(rate))),
        Knob::Hold(hold) => format!("hold {}", units::setting(hold)),
    }
}

fn whole(rate: f64) -> u64 {
    rounded(rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::scenario::{Overrides, Source, builtin, parse};
    use std::time::Duration;

    /// A scenario whose arms with lock nodes have these TTLs.
    fn scenario(ttls: [u64; 2]) -> Scenario {
        let name = "single-vs-redlock";
        let text = builtin::find(name).expect("it is built in").text.to_owned();
        let source = Source {
            name: name.to_owned(),
            text,
        };
        let mut scenario = parse(&source, &Overrides::default()).expect("a scenario");
        let arms = scenario.arms.iter_mut().filter(|arm| arm.lock.uses_nodes());
        for (arm, ttl) in arms.zip(ttls) {
            arm.ttl = Duration::from_millis(ttl);
        }
        scenario
    }

    #[test]
    fn arms_with_ttls_of_their_own_are_told_what_they_were() {
        let ttl = Knob::Ttl(Duration::from_millis(20));
        let own = scenario([2_000, 50]);
        let mut knobs = of(&own);
        assert_eq!(knobs.ttl, None);
        assert_eq!(knobs.meaning(ttl, &own), "TTL 20 ms for all arms (was 50 ms to 2 s)");
        knobs.turn(ttl);
        let next = Knob::Ttl(Duration::from_secs(10));
        assert_eq!(knobs.meaning(next, &own), "TTL 10 s", "they have one TTL now");

        let same = scenario([2_000, 2_000]);
        assert_eq!(of(&same).ttl, Some(Duration::from_secs(2)));
        assert_eq!(of(&same).meaning(ttl, &same), "TTL 20 ms");
    }

    #[test]
    fn each_knob_has_its_words() {
        let scenario = scenario([2_000, 2_000]);
        let said = [
            Knob::Hold(Duration::from_micros(500)),
            Knob::Rate(1_000.0),
            Knob::Workers(5),
            Knob::Workers(1),
        ]
        .map(|knob| of(&scenario).meaning(knob, &scenario));
        assert_eq!(
            said,
            [
                "median hold 0.5 ms",
                "1,000 requests a second for each arm",
                "5 workers on each app server for each arm",
                "1 worker on each app server for each arm"
            ]
        );
    }
}
