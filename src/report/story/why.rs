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
    /// True if it explains damage, false if it explains why there is none.
    pub is_bad: bool,
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
fn kept_out(arm: &Arm<'_>, sums: &Sums) -> [(bool, String); 2] {
    let stuck = arm.figures.stuck.unwrap_or(0);
    let outlived = format!("key outlived {}", micros(sums.outlived_us));
    [
        (stuck > 0, format!("{} stuck", counted(stuck, "lock", "locks"))),
        (sums.outlived_us > 0, outlived),
    ]
}

/// What masters have lost, and granted when they were none any more.
fn with_masters(spec: &ArmSpec, sums: &Sums) -> [(bool, String); 3] {
    let emptied = if spec.wait_replicas > 0 {
        "emptied despite WAIT"
    } else {
        "emptiness replicated"
    };
    let lacked = format!("new master lacked {}", count(sums.lost_at_failover));
    let by_old = format!("old master gave {}", count(sums.by_old_master));
    [
        (sums.emptied > 0, emptied.to_owned()),
        (sums.lost_at_failover > 0, lacked),
        (sums.by_old_master > 0, by_old),
    ]
}

/// The causes of what an arm shows, the most important first: of its damage, or if it has none, of that.
pub(crate) fn whys(spec: &ArmSpec, arm: &Arm<'_>, workload: &WorkloadSpec) -> Vec<Why> {
    let (figures, words) = (arm.figures, workload.about().display().words);
    let sums = Sums::of(arm);
    let mut whys = Vec::new();
    let mut add = |is_bad, is_so: bool, words: String| {
        if is_so {
            whys.push(Why { words, is_bad });
        }
    };
    let locks = |n| counted(n, "lock", "locks");
    let is_atomic = spec.update == Update::Atomic;
    add(false, is_atomic, "one atomic update".to_owned());
    add(
        true,
        spec.lock == LockKind::None && !is_atomic,
        words.without_lock.to_owned(),
    );
    add(true, spec.lock == LockKind::Local, words.own_mutex.to_owned());
    let is_early = spec.release == Release::BeforeWrite;
    add(true, is_early, "released too early".to_owned());
    // Other workloads have no accounts.
    add(
        true,
        spec.locks == AccountLocks::Payer,
        "payee is not locked".to_owned(),
    );
    let waits_in_circles = spec.locks == AccountLocks::AsPaid && figures.outcomes.contended > 0;
    add(true, waits_in_circles, "waits in a circle".to_owned());
    let looks = spec.second_look || !matches!(workload, WorkloadSpec::Job(_));
    add(true, spec.lock.is_some() && !looks, "no second check".to_owned());
    add(
        true,
        spec.on_outage == OnOutage::Proceed && figures.outcomes.no_quorum + figures.outcomes.unknown > 0,
        "worked without lock".to_owned(),
    );
    add(
        true,
        figures.law_violations > 0,
        format!("unexplained, {} ×", count(figures.law_violations)),
    );
    add(
        true,
        figures.deleted > 0,
        format!("deleted, {} ×", count(figures.deleted)),
    );
    add(
        true,
        figures.expired_holds > 0,
        format!("TTL was over {} ×", count(figures.expired_holds)),
    );
    // Locks that were forgotten did no harm if no other client acquired one meanwhile; then the rest explains more, as do more sections
    // that outlasted their lock.
    let overran = figures.counts[Count::Overran];
    let let_in = figures.double_holds > 0 && figures.double_holds >= overran;
    add(
        true,
        let_in && sums.forgot > 0,
        format!("{} forgotten", locks(sums.forgot)),
    );
    for (is_so, words) in with_masters(spec, &sums).into_iter().chain(kept_out(arm, &sums)) {
        add(true, is_so, words);
    }
    let fenced = figures.counts[Count::Fenced];
    let fences = spec.fence != Fence::Off && fenced > 0;
    if fences {
        add(false, true, format!("fence refused {}", count(fenced)));
    }
    add(!fences, sums.paused > 0, "paused past its TTL".to_owned());
    add(
        !fences,
        overran > 0 && sums.paused == 0,
        match workload {
            // Of a TTL nobody has reported.
            WorkloadSpec::Reported(_) => format!("outlived lock {} ×", count(overran)),
            _ => format!("outlived TTL {} ×", count(overran)),
        },
    );
    add(
        true,
        !let_in && sums.forgot > 0,
        format!("{} forgotten", locks(sums.forgot)),
    );
    if let Some((votes, of)) = sums.kept {
        add(false, true, format!("kept {votes} of {of} votes"));
    }
    add(false, arm.meets_no_fault, "no fault tested it".to_owned());
    add(
        false,
        spec.lock.uses_nodes() && figures.outcomes.acquired > 0 && Metric::proven(figures).next().is_none(),
        words.guarded.to_owned(),
    );
    let is_reported = matches!(workload, WorkloadSpec::Reported(_));
    let late = figures.counts[Count::LateWrites];
    add(true, is_reported && late > 0, format!("wrote late {} ×", count(late)));
    // At least that much is known, and of another program no more.
    if figures.double_holds > 0 && (is_reported || whys.iter().all(|why| !why.is_bad)) {
        let words = format!("two held it, {} ×", count(figures.double_holds));
        whys.insert(0, Why { words, is_bad: true });
    }
    whys
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::metrics::{Consequence, Figures};
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
    fn without_damage_and_faults_it_says_how_the_lock_works() {
        assert_eq!(
            of("failover", "single", |_| {}),
            [("one buyer at a time".to_owned(), false)]
        );
        assert_eq!(of("failover", "single", |figures| figures.lost_updates_peak = 1), []);
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
