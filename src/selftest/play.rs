use lockstorm_base::Stop;
use lockstorm_run::{Ended, RunOptions, headless};

use super::flaw::Flaw;
use super::trigger::plays;
use super::verdict::SelfTest;

/// Plays the triggers of these broken locks, and judges what the oracles found. `progress` hears the title of each that begins. A
/// signal ends it: then the result is of what was played until then.
///
/// # Errors
/// A run could not be played.
pub fn selftest(
    wanted: &[Flaw],
    options: &RunOptions,
    mut progress: impl FnMut(&str),
) -> Result<(SelfTest, Option<Stop>), String> {
    let plays = plays(wanted).map_err(|errors| errors.to_string())?;
    let (all, mut records, mut stop) = (plays.len(), Vec::new(), None);
    for (index, (scenario, other_locks)) in plays.into_iter().enumerate() {
        let title = format!("{}/{all} {}", index + 1, scenario.title);
        progress(&title);
        let options = RunOptions {
            other_locks,
            ..options.clone()
        };
        match headless(scenario, options, |_| ()).map_err(|error| format!("{title}: {error}"))? {
            Ended::Finished(record, None) => records.push(*record),
            Ended::Finished(_, Some(signal)) | Ended::Abandoned(signal) => {
                stop = Some(signal);
                break;
            }
        }
    }
    Ok((SelfTest::of(&records, stop.is_none()), stop))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lockstorm_data::model::HostId;
    use lockstorm_kit::{beside, keeper};

    use super::super::maker::Maker;
    use super::*;
    use lockstorm_data::metrics::Entry;

    #[test]
    fn a_broken_lock_whose_trigger_does_not_come_is_as_good_as_a_right_one() {
        let _lab = beside();
        let (scenario, mut other_locks) = plays(&[Flaw::NoNx]).unwrap().remove(0);
        let hosts = vec![HostId(1), HostId(2), HostId(3)];
        let flaw = Flaw::FailOpen;
        other_locks.insert("redlock".to_owned(), Arc::new(Maker { flaw, hosts }));
        let options = RunOptions {
            keeper: Some(keeper()),
            other_locks,
            ..RunOptions::default()
        };
        let Ended::Finished(record, None) = headless(scenario, options, |_| ()).unwrap() else {
            panic!("it was not ended");
        };
        let figures = |name: &str| &record.arms.iter().find(|arm| arm.name == name).unwrap().figures;
        let (right, wrong) = (figures("redlock"), figures("no-nx"));
        assert!(right.outcomes.acquired > 100 && wrong.outcomes.acquired > 100);
        // Only stalls of the machine can let a section outlast its lock here, and that is no double hold.
        assert_eq!((right.double_holds, right.law_violations), (0, 0));
        assert!(wrong.double_holds > 0 && wrong.double_uses > 0 && wrong.booked(Entry::LostUpdatesPeak) > 0);
        // Nobody has deleted a key, and no TTL was over.
        assert!(wrong.law_violations > 0 && wrong.deleted + wrong.expired_holds == 0);
        // All of them say who voted.
        assert!(
            right.votes_at_release.iter().skip(2).sum::<u64>() > 100,
            "{:?}",
            right.votes_at_release
        );
    }
}
