//! What casts doubt on a result, and which results stand in spite of it.

use lockstorm_data::facts::{Caveat, Misuse};
use lockstorm_data::metrics::units::rounded;
use lockstorm_data::metrics::{Count, Figures, Metric};
use lockstorm_data::scenario::{ArmSpec, Expectation, Op, Scenario};

use crate::evidence::{ArmEvidence, Evidence, Stage};

/// If more than one request in this many failed, those that succeeded are not representative.
const MAX_FAILED: u64 = 100;
/// If more than one request in this many was late to begin or never ended, times cover too few of them.
const MAX_MISSING: u64 = 100;
/// If more than one request in this many was never begun, the load was another one than the scenario asks for.
const MAX_NEVER_BEGUN: u64 = 10;
/// If the threads of app servers waited for a processor for a larger part of the time than this, the machine is too busy.
const MAX_PROCESSOR_WAIT: f64 = 0.02;
/// If other programs used a larger part of all processor time than this, times may be too long because of them.
const MAX_USED_BY_OTHERS: f64 = 0.33;
/// The shortest load, in seconds, of which that is judged.
const MIN_OBSERVED: f64 = 3.5;

/// The doubts about one arm. Doubts are a set: none of them makes another one smaller.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Doubts {
    /// What casts doubt on all figures of the arm, the heaviest first.
    pub general: Vec<Caveat>,
    /// What casts doubt on results of expectations only.
    pub of_results: Vec<Caveat>,
}

/// An expectation beside the figures of its arm.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compared<'a> {
    pub expectation: &'a Expectation,
    /// The figure that decides.
    pub value: f64,
    /// Whether it keeps the bound.
    pub is_kept: bool,
    /// That, if it can no longer change; `None` if it still can.
    pub decided: Option<bool>,
    /// Whether a fault was felt by the arm.
    pub met_fault: bool,
}

impl Compared<'_> {
    /// Whether a larger figure would be worse: the bound is an upper one, or one exact number that is kept or exceeded.
    pub const fn is_from_above(&self) -> bool {
        let is_below = matches!(self.expectation.op, Op::Equal) && self.value < self.expectation.bound;
        self.expectation.is_from_above() && !is_below
    }
}

/// The order in which doubts are shown. It does not decide which results stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Something was lost that the run needs.
    Lost,
    /// All figures are worthless.
    Void,
    /// A fault of the scenario took no effect.
    Unmet,
    /// It is about one arm.
    OfArm,
}

/// The rank of a caveat among the doubts about an arm; `None` if it casts no doubt on it.
fn rank(caveat: &Caveat, arm: &ArmSpec) -> Option<Rank> {
    let of = match caveat {
        _ if is_void(caveat) => return Some(Rank::Void),
        Caveat::KeeperStopped
        | Caveat::KeeperGone { .. }
        | Caveat::ServerHangs { .. }
        | Caveat::NodeChanged { loses_cache: true, .. } => return Some(Rank::Lost),
        Caveat::FaultUnmet { .. } => return Some(Rank::Unmet),
        // Reported events have one arm, which these caveats don't name.
        Caveat::NoEvents
        | Caveat::NoHolds
        | Caveat::MoreThanAYear
        | Caveat::NoSharedLock
        | Caveat::OtherClocks { .. }
        | Caveat::EndsMissing { .. }
        | Caveat::NotAllRead
        | Caveat::Reported {
            misuse: Misuse::SharedToken { .. } | Misuse::FenceRepeated { .. } | Misuse::FenceFallen { .. },
        } => return Some(Rank::OfArm),
        Caveat::NewMasterSilent { arm, .. }
        | Caveat::NoQuorumAtEnd { arm, .. }
        | Caveat::NoLockAtEnd { arm, .. }
        | Caveat::DatabaseLost { arm, .. }
        | Caveat::LedgerUnreadable { arm, .. }
        | Caveat::Unanswered { arm, .. }
        | Caveat::Client { arm, .. } => arm,
        _ => return None,
    };
    (*of == arm.name).then_some(Rank::OfArm)
}

/// Whether it makes all figures of a run worthless: the wall clock stepped, or the run itself was stalled.
pub(crate) const fn is_void(caveat: &Caveat) -> bool {
    matches!(
        caveat,
        Caveat::ClockStepped { .. } | Caveat::RunStalled { .. } | Caveat::ProgramStopped { is_long: true, .. }
    )
}

