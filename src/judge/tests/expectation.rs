use std::time::Duration;

use lockstorm_data::facts::{Caveat, CheckedExpectation, Unmet};
use lockstorm_data::metrics::{Count, Entry, Figures, Metric, Outage, Quantiles, Time};
use lockstorm_data::model::CheckResult;
use lockstorm_data::scenario::{Expectation, Op};

/// What is said of an expectation of `redlock`, with these figures and doubts.
#[expect(clippy::needless_pass_by_value, reason = "shorter where it is called")]
fn check((metric, op, bound): (Metric, Op, f64), figures: Figures, doubts: &[Caveat]) -> CheckedExpectation {
    let expectation = Expectation {
        arm: "redlock".to_owned(),
        metric,
        op,
        bound,
        text: format!("{} {bound}", op.sign()),
    };
    crate::expectation::check(&expectation, &figures, doubts.iter(), END.as_secs_f64())
}

/// When the load ended.
const END: Duration = Duration::from_secs(20);

fn judge(oversold: u64, lost_updates: u64, sold_out_all: bool, doubts: &[Caveat]) -> CheckedExpectation {
    let figures = Figures {
        ledger: [
            (Entry::Oversold, oversold),
            (Entry::LostUpdates, lost_updates),
            (Entry::LostUpdatesPeak, lost_updates),
            (Entry::Orders, 1),
        ]
        .into(),
        sold_out_all,
        contested: 1,
        ..Figures::default()
    };
    check((Metric::Oversold, Op::Equal, 0.0), figures, doubts)
}

/// One of each kind: nothing stands; damage does; what is too much does; of that, what a fault can only add to; what is decided does; what held
/// and damage do; everything does.
const DOUBTS: [Caveat; 7] = [
    Caveat::ClockStepped { by_ms: 120 },
    Caveat::KeeperStopped,
    Caveat::RateNotKept {
        arm: String::new(),
        never_begun: 900,
        waiting: 0,
        offered: 1_000,
        ended: 100,
    },
    Caveat::FaultUnmet {
        fault: 1,
        why: Unmet::WaitedFor { other: 2 },
    },
    Caveat::StoppedEarly,
    Caveat::MachineBusy { percent: 30 },
    Caveat::DamageByStalls {
        arm: String::new(),
        sections: 1,
        figure: Metric::LostUpdates,
        up_to: 0,
        is_stopped: false,
    },
];

