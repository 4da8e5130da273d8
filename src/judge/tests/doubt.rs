use std::time::Duration;

use lockstorm_data::facts::{Caveat, NotProven};
use lockstorm_data::metrics::Entry;
use lockstorm_data::metrics::{Count, Figures, Metric, Quantiles};
use lockstorm_data::scenario::{Expectation, Op};

use super::{judged, place, scenario};
use crate::doubt::{busy, by_stalls, is_void, other_load, rate_not_kept, shared, too_many_failed, untested};
use crate::{ArmEvidence, Evidence, judge};

#[test]
fn a_machine_that_holds_sections_up_is_too_busy_if_that_did_damage() {
    let figures = |stalled, lost, lost_by_stalls| Figures {
        counts: [(Count::Stalled, stalled)].into(),
        ledger: [(Entry::LostUpdates, lost), (Entry::LostUpdatesPeak, lost)].into(),
        lost_by_stalls,
        ..Figures::default()
    };
    assert_eq!(by_stalls("redlock", &figures(2, 0, 2), false), None, "nothing was lost");
    assert_eq!(by_stalls("redlock", &figures(0, 3, 0), false), None, "the lock lost it");
    assert_eq!(
        by_stalls("redlock", &figures(2, 5, 4), false),
        None,
        "the lock lost one of them"
    );
    assert_eq!(
        by_stalls("redlock", &figures(2, 3, 4), false)
            .map(|caveat| caveat.to_string())
            .as_deref(),
        Some(
            "redlock: 2 sections outlasted their lock because this machine stalled them; this may explain up to 3 of its lost updates: it \
             is too busy for a verdict"
        )
    );
    let stopped = by_stalls("redlock", &figures(2, 3, 4), true)
        .expect("it is in doubt")
        .to_string();
    assert!(
        stopped.contains("a stop of this program stalled them") && !stopped.contains("busy"),
        "{stopped}"
    );
}

#[test]
fn a_rate_that_was_not_kept_is_told_from_one_percent_on_and_is_a_doubt_from_ten_unless_it_is_expected() {
    let figures = |never_begun| Figures {
        counts: [(Count::Completed, 1_000 - never_begun)].into(),
        offered: 1_000,
        never_begun,
        ..Figures::default()
    };
    let doubt = |never_begun, expect: &[Expectation]| other_load("single", &figures(never_begun), expect);
    assert_eq!(rate_not_kept("single", &figures(10)), None);
    assert_eq!(
        rate_not_kept("single", &figures(11))
            .map(|caveat| caveat.to_string())
            .as_deref(),
        Some(
            "single: 11 of 1,000 requests (1.1 %) were due and never begun, since no worker was free: times and percentiles cover only \
             the 989 that ended. Lower the rate, or add workers"
        )
    );
    assert_eq!(doubt(100, &[]), None);
    assert!(doubt(101, &[]).is_some());
    let mut expected = Expectation {
        arm: "single".to_owned(),
        metric: Metric::NeverBegun,
        op: Op::Greater,
        bound: 50.0,
        text: "> 50".to_owned(),
    };
    assert_eq!(doubt(900, &[expected.clone()]), None);
    expected.metric = Metric::Offered;
    assert!(doubt(900, &[expected]).is_some());
    assert_eq!(rate_not_kept("single", &Figures::default()), None);
    // Those that had not ended when the run did are not among the times either.
    let open = Figures {
        unfinished: 101,
        never_begun: 0,
        ..figures(101)
    };
    let why = "single: 101 of 1,000 requests (10 %) still waited at the end of the run: times and percentiles cover only the 899 that ended";
    assert_eq!(
        rate_not_kept("single", &open)
            .map(|caveat| caveat.to_string())
            .as_deref(),
        Some(why)
    );
    // The load was the one that was asked for.
    assert_eq!(other_load("single", &open, &[]), None);
}

