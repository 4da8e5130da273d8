//! Whether the machine differed between two groups of runs: then their times say nothing about what was to be compared.

use serde::Serialize;

use super::ranks::unpaired;
use lockstorm_data::metrics::{Count, Metric};
use lockstorm_run::{ArmRecord, Record};

/// A sign counts if its difference, or a larger one, has a probability below this on equal machines. That is much more than it takes to call a
/// figure worse: what may be the machine's doing is not shown to be that of what is compared.
const SUSPECT: f64 = 0.1;

/// The machine was slower or faster in the runs of the second side, by one of these signs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MachineDiffers {
    /// What shows it.
    pub sign: Sign,
    /// Whether it was slower.
    pub is_slower: bool,
    /// The probability of such a difference if nothing differs.
    pub p: f64,
}

/// By what a machine shows that it is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// How late the load generator began its requests: the p99, the mean of all arms.
    GeneratorLag,
    /// The part of the time in which the threads of the app servers waited for a processor.
    ProcessorWait,
    /// The part of all processor time that other programs used.
    OtherPrograms,
    /// The part of the sections that were stalled.
    Stalls,
}

impl Sign {
    const ALL: [Self; 4] = [
        Self::GeneratorLag,
        Self::ProcessorWait,
        Self::OtherPrograms,
        Self::Stalls,
    ];

    /// Its value in a run, of these arms together. A run in which the machine was so busy that its figures don't count shows that most clearly.
    fn of(self, run: &Record, arms: &[&String]) -> Option<f64> {
        if run.interrupted {
            return None;
        }
        let compared = || run.arms.iter().filter(|arm| arms.contains(&&arm.name));
        match self {
            Self::GeneratorLag => {
                let known = compared().filter(|arm| Metric::LagP99.is_known(&arm.figures));
                let lags: Vec<f64> = known.map(|arm| Metric::LagP99.of(&arm.figures)).collect();
                (!lags.is_empty()).then(|| lags.iter().sum::<f64>() / lags.len() as f64)
            }
            Self::ProcessorWait => run.processor_wait,
            Self::OtherPrograms => run.processor_used_by_others,
            Self::Stalls => {
                let of_arm = |arm: &ArmRecord| (arm.figures.counts[Count::Stalled], arm.figures.sections());
                let (stalled, all) = compared()
                    .map(of_arm)
                    .fold((0, 0), |sum, arm| (sum.0 + arm.0, sum.1 + arm.1));
                (all > 0).then(|| stalled as f64 / all as f64)
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
    let differs = |sign: Sign| {
        let values = [a, b].map(|runs| runs.iter().filter_map(|run| sign.of(run, arms)).collect::<Vec<_>>());
        sign_differs(sign, &values)
    };
    Sign::ALL.into_iter().filter_map(differs).collect()
}

fn sign_differs(sign: Sign, [a, b]: &[Vec<f64>; 2]) -> Option<MachineDiffers> {
    let first = *a.first()?;
    if a.iter().chain(b).all(|value| value.total_cmp(&first).is_eq()) {
        return None;
    }
    let shift = unpaired(a, b)?;
    (shift.p < SUSPECT).then_some(MachineDiffers {
        sign,
        is_slower: shift.more > 0.5,
        p: shift.p,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_that_hints_at_a_slower_machine_is_enough_and_equal_values_are_none() {
        // The lags of twelve runs beside one busy thread and of twelve beside two, in microseconds.
        let a = [310, 290, 305, 298, 320, 300, 312, 295, 307, 299, 303, 315].map(f64::from);
        let b = [309, 330, 301, 340, 296, 325, 318, 350, 304, 311, 345, 316].map(f64::from);
        let differs = sign_differs(Sign::GeneratorLag, &[a.to_vec(), b.to_vec()]).expect("it is suspect");
        assert!(
            differs.is_slower && (0.001..SUSPECT).contains(&differs.p),
            "{differs:?}"
        );
        let faster = sign_differs(Sign::GeneratorLag, &[b.to_vec(), a.to_vec()]).expect("it is suspect");
        assert!(!faster.is_slower);
        assert_eq!(sign_differs(Sign::Stalls, &[vec![0.0; 12], vec![0.0; 12]]), None);
        assert_eq!(sign_differs(Sign::GeneratorLag, &[a.to_vec(), a.to_vec()]), None);
        assert_eq!(sign_differs(Sign::ProcessorWait, &[Vec::new(), a.to_vec()]), None);
    }
}
