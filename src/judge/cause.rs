//! Why an arm fared as it did.

use std::cmp::max;

use lockstorm_data::metrics::units::{count, counted, micros};
use lockstorm_data::metrics::{ConsequenceKind, Count, Figures, Group, Metric};
use lockstorm_data::scenario::{
    AccountLocks, ArmSpec, Fence, LockKind, OnOutage, Release, Scenario, Update, WorkloadSpec,
};

use crate::doubt::meets_no_fault;

/// A cause of what an arm shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "see `words`; numbers are of locks, writes and double holds")]
pub enum Cause {
    AtomicUpdate,
    /// Its read and its write are one transaction, and the row is locked from the read on.
    RowLock,
    NoLock,
    OwnMutex,
    /// A lock of a session is free as soon as that has ended, of which its holder hears later.
    SessionEnded,
    ReleasedEarly,
    PayeeUnlocked,
    WaitsInCircle,
    NoSecondCheck,
    WorkedWithoutLock,
    HeldByTwo {
        times: u64,
    },
    Unexplained {
        times: u64,
    },
    Deleted {
        times: u64,
    },
    TtlOver {
        times: u64,
    },
    Forgotten {
        locks: u64,
    },
    Emptied {
        despite_wait: bool,
    },
    NewMasterLacked {
        locks: u64,
    },
    GrantedByOldMaster {
        locks: u64,
    },
    Stuck {
        locks: u64,
    },
    OutlivedHolder {
        longest_us: u64,
    },
    FenceRefused {
        writes: u64,
    },
    PausedPastTtl {
        is_fenced: bool,
    },
    Overran {
        times: u64,
        is_fenced: bool,
        is_reported: bool,
    },
    KeptVotes {
        votes: usize,
        of: usize,
    },
    KeptByOthers {
        members: usize,
        of: usize,
    },
    NoFaultTested,
    Guarded,
    WroteLate {
        times: u64,
    },
}

impl Cause {
    /// Whether it explains damage; otherwise it explains why there is none.
    pub const fn is_bad(self) -> bool {
        match self {
            Self::AtomicUpdate
            | Self::RowLock
            | Self::FenceRefused { .. }
            | Self::KeptVotes { .. }
            | Self::KeptByOthers { .. }
            | Self::NoFaultTested
            | Self::Guarded => false,
            Self::PausedPastTtl { is_fenced } | Self::Overran { is_fenced, .. } => !is_fenced,
            _ => true,
        }
    }

    /// It in words, at most 20 letters, which is the room on the smallest terminal: `45 locks forgotten`.
    pub fn words(self, workload: &WorkloadSpec) -> String {
        let times = |gap: &str, n: u64| format!("{}{gap}{} ×", self.in_all_runs(workload), count(n));
        match self {
            Self::HeldByTwo { times: n } | Self::Unexplained { times: n } | Self::Deleted { times: n } => {
                times(", ", n)
            }
            Self::TtlOver { times: n } | Self::Overran { times: n, .. } | Self::WroteLate { times: n } => times(" ", n),
            Self::Forgotten { locks } => format!("{} forgotten", counted(locks, "lock", "locks")),
            Self::NewMasterLacked { locks } => format!("new master lacked {}", count(locks)),
            Self::GrantedByOldMaster { locks } => format!("old master gave {}", count(locks)),
            Self::Stuck { locks } => format!("{} stuck", counted(locks, "lock", "locks")),
            Self::OutlivedHolder { longest_us } => format!("key outlived {}", micros(longest_us)),
            Self::FenceRefused { writes } => format!("fence refused {}", count(writes)),
            Self::KeptVotes { votes, of } => format!("kept {votes} of {of} votes"),
            Self::KeptByOthers { members, of } => format!("{members} of {of} members left"),
            _ => self.in_all_runs(workload).to_owned(),
        }
    }

    /// It without how often, which differs from run to run.
    pub fn uncounted(self, workload: &WorkloadSpec) -> String {
        match self {
            Self::KeptVotes { .. } | Self::KeptByOthers { .. } => self.words(workload),
            _ => self.in_all_runs(workload).to_owned(),
        }
    }