#[test]
fn more_than_one_failure_in_a_hundred_is_a_doubt_unless_failures_are_expected() {
    let figures = |errors| Figures {
        counts: [(Count::Completed, 1_000), (Count::Errors, errors)].into(),
        ..Figures::default()
    };
    let doubt = |errors, expect: &[Expectation]| failures(&figures(errors), expect);
    assert_eq!(doubt(0, &[]), None);
    assert_eq!(doubt(10, &[]), None);
    assert_eq!(
        doubt(11, &[]).map(|caveat| caveat.to_string()).as_deref(),
        Some("none: 11 of 1,000 requests failed, the first: disk full")
    );
    let mut expected = Expectation {
        arm: "none".to_owned(),
        metric: Metric::Errors,
        op: Op::Less,
        bound: 500.0,
        text: "< 500".to_owned(),
    };
    assert_eq!(doubt(11, &[expected.clone()]), None);
    expected.arm = "other".to_owned();
    assert!(doubt(11, &[expected]).is_some());
    assert_eq!(failures(&Figures::default(), &[]), None);
}

/// What casts doubt on `redlock` in `failover`, with empty figures.
fn doubts_of(caveats: &[Caveat]) -> Vec<Caveat> {
    let scenario = scenario("failover");
    let mut arms = judged(&scenario, &Figures::default(), caveats).arms;
    arms.swap_remove(place(&scenario, "redlock")).doubts
}

/// The doubt of too many failures, of the arm `none`.
fn failures(figures: &Figures, expect: &[Expectation]) -> Option<Caveat> {
    let mut arm = scenario("failover").arms.remove(0);
    "none".clone_into(&mut arm.name);
    let evidence = ArmEvidence {
        first_error: Some("disk full"),
        ..ArmEvidence::new(figures)
    };
    too_many_failed(&arm, &evidence, expect)
}

#[test]
fn what_is_lost_comes_before_what_voids_and_that_before_what_is_about_one_arm() {
    let database = |arm: &str| Caveat::DatabaseLost {
        arm: arm.to_owned(),
        quoted: "gone".to_owned(),
    };
    let stepped = Caveat::ClockStepped { by_ms: 120 };
    let all = [
        Caveat::KeeperResumed,
        database("redlock"),
        database("single"),
        stepped.clone(),
        Caveat::KeeperStopped,
        Caveat::KeeperStopped,
    ];
    let found = doubts_of(&all);
    assert_eq!(found, [Caveat::KeeperStopped, stepped, database("redlock")]);
}

#[test]
fn an_unmet_fault_and_what_a_program_did_not_report_are_doubts_about_all_arms() {
    let unmet = Caveat::FaultUnmet {
        fault: 1,
        why: lockstorm_data::facts::Unmet::WaitedFor { other: 2 },
    };
    assert_eq!(doubts_of(&[Caveat::NoEvents, unmet.clone()]), [unmet, Caveat::NoEvents]);
}

#[test]
fn a_stop_of_the_program_voids_a_run_only_if_locks_expired_meanwhile() {
    let stopped = |is_long| Caveat::ProgramStopped {
        time: std::time::Duration::from_secs(2),
        is_long,
    };
    assert!(is_void(&stopped(true)) && !is_void(&stopped(false)));
    assert_eq!(doubts_of(&[stopped(false)]), []);
}

#[test]
fn only_the_loss_of_the_cache_makes_a_change_of_a_node_a_doubt() {
    let changed = |loses_cache| Caveat::NodeChanged {
        node: "the cache node".to_owned(),
        change: lockstorm_data::facts::NodeChange::Killed,
        unavailable: Vec::new(),
        loses_cache,
    };
    assert_eq!(doubts_of(&[changed(false)]), []);
    assert_eq!(doubts_of(&[changed(true)]), [changed(true)]);
}

