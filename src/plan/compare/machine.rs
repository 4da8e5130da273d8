//! Whether the machine differed between two groups of runs: then their times say nothing about what was to be compared.

use serde::Serialize;

use super::figure::of_run;
use super::ranks::unpaired;
use super::significance::{ALPHA, holm};
use lockstorm_data::metrics::{Count, Metric};
use lockstorm_run::{ArmRecord, Record};

/// The machine was slower or faster in the runs of the second side, by one of these signs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MachineDiffers {
    /// What shows it.
    pub sign: Sign,
    /// Whether it was slower.
    pub is_slower: bool,
    /// The probability of such a difference if nothing differs, adjusted for the number of signs.
    pub p: f64,
}

/// By what a machine shows that it is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// How late the load generator began its requests: the p99, the mean of all arms.
    GeneratorLag,
    /// The part of the sections that were stalled.
    Stalls,
}

impl Sign {
    const ALL: [Self; 2] = [Self::GeneratorLag, Self::Stalls];

    /// Its value in a run, of these arms together.
    fn of(self, run: &Record, arms: &[&String]) -> Option<f64> {
        match self {
            Self::GeneratorLag => {
                let lags: Vec<f64> = arms
                    .iter()
                    .filter_map(|arm| of_run(run, arm, Metric::LagP99).ok())
                    .collect();
                (!lags.is_empty()).then(|| lags.iter().sum::<f64>() / lags.len() as f64)
            }
            Self::Stalls => {
                let compared = run.arms.iter().filter(|arm| arms.contains(&&arm.name));
                let of_arm = |arm: &ArmRecord| (arm.figures.counts[Count::Stalled], arm.figures.sections());
                let (stalled, all) = compared
                    .map(of_arm)
                    .fold((0, 0), |sum, arm| (sum.0 + arm.0, sum.1 + arm.1));
                (all > 0 && !run.interrupted).then(|| stalled as f64 / all as f64)
            }
        }
    }
}

/// The signs by which the machine differed. None if the runs of the two groups took turns: what slows the machine then hits both alike, and
/// what shows nevertheless comes from what is compared.
pub(super) fn machine_differs([a, b]: [&[Record]; 2], arms: &[&String]) -> Vec<MachineDiffers> {
    if took_turns([a, b]) {
        return Vec::new();
    }
    let shifts = Sign::ALL.map(|sign| {
        let [a, b] = [a, b].map(|runs| runs.iter().filter_map(|run| sign.of(run, arms)).collect::<Vec<_>>());
        let is_flat = a
            .iter()
            .chain(&b)
            .all(|value| value.total_cmp(&a.first().copied().unwrap_or(*value)).is_eq());
        Some((sign, unpaired(&a, &b)?)).filter(|_| !is_flat)
    });
    let shifts: Vec<_> = shifts.into_iter().flatten().collect();
    let p = holm(&shifts.iter().map(|(_, shift)| shift.p).collect::<Vec<_>>());
    let differs = shifts.into_iter().zip(p).filter(|(_, p)| *p < ALPHA);
    differs
        .map(|((sign, shift), p)| MachineDiffers {
            sign,
            is_slower: shift.more > 0.5,
            p,
        })
        .collect()
}

/// Whether one group's run was followed by one of the other at least every other time.
fn took_turns([a, b]: [&[Record]; 2]) -> bool {
    let of = |runs: &[Record], side: usize| runs.iter().map(|run| (run.started.clone(), side)).collect::<Vec<_>>();
    let mut all = [of(a, 0), of(b, 1)].concat();
    // RFC 3339 in UTC is in the order of time.
    all.sort();
    let changes = all.windows(2).filter(|two| two[0].1 != two[1].1).count();
    changes > 1 && changes >= a.len().min(b.len())
}
