use lockstorm_data::facts::Caveat;
use lockstorm_data::metrics::{Consequence, Entry, Figures, Metric};
use lockstorm_data::scenario::{Expectation, Op, Scenario};

use super::{consequence, judged, place, scenario};
use crate::{ArmEvidence, Evidence, Outcome, Stage, judge};

/// The outcome of the arm at this position with these figures, which all arms have, and these caveats.
fn outcome_in(scenario: &Scenario, arm: usize, figures: &Figures, caveats: &[Caveat]) -> Outcome {
    let found = judged(scenario, figures, caveats);
    found.arms[arm].outcome
}

/// `failover` without what it expects and without faults.
fn plain(name: &str) -> Scenario {
    let mut scenario = scenario(name);
    scenario.expect.clear();
    scenario.faults.clear();
    scenario
}

/// The outcome of `single` in `failover`: of 100 orders, ten of which met another client.
fn outcome(change: impl FnOnce(&mut Figures), caveats: &[Caveat]) -> Outcome {
    let mut figures = Figures {
        ledger: [(Entry::Orders, 100)].into(),
        contested: 10,
        ..Figures::default()
    };
    change(&mut figures);
    let scenario = plain("failover");
    let single = scenario.arms.iter().position(|arm| arm.name == "single");
    outcome_in(&scenario, single.expect("an arm"), &figures, caveats)
}

#[test]
fn a_lock_is_broken_by_damage_or_by_protecting_too_little_and_a_doubt_comes_first() {
    let broken = [Outcome::Damage, Outcome::Stuck, Outcome::FreesLate, Outcome::Poor];
    assert!(broken.into_iter().all(Outcome::is_broken));
    let others = [Outcome::Control, Outcome::Held, Outcome::NotShown];
    assert!(!others.into_iter().any(Outcome::is_broken));
    let scenario = plain("failover");
    let doubt = |caveats: &[Caveat]| judged(&scenario, &Figures::default(), caveats).arms[0].doubt().cloned();
    assert_eq!(doubt(&[]), None);
    assert_eq!(doubt(&[STALLED]), Some(STALLED));
}

#[test]
fn an_arm_that_fails_an_expectation_is_not_met_and_one_without_what_was_predicted_is_not_shown() {
    let mut scenario = scenario("failover");
    scenario.faults.clear();
    let single = place(&scenario, "single");
    let expected = |metric: Metric, op: Op, bound: f64| Expectation {
        arm: "single".to_owned(),
        metric,
        op,
        bound,
        text: String::new(),
    };
    let mut figures = Figures {
        ledger: [(Entry::Orders, 100), (Entry::LostUpdatesPeak, 0)].into(),
        contested: 10,
        ..Figures::default()
    };
    let mut found = |expect: Vec<Expectation>, figures: &Figures| {
        scenario.expect = expect;
        let judged = judged(&scenario, figures, &[]);
        let arm = &judged.arms[single];
        (arm.outcome, arm.word(&scenario.workload))
    };
    assert_eq!(found(Vec::new(), &figures), (Outcome::Held, "safe"));
    let orders = expected(Metric::Orders, Op::AtLeast, 101.0);
    assert_eq!(found(vec![orders], &figures), (Outcome::NotShown, "not met"));
    // What was predicted is damage, or a fault that meets held locks: at least so much of it.
    let covered = |op| vec![expected(Metric::Covered, op, 5.0)];
    assert_ne!(found(covered(Op::AtLeast), &figures).0, Outcome::Held);
    assert_ne!(found(covered(Op::Greater), &figures).0, Outcome::Held);
    figures.covered = 6;
    assert_eq!(found(covered(Op::AtLeast), &figures).0, Outcome::Held);
    assert_eq!(found(covered(Op::Less), &figures).1, "not met");
}

#[test]
fn the_events_that_tested_a_lock_are_named_once_in_their_order() {
    let scenario = plain("failover");
    let of = |event| Consequence { event, ..consequence() };
    let figures = Figures {
        consequences: vec![of(Some(7)), of(None), of(Some(3)), of(Some(7))],
        ..Figures::default()
    };
    assert_eq!(judged(&scenario, &figures, &[]).arms[0].tested_by, [3, 7]);
}

const BROKE: Outcome = Outcome::Damage;
const STALLED: Caveat = Caveat::KeeperStopped;
const VOID: Caveat = Caveat::ClockStepped { by_ms: 100 };

