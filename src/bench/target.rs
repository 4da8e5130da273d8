//! The targets of the engine, as data.

use serde::{Deserialize, Serialize};

use super::case_result::CaseResult;
use super::contender::Contender;
use super::metric::Metric;

/// One target of the engine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// The case that shows it.
    pub case: &'static str,
    /// The target in words.
    pub words: &'static str,
    /// The figure.
    pub metric: Metric,
    /// What the figure is compared with.
    pub basis: Basis,
    /// The bound on the figure or ratio.
    pub bound: Bound,
}

/// What the engine's figure is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The bound itself, with the median of all rounds.
    Median,
    /// The bound itself, with every round.
    EveryRound,
    /// The engine in another case of the same bench: the ratio of the medians counts.
    Case(&'static str),
    /// A peer: the median of the rounds' ratios counts.
    Peer(Contender),
    /// The figure of this contender beside the engine's: the inverse of the median of the rounds' ratios counts.
    Of(Contender),
}

/// A bound on a figure or ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
}

use Basis::{Case, EveryRound, Median, Of, Peer};
use Bound::{AtLeast, AtMost};

const fn target(case: &'static str, words: &'static str, metric: Metric, basis: Basis, bound: Bound) -> Target {
    Target {
        case,
        words,
        metric,
        basis,
        bound,
    }
}