    fn in_all_runs(self, workload: &WorkloadSpec) -> &'static str {
        let words = workload.about().display().words;
        match self {
            Self::AtomicUpdate => "one atomic update",
            Self::RowLock => "a row lock",
            Self::NoLock => words.without_lock,
            Self::OwnMutex => words.own_mutex,
            Self::SessionEnded => "its session ended",
            Self::ReleasedEarly => "released too early",
            Self::PayeeUnlocked => "payee is not locked",
            Self::WaitsInCircle => "waits in a circle",
            Self::NoSecondCheck => "no second check",
            Self::WorkedWithoutLock => "worked without lock",
            Self::HeldByTwo { .. } => "two held it",
            Self::Unexplained { .. } => "unexplained",
            Self::Deleted { .. } => "deleted",
            Self::TtlOver { .. } => "TTL was over",
            Self::Forgotten { .. } => "locks forgotten",
            Self::Emptied { despite_wait: true } => "emptied despite WAIT",
            Self::Emptied { despite_wait: false } => "emptiness replicated",
            Self::NewMasterLacked { .. } => "new master lacked locks",
            Self::GrantedByOldMaster { .. } => "old master gave locks",
            Self::Stuck { .. } => "locks stuck",
            Self::OutlivedHolder { .. } => "key outlived its holder",
            Self::FenceRefused { .. } => "fence refused writes",
            Self::PausedPastTtl { .. } => "paused past its TTL",
            // Of a TTL nobody has reported.
            Self::Overran { is_reported: true, .. } => "outlived lock",
            Self::Overran { is_reported: false, .. } => "outlived TTL",
            Self::KeptVotes { .. } => "kept votes",
            Self::KeptByOthers { .. } => "members left",
            Self::NoFaultTested => "no fault tested it",
            Self::Guarded => words.guarded,
            Self::WroteLate { .. } => "wrote late",
        }
    }
}

/// What an arm's consequences add up to.
#[derive(Debug, Default)]
struct Sums {
    forgot: u64,
    emptied: u64,
    /// The votes that were left of how many, at the worst.
    kept: Option<(usize, usize)>,
    /// The members of etcd that were left of how many, at the worst.
    members: Option<(usize, usize)>,
    lost_at_failover: u64,
    by_old_master: u64,
    paused: u64,
    outlived_us: u64,
}

impl Sums {
    fn new(figures: &Figures) -> Self {
        let mut sums = Self::default();
        for consequence in &figures.consequences {
            match consequence.kind {
                ConsequenceKind::Forgot { locks } => sums.forgot += locks,
                ConsequenceKind::EmptinessReplicated { locks } => sums.emptied += locks,
                ConsequenceKind::KeptVotes { votes, of, .. } => {
                    sums.kept = Some(sums.kept.map_or((votes, of), |kept| kept.min((votes, of))));
                }
                ConsequenceKind::KeptByOthers { members, of, .. } => {
                    sums.members = Some(sums.members.map_or((members, of), |kept| kept.min((members, of))));
                }
                ConsequenceKind::LostAtFailover { locks, .. } => sums.lost_at_failover += locks,
                ConsequenceKind::GrantedByOldMaster { locks } => sums.by_old_master += locks,
                ConsequenceKind::PausedPastTtl { locks } => sums.paused += locks,
                ConsequenceKind::OutlivedHolder { longest_us, .. } => {
                    sums.outlived_us = max(sums.outlived_us, longest_us);
                }
                ConsequenceKind::Refused { .. }
                | ConsequenceKind::Delayed { .. }
                | ConsequenceKind::Orphaned { .. } => {}
            }
        }
        sums
    }
}

