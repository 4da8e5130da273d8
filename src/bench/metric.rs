//! The figures that are summarized over rounds, compared with peers and with targets.

use serde::{Deserialize, Serialize};
use strum::VariantArray;

use super::case::Case;
use super::figures::{Figures, Run};

/// One figure of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields of `Run` and `Figures` tell")]
pub enum Metric {
    CyclesPerS,
    #[serde(rename = "acquire_p50_us")]
    AcquireP50,
    #[serde(rename = "acquire_p99_us")]
    AcquireP99,
    #[serde(rename = "acquire_p999_us")]
    AcquireP999,
    #[serde(rename = "release_p50_us")]
    ReleaseP50,
    #[serde(rename = "release_p99_us")]
    ReleaseP99,
    #[serde(rename = "refusal_p50_us")]
    RefusalP50,
    #[serde(rename = "refusal_max_us")]
    RefusalMax,
    #[serde(rename = "client_cpu_s_per_100k")]
    ClientCpu,
    #[serde(rename = "server_cpu_s_per_100k")]
    ServerCpu,
    /// Client CPU in percent of one core.
    ClientCpuPercent,
    CommandsPerNodeAndCycle,
    AttemptsPerCycle,
    AcquiredShare,
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
    BackInUseMs,
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
        let granted = |figure: f64| (figures.acquire.n > 0).then_some(figure);
        let released = |figure: f64| (figures.release.n > 0).then_some(figure);
        let refused = |figure: f64| (figures.refusal.n > 0).then_some(figure);
        let of_healthy = |figure: fn(&Figures) -> f64| {
            let healthy = figure(run.baseline.as_ref()?);
            (healthy > 0.0 && figures.acquire.n > 0).then(|| figure(figures) / healthy)
        };
        match self {
            Self::CyclesPerS => figures.acquired_share.map(|_| figures.cycles_per_s),
            Self::AcquireP50 => granted(figures.acquire.p50_us),
            Self::AcquireP99 => granted(figures.acquire.p99_us),
            Self::AcquireP999 => granted(figures.acquire.p999_us),
            Self::ReleaseP50 => released(figures.release.p50_us),
            Self::ReleaseP99 => released(figures.release.p99_us),
            Self::RefusalP50 => refused(figures.refusal.p50_us),
            Self::RefusalMax => refused(figures.refusal.max_us),
            Self::ClientCpu => figures.client_cpu_s_per_100k,
            Self::ServerCpu => figures.server_cpu_s_per_100k,
            Self::ClientCpuPercent => Some(100.0 * figures.client_cpu_s / figures.seconds),
            Self::CommandsPerNodeAndCycle => figures.commands_per_node_and_cycle,
            Self::AttemptsPerCycle => figures.attempts_per_cycle,
            Self::AcquiredShare => figures.acquired_share,
            Self::Jain => figures.jain,
            Self::IdealQueueRatio => {
                let ideal = case.all_tasks() as f64 * (figures.hold_mean_us + run.uncontended_us?);
                granted(figures.acquire.p99_us / ideal)
            }
            Self::OfHealthyCycles => of_healthy(|figures| figures.cycles_per_s),
            Self::OfHealthyAcquireP99 => of_healthy(|figures| figures.acquire.p99_us),
            Self::OfHealthyReleaseP99 => {
                released(0.0)?;
                of_healthy(|figures| figures.release.p99_us)
            }
            Self::GrowthMib => Some(run.rss_after_mib? - run.rss_before_mib?),
            Self::BackInUseMs => run.back_in_use_ms,
            Self::SurvivorKeys => run.survivor_keys.map(|keys| keys as f64),
            Self::LostLocks => run.lost.map(|locks| locks as f64),
            Self::OrphanKeys => (!run.orphans.is_empty()).then(|| run.orphans.iter().sum::<u64>() as f64),
        }
    }
}