/// Each kind of expectation, and which of the doubts leave its result standing.
#[test]
fn each_doubt_leaves_what_it_can_not_explain_and_none_hides_another() {
    let figures = Figures {
        ledger: [
            (Entry::Oversold, 3),
            (Entry::LostUpdates, 3),
            (Entry::LostUpdatesPeak, 3),
            (Entry::Orders, 10),
        ]
        .into(),
        throughput: 10.0,
        contested: 1,
        sold_out_all: true,
        acquire_us: Quantiles {
            count: 10,
            p99: 10,
            ..Quantiles::default()
        },
        ..Figures::default()
    };
    #[rustfmt::skip]
    let table = [
        // Damage: an upper bound that is broken stays so, one that holds may break later, and too little may grow.
        (Metric::Oversold, Op::Equal, 0.0, CheckResult::Failed, [false, true, true, true]),
        (Metric::LostUpdates, Op::AtMost, 2.0, CheckResult::Failed, [false, true, true, true]),
        (Metric::Oversold, Op::AtMost, 3.0, CheckResult::Held, [false; 4]),
        (Metric::Oversold, Op::AtLeast, 3.0, CheckResult::Held, [false, false, false, true]),
        (Metric::Oversold, Op::Greater, 3.0, CheckResult::Failed, [false; 4]),
        (Metric::LostUpdates, Op::AtLeast, 3.0, CheckResult::Held, [false; 4]),
        // Counts that only grow.
        (Metric::Orders, Op::Less, 10.0, CheckResult::Failed, [false, false, true, true]),
        (Metric::Orders, Op::AtMost, 10.0, CheckResult::Held, [false; 4]),
        (Metric::Orders, Op::AtLeast, 10.0, CheckResult::Held, [false, false, false, true]),
        (Metric::Orders, Op::AtLeast, 11.0, CheckResult::Failed, [false; 4]),
        // Figures that rise and fall.
        (Metric::Throughput, Op::Less, 10.0, CheckResult::Failed, [false, false, true, false]),
        (Metric::Throughput, Op::AtLeast, 10.0, CheckResult::Held, [false; 4]),
        (Metric::AcquireP99, Op::Less, 10.0, CheckResult::Failed, [false, false, true, false]),
        (Metric::AcquireP99, Op::AtMost, 10.0, CheckResult::Held, [false; 4]),
        (Metric::AcquireP99, Op::Greater, 10.0, CheckResult::Failed, [false; 4]),
    ];
    for (metric, op, bound, without, stands) in table {
        let what = format!("{} {} {bound}", metric.name(), op.sign());
        let [nothing, damage, excess, decided] = stands;
        let of_fault = excess && metric.is_cost();
        // Little progress and high costs may be the machine's.
        let is_against = matches!(op, Op::Equal | Op::Less | Op::AtMost) == metric.is_cost() || metric.is_damage();
        let busy = damage || without == CheckResult::Held && is_against;
        let stands = [nothing, damage, excess, of_fault, decided, busy, true];
        // Every set of doubts: its result stands if each of them leaves it standing.
        for set in 0..1_usize << DOUBTS.len() {
            let is_in = |doubt: &usize| set & (1 << doubt) != 0;
            let of_set: Vec<usize> = (0..DOUBTS.len()).filter(is_in).collect();
            let expected = match of_set.iter().all(|doubt| stands[*doubt]) {
                true => without,
                false => CheckResult::Inconclusive,
            };
            let mut all: Vec<Caveat> = of_set.iter().map(|doubt| DOUBTS[*doubt].clone()).collect();
            for _ in 0..2 {
                let checked = check((metric, op, bound), figures.clone(), &all);
                assert_eq!(checked.result, expected, "{what}, with {all:?}: {checked}");
                all.reverse();
            }
        }
    }
}

/// A bound of one exact number is missed from below as a lower one is, and from above as an upper one is.
#[test]
fn too_little_of_an_exact_number_is_not_too_much() {
    let orders = |bound, doubts: &[Caveat]| {
        let figures = Figures {
            ledger: [(Entry::Orders, 150)].into(),
            ..Figures::default()
        };
        check((Metric::Orders, Op::Equal, bound), figures, doubts).result
    };
    assert_eq!(orders(200.0, &[]), CheckResult::Failed);
    assert_eq!(orders(200.0, &DOUBTS[2..3]), CheckResult::Inconclusive);
    assert_eq!(orders(149.0, &DOUBTS[2..3]), CheckResult::Failed);
    let oversold = |figures: Figures| check((Metric::Oversold, Op::Equal, 5.0), figures, &[]).result;
    let sold = |sold_out_all| Figures {
        ledger: [(Entry::Orders, 10), (Entry::Oversold, 0), (Entry::LostUpdatesPeak, 9)].into(),
        contested: 1,
        sold_out_all,
        ..Figures::default()
    };
    assert_eq!(oversold(sold(false)), CheckResult::Inconclusive, "units hide it");
    assert_eq!(oversold(sold(true)), CheckResult::Failed);
}