#[test]
fn damage_in_the_ledger_stands_in_spite_of_a_doubt_unless_this_machine_may_have_done_it() {
    let of = |lost_by_stalls, caveat: Caveat| {
        let lost = |figures: &mut Figures| {
            (
                figures.ledger[Entry::LostUpdates],
                figures.ledger[Entry::LostUpdatesPeak],
            ) = (Some(3), Some(3));
            figures.lost_by_stalls = lost_by_stalls;
        };
        outcome(lost, &[caveat])
    };
    assert_eq!(of(2, STALLED), BROKE);
    assert_eq!(of(3, STALLED), Outcome::NotShown);
    assert_eq!(
        of(0, VOID),
        Outcome::NotShown,
        "the clock stepped, or the run stood still"
    );
}

#[test]
fn a_lock_held_only_if_damage_would_have_shown() {
    assert_eq!(outcome(|_| {}, &[]), Outcome::Held);
    let nothing = |figures: &mut Figures| figures.ledger[Entry::Orders] = Some(0);
    assert_eq!(outcome(nothing, &[]), Outcome::NotShown);
    assert_eq!(
        outcome(|figures| figures.contested = 0, &[]),
        Outcome::NotShown,
        "no two met"
    );
    assert_eq!(outcome(|figures| figures.stuck = Some(0), &[]), Outcome::Held);
    let stuck = |figures: &mut Figures| figures.stuck = Some(1);
    assert_eq!(outcome(stuck, &[]), Outcome::Stuck);
    assert_eq!(outcome(|_| {}, &[STALLED]), Outcome::NotShown);
    let lost = |figures: &mut Figures| figures.ledger[Entry::LostUpdatesPeak] = Some(1);
    assert_eq!(outcome(lost, &[]), BROKE);
    assert_eq!(outcome(|figures| figures.double_holds = 1, &[]), BROKE);
    let twice = |figures: &mut Figures| figures.double_holds = 1;
    assert_eq!(outcome(twice, &[STALLED]), BROKE, "two held it all the same");
    assert_eq!(outcome(twice, &[VOID]), Outcome::NotShown);
    // Two holders are worse than what else is wrong.
    let both = |figures: &mut Figures| (figures.double_holds, figures.stuck) = (1, Some(1));
    assert_eq!(outcome(both, &[]), BROKE);
}

#[test]
fn a_key_that_outlives_its_holder_is_no_damage_and_not_held() {
    let late = |figures: &mut Figures| {
        let mut late = consequence();
        late.kind = lockstorm_data::metrics::ConsequenceKind::OutlivedHolder {
            locks: 1,
            longest_us: 17_000_000,
        };
        figures.consequences.push(late);
    };
    assert_eq!(outcome(late, &[]), Outcome::FreesLate);
}

#[test]
fn a_cache_that_is_filled_more_often_than_once_is_poor_and_no_damage() {
    let scenario = plain("stampede");
    let arm = scenario
        .arms
        .iter()
        .position(|arm| arm.lock.uses_nodes())
        .expect("an arm");
    let of = |mean| {
        let mut figures = Figures {
            contested: 1,
            ..Figures::default()
        };
        (figures.db_hits_per_expiry.mean, figures.db_hits_per_expiry.expiries) = (mean, 9);
        outcome_in(&scenario, arm, &figures, &[])
    };
    assert_eq!((of(1.0), of(2.0)), (Outcome::Held, Outcome::Poor));
    // Two holders have cost that; a lock that nothing explains is broken altogether.
    let broken = |double_holds, law_violations| {
        let mut figures = Figures {
            contested: 1,
            double_holds,
            law_violations,
            ..Figures::default()
        };
        (figures.db_hits_per_expiry.mean, figures.db_hits_per_expiry.expiries) = (2.0, 9);
        outcome_in(&scenario, arm, &figures, &[])
    };
    assert_eq!((broken(5, 0), broken(5, 5)), (Outcome::Poor, Outcome::Damage));
    // Expiries that were late on a busy machine are not the lock's.
    let mut busy = Evidence {
        scenario: &scenario,
        stage: Stage::Ended,
        elapsed: 20.0,
        processor_wait: Some(0.3),
        used_by_others: None,
        caveats: &[],
        missing: &[],
        arms: Vec::new(),
    };
    let mut figures = Figures {
        contested: 1,
        ..Figures::default()
    };
    (figures.db_hits_per_expiry.mean, figures.db_hits_per_expiry.expiries) = (2.0, 9);
    busy.arms = vec![ArmEvidence::new(&figures); scenario.arms.len()];
    assert_eq!(judge(&busy).arms[arm].outcome, Outcome::NotShown);
}