/// The causes of what an arm shows, the most important first: of its damage, or if it has none, of that.
pub(crate) fn causes(scenario: &Scenario, arm: &ArmSpec, figures: &Figures) -> Vec<Cause> {
    let (workload, sums) = (&scenario.workload, Sums::new(figures));
    let mut causes = by_design(arm, figures, workload);
    let mut add = |is_so: bool, cause: Cause| causes.extend(is_so.then_some(cause));
    let Figures {
        double_holds,
        law_violations,
        expired_holds,
        deleted,
        ..
    } = *figures;
    add(law_violations > 0, Cause::Unexplained { times: law_violations });
    add(deleted > 0, Cause::Deleted { times: deleted });
    add(expired_holds > 0, Cause::TtlOver { times: expired_holds });
    let has_ended = arm.lock == LockKind::Postgres && figures.counts[Count::LocksLost] > 0;
    add(double_holds > 0 && has_ended, Cause::SessionEnded);
    // Locks that were forgotten did no harm if no other client acquired one meanwhile; then the rest explains more, as do more sections
    // that outlasted their lock.
    let overran = figures.counts[Count::Overran];
    let let_in = double_holds > 0 && double_holds >= overran;
    let forgotten = Cause::Forgotten { locks: sums.forgot };
    add(sums.forgot > 0 && let_in, forgotten);
    let despite_wait = arm.wait_replicas > 0;
    add(sums.emptied > 0, Cause::Emptied { despite_wait });
    let locks = sums.lost_at_failover;
    add(locks > 0, Cause::NewMasterLacked { locks });
    let locks = sums.by_old_master;
    add(locks > 0, Cause::GrantedByOldMaster { locks });
    let locks = figures.stuck.unwrap_or(0);
    add(locks > 0, Cause::Stuck { locks });
    let longest_us = sums.outlived_us;
    add(longest_us > 0, Cause::OutlivedHolder { longest_us });
    let writes = figures.counts[Count::Fenced];
    let is_fenced = arm.fence != Fence::Off && writes > 0;
    add(is_fenced, Cause::FenceRefused { writes });
    add(sums.paused > 0, Cause::PausedPastTtl { is_fenced });
    let is_reported = matches!(workload, WorkloadSpec::Reported(_));
    let outlasted = Cause::Overran {
        times: overran,
        is_fenced,
        is_reported,
    };
    add(sums.paused == 0 && overran > 0, outlasted);
    add(sums.forgot > 0 && !let_in, forgotten);
    if let Some((votes, of)) = sums.kept {
        add(true, Cause::KeptVotes { votes, of });
    }
    if let Some((members, of)) = sums.members {
        add(true, Cause::KeptByOthers { members, of });
    }
    add(meets_no_fault(scenario, arm, figures), Cause::NoFaultTested);
    let is_shared = arm.lock.has(Group::Servers);
    let held = is_shared && figures.outcomes.acquired > 0 && Metric::proven(figures).next().is_none();
    add(held, Cause::Guarded);
    let times = figures.counts[Count::LateWrites];
    add(is_reported && times > 0, Cause::WroteLate { times });
    // At least that much is known: of another program no more, and nothing explains most of those that could not be judged.
    let is_unjudged = figures.unjudged.saturating_mul(2) > double_holds;
    let is_first = is_reported || is_unjudged || causes.iter().all(|cause| !cause.is_bad());
    if double_holds > 0 && is_first {
        causes.insert(0, Cause::HeldByTwo { times: double_holds });
    }
    causes
}

/// What the arm's lock leaves open, whatever happens to its nodes.
fn by_design(arm: &ArmSpec, figures: &Figures, workload: &WorkloadSpec) -> Vec<Cause> {
    let has_update = |update| arm.update == update;
    // Other workloads have no accounts.
    let waits_in_circle = arm.locks == AccountLocks::AsPaid && figures.outcomes.contended > 0;
    let checks_again = arm.second_look || !matches!(workload, WorkloadSpec::Job(_));
    let had_no_lock = figures.outcomes.no_quorum + figures.outcomes.unknown > 0;
    let possible = [
        (has_update(Update::Atomic), Cause::AtomicUpdate),
        (has_update(Update::RowLock), Cause::RowLock),
        (arm.lock == LockKind::None && !arm.update.is_guarded(), Cause::NoLock),
        (arm.lock == LockKind::Local, Cause::OwnMutex),
        (arm.release == Release::BeforeWrite, Cause::ReleasedEarly),
        (arm.locks == AccountLocks::Payer, Cause::PayeeUnlocked),
        (waits_in_circle, Cause::WaitsInCircle),
        (arm.lock.is_some() && !checks_again, Cause::NoSecondCheck),
        (
            arm.on_outage == OnOutage::Proceed && had_no_lock,
            Cause::WorkedWithoutLock,
        ),
    ];
    let known = possible.into_iter().filter(|(is_so, _)| *is_so);
    known.map(|(_, cause)| cause).collect()
}