#[test]
fn what_was_late_by_a_stop_of_the_program_is_not_the_locks() {
    let stopped = [Caveat::ProgramStopped {
        time: Duration::from_secs(1),
        is_long: false,
    }];
    let figures = || Figures {
        ledger: [(Entry::Orders, 10)].into(),
        acquire_us: Quantiles {
            count: 10,
            p99: 10,
            ..Quantiles::default()
        },
        counts: [(Count::Late, 77)].into(),
        ..Figures::default()
    };
    for (metric, op, bound, result) in [
        (Metric::AcquireP99, Op::Less, 5.0, CheckResult::Inconclusive),
        (Metric::AcquireP99, Op::Less, 50.0, CheckResult::Held),
        (Metric::AcquireP99, Op::Greater, 5.0, CheckResult::Inconclusive),
        (Metric::Late, Op::AtMost, 0.0, CheckResult::Inconclusive),
        (Metric::Orders, Op::AtLeast, 11.0, CheckResult::Failed),
        (Metric::Orders, Op::AtLeast, 10.0, CheckResult::Held),
    ] {
        let checked = check((metric, op, bound), figures(), &stopped);
        assert_eq!(checked.result, result, "{metric:?} {} {bound}", op.sign());
    }
}

#[test]
fn without_two_clients_that_want_one_value_no_fill_could_be_a_duplicate() {
    let of = |metric, expiries, contested| {
        let mut figures = Figures {
            contested,
            sold_out_all: true,
            counts: [(Count::Hits, 9)].into(),
            ledger: [(Entry::Orders, 9)].into(),
            ..Figures::default()
        };
        (figures.db_hits_per_expiry.expiries, figures.db_hits_per_expiry.mean) = (expiries, 1.0);
        check((metric, Op::AtMost, 1.0), figures, &[]).result
    };
    for metric in [
        Metric::DuplicateFills,
        Metric::DbHitsPerExpiry,
        Metric::DbHitsPerExpiryMax,
        Metric::DuplicatePages,
        Metric::Oversold,
    ] {
        assert_eq!(of(metric, 9, 0), CheckResult::Inconclusive, "{metric:?}");
        assert_eq!(of(metric, 9, 1), CheckResult::Held, "{metric:?}");
    }
    assert_eq!(
        of(Metric::DuplicateFills, 0, 1),
        CheckResult::Inconclusive,
        "nothing to measure"
    );
}

#[test]
fn what_may_still_grow_is_open_to_the_last_and_no_further() {
    let of = |metric, op, bound, figures| check((metric, op, bound), figures, &[]).result;
    let outage = |at, all_us, all_over| Figures {
        outages: vec![Outage {
            at,
            lasted_us: 1_000_000,
            all_us,
            over: false,
            all_over,
            ..Outage::default()
        }],
        ..Figures::default()
    };
    let all = |all_us, all_over| {
        of(
            Metric::AllUnavailableMs,
            Op::AtMost,
            5_000.0,
            outage(18.5, all_us, all_over),
        )
    };
    assert_eq!(all(1, false), CheckResult::Inconclusive);
    assert_eq!((all(1, true), all(0, false)), (CheckResult::Held, CheckResult::Held));
    // Its last refusal was a second before the end, or later.
    let one = |at| of(Metric::UnavailableMs, Op::AtMost, 5_000.0, outage(at, 0, true));
    assert_eq!((one(18.0), one(18.1)), (CheckResult::Held, CheckResult::Inconclusive));
    let waiting = |unfinished| Figures {
        counts: [(Count::Completed, 1_000)].into(),
        acquire_us: Quantiles {
            count: 1_000,
            p99: 10,
            ..Quantiles::default()
        },
        unfinished,
        ..Figures::default()
    };
    let p99 = |unfinished| of(Metric::AcquireP99, Op::AtMost, 50.0, waiting(unfinished));
    assert_eq!((p99(5), p99(50)), (CheckResult::Held, CheckResult::Inconclusive));
    let deleted = |deleted, unjudged| Figures {
        deleted,
        unjudged,
        ..Figures::default()
    };
    assert_eq!(
        of(Metric::Deleted, Op::AtMost, 2.0, deleted(2, 1)),
        CheckResult::Inconclusive
    );
    assert_eq!(
        of(Metric::Deleted, Op::Equal, 3.0, deleted(0, 5)),
        CheckResult::Inconclusive
    );
    assert_eq!(of(Metric::Deleted, Op::Equal, 3.0, deleted(0, 2)), CheckResult::Failed);
    assert_eq!(
        of(Metric::LawViolations, Op::AtLeast, 1.0, deleted(0, 6)),
        CheckResult::Inconclusive
    );
    // Damage that is there stands, whatever is hidden.
    let oversold = Figures {
        ledger: [(Entry::Orders, 10), (Entry::Oversold, 3), (Entry::LostUpdatesPeak, 9)].into(),
        contested: 1,
        ..Figures::default()
    };
    assert_eq!(of(Metric::Oversold, Op::Equal, 0.0, oversold), CheckResult::Failed);
}

