//! Why an arm fared as it did, in so few words that they fit into a column.

use crate::report::columns::Arm;
use lockstorm_data::metrics::units::{count, counted, micros};
use lockstorm_data::metrics::{ConsequenceKind, Count, Metric};
use lockstorm_data::scenario::{AccountLocks, ArmSpec, Fence, LockKind, OnOutage, Release, Update, WorkloadSpec};

/// A cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Why {
    /// In words: `45 locks forgotten`, 20 letters at most, which is the room on the smallest terminal.
    pub words: String,
    /// The same without how often: `locks forgotten`; `None` if there is no number in it that runs differ by.
    uncounted: Option<&'static str>,
    /// True if it explains damage, false if it explains why there is none.
    pub is_bad: bool,
}

impl Why {
    /// What happened, without how often, which differs from run to run.
    pub fn uncounted(&self) -> &str {
        self.uncounted.unwrap_or(&self.words)
    }
}

/// Whether there is such a cause, in words, and without how often.
type Possible = (bool, String, Option<&'static str>);

fn why(is_bad: bool, (is_so, words, uncounted): Possible) -> Option<Why> {
    is_so.then_some(Why {
        words,
        uncounted,
        is_bad,
    })
}

/// A cause without a number.
fn state(is_so: bool, words: &str) -> Possible {
    (is_so, words.to_owned(), None)
}

/// What happened so often: `TTL was over 3 ×`.
fn times(what: &'static str, gap: &str, n: u64) -> Possible {
    (n > 0, format!("{what}{gap}{} ×", count(n)), Some(what))
}

/// What an arm's consequences add up to.
#[derive(Debug, Default)]
struct Sums {
    forgot: u64,
    emptied: u64,
    /// The votes that were left of how many, at the worst.
    kept: Option<(usize, usize)>,
    lost_at_failover: u64,
    by_old_master: u64,
    paused: u64,
    outlived_us: u64,
}

impl Sums {
    fn of(arm: &Arm<'_>) -> Self {
        let mut sums = Self::default();
        for consequence in &arm.figures.consequences {
            match consequence.kind {
                ConsequenceKind::Forgot { locks } => sums.forgot += locks,
                ConsequenceKind::EmptinessReplicated { locks } => sums.emptied += locks,
                ConsequenceKind::KeptVotes { votes, of, .. } => {
                    sums.kept = Some(sums.kept.map_or((votes, of), |kept| kept.min((votes, of))));
                }
                ConsequenceKind::LostAtFailover { locks, .. } => sums.lost_at_failover += locks,
                ConsequenceKind::GrantedByOldMaster { locks } => sums.by_old_master += locks,
                ConsequenceKind::PausedPastTtl { locks } => sums.paused += locks,
                ConsequenceKind::OutlivedHolder { longest_us, .. } => {
                    sums.outlived_us = sums.outlived_us.max(longest_us);
                }
                ConsequenceKind::Refused { .. }
                | ConsequenceKind::Delayed { .. }
                | ConsequenceKind::Orphaned { .. } => {}
            }
        }
        sums
    }
}

/// Locks that could not be acquired at the end, and keys that outlived their holders.
fn kept_out(arm: &Arm<'_>, sums: &Sums) -> [Possible; 2] {
    let stuck = arm.figures.stuck.unwrap_or(0);
    let outlived = format!("key outlived {}", micros(sums.outlived_us));
    [
        (
            stuck > 0,
            format!("{} stuck", counted(stuck, "lock", "locks")),
            Some("locks stuck"),
        ),
        (sums.outlived_us > 0, outlived, Some("key outlived its holder")),
    ]
}

/// What masters have lost, and granted when they were none any more.
fn with_masters(spec: &ArmSpec, sums: &Sums) -> [Possible; 3] {
    let emptied = if spec.wait_replicas > 0 {
        "emptied despite WAIT"
    } else {
        "emptiness replicated"
    };
    let lacked = format!("new master lacked {}", count(sums.lost_at_failover));
    let by_old = format!("old master gave {}", count(sums.by_old_master));
    [
        state(sums.emptied > 0, emptied),
        (sums.lost_at_failover > 0, lacked, Some("new master lacked locks")),
        (sums.by_old_master > 0, by_old, Some("old master gave locks")),
    ]
}

/// The causes of what an arm shows, the most important first: of its damage, or if it has none, of that.
pub(crate) fn whys(spec: &ArmSpec, arm: &Arm<'_>, workload: &WorkloadSpec) -> Vec<Why> {
    let (figures, words) = (arm.figures, workload.about().display().words);
    let sums = Sums::of(arm);
    let mut whys = Vec::new();
    let mut add = |is_bad, possible| whys.extend(why(is_bad, possible));
    let is_atomic = spec.update == Update::Atomic;
    add(false, state(is_atomic, "one atomic update"));
    let is_bare = spec.lock == LockKind::None && !is_atomic;
    add(true, state(is_bare, words.without_lock));
    add(true, state(spec.lock == LockKind::Local, words.own_mutex));
    add(true, state(spec.release == Release::BeforeWrite, "released too early"));
    // Other workloads have no accounts.
    add(true, state(spec.locks == AccountLocks::Payer, "payee is not locked"));
    let waits_in_circles = spec.locks == AccountLocks::AsPaid && figures.outcomes.contended > 0;
    add(true, state(waits_in_circles, "waits in a circle"));
    let looks = spec.second_look || !matches!(workload, WorkloadSpec::Job(_));
    add(true, state(spec.lock.is_some() && !looks, "no second check"));
    let had_no_lock = figures.outcomes.no_quorum + figures.outcomes.unknown > 0;
    let proceeds = spec.on_outage == OnOutage::Proceed && had_no_lock;
    add(true, state(proceeds, "worked without lock"));
    add(true, times("unexplained", ", ", figures.law_violations));
    add(true, times("deleted", ", ", figures.deleted));
    add(true, times("TTL was over", " ", figures.expired_holds));
    // Locks that were forgotten did no harm if no other client acquired one meanwhile; then the rest explains more, as do more sections
    // that outlasted their lock.
    let overran = figures.counts[Count::Overran];
    let let_in = figures.double_holds > 0 && figures.double_holds >= overran;
    let forgotten = |is_its_place| {
        let words = format!("{} forgotten", counted(sums.forgot, "lock", "locks"));
        (sums.forgot > 0 && is_its_place, words, Some("locks forgotten"))
    };
    add(true, forgotten(let_in));
    for cause in with_masters(spec, &sums).into_iter().chain(kept_out(arm, &sums)) {
        add(true, cause);
    }
    let fenced = figures.counts[Count::Fenced];
    let fences = spec.fence != Fence::Off && fenced > 0;
    let refused = format!("fence refused {}", count(fenced));
    add(false, (fences, refused, Some("fence refused writes")));
    add(!fences, state(sums.paused > 0, "paused past its TTL"));
    let outlived = match workload {
        // Of a TTL nobody has reported.
        WorkloadSpec::Reported(_) => "outlived lock",
        _ => "outlived TTL",
    };
    add(
        !fences,
        times(outlived, " ", if sums.paused == 0 { overran } else { 0 }),
    );
    add(true, forgotten(!let_in));
    if let Some((votes, of)) = sums.kept {
        add(false, state(true, &format!("kept {votes} of {of} votes")));
    }
    add(false, state(arm.meets_no_fault, "no fault tested it"));
    let held = spec.lock.uses_nodes() && figures.outcomes.acquired > 0 && Metric::proven(figures).next().is_none();
    add(false, state(held, words.guarded));
    let is_reported = matches!(workload, WorkloadSpec::Reported(_));
    let late = figures.counts[Count::LateWrites];
    add(true, times("wrote late", " ", if is_reported { late } else { 0 }));
    // At least that much is known, and of another program no more.
    let is_first = is_reported || whys.iter().all(|why| !why.is_bad);
    if let Some(first) = why(true, times("two held it", ", ", figures.double_holds)).filter(|_| is_first) {
        whys.insert(0, first);
    }
    whys
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::metrics::{Consequence, Entry, Figures};
    use lockstorm_data::scenario::{Overrides, Source, builtin, parse};

    /// The causes of an arm of a built-in scenario with these figures.
    fn of(name: &str, arm: &str, change: impl FnOnce(&mut Figures)) -> Vec<(String, bool)> {
        let source = Source::open(name).expect("it is built in");
        let scenario = parse(&source, &Overrides::default()).expect("it is valid");
        let spec = scenario
            .arms
            .iter()
            .find(|spec| spec.name == arm)
            .expect("it has this arm");
        let mut figures = Figures::default();
        figures.outcomes.acquired = 9;
        change(&mut figures);
        let causes = whys(spec, &Arm::of_figures(&figures), &scenario.workload).into_iter();
        causes.map(|why| (why.words, why.is_bad)).collect()
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
            let source = Source::open(builtin.name).expect("it is built in");
            let scenario = parse(&source, &Overrides::default()).expect("it is valid");
            let mut figures = Figures::default();
            (figures.outcomes.acquired, figures.outcomes.contended) = (9, 1);
            for missing in [0, 1] {
                figures.outcomes.no_quorum = missing;
                for spec in &scenario.arms {
                    for Why { words, .. } in whys(spec, &Arm::of_figures(&figures), &scenario.workload) {
                        assert!(words.len() <= 20, "{}: {words}", builtin.name);
                    }
                }
            }
        }
    }

    #[test]
    fn captions_fit_into_their_line_on_the_smallest_terminal() {
        for builtin in builtin::ALL {
            let source = Source::open(builtin.name).expect("it is built in");
            let scenario = parse(&source, &Overrides::default()).expect("it is valid");
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
        let source = Source::open("failover").expect("it is built in");
        let scenario = parse(&source, &Overrides::default()).expect("it is valid");
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
            let whys = whys(&scenario.arms[0], &Arm::of_figures(&figures), &scenario.workload);
            whys.iter().map(|why| why.uncounted().to_owned()).collect::<Vec<_>>()
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
}