/// Whether a result stands in spite of a doubt.
pub(crate) fn stands(doubt: &Caveat, result: Compared<'_>) -> bool {
    let Compared { is_kept, decided, .. } = result;
    let (metric, is_upper) = (result.expectation.metric, result.is_from_above());
    let is_damaged = decided == Some(false) && metric.is_damage();
    match doubt {
        _ if is_void(doubt) => false,
        // Too much is too much under more load, too,
        Caveat::RateNotKept { .. } => !is_kept && is_upper,
        // and without that fault, if the fault could only add to it.
        Caveat::FaultUnmet { .. } => !is_kept && is_upper && metric.is_cost(),
        // A stalled machine explains little progress and high costs, and not the opposite. What damage it explains is subtracted, and the
        // costs of a fault are the fault's.
        Caveat::MachineBusy { .. } => {
            let is_other = metric.evidence().is_some() || result.met_fault;
            is_damaged
                || is_kept
                    && if is_upper {
                        metric.is_cost()
                    } else {
                        !metric.is_cost() || is_other
                    }
        }
        // Other programs explain long times and little progress, and not the outage that a fault made.
        Caveat::MachineShared { .. } => match metric.is_time() {
            true => is_kept == is_upper || result.met_fault && (is_kept || metric.is_outage()),
            false => is_kept || is_upper || metric.is_cost(),
        },
        // Requests were late by the stop, and not because of the lock.
        Caveat::ProgramStopped { .. } => is_kept && is_upper || !metric.is_time(),
        // Nothing has put the lock to the test, so that it had no damage and was available says nothing.
        Caveat::Untested => !(is_kept && is_upper && (metric.is_damage() || metric.is_outage())),
        // Nothing that comes later can change it.
        Caveat::StoppedEarly | Caveat::Killed { .. } => decided.is_some(),
        // What stalls explain is subtracted from each figure by itself.
        Caveat::DamageByStalls { .. } => true,
        // Damage is in the ledger: what is lost or fails later does not undo it.
        _ => is_damaged,
    }
}

impl Doubts {
    /// Everything that casts doubt on an arm.
    pub fn new(evidence: &Evidence<'_>, arm: &ArmSpec, of_arm: &ArmEvidence<'_>, is_untested: bool) -> Self {
        let (scenario, figures) = (evidence.scenario, of_arm.figures);
        let mut known: Vec<(Rank, &Caveat)> = Vec::new();
        for caveat in evidence.caveats.iter().chain(evidence.missing) {
            if let Some(rank) = rank(caveat, arm)
                && !known.iter().any(|(_, other)| *other == caveat)
            {
                known.push((rank, caveat));
            }
        }
        known.sort_by_key(|(rank, _)| *rank);
        let mut general: Vec<Caveat> = known.into_iter().map(|(_, caveat)| caveat.clone()).collect();
        general.extend(too_many_failed(arm, of_arm, &scenario.expect));
        general.extend(by_stalls(&arm.name, figures, was_stopped(evidence.caveats)));
        if evidence.stage != Stage::Loaded {
            // Before that, what waits for a worker may still be begun.
            general.extend(other_load(&arm.name, figures, &scenario.expect));
        }
        let later = of_arm.later.iter().filter(|caveat| !general.contains(caveat));
        let later: Vec<Caveat> = later.cloned().collect();
        general.extend(later);
        // A machine that is too busy explains what failed of locks that expire, and nothing else.
        let busy = busy(evidence.processor_wait, evidence.elapsed).filter(|_| arm.lock.has_ttl());
        let shared = shared(evidence.used_by_others, evidence.elapsed);
        let mut of_results: Vec<Caveat> = busy.into_iter().chain(shared).collect();
        let stops = evidence
            .caveats
            .iter()
            .filter(|caveat| matches!(caveat, Caveat::ProgramStopped { is_long: false, .. }));
        of_results.extend(stops.cloned());
        of_results.extend((is_untested && scenario.is_to_test(arm)).then_some(Caveat::Untested));
        let killed = evidence
            .missing
            .iter()
            .find(|caveat| matches!(caveat, Caveat::Killed { .. }));
        match (evidence.stage, killed) {
            (_, Some(killed)) => of_results.push(killed.clone()),
            (Stage::Loaded | Stage::Draining | Stage::Stopped, None) => of_results.push(Caveat::StoppedEarly),
            (Stage::Ended, None) => {}
        }
        Self { general, of_results }
    }

    /// All of them, in the order in which they are shown.
    pub fn all(&self) -> impl Iterator<Item = &Caveat> {
        self.general.iter().chain(&self.of_results)
    }
}

/// Returns a caveat if app servers waited too long for a processor: for this part of the load so far, which lasts `elapsed` seconds.
pub fn busy(processor_wait: Option<f64>, elapsed: f64) -> Option<Caveat> {
    let part = processor_wait.filter(|part| *part > MAX_PROCESSOR_WAIT && elapsed >= MIN_OBSERVED)?;
    let percent = rounded(part * 100.0);
    Some(Caveat::MachineBusy { percent })
}