#[test]
fn other_programs_explain_long_times_and_little_progress_and_nothing_else() {
    let result = |metric, op, bound, met_fault: bool| {
        let mut figures = Figures {
            acquire_us: Quantiles {
                count: 10,
                p99: 10,
                ..Quantiles::default()
            },
            throughput: 10.0,
            outages: vec![Outage {
                all_us: 10_000,
                all_over: true,
                over: true,
                ..Outage::default()
            }],
            consequences: met_fault.then(super::consequence).into_iter().collect(),
            ..Figures::default()
        };
        figures.outcomes.no_quorum = 10;
        check((metric, op, bound), figures, &[Caveat::MachineShared { percent: 73 }]).result
    };
    #[rustfmt::skip]
    let table = [
        (Metric::AcquireP99, Op::Less, 10.0, CheckResult::Inconclusive, CheckResult::Inconclusive),
        (Metric::AcquireP99, Op::AtMost, 10.0, CheckResult::Held, CheckResult::Held),
        (Metric::AcquireP99, Op::AtLeast, 10.0, CheckResult::Inconclusive, CheckResult::Held),
        (Metric::AcquireP99, Op::Greater, 10.0, CheckResult::Failed, CheckResult::Failed),
        (Metric::Throughput, Op::Greater, 10.0, CheckResult::Inconclusive, CheckResult::Inconclusive),
        (Metric::Throughput, Op::AtLeast, 10.0, CheckResult::Held, CheckResult::Held),
        (Metric::Throughput, Op::Less, 10.0, CheckResult::Failed, CheckResult::Failed),
        (Metric::AllUnavailableMs, Op::Less, 10.0, CheckResult::Inconclusive, CheckResult::Failed),
        (Metric::NoQuorum, Op::Less, 10.0, CheckResult::Failed, CheckResult::Failed),
        (Metric::NoQuorum, Op::Greater, 10.0, CheckResult::Failed, CheckResult::Failed),
    ];
    for (metric, op, bound, without, with) in table {
        let found = [false, true].map(|met_fault| result(metric, op, bound, met_fault));
        assert_eq!(found, [without, with], "{} {} {bound}", metric.name(), op.sign());
    }
}

#[test]
fn a_busy_machine_explains_refusals_unless_a_fault_was_felt() {
    let refused = |consequences| {
        let mut figures = Figures {
            consequences,
            ..Figures::default()
        };
        figures.outcomes.no_quorum = 60;
        let busy = [Caveat::MachineBusy { percent: 30 }];
        check((Metric::NoQuorum, Op::AtLeast, 50.0), figures, &busy).result
    };
    assert_eq!(refused(Vec::new()), CheckResult::Inconclusive);
    assert_eq!(refused(vec![super::consequence()]), CheckResult::Held);
}

#[test]
fn without_a_fault_that_tested_a_lock_neither_damage_nor_an_outage_could_show() {
    let of = |metric, op, bound, unavailable_us| {
        let figures = Figures {
            ledger: [(Entry::Orders, 10)].into(),
            contested: 1,
            sold_out_all: true,
            acquire_us: Quantiles {
                count: 10,
                p99: 10,
                ..Quantiles::default()
            },
            outages: vec![Outage {
                over: true,
                all_over: true,
                lasted_us: unavailable_us,
                ..Outage::default()
            }],
            ..Figures::default()
        };
        check((metric, op, bound), figures, &[Caveat::Untested]).result
    };
    assert_eq!(of(Metric::Oversold, Op::Equal, 0.0, 0), CheckResult::Inconclusive);
    assert_eq!(
        of(Metric::UnavailableMs, Op::Less, 1_000.0, 0),
        CheckResult::Inconclusive
    );
    assert_eq!(
        of(Metric::UnavailableMs, Op::Less, 1_000.0, 2_000_000),
        CheckResult::Failed
    );
    assert_eq!(of(Metric::AcquireP99, Op::Less, 1_000.0, 0), CheckResult::Held);
    assert_eq!(of(Metric::Orders, Op::AtLeast, 10.0, 0), CheckResult::Held);
}