/// All targets.
#[rustfmt::skip] // a table
pub const TARGETS: &[Target] = &[
    target("own-64", "cycles/s, beside rslock", Metric::CyclesPerS, Peer(Contender::Rslock), AtLeast(1.7)),
    target("own-64", "cycles/s, beside rslock-mt", Metric::CyclesPerS, Peer(Contender::RslockMt), AtLeast(2.3)),
    target("own-64", "client CPU, beside naive", Metric::ClientCpu, Peer(Contender::Naive), AtMost(0.5)),
    target("own-64", "orphan keys", Metric::OrphanKeys, EveryRound, AtMost(0.0)),
    target("own-256", "cycles/s, beside rslock", Metric::CyclesPerS, Peer(Contender::Rslock), AtLeast(1.4)),
    target("own-256", "cycles/s, beside rslock-mt", Metric::CyclesPerS, Peer(Contender::RslockMt), AtLeast(2.3)),
    target("own-256", "client CPU, beside naive", Metric::ClientCpu, Peer(Contender::Naive), AtMost(0.5)),
    target("own-256", "orphan keys", Metric::OrphanKeys, EveryRound, AtMost(0.0)),
    target("tls-64", "cycles/s, of own-64", Metric::CyclesPerS, Case("own-64"), AtLeast(0.6)),
    target("tls-64", "client CPU, of own-64", Metric::ClientCpu, Case("own-64"), AtMost(2.0)),
    target("tls-64", "cycles/s, beside rslock", Metric::CyclesPerS, Peer(Contender::Rslock), AtLeast(1.5)),
    target("tls-64", "share acquired", Metric::AcquiredShare, EveryRound, AtLeast(1.0)),
    target("tls-64", "orphan keys", Metric::OrphanKeys, EveryRound, AtMost(0.0)),
    target("own-1", "acquire p50, of the machine's limit", Metric::AcquireP50, Peer(Contender::Bare), AtMost(1.05)),
    target("own-64", "cycles/s, of the machine's limit", Metric::CyclesPerS, Peer(Contender::Bare), AtLeast(0.95)),
    target("own-256", "cycles/s, of the machine's limit", Metric::CyclesPerS, Peer(Contender::Bare), AtLeast(0.95)),
    target("own-64", "cycles/s, on two threads, of those on one", Metric::CyclesPerS, Of(Contender::EngineMt), AtLeast(0.9)),
    target("own-256", "cycles/s, on two threads, of those on one", Metric::CyclesPerS, Of(Contender::EngineMt), AtLeast(0.9)),
    target("link-300", "goodput, of what the links carry", Metric::OfLink, Median, AtLeast(0.95)),
    target("link-300", "share acquired", Metric::AcquiredShare, Median, AtLeast(0.99)),
    target("link-600", "goodput, of what the links carry", Metric::OfLink, Median, AtLeast(0.95)),
    target("link-600", "share acquired", Metric::AcquiredShare, Median, AtLeast(0.99)),
    target("link-1000", "goodput, of what the links carry", Metric::OfLink, Median, AtLeast(0.95)),
    target("link-1000", "share acquired", Metric::AcquiredShare, Median, AtLeast(0.99)),
    target("link-2000", "goodput, of what the links carry", Metric::OfLink, Median, AtLeast(0.95)),
    target("link-2000", "share acquired", Metric::AcquiredShare, Median, AtLeast(0.99)),
    target("fleet-4x3000", "goodput, of fleet-4x64", Metric::CyclesPerS, Case("fleet-4x64"), AtLeast(0.95)),
    target("fleet-4x3000", "share acquired", Metric::AcquiredShare, Median, AtLeast(0.99)),
    target("fleet-8x3000", "goodput, of fleet-8x64", Metric::CyclesPerS, Case("fleet-8x64"), AtLeast(0.95)),
    target("fleet-8x3000", "share acquired", Metric::AcquiredShare, Median, AtLeast(0.99)),
    target("paused", "cycles/s, of healthy", Metric::OfHealthyCycles, Median, AtLeast(0.95)),
    target("paused", "acquire p99, of healthy", Metric::OfHealthyAcquireP99, Median, AtMost(1.5)),
    target("paused", "release p99, of healthy", Metric::OfHealthyReleaseP99, Median, AtMost(1.5)),
    target("paused", "memory grown, MiB", Metric::GrowthMib, Median, AtMost(4.0)),
    target("paused", "orphan keys 250 ms after SIGCONT", Metric::OrphanKeys, EveryRound, AtMost(0.0)),
    target("five-two-paused", "cycles/s, of healthy", Metric::OfHealthyCycles, Median, AtLeast(0.7)),
    target("five-two-paused", "cycles/s, of own-64", Metric::CyclesPerS, Case("own-64"), AtLeast(0.4)),
    target("five-two-paused", "share acquired", Metric::AcquiredShare, EveryRound, AtLeast(1.0)),
    target("five-two-paused", "memory grown, MiB", Metric::GrowthMib, Median, AtMost(4.0)),
    target("five-two-paused", "orphan keys 250 ms after SIGCONT", Metric::OrphanKeys, EveryRound, AtMost(0.0)),
    target("hung", "cycles/s, of healthy", Metric::OfHealthyCycles, Median, AtLeast(0.95)),
    target("hung", "acquire p99, of healthy", Metric::OfHealthyAcquireP99, Median, AtMost(1.5)),
    target("hung", "release p99, of healthy", Metric::OfHealthyReleaseP99, Median, AtMost(1.5)),
    target("hung", "orphan keys", Metric::OrphanKeys, EveryRound, AtMost(0.0)),
    target("killed", "share acquired", Metric::AcquiredShare, EveryRound, AtLeast(1.0)),
    target("killed", "acquire p99, of healthy", Metric::OfHealthyAcquireP99, Median, AtMost(1.5)),
    target("restarted", "µs until the node's vote counts again", Metric::BackInUse, EveryRound, AtMost(250_000.0)),
    target("restarted", "acquire p99 of the first 2 s, of healthy", Metric::OfHealthyAcquireP99, Median, AtMost(2.0)),
    target("no-quorum-killed", "µs to the slowest refusal", Metric::RefusalMax, Median, AtMost(50_000.0)),
    target("no-quorum-killed", "keys on the survivor after 100 ms", Metric::SurvivorKeys, EveryRound, AtMost(0.0)),
    target("no-quorum-paused", "µs to the slowest refusal", Metric::RefusalMax, Median, AtMost(50_000.0)),
    target("no-quorum-paused", "keys on the survivor after 100 ms", Metric::SurvivorKeys, EveryRound, AtMost(0.0)),
    target("no-quorum-paused", "orphan keys 250 ms after SIGCONT", Metric::OrphanKeys, EveryRound, AtMost(0.0)),
    target("short-ttl", "share acquired", Metric::AcquiredShare, EveryRound, AtLeast(1.0)),
    target("one-64", "acquire p99, of an ideal queue", Metric::IdealQueueRatio, Median, AtMost(1.3)),
    target("one-64", "Jain's index", Metric::Jain, Median, AtLeast(0.99)),
    target("one-64", "commands per node and cycle", Metric::CommandsPerNodeAndCycle, Median, AtMost(2.2)),
    target("one-64", "server CPU, beside rslock", Metric::ServerCpu, Peer(Contender::Rslock), AtMost(0.5)),
    target("one-64-think", "acquire p99, of an ideal queue", Metric::IdealQueueRatio, Median, AtMost(1.3)),
    target("one-64-think", "Jain's index", Metric::Jain, Median, AtLeast(0.99)),
    target("one-64-think", "commands per node and cycle", Metric::CommandsPerNodeAndCycle, Median, AtMost(2.2)),
    target("one-64-think", "server CPU, beside rslock", Metric::ServerCpu, Peer(Contender::Rslock), AtMost(0.5)),
    target("one-4x16", "acquire p99, of an ideal queue", Metric::IdealQueueRatio, Median, AtMost(2.0)),
    target("one-4x16", "Jain's index", Metric::Jain, Median, AtLeast(0.98)),
    target("one-4x16", "tries per cycle", Metric::AttemptsPerCycle, Median, AtMost(8.0)),
    target("one-4x16-think", "acquire p99, of an ideal queue", Metric::IdealQueueRatio, Median, AtMost(2.0)),
    target("one-4x16-think", "Jain's index", Metric::Jain, Median, AtLeast(0.98)),
    target("one-4x16-think", "tries per cycle", Metric::AttemptsPerCycle, Median, AtMost(8.0)),
    target("renewal", "client CPU, % of a core", Metric::ClientCpuPercent, Median, AtMost(10.0)),
    target("renewal", "locks lost", Metric::LostLocks, EveryRound, AtMost(0.0)),
    target("renewal-paused", "locks lost in 10 × TTL", Metric::LostLocks, EveryRound, AtMost(0.0)),
    target("renewal-restarted", "locks lost in 10 × TTL", Metric::LostLocks, EveryRound, AtMost(0.0)),
];

