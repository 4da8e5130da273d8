use lockstorm_data::metrics::{Consequence, ConsequenceKind, Count, Entry, Figures};
use lockstorm_data::scenario::builtin;

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
