use lockstorm_data::metrics::{Consequence, ConsequenceKind, Count, Entry, Figures};
use lockstorm_data::scenario::{LockKind, ReportedSpec, Update, WorkloadSpec, builtin};

use super::scenario;
use crate::cause::causes;

/// The causes of an arm of a built-in scenario with these figures.
fn of(name: &str, arm: &str, change: impl FnOnce(&mut Figures)) -> Vec<(String, bool)> {
    let mut scenario = scenario(name);
    scenario.faults.clear();
    let spec = scenario
        .arms
        .iter()
        .find(|spec| spec.name == arm)
        .expect("it has this arm");
    let mut figures = Figures::default();
    figures.outcomes.acquired = 9;
    change(&mut figures);
    let causes = causes(&scenario, spec, &figures).into_iter();
    causes
        .map(|cause| (cause.words(&scenario.workload), cause.is_bad()))
        .collect()
}

#[test]
fn payments_say_which_lock_is_missing_and_who_waits_in_a_circle() {
    let all = |arm, change: fn(&mut Figures)| of("payment", arm, change);
    assert_eq!(first(&all("payer only", |_| {})), ("payee is not locked", true));
    let circle = ("waits in a circle".to_owned(), true);
    assert!(all("both as paid", |figures| figures.outcomes.contended = 1).contains(&circle));
    // Who has no quorum waits for nobody.
    assert!(!all("both as paid", |figures| figures.outcomes.no_quorum = 1).contains(&circle));
    assert!(!all("both in order", |figures| figures.outcomes.contended = 1).contains(&circle));
}

#[test]
fn a_session_that_ended_explains_a_second_holder_and_nothing_else() {
    let mut scenario = scenario("flash-sale");
    let spec = &mut scenario.arms[0];
    (spec.lock, spec.update) = (LockKind::Postgres, Update::ReadWrite);
    let first = |double_holds, lost| {
        let mut figures = Figures::default();
        (figures.double_holds, figures.counts[Count::LocksLost]) = (double_holds, lost);
        figures.outcomes.acquired = 9;
        causes(&scenario, &scenario.arms[0], &figures)
            .first()
            .map(|cause| cause.words(&scenario.workload))
    };
    assert_eq!(first(2, 1).as_deref(), Some("its session ended"));
    assert_eq!(first(2, 0).as_deref(), Some("two held it, 2 ×"));
    assert_eq!(first(0, 1).as_deref(), Some("one buyer at a time"));
}

#[test]
fn causes_fit_into_their_column_on_the_smallest_terminal() {
    for builtin in builtin::ALL {
        let scenario = scenario(builtin.name);
        let mut figures = Figures::default();
        (figures.outcomes.acquired, figures.outcomes.contended) = (9, 1);
        for missing in [0, 1] {
            figures.outcomes.no_quorum = missing;
            for spec in &scenario.arms {
                for cause in causes(&scenario, spec, &figures) {
                    let words = cause.words(&scenario.workload);
                    assert!(words.len() <= 20, "{}: {words}", builtin.name);
                }
            }
        }
    }
}

#[test]
fn captions_fit_into_their_line_on_the_smallest_terminal() {
    for builtin in builtin::ALL {
        let scenario = scenario(builtin.name);
        let of_faults = scenario.faults.iter().filter_map(|fault| fault.caption.as_ref());
        for caption in of_faults.chain(&scenario.caption) {
            // Before it stands which act it is.
            assert!(caption.chars().count() <= 70, "{}: {caption}", builtin.name);
        }
    }
}

fn after(kinds: &[ConsequenceKind]) -> impl FnOnce(&mut Figures) {
    let one = |kind: &ConsequenceKind| Consequence {
        at: 1.0,
        event: None,
        kind: *kind,
    };
    let all: Vec<Consequence> = kinds.iter().map(one).collect();
    move |figures| figures.consequences = all
}

fn first(all: &[(String, bool)]) -> (&str, bool) {
    (&all[0].0, all[0].1)
}

