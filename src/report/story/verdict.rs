//! What a scenario is about, and in which order its locks are shown.

use lockstorm_data::metrics::{Alarm, Metric};
use lockstorm_data::scenario::{Expectation, Op, Scenario};

/// What the column of costs counts: of a scenario that is about damage, that which its workload knows at once.
pub(crate) fn counted(scenario: &Scenario) -> Metric {
    let (headline, cost) = (headline(scenario), scenario.workload.about().display().cost);
    if headline.is_damage() && cost.is_damage() {
        cost
    } else {
        headline
    }
}

/// Whether the arm at this position is there to show what happens without a lock.
pub(crate) fn is_control(scenario: &Scenario, arm: usize) -> bool {
    let spec = scenario.arms.get(arm);
    spec.is_some_and(|spec| lockstorm_judge::is_control(scenario, spec))
}

/// The arms by their positions in the order in which they are shown: first those of which the scenario expects no damage, then the
/// others, at the end those without a lock. It is the same from the beginning to the end.
pub(crate) fn order(scenario: &Scenario) -> Vec<usize> {
    let is_to_hold = |name: &str| {
        let of_arm = || scenario.expect.iter().filter(|expected| expected.arm == name);
        let (mut holds, mut breaks) = (false, false);
        for Expectation { metric, op, bound, .. } in of_arm() {
            match (metric.row().alarm, op) {
                (Alarm::Damage(_) | Alarm::Poor(_), Op::AtLeast | Op::Greater) => breaks = true,
                (Alarm::Damage(_), Op::Equal) => holds |= *bound == 0.0,
                (Alarm::Poor(_), Op::Equal | Op::AtMost | Op::Less) => holds = true,
                _ => {}
            }
        }
        holds && !breaks
    };
    let rank = |arm: &usize| match &scenario.arms[*arm] {
        _ if is_control(scenario, *arm) => 2,
        spec if is_to_hold(&spec.name) => 0,
        _ => 1,
    };
    let mut all: Vec<usize> = (0..scenario.arms.len()).collect();
    all.sort_by_key(rank);
    all
}

/// The figure that a scenario is about: its first verdict with an expectation, or otherwise that of the workload.
pub(crate) fn headline(scenario: &Scenario) -> Metric {
    let expected = scenario
        .expect
        .iter()
        .find_map(|expectation| expectation.metric.headline());
    expected.unwrap_or_else(|| scenario.workload.about().display().headline())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::scenario::{Overrides, Source, parse};

    fn scenario(name: &str) -> Scenario {
        let source = Source::open(name).expect("it is built in");
        parse(&source, &Overrides::default()).expect("it is valid")
    }

    #[test]
    fn a_scenario_is_about_what_it_expects_or_else_about_its_workload() {
        for (name, metric, own) in [
            ("flash-sale", Metric::Oversold, Metric::Oversold),
            ("quorum-loss", Metric::RefusedSeconds, Metric::Oversold),
            ("stampede", Metric::DbHitsPerExpiry, Metric::DbHitsPerExpiry),
            ("paged-list", Metric::DuplicatePages, Metric::DuplicatePages),
        ] {
            let mut scenario = scenario(name);
            assert_eq!(headline(&scenario), metric, "{name}");
            scenario.expect.clear();
            assert_eq!(headline(&scenario), own, "{name}");
        }
    }

    #[test]
    fn locks_that_are_to_hold_come_first_and_what_has_no_lock_last() {
        let names = |name: &str| {
            let scenario = scenario(name);
            let named = order(&scenario).into_iter().map(|arm| scenario.arms[arm].name.clone());
            named.collect::<Vec<_>>()
        };
        assert_eq!(
            names("failover"),
            [
                "redlock",
                "single",
                "sentinel",
                "sentinel wait 2",
                "stays on host 1",
                "no lock"
            ]
        );
        // An atomic update needs no lock.
        assert_eq!(names("paused-client").first().map(String::as_str), Some("atomic"));
    }
}