#[test]
fn damage_that_the_machine_explains_proves_nothing_and_more_than_that_does() {
    let judge = |metric, op, bound, lost_by_stalls| {
        let figures = Figures {
            counts: [(Count::Overran, 5), (Count::Stalled, 4)].into(),
            double_uses: 428,
            double_uses_by_stalls: 3,
            ledger: [
                (Entry::Orders, 100),
                (Entry::LostUpdates, 3),
                (Entry::LostUpdatesPeak, 3),
            ]
            .into(),
            lost_by_stalls,
            ..Figures::default()
        };
        check((metric, op, bound), figures, &[])
    };
    let explained = judge(Metric::LostUpdates, Op::Equal, 0.0, 7);
    assert_eq!(explained.result, CheckResult::Inconclusive);
    assert!(
        explained.to_string().contains("; but up to 3 of them"),
        "{}",
        explained.to_string()
    );
    for (metric, op, bound, lost_by_stalls, result) in [
        (Metric::LostUpdates, Op::Equal, 0.0, 2, CheckResult::Failed),
        (Metric::LostUpdates, Op::Equal, 0.0, 0, CheckResult::Failed),
        (Metric::LostUpdates, Op::AtLeast, 3.0, 0, CheckResult::Held),
        (Metric::LostUpdates, Op::AtLeast, 3.0, 1, CheckResult::Inconclusive),
        (Metric::LostUpdates, Op::AtLeast, 2.0, 1, CheckResult::Held),
        (Metric::Overran, Op::Equal, 0.0, 0, CheckResult::Failed),
        (Metric::Overran, Op::AtMost, 1.0, 0, CheckResult::Inconclusive),
        (Metric::Overran, Op::Equal, 3.0, 0, CheckResult::Inconclusive),
        (Metric::Overran, Op::NotEqual, 3.0, 0, CheckResult::Inconclusive),
        (Metric::Overran, Op::NotEqual, 0.0, 0, CheckResult::Held),
        // Of 428 double uses three come from stalls.
        (Metric::DoubleUses, Op::AtLeast, 30.0, 0, CheckResult::Held),
        (Metric::DoubleUses, Op::Equal, 0.0, 0, CheckResult::Failed),
        (Metric::DoubleUses, Op::AtLeast, 426.0, 0, CheckResult::Inconclusive),
        (Metric::DoubleUses, Op::AtMost, 427.0, 0, CheckResult::Inconclusive),
        (Metric::Orders, Op::AtLeast, 100.0, 7, CheckResult::Held),
    ] {
        let checked = judge(metric, op, bound, lost_by_stalls);
        assert_eq!(checked.result, result, "{lost_by_stalls}: {checked}");
    }
}

#[test]
fn a_zero_counts_only_if_something_else_could_have_shown() {
    let result = |oversold, lost_updates, sold_out_all| judge(oversold, lost_updates, sold_out_all, &[]).result;
    assert_eq!(result(0, 0, true), CheckResult::Held);
    assert_eq!(result(3, 3, true), CheckResult::Failed);
    assert_eq!(
        result(0, 2, false),
        CheckResult::Inconclusive,
        "lost updates that unsold stock hides"
    );
}

