//! What a lock cost, and in which order locks are shown.

use crate::report::columns::{Arm, Mark, judge, written};
use lockstorm_data::metrics::{Alarm, Metric};
use lockstorm_data::scenario::{Expectation, Op, Scenario, WorkloadSpec};

/// What an arm's lock cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cost {
    pub mark: Mark,
    /// The figure of the column, or the name of other damage. Other damage has no number here: the column's own figure, which may be
    /// smaller, would replace it later, and a number of damage must not fall.
    pub value: String,
}

/// What an arm cost by the figure of the column, or that its workload has other damage if it has only that.
pub(crate) fn cost(metric: Metric, arm: &Arm<'_>, workload: &WorkloadSpec) -> Cost {
    let mark = judge(metric, arm);
    let verdicts = workload.about().display().verdicts.iter().copied();
    let proven = |one: &Metric| one.is_proven(arm.figures);
    let mut others = verdicts.filter(|_| !matches!(mark, Mark::Damage | Mark::Poor));
    match others.find(proven) {
        Some(other) => Cost {
            mark: Mark::Damage,
            value: other.title().to_owned(),
        },
        None => Cost {
            mark,
            // What was made up for later was lost all the same, and a figure that falls looks like a repair.
            value: written(metric.peak(), arm).unwrap_or_else(|| "–".to_owned()),
        },
    }
}

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
    use lockstorm_data::metrics::{Entry, Figures};
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

    #[test]
    fn damage_of_another_kind_than_the_column_counts_has_its_name_and_no_number_that_could_fall() {
        let workload = scenario("failover").workload;
        let told = |figures: &Figures| cost(Metric::Oversold, &Arm::of_figures(figures).narrow(), &workload);
        let mut figures = Figures {
            ledger: [(Entry::Orders, 9), (Entry::LostUpdates, 4), (Entry::LostUpdatesPeak, 4)].into(),
            ..Figures::default()
        };
        let lost = told(&figures);
        assert_eq!((lost.mark, lost.value.as_str()), (Mark::Damage, "lost updates"));
        figures.ledger[Entry::Oversold] = Some(2);
        assert_eq!(told(&figures).value, "2");
    }
}