/// A target and its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The case.
    pub case: String,
    /// The target in words.
    pub words: String,
    /// The bound: `≥ 1.7` or `≤ 0.5`.
    pub asked: String,
    /// The figure or ratio.
    pub value: f64,
    /// Whether the target was reached.
    pub reached: bool,
}

impl Target {
    /// Judges the target by the results of the cases; `None` if they don't show it, for example without peers.
    pub fn judge(&self, cases: &[CaseResult]) -> Option<Judged> {
        let find = |name: &str| cases.iter().find(|case| case.name == name);
        let case = find(self.case)?;
        let of_engine = |case: &CaseResult| {
            let engine = case.summary.iter().find(|one| one.contender == Contender::Engine)?;
            engine.metrics.get(&self.metric).copied()
        };
        let own = || of_engine(case);
        let mut ratios = case
            .ratios
            .iter()
            .filter_map(|ratio| Some((ratio.peer, ratio.metrics.get(&self.metric)?.median)));
        let value = match self.basis {
            Median => own()?.median,
            EveryRound => match self.bound {
                AtLeast(_) => own()?.min,
                AtMost(_) => own()?.max,
            },
            Case(other) => {
                let other = of_engine(find(other)?)?.median;
                (other > 0.0).then(|| own().map(|own| own.median / other))??
            }
            Peer(peer) => ratios.find(|(one, _)| *one == peer)?.1,
            Of(other) => ratios.find(|(one, ratio)| *one == other && *ratio > 0.0)?.1.recip(),
        };
        let (asked, reached) = match self.bound {
            AtLeast(least) => (format!("≥ {least}"), value >= least),
            AtMost(most) => (format!("≤ {most}"), value <= most),
        };
        Some(Judged {
            case: self.case.to_owned(),
            words: self.words.to_owned(),
            asked,
            value,
            reached,
        })
    }
}