#[test]
fn a_figure_of_damage_looks_as_its_outcome_does() {
    let scenario = plain("failover");
    let figures = Figures {
        ledger: [(Entry::Orders, 9), (Entry::LostUpdates, 3), (Entry::LostUpdatesPeak, 3)].into(),
        contested: 1,
        ..Figures::default()
    };
    for (caveat, stands) in [(STALLED, true), (VOID, false)] {
        let found = judged(&scenario, &figures, &[caveat]);
        let single = &found.arms[place(&scenario, "single")];
        let mark = single.mark(Metric::LostUpdates, &figures, false);
        assert_eq!(
            (single.outcome == BROKE, mark.is_damage(), mark.is_open()),
            (stands, stands, !stands)
        );
    }
}

#[test]
fn a_lock_for_which_no_two_clients_met_is_held_in_no_workload() {
    for name in ["failover", "job-twice", "payment", "stampede"] {
        let scenario = plain(name);
        let arm = scenario
            .arms
            .iter()
            .position(|arm| arm.lock.uses_nodes())
            .expect("an arm");
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
            outcome_in(&scenario, arm, &figures, &[])
        };
        assert_eq!((of(0), of(1)), (Outcome::NotShown, Outcome::Held), "{name}");
    }
}

#[test]
fn a_control_is_only_what_has_no_lock_beside_one_that_has() {
    let scenario = scenario("paused-client");
    let outcome = |name: &str| {
        let arm = scenario.arms.iter().position(|arm| arm.name == name).expect("an arm");
        outcome_in(&scenario, arm, &Figures::default(), &[])
    };
    assert_ne!(outcome("atomic"), Outcome::Control, "an atomic update needs no lock");
    let scenario = self::scenario("failover");
    let is_control = |arm: &lockstorm_data::scenario::ArmSpec| crate::is_control(&scenario, arm);
    let controls: Vec<&str> = scenario
        .arms
        .iter()
        .filter(|arm| is_control(arm))
        .map(|arm| arm.name.as_str())
        .collect();
    assert_eq!(controls, ["no lock"]);
    let mut alone = scenario.clone();
    alone.arms.retain(|arm| arm.name == "no lock");
    assert!(
        !crate::is_control(&alone, &alone.arms[0]),
        "there is nothing to compare it with"
    );
}

#[test]
fn what_no_fault_has_tested_or_has_not_met_what_the_scenario_predicts_is_not_shown() {
    // It predicts that the locks of redlock survive faults.
    let scenario = scenario("failover");
    let outcome = |figures: &Figures, name: &str| judged(&scenario, figures, &[]).arms[place(&scenario, name)].outcome;
    let mut figures = Figures {
        ledger: [(Entry::Orders, 100)].into(),
        contested: 10,
        covered: 10,
        ..Figures::default()
    };
    figures.outcomes.acquired = 100;
    assert_eq!(outcome(&figures, "redlock"), Outcome::NotShown, "no fault tested it");
    figures.consequences.push(consequence());
    assert_eq!(outcome(&figures, "redlock"), Outcome::Held);
    figures.covered = 0;
    assert_eq!(outcome(&figures, "redlock"), Outcome::NotShown);
}

#[test]
fn each_outcome_has_its_word_and_name() {
    let scenario = plain("failover");
    let mut figures = Figures {
        ledger: [(Entry::Orders, 100)].into(),
        contested: 10,
        ..Figures::default()
    };
    let of = |figures: &Figures, caveats: &[Caveat]| {
        let found = judged(&scenario, figures, caveats);
        let single = scenario.arms.iter().position(|arm| arm.name == "single");
        let judged = &found.arms[single.expect("an arm")];
        (judged.outcome, judged.word(&scenario.workload), judged.name())
    };
    assert_eq!(of(&figures, &[]), (Outcome::Held, "safe", "safe"));
    assert_eq!(
        of(&figures, &[STALLED]),
        (Outcome::NotShown, "inconclusive", "inconclusive")
    );
    figures.contested = 0;
    assert_eq!(of(&figures, &[]), (Outcome::NotShown, "not shown", "unproven"));
    figures.stuck = Some(1);
    assert_eq!(of(&figures, &[]), (Outcome::Stuck, "stuck", "poor"));
    figures.double_holds = 1;
    figures.stuck = None;
    assert_eq!(of(&figures, &[]), (Outcome::Damage, "UNSAFE", "unsafe"));
}