/// Returns a caveat if other programs used too much: this part of all processor time of the load, which lasted `elapsed` seconds.
pub fn shared(used_by_others: Option<f64>, elapsed: f64) -> Option<Caveat> {
    let part = used_by_others.filter(|part| *part > MAX_USED_BY_OTHERS && elapsed >= MIN_OBSERVED)?;
    let percent = rounded(part * 100.0);
    Some(Caveat::MachineShared { percent })
}

/// Whether a signal has stopped this program for a while: what was late then is not the machine's doing.
pub(crate) fn was_stopped(caveats: &[Caveat]) -> bool {
    caveats
        .iter()
        .any(|caveat| matches!(caveat, Caveat::ProgramStopped { .. }))
}

/// Whether the scenario has an expectation about this figure of this arm.
fn has_expectation(name: &str, metric: Metric, expect: &[Expectation]) -> bool {
    expect
        .iter()
        .any(|expectation| expectation.arm == name && expectation.metric == metric)
}

/// Returns a caveat if so many requests of an arm failed that the others are not representative, unless the scenario expects failures.
pub(crate) fn too_many_failed(arm: &ArmSpec, evidence: &ArmEvidence<'_>, expect: &[Expectation]) -> Option<Caveat> {
    let counts = &evidence.figures.counts;
    let many = counts[Count::Errors].saturating_mul(MAX_FAILED) > counts[Count::Completed];
    let is_doubt = many && counts[Count::Errors] > 0 && !has_expectation(&arm.name, Metric::Errors, expect);
    is_doubt.then(|| failed(&arm.name, evidence.figures, evidence.first_error))
}

/// How many requests of an arm failed, with the error of the first.
pub fn failed(name: &str, figures: &Figures, first_error: Option<&str>) -> Caveat {
    Caveat::RequestsFailed {
        arm: name.to_owned(),
        failed: figures.counts[Count::Errors],
        of: figures.counts[Count::Completed],
        quoted: first_error.map(str::to_owned),
    }
}

/// Returns a caveat if more than 1 % of an arm's requests found no free worker, or still waited at the end of the run.
pub fn rate_not_kept(name: &str, figures: &Figures) -> Option<Caveat> {
    let Figures {
        never_begun, offered, ..
    } = *figures;
    let waiting = figures.waiting();
    let missing = never_begun.saturating_add(waiting);
    (missing.saturating_mul(MAX_MISSING) > offered).then(|| Caveat::RateNotKept {
        arm: name.to_owned(),
        never_begun,
        waiting,
        offered,
        ended: figures.counts[Count::Completed],
    })
}

/// Returns a caveat if more than 10 % of the requests were never begun, so that the figures are those of another load, unless the scenario
/// expects that.
pub(crate) fn other_load(name: &str, figures: &Figures, expect: &[Expectation]) -> Option<Caveat> {
    let many = figures.never_begun.saturating_mul(MAX_NEVER_BEGUN) > figures.offered;
    rate_not_kept(name, figures).filter(|_| many && !has_expectation(name, Metric::NeverBegun, expect))
}

/// Returns a caveat if damage in an arm does not speak against its lock: this machine may have done all of it, or a stop of this program.
pub(crate) fn by_stalls(name: &str, figures: &Figures, is_stopped: bool) -> Option<Caveat> {
    // What was made up for later was done all the same.
    let all_by_stalls =
        |metric: Metric| metric.by_stalls(figures) > 0.0 && metric.by_stalls(figures) >= metric.of(figures);
    let done = Metric::proven(figures).find(|metric| all_by_stalls(metric.peak()))?;
    Some(Caveat::DamageByStalls {
        arm: name.to_owned(),
        sections: figures.counts[Count::Stalled],
        figure: done,
        up_to: rounded(done.peak().by_stalls(figures)),
        is_stopped,
    })
}

/// Returns a caveat if the scenario has faults, and none of them has tested any lock. The figures are those of all arms, in their order.
pub fn untested<'a>(scenario: &Scenario, figures: impl Iterator<Item = &'a Figures>) -> Option<Caveat> {
    let arms = scenario.arms.iter().zip(figures);
    let mut concerned = arms.filter(|(arm, _)| scenario.is_to_test(arm)).peekable();
    let is_so = concerned.peek().is_some() && concerned.all(|(arm, figures)| meets_no_fault(scenario, arm, figures));
    is_so.then_some(Caveat::Untested)
}

/// Whether the scenario has faults for the lock of an arm, and none of them has tested it. Damage shows that something has.
pub(crate) fn meets_no_fault(scenario: &Scenario, arm: &ArmSpec, figures: &Figures) -> bool {
    let is_felt = !figures.consequences.is_empty() || Metric::proven(figures).next().is_some();
    scenario.is_to_test(arm) && !is_felt
}
