//! The values that can be turned while a run goes on.

use crate::orders::command::Knob;
use crate::show::snapshot::Knobs;
use lockstorm_data::facts::Turn;
use lockstorm_data::metrics::in_micros;
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

    /// Turning this knob from these values.
    pub fn turn_of(&self, knob: Knob, scenario: &Scenario) -> Turn {
        match knob {
            Knob::Ttl(ttl) => Turn::Ttl {
                ttl,
                were_us: scenario
                    .ttls()
                    .filter(|_| self.ttl.is_none())
                    .map(|ttls| ttls.map(in_micros)),
            },
            Knob::Workers(workers) => Turn::Workers { workers },
            Knob::Rate(rate) => Turn::Rate { rate },
            Knob::Hold(median) => Turn::Hold { median },
        }
    }
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
        assert_eq!(
            knobs.turn_of(ttl, &own).to_string(),
            "TTL 20 ms for all arms (was 50 ms to 2 s)"
        );
        knobs.turn(ttl);
        let next = Knob::Ttl(Duration::from_secs(10));
        assert_eq!(
            knobs.turn_of(next, &own).to_string(),
            "TTL 10 s",
            "they have one TTL now"
        );

        let same = scenario([2_000, 2_000]);
        assert_eq!(of(&same).ttl, Some(Duration::from_secs(2)));
        assert_eq!(of(&same).turn_of(ttl, &same).to_string(), "TTL 20 ms");
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
        .map(|knob| of(&scenario).turn_of(knob, &scenario).to_string());
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
