//! Whether a lock held, and what it cost.

use crate::report::columns::{Arm, Mark, judge, written};
use lockstorm_data::metrics::{Alarm, Consequence, ConsequenceKind, Metric};
use lockstorm_data::scenario::{ArmSpec, Expectation, LockKind, Op, Scenario, Update, WorkloadSpec};

/// Whether an arm's lock held. JSON has its variants' names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Verdict {
    /// It has no lock: it shows what a lock is there for.
    Control,
    /// No two held it, and there is no damage; both would have shown.
    Safe,
    /// Two held it at once, or there is damage.
    Unsafe,
    /// It protected too little, without damage.
    Poor(&'static str),
    /// Nothing that was seen proves anything.
    Unproven,
    /// What this machine did to the run, or what could not be read, may be all that shows.
    Inconclusive,
}

impl Verdict {
    /// The verdict on an arm.
    pub fn of(arm: &Arm<'_>, is_control: bool, workload: &WorkloadSpec) -> Self {
        let display = workload.about().display();
        // What is in the books stands, but for what this machine may have done itself.
        let stands = |metric: &Metric| {
            !arm.is_doubted || arm.damage_stands && metric.by_stalls(arm.figures) < metric.of(arm.figures)
        };
        let is_hit = |metric: &Metric| metric.is_proven(arm.figures) && stands(metric);
        let outlived = |one: &Consequence| matches!(one.kind, ConsequenceKind::OutlivedHolder { .. });
        // A figure without damage proves nothing if damage would not be visible.
        let has_damage = display.verdicts.iter().any(|metric| metric.is_damage());
        let shows = |metric: &Metric| judge(*metric, arm) == Mark::Good && (metric.is_damage() || !has_damage);
        let is_contested = arm.nodes == 0 || arm.figures.was_contested();
        let marks = || display.verdicts.iter().map(|metric| judge(*metric, arm));
        if is_control {
            Self::Control
        } else if display.verdicts.iter().any(is_hit) {
            Self::Unsafe
        } else if arm.is_doubted {
            Self::Inconclusive
        } else if arm.figures.stuck.is_some_and(|stuck| stuck > 0) {
            Self::Poor("stuck")
        } else if arm.figures.consequences.iter().any(outlived) {
            Self::Poor("frees late")
        } else if marks().any(|mark| mark == Mark::Poor) {
            Self::Poor(display.words.poor)
        } else if Metric::proven(arm.figures).next().is_some() {
            Self::Unsafe
        } else if display.verdicts.iter().any(shows) && is_contested && !arm.is_untested {
            Self::Safe
        } else {
            Self::Unproven
        }
    }

    /// Its mark.
    pub const fn mark(self) -> Mark {
        match self {
            Self::Control => Mark::Plain,
            Self::Safe => Mark::Good,
            Self::Unsafe => Mark::Damage,
            Self::Poor(_) => Mark::Poor,
            Self::Unproven | Self::Inconclusive => Mark::Pending,
        }
    }

    /// It in a word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Safe => "safe",
            Self::Unsafe => "UNSAFE",
            Self::Poor(word) => word,
            Self::Unproven => "not shown",
            Self::Inconclusive => "inconclusive",
        }
    }
}

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

/// Whether an arm is there to show what happens without a lock.
pub(crate) fn is_control(scenario: &Scenario, arm: usize) -> bool {
    let is_bare = |spec: &ArmSpec| spec.lock == LockKind::None && spec.update != Update::Atomic;
    let compared = scenario.arms.iter().any(|spec| !is_bare(spec));
    compared && scenario.arms.get(arm).is_some_and(is_bare)
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

    fn verdict(of: impl FnOnce(&mut Figures), is_doubted: bool) -> Verdict {
        let scenario = scenario("failover");
        let mut figures = Figures {
            ledger: [(Entry::Orders, 100)].into(),
            contested: 10,
            ..Figures::default()
        };
        of(&mut figures);
        let arm = Arm {
            is_doubted,
            damage_stands: false,
            ..Arm::of_figures(&figures)
        };
        Verdict::of(&arm, false, &scenario.workload)
    }

    #[test]
    fn damage_in_the_books_stands_in_spite_of_a_doubt_unless_this_machine_may_have_done_it() {
        let scenario = scenario("failover");
        let verdict = |lost_by_stalls, damage_stands| {
            let figures = Figures {
                ledger: [
                    (Entry::Orders, 100),
                    (Entry::LostUpdates, 3),
                    (Entry::LostUpdatesPeak, 3),
                ]
                .into(),
                lost_by_stalls,
                ..Figures::default()
            };
            let arm = Arm {
                is_doubted: true,
                damage_stands,
                ..Arm::of_figures(&figures)
            };
            Verdict::of(&arm, false, &scenario.workload)
        };
        assert_eq!(verdict(2, true), Verdict::Unsafe);
        assert_eq!(verdict(3, true), Verdict::Inconclusive);
        assert_eq!(
            verdict(0, false),
            Verdict::Inconclusive,
            "the clock stepped, or the run stood still"
        );
    }

    #[test]
    fn a_lock_is_safe_only_if_damage_would_have_shown() {
        assert_eq!(verdict(|_| {}, false), Verdict::Safe);
        assert_eq!(
            verdict(|figures| figures.ledger[Entry::Orders] = Some(0), false),
            Verdict::Unproven
        );
        assert_eq!(
            verdict(|figures| figures.contested = 0, false),
            Verdict::Unproven,
            "no two met"
        );
        assert_eq!(verdict(|figures| figures.stuck = Some(0), false), Verdict::Safe);
        assert_eq!(
            verdict(|figures| figures.stuck = Some(1), false),
            Verdict::Poor("stuck")
        );
        assert_eq!(verdict(|_| {}, true), Verdict::Inconclusive);
        assert_eq!(
            verdict(|figures| figures.ledger[Entry::LostUpdatesPeak] = Some(1), false),
            Verdict::Unsafe
        );
        assert_eq!(verdict(|figures| figures.double_holds = 1, false), Verdict::Unsafe);
        assert_eq!(
            verdict(|figures| figures.double_holds = 1, true),
            Verdict::Inconclusive,
            "a run that stood still proves nothing"
        );
    }

    #[test]
    fn a_lock_for_which_no_two_clients_met_is_safe_in_no_workload() {
        for name in ["failover", "job-twice", "payment", "stampede"] {
            let workload = scenario(name).workload;
            let of = |contested| {
                let mut figures = Figures {
                    ledger: [Entry::Orders, Entry::Runs, Entry::Payments]
                        .map(|entry| (entry, 100))
                        .into(),
                    offered: 100,
                    answered: 100,
                    contested,
                    ..Figures::default()
                };
                (figures.db_hits_per_expiry.mean, figures.db_hits_per_expiry.expiries) = (1.0, 9);
                Verdict::of(&Arm::of_figures(&figures), false, &workload)
            };
            assert_eq!((of(0), of(1)), (Verdict::Unproven, Verdict::Safe), "{name}");
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