#[test]
fn a_cause_is_what_the_nodes_lost_and_adds_up() {
    let forgot = |locks| ConsequenceKind::Forgot { locks };
    let all = of("failover", "single", after(&[forgot(40), forgot(5)]));
    assert_eq!(first(&all), ("45 locks forgotten", true));
    let emptied = [ConsequenceKind::EmptinessReplicated { locks: 4 }];
    assert_eq!(
        first(&of("failover", "sentinel", after(&emptied))),
        ("emptiness replicated", true)
    );
    assert_eq!(
        first(&of("failover", "sentinel wait 2", after(&emptied))),
        ("emptied despite WAIT", true)
    );
    let kept = |votes| ConsequenceKind::KeptVotes { locks: 4, votes, of: 3 };
    let all = of("failover", "redlock", after(&[kept(2), kept(1), kept(2)]));
    assert_eq!(first(&all), ("kept 1 of 3 votes", false), "the worst counts");
    let left = ConsequenceKind::KeptByOthers {
        locks: 4,
        members: 2,
        of: 3,
    };
    assert_eq!(
        first(&of("consensus", "etcd", after(&[left]))),
        ("2 of 3 members left", false)
    );
}

#[test]
fn what_explains_a_few_double_holds_does_not_stand_for_those_that_could_not_be_judged() {
    let unjudged = |unjudged| {
        of("failover", "single", move |figures| {
            (figures.double_holds, figures.unjudged) = (90, unjudged);
            figures.counts[Count::Overran] = 2;
        })
    };
    assert_eq!(first(&unjudged(46)), ("two held it, 90 ×", true));
    assert_eq!(first(&unjudged(45)), ("outlived TTL 2 ×", true));
}

#[test]
fn causes_of_several_runs_are_alike_however_often_they_came() {
    let scenario = scenario("failover");
    let alike = |n: u64| {
        let mut figures = Figures {
            law_violations: n,
            double_holds: n,
            stuck: Some(n),
            ..Figures::default()
        };
        let kept = ConsequenceKind::KeptVotes {
            locks: n,
            votes: 2,
            of: 3,
        };
        let lacked = ConsequenceKind::LostAtFailover { locks: n, of: 99 };
        after(&[ConsequenceKind::Forgot { locks: n }, lacked, kept])(&mut figures);
        let causes = causes(&scenario, &scenario.arms[0], &figures).into_iter();
        causes
            .map(|cause| cause.uncounted(&scenario.workload))
            .collect::<Vec<_>>()
    };
    assert_eq!(alike(1), alike(1_045));
    for uncounted in [
        "unexplained",
        "locks forgotten",
        "new master lacked locks",
        "locks stuck",
        "kept 2 of 3 votes",
    ] {
        assert!(alike(1).iter().any(|cause| cause == uncounted), "{uncounted}");
    }
}

#[test]
fn without_damage_and_faults_it_says_how_the_lock_works() {
    assert_eq!(
        of("failover", "single", |_| {}),
        [("one buyer at a time".to_owned(), false)]
    );
    assert_eq!(
        of("failover", "single", |figures| figures.ledger[Entry::LostUpdatesPeak] =
            Some(1)),
        []
    );
    assert_eq!(first(&of("failover", "no lock", |_| {})).0, "all buy at once");
    assert_eq!(
        first(&of("paused-client", "atomic", |_| {})),
        ("one atomic update", false)
    );
    assert_eq!(first(&of("stampede", "redlock", |_| {})).0, "one refill at a time");
}

/// The column has 20 at 80 columns.
#[test]
fn no_cause_is_cut_on_a_narrow_screen() {
    let all = [
        ConsequenceKind::Forgot { locks: 120 },
        ConsequenceKind::EmptinessReplicated { locks: 99 },
        ConsequenceKind::LostAtFailover { locks: 99, of: 99 },
        ConsequenceKind::GrantedByOldMaster { locks: 999 },
        ConsequenceKind::PausedPastTtl { locks: 99 },
    ];
    for (scenario, arm) in [
        ("failover", "single"),
        ("failover", "sentinel wait 2"),
        ("failover", "no lock"),
        ("failover", "redlock"),
        ("stampede", "redlock"),
        ("stampede", "none"),
        ("flash-sale", "local"),
        ("stampede", "local"),
        ("fencing", "write"),
        ("ttl-race", "single"),
    ] {
        for kinds in [all.as_slice(), &[]] {
            let whys = of(scenario, arm, |figures| {
                after(kinds)(figures);
                (figures.double_holds, figures.law_violations) = (9_999, 99);
                figures.counts[Count::Overran] = 9_999;
                figures.counts[Count::Fenced] = 9_999;
            });
            for (why, _) in whys.into_iter().chain(of(scenario, arm, |_| {})) {
                assert!(why.chars().count() <= 20, "{scenario}, {arm}: {why}");
            }
        }
    }
}

#[test]
fn a_fence_that_refuses_late_writes_makes_a_pause_harmless() {
    let paused = [ConsequenceKind::PausedPastTtl { locks: 4 }];
    assert_eq!(
        first(&of("fencing", "no fence", after(&paused))),
        ("paused past its TTL", true)
    );
}