#[test]
fn an_arm_that_took_no_order_shows_nothing() {
    let judge = |orders, lost_updates, op| {
        let figures = Figures {
            ledger: [
                (Entry::Orders, orders),
                (Entry::LostUpdates, lost_updates),
                (Entry::LostUpdatesPeak, lost_updates),
            ]
            .into(),
            contested: orders,
            ..Figures::default()
        };
        check((Metric::LostUpdates, op, 0.0), figures, &[])
    };
    let nothing = judge(0, 0, Op::Equal);
    assert_eq!(nothing.result, CheckResult::Inconclusive);
    assert!(
        nothing
            .to_string()
            .ends_with("lost updates is not measurable until two orders meet at one lock"),
        "{}",
        nothing.to_string()
    );
    assert_eq!(judge(1, 0, Op::Equal).result, CheckResult::Held);
    assert_eq!(
        judge(0, 0, Op::Greater).result,
        CheckResult::Failed,
        "there was no damage"
    );
}

#[test]
fn what_had_not_ended_or_is_not_known_may_make_a_figure_larger() {
    let end = END.as_secs_f64();
    let judge = |metric, op, bound, of: &dyn Fn(&mut Figures)| {
        let mut figures = Figures {
            counts: [(Count::Completed, 98)].into(),
            ..Figures::default()
        };
        (figures.outcomes.acquired, figures.contested) = (98, 9);
        let response = &mut figures.times[Time::Response];
        (response.count, response.p99) = (98, 50_000);
        of(&mut figures);
        check((metric, op, bound), figures, &[]).result
    };
    let outage = |at, over| {
        move |figures: &mut Figures| {
            figures.outages = vec![Outage {
                at,
                lasted_us: 1_900_000,
                over,
                ..Outage::default()
            }];
        }
    };
    // It may have been longer than the bound, and is longer than a smaller one.
    let down = Metric::UnavailableMs;
    assert_eq!(
        judge(down, Op::AtMost, 2500.0, &outage(end - 2.0, false)),
        CheckResult::Inconclusive
    );
    assert_eq!(
        judge(down, Op::AtMost, 2500.0, &outage(end - 2.0, true)),
        CheckResult::Held
    );
    assert_eq!(
        judge(down, Op::AtMost, 2500.0, &outage(end - 9.0, false)),
        CheckResult::Held
    );
    assert_eq!(
        judge(down, Op::AtMost, 1500.0, &outage(end - 2.0, false)),
        CheckResult::Failed
    );
    assert_eq!(
        judge(down, Op::AtLeast, 1500.0, &outage(end - 2.0, false)),
        CheckResult::Held
    );
    assert_eq!(
        judge(down, Op::AtLeast, 4000.0, &outage(end - 2.0, false)),
        CheckResult::Inconclusive
    );
    // The slowest of a hundred requests make its p99.
    let unfinished = |count| move |figures: &mut Figures| figures.unfinished = count;
    let p99 = Metric::ResponseP99;
    assert_eq!(
        judge(p99, Op::AtMost, 300_000.0, &unfinished(2)),
        CheckResult::Inconclusive
    );
    assert_eq!(judge(p99, Op::AtMost, 300_000.0, &unfinished(0)), CheckResult::Held);
    assert_eq!(judge(p99, Op::AtMost, 30_000.0, &unfinished(2)), CheckResult::Failed);
    // What could not be judged may be one of these.
    let unjudged = |figures: &mut Figures| (figures.deleted, figures.unjudged) = (1, 2);
    assert_eq!(
        judge(Metric::Deleted, Op::Equal, 1.0, &unjudged),
        CheckResult::Inconclusive
    );
    assert_eq!(
        judge(Metric::Deleted, Op::AtLeast, 2.0, &unjudged),
        CheckResult::Inconclusive
    );
    assert_eq!(judge(Metric::Deleted, Op::AtLeast, 4.0, &unjudged), CheckResult::Failed);
    assert_eq!(judge(Metric::Deleted, Op::AtLeast, 1.0, &unjudged), CheckResult::Held);
    // Without a section none outlasted its lock.
    assert_eq!(
        judge(Metric::Overran, Op::Equal, 0.0, &|_| ()),
        CheckResult::Inconclusive
    );
    let no_lock = |figures: &mut Figures| figures.outcomes.acquired = 0;
    assert_eq!(
        judge(Metric::LocksLost, Op::Equal, 0.0, &no_lock),
        CheckResult::Inconclusive
    );
    assert_eq!(judge(Metric::LocksLost, Op::Equal, 0.0, &|_| ()), CheckResult::Held);
}