#[test]
fn stalls_are_the_machines_unless_a_signal_had_stopped_the_program() {
    let scenario = scenario("flash-sale");
    let figures = Figures {
        counts: [(Count::Stalled, 2), (Count::Completed, 10)].into(),
        ledger: [(Entry::LostUpdates, 3), (Entry::LostUpdatesPeak, 3)].into(),
        lost_by_stalls: 3,
        ..Figures::default()
    };
    let stopped = Caveat::ProgramStopped {
        time: Duration::from_millis(300),
        is_long: false,
    };
    for (caveats, expected) in [(&[][..], false), (&[stopped][..], true)] {
        let judged = judged(&scenario, &figures, caveats);
        let by_signal = judged.arms[0].doubts.iter().find_map(|doubt| match doubt {
            Caveat::DamageByStalls { is_stopped, .. } => Some(*is_stopped),
            _ => None,
        });
        assert_eq!(by_signal, Some(expected));
    }
}

#[test]
fn a_machine_is_shared_if_other_programs_used_more_than_a_third_of_it_for_some_seconds() {
    let percent = |part, elapsed| match shared(part, elapsed) {
        Some(Caveat::MachineShared { percent }) => Some(percent),
        _ => None,
    };
    assert_eq!(percent(None, 20.0), None);
    assert_eq!([0.33, 0.331].map(|part| percent(Some(part), 20.0)), [None, Some(33)]);
    assert_eq!(
        [3.49, 3.5].map(|elapsed| percent(Some(0.73), elapsed)),
        [None, Some(73)]
    );
    let scenario = scenario("waiters");
    let figures = Figures {
        acquire_us: Quantiles {
            count: 1,
            max: 6_000_001,
            ..Quantiles::default()
        },
        ..Figures::default()
    };
    let evidence = Evidence {
        used_by_others: Some(0.73),
        ..super::evidence(&scenario, &figures, &[])
    };
    let reasons = judge(&evidence)
        .expectations
        .into_iter()
        .filter_map(|checked| checked.reason);
    let shared = Caveat::MachineShared { percent: 73 };
    let is_it = |reason: NotProven| matches!(reason, NotProven::Doubted { caveat, .. } if caveat == shared);
    assert!(
        reasons.filter(|reason| is_it(reason.clone())).count() > 0,
        "it reaches the expectations"
    );
}

#[test]
fn a_machine_is_too_busy_only_if_app_servers_waited_for_more_than_two_percent_of_some_seconds() {
    let percent = |part, elapsed| match busy(part, elapsed) {
        Some(Caveat::MachineBusy { percent }) => Some(percent),
        _ => None,
    };
    assert_eq!(percent(Some(0.3), 20.0), Some(30));
    assert_eq!(percent(Some(0.3), 3.5), Some(30));
    assert_eq!(percent(Some(0.3), 3.4), None);
    assert_eq!(percent(Some(0.02), 20.0), None);
    assert_eq!(percent(None, 20.0), None);
}

#[test]
fn no_fault_tested_a_lock_if_none_had_a_consequence_and_one_was_to() {
    let mut scenario = scenario("failover");
    let (none, mut some) = (Figures::default(), Figures::default());
    some.consequences.push(super::consequence());
    let arms = scenario.arms.len();
    let of =
        |scenario: &lockstorm_data::scenario::Scenario, figures: Vec<&Figures>| untested(scenario, figures.into_iter());
    assert_eq!(of(&scenario, vec![&none; arms]), Some(Caveat::Untested));
    let mut one = vec![&none; arms];
    one[1] = &some;
    assert_eq!(of(&scenario, one), None);
    let damaged = Figures {
        double_holds: 1,
        ..Figures::default()
    };
    let mut one = vec![&none; arms];
    one[1] = &damaged;
    assert_eq!(of(&scenario, one), None, "something has tested it");
    scenario.faults.clear();
    assert_eq!(of(&scenario, vec![&none; arms]), None, "none was to");
}

#[test]
fn an_update_that_was_lost_and_made_up_for_is_not_explained_by_stalls_that_there_were_not() {
    let figures = |lost_by_stalls| Figures {
        ledger: [(Entry::LostUpdates, 0), (Entry::LostUpdatesPeak, 3)].into(),
        lost_by_stalls,
        ..Figures::default()
    };
    assert_eq!(by_stalls("single", &figures(0), false), None);
    assert_eq!(by_stalls("single", &figures(2), false), None, "one is the lock's");
    assert!(by_stalls("single", &figures(3), false).is_some());
}