type Change<'a> = &'a dyn Fn(&mut Figures);

/// What each figure makes of a lock on one node that nothing else is known of: none of them says anything while it is zero.
#[test]
fn each_figure_has_its_cause_and_a_zero_has_none() {
    let one = |kind: ConsequenceKind| move |figures: &mut Figures| after(&[kind])(figures);
    let said = |change: &dyn Fn(&mut Figures)| {
        of("failover", "single", |figures| {
            // What is damaged is not guarded.
            figures.ledger[Entry::LostUpdatesPeak] = Some(1);
            change(figures);
        })
    };
    let words =
        |change: &dyn Fn(&mut Figures)| -> Vec<String> { said(change).into_iter().map(|(why, _)| why).collect() };
    assert_eq!(words(&|_| ()), Vec::<String>::new());
    let alone: [(Change<'_>, &str); 12] = [
        (&|figures| figures.law_violations = 3, "unexplained, 3 ×"),
        (&|figures| figures.deleted = 3, "deleted, 3 ×"),
        (&|figures| figures.expired_holds = 3, "TTL was over 3 ×"),
        (&|figures| figures.double_holds = 3, "two held it, 3 ×"),
        (&|figures| figures.stuck = Some(3), "3 locks stuck"),
        (&|figures| figures.counts[Count::Overran] = 3, "outlived TTL 3 ×"),
        (
            &one(ConsequenceKind::EmptinessReplicated { locks: 3 }),
            "emptiness replicated",
        ),
        (
            &one(ConsequenceKind::LostAtFailover { locks: 3, of: 9 }),
            "new master lacked 3",
        ),
        (
            &one(ConsequenceKind::GrantedByOldMaster { locks: 3 }),
            "old master gave 3",
        ),
        (&one(ConsequenceKind::PausedPastTtl { locks: 3 }), "paused past its TTL"),
        (
            &one(ConsequenceKind::OutlivedHolder {
                locks: 1,
                longest_us: 3_000_000,
            }),
            "key outlived 3.0 s",
        ),
        (&one(ConsequenceKind::Forgot { locks: 1 }), "1 lock forgotten"),
    ];
    for (change, why) in alone {
        assert_eq!(said(change), [(why.to_owned(), true)]);
    }
    // Other programs and workloads have these, and no fence refuses without one.
    for other in [Count::LateWrites, Count::Fenced] {
        assert_eq!(
            words(&|figures| figures.counts[other] = 3),
            Vec::<String>::new(),
            "{other:?}"
        );
    }
    assert_eq!(
        words(&one(ConsequenceKind::Refused { attempts: 3 })),
        Vec::<String>::new()
    );
    // Of two the longest counts.
    let outlived = |longest_us| ConsequenceKind::OutlivedHolder { locks: 1, longest_us };
    let both = [outlived(3_000_000), outlived(2_000_000)];
    assert_eq!(words(&|figures| after(&both)(figures)), ["key outlived 3.0 s"]);
    // Sums add up.
    for (kind, why) in [
        (
            ConsequenceKind::LostAtFailover { locks: 3, of: 9 },
            "new master lacked 6",
        ),
        (ConsequenceKind::GrantedByOldMaster { locks: 3 }, "old master gave 6"),
        (ConsequenceKind::Forgot { locks: 3 }, "6 locks forgotten"),
    ] {
        assert_eq!(words(&|figures| after(&[kind, kind])(figures)), [why]);
    }
}

/// Forgotten locks come first if others came in by them, and last if there is more that explains it.
#[test]
fn forgotten_locks_explain_what_let_others_in() {
    let said = |double_holds, overran| {
        let all = of("failover", "single", |figures| {
            after(&[ConsequenceKind::Forgot { locks: 2 }])(figures);
            figures.ledger[Entry::LostUpdatesPeak] = Some(1);
            (figures.double_holds, figures.counts[Count::Overran]) = (double_holds, overran);
        });
        all.into_iter().map(|(why, _)| why).collect::<Vec<_>>()
    };
    let (forgotten, outlived) = ("2 locks forgotten", "outlived TTL 5 ×");
    assert_eq!(said(0, 0), [forgotten]);
    assert_eq!(said(0, 5), [outlived, forgotten]);
    assert_eq!(said(4, 5), [outlived, forgotten]);
    assert_eq!(said(5, 5), [forgotten, outlived]);
    assert_eq!(said(5, 0), [forgotten]);
    // Nobody came in.
    let stuck = of("failover", "single", |figures| {
        after(&[ConsequenceKind::Forgot { locks: 2 }])(figures);
        figures.ledger[Entry::LostUpdatesPeak] = Some(1);
        figures.stuck = Some(1);
    });
    assert_eq!(first(&stuck), ("1 lock stuck", true));
}

/// What a fence has refused makes neither a pause nor work beyond the TTL a bad cause.
#[test]
fn work_that_a_fence_has_refused_did_no_harm() {
    let said = |arm, fenced, paused: bool| {
        of("fencing", arm, |figures| {
            figures.ledger[Entry::LostUpdatesPeak] = Some(1);
            figures.counts[Count::Fenced] = fenced;
            figures.counts[Count::Overran] = 7;
            if paused {
                after(&[ConsequenceKind::PausedPastTtl { locks: 2 }])(figures);
            }
        })
    };
    let all = |said: &[(&str, bool)]| {
        said.iter()
            .map(|(why, is_bad)| ((*why).to_owned(), *is_bad))
            .collect::<Vec<_>>()
    };
    let (refused, paused, outlived) = ("fence refused 3", "paused past its TTL", "outlived TTL 7 ×");
    assert_eq!(said("write", 3, true), all(&[(refused, false), (paused, false)]));
    assert_eq!(said("write", 3, false), all(&[(refused, false), (outlived, false)]));
    assert_eq!(said("write", 0, true), all(&[(paused, true)]));
    assert_eq!(said("no fence", 3, false), all(&[(outlived, true)]));
}

#[test]
fn what_a_lock_leaves_open_by_its_design_comes_first() {
    let first = |name, arm, change: fn(&mut Figures)| first_of(&of(name, arm, change));
    assert_eq!(first("flash-sale", "local", |_| ()), "one mutex per server");
    assert_eq!(
        first("fail-open", "proceeds", |figures| figures.outcomes.no_quorum = 1),
        "worked without lock"
    );
    assert_eq!(
        first("fail-open", "proceeds", |figures| figures.outcomes.unknown = 1),
        "worked without lock"
    );
    assert_eq!(first("fail-open", "proceeds", |_| ()), "one buyer at a time");
    assert_eq!(
        first("fail-open", "gives up", |figures| figures.outcomes.no_quorum = 1),
        "one buyer at a time"
    );
    assert_eq!(first("job-twice", "refused is done", |_| ()), "no second check");
}

fn first_of(all: &[(String, bool)]) -> String {
    all[0].0.clone()
}

/// Of a program that reports its own locks nothing is known of its TTL.
#[test]
fn of_reported_events_two_holders_come_first_and_late_writes_count() {
    let mut scenario = scenario("failover");
    scenario.faults.clear();
    scenario.workload = WorkloadSpec::Reported(ReportedSpec {});
    let mut figures = Figures::default();
    let words = |figures: &Figures| {
        let arm = scenario.arms.iter().find(|arm| arm.name == "single").expect("an arm");
        let all = causes(&scenario, arm, figures).into_iter();
        all.map(|cause| cause.words(&scenario.workload)).collect::<Vec<_>>()
    };
    assert_eq!(words(&figures), Vec::<String>::new());
    figures.counts[Count::Overran] = 4;
    figures.counts[Count::LateWrites] = 3;
    assert_eq!(words(&figures), ["outlived lock 4 ×", "wrote late 3 ×"]);
    figures.double_holds = 2;
    assert_eq!(
        words(&figures),
        ["two held it, 2 ×", "outlived lock 4 ×", "wrote late 3 ×"]
    );
}

#[test]
fn a_lock_that_no_fault_has_tested_says_so() {
    let scenario = scenario("failover");
    let words = |figures: &Figures, name: &str| {
        let arm = scenario.arms.iter().find(|arm| arm.name == name).expect("an arm");
        let all = causes(&scenario, arm, figures).into_iter();
        all.map(|cause| cause.words(&scenario.workload)).collect::<Vec<_>>()
    };
    let mut figures = Figures::default();
    assert_eq!(words(&figures, "redlock"), ["no fault tested it"]);
    assert_eq!(words(&figures, "no lock"), ["all buy at once"]);
    figures.outcomes.acquired = 1;
    assert_eq!(
        words(&figures, "redlock"),
        ["no fault tested it", "one buyer at a time"]
    );
    after(&[ConsequenceKind::Refused { attempts: 1 }])(&mut figures);
    assert_eq!(words(&figures, "redlock"), ["one buyer at a time"]);
}