#[test]
fn where_no_two_clients_met_no_section_could_overlap_another() {
    let judge = |contested| {
        let figures = Figures {
            contested,
            ..Figures::default()
        };
        check((Metric::DoubleUses, Op::Equal, 0.0), figures, &[]).result
    };
    assert_eq!((judge(0), judge(1)), (CheckResult::Inconclusive, CheckResult::Held));
}

#[test]
fn a_run_that_was_stopped_decides_only_what_can_not_change_any_more() {
    let stopped = &DOUBTS[4..5];
    let judge = |metric, op, bound| {
        let figures = Figures {
            ledger: [(Entry::Orders, 10)].into(),
            throughput: 10.0,
            ..Figures::default()
        };
        check((metric, op, bound), figures, stopped).result
    };
    let (held, failed, open) = (CheckResult::Held, CheckResult::Failed, CheckResult::Inconclusive);
    for (op, results) in [
        (Op::AtLeast, [held, held, open]),
        (Op::AtMost, [failed, open, open]),
        (Op::Equal, [failed, open, open]),
    ] {
        let said = [9.0, 10.0, 11.0].map(|bound| judge(Metric::Orders, op, bound));
        assert_eq!(said, results, "{op:?}");
        // A rate can rise and fall until the end.
        let said = [9.0, 10.0, 11.0].map(|bound| judge(Metric::Throughput, op, bound));
        assert_eq!(said, [open; 3], "{op:?}");
    }
}

#[test]
fn too_little_oversold_is_no_failure_while_units_hide_it() {
    let judge = |oversold, lost_updates_peak, sold_out_all| {
        let figures = Figures {
            ledger: [(Entry::Oversold, oversold), (Entry::LostUpdatesPeak, lost_updates_peak)].into(),
            contested: 1,
            sold_out_all,
            ..Figures::default()
        };
        check((Metric::Oversold, Op::AtLeast, 10.0), figures, &[]).result
    };
    assert_eq!(judge(0, 39, false), CheckResult::Inconclusive, "39 would have shown");
    assert_eq!(judge(0, 9, false), CheckResult::Failed, "9 are too few anyway");
    assert_eq!(judge(9, 39, true), CheckResult::Failed);
    assert_eq!(judge(10, 39, false), CheckResult::Held);
}

#[test]
fn what_shows_only_later_proves_nothing_if_its_first_sign_could_not_show() {
    let judge = |contested| {
        let figures = Figures {
            ledger: [(Entry::Orders, 9)].into(),
            contested,
            ..Figures::default()
        };
        check((Metric::Oversold, Op::Equal, 0.0), figures, &[]).result
    };
    assert_eq!(judge(1), CheckResult::Held);
    assert_eq!(judge(0), CheckResult::Inconclusive, "no two clients met");
}

#[test]
fn what_was_never_measured_is_not_fast() {
    let judge = |count| {
        let mut figures = Figures::default();
        figures.acquire_us.count = count;
        check((Metric::AcquireP99, Op::AtMost, 5_000.0), figures, &[])
    };
    assert_eq!(judge(1).result, CheckResult::Held);
    let nothing = judge(0);
    assert_eq!(nothing.result, CheckResult::Inconclusive);
    assert_eq!(
        nothing.to_string(),
        "redlock: acquire p99 – (expected ≤ 5.0 ms); but there was nothing to measure"
    );
}

#[test]
fn a_checked_expectation_says_figure_and_bound_alike() {
    let said = judge(1400, 1400, true, &[]).to_string();
    assert_eq!(said, "redlock: oversold 1,400 (expected = 0)");
    let unmet = &DOUBTS[3..4];
    assert_eq!(
        judge(0, 0, true, unmet).to_string(),
        "redlock: oversold 0 (expected = 0); but fault 1 never fired: it waited for fault 2"
    );
}
