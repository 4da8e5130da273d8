//! The figures that are summarized over rounds, compared with peers and with targets.

use serde::{Deserialize, Serialize};
use strum::VariantArray;

use super::case::Case;
use super::figures::{Figures, Run};
use lockstorm_data::metrics::{Quantile, Quantiles};

/// One figure of a run; times are in microseconds unless the name says otherwise, as in the figures of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields of `Run` and `Figures` tell")]
pub enum Metric {
    CyclesPerS,
    AcquireP50,
    AcquireP99,
    AcquireP999,
    ReleaseP50,
    ReleaseP99,
    RefusalP50,
    RefusalMax,
    #[serde(rename = "client_cpu_ns_per_cycle")]
    ClientCpu,
    #[serde(rename = "server_cpu_ns_per_cycle")]
    ServerCpu,
    /// Client CPU in percent of one core.
    ClientCpuPercent,
    CommandsPerNodeAndCycle,
    AttemptsPerCycle,
    AcquiredShare,
    /// The share of the links' rate that the cycles took, with the bytes that one takes without any load.
    OfLink,
    Jain,
    /// p99 of acquire, divided by tasks × (mean hold + acquire without contention): 1 is a queue without any loss.
    IdealQueueRatio,
    /// Cycles a second, divided by those on healthy nodes just before.
    OfHealthyCycles,
    /// p99 of acquire, divided by that on healthy nodes.
    OfHealthyAcquireP99,
    /// p99 of release, divided by that on healthy nodes.
    OfHealthyReleaseP99,
    /// Growth of this process in the measured part.
    GrowthMib,
    BackInUse,
    SurvivorKeys,
    LostLocks,
    OrphanKeys,
}

impl Metric {
    /// All of them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The value of this metric for a run; `None` if it was not measured.
    pub fn of(self, run: &Run, case: &Case) -> Option<f64> {
        let figures = run.figures.as_ref()?;
        let (acquire, release, refusal) = (figures.acquire_ns, figures.release_ns, figures.refusal_ns);
        let time = |of: Quantiles, quantile| (of.count > 0).then(|| of.get(quantile) as f64 / 1e3);
        let of_healthy = |figure: fn(&Figures) -> f64| {
            let healthy = figure(run.baseline.as_ref()?);
            (healthy > 0.0 && acquire.count > 0).then(|| figure(figures) / healthy)
        };
        match self {
            Self::CyclesPerS => figures.acquired_share.map(|_| figures.cycles_per_s),
            Self::AcquireP50 => time(acquire, Quantile::P50),
            Self::AcquireP99 => time(acquire, Quantile::P99),
            Self::AcquireP999 => time(acquire, Quantile::P999),
            Self::ReleaseP50 => time(release, Quantile::P50),
            Self::ReleaseP99 => time(release, Quantile::P99),
            Self::RefusalP50 => time(refusal, Quantile::P50),
            Self::RefusalMax => time(refusal, Quantile::Max),
            Self::ClientCpu => figures.client_cpu_ns_per_cycle.map(|ns| ns as f64),
            Self::ServerCpu => figures.server_cpu_ns_per_cycle.map(|ns| ns as f64),
            Self::ClientCpuPercent => Some(100.0 * figures.client_cpu / figures.elapsed.as_secs_f64()),
            Self::CommandsPerNodeAndCycle => figures.commands_per_node_and_cycle,
            Self::AttemptsPerCycle => figures.attempts_per_cycle,
            Self::AcquiredShare => figures.acquired_share,
            Self::OfLink => {
                let bytes = figures.cycles_per_s * run.link_bytes_per_cycle?;
                Some(bytes / case.link? as f64)
            }
            Self::Jain => figures.jain,
            Self::IdealQueueRatio => {
                let ideal = case.all_tasks() as f64 * (figures.hold_mean_ns + run.uncontended_ns?) as f64;
                (acquire.count > 0).then(|| acquire.p99 as f64 / ideal)
            }
            Self::OfHealthyCycles => of_healthy(|figures| figures.cycles_per_s),
            Self::OfHealthyAcquireP99 => of_healthy(|figures| figures.acquire_ns.p99 as f64),
            Self::OfHealthyReleaseP99 if release.count == 0 => None,
            Self::OfHealthyReleaseP99 => of_healthy(|figures| figures.release_ns.p99 as f64),
            Self::GrowthMib => Some(run.rss_after_mib? - run.rss_before_mib?),
            Self::BackInUse => run.back_in_use.map(|after| after.as_secs_f64() * 1e6),
            Self::SurvivorKeys => run.survivor_keys.map(|keys| keys as f64),
            Self::LostLocks => run.lost.map(|locks| locks as f64),
            Self::OrphanKeys => (!run.orphans.is_empty()).then(|| run.orphans.iter().sum::<u64>() as f64),
        }
    }
}
