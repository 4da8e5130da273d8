use serde::Serialize;
use strum::VariantArray;

use super::flaw::{Flaw, Layer};
use super::trigger::MUTEX;
use lockstorm_data::facts::{Caveat, Event, EventKind};
use lockstorm_data::model::{Action, CheckResult};
use lockstorm_run::{ArmRecord, Record};

/// What the oracles made of all locks.
#[derive(Debug, Clone, Serialize)]
pub struct SelfTest {
    /// Whether everything was played, every broken lock was caught, and nothing was found of the right ones.
    pub passed: bool,
    /// One for each broken lock, then those of the right ones.
    pub rows: Vec<Row>,
}

/// What was found of one lock.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Its name.
    pub lock: &'static str,
    /// What is wrong with it, or what it is.
    pub what: &'static str,
    /// The layers that must catch it, or must not.
    pub layers: &'static [Layer],
    /// How much they have counted.
    pub found: u64,
    /// How much they must count at least; 0: nothing.
    pub needed: u64,
    /// How often it was acquired.
    pub acquired: u64,
    /// Whether the oracles see right: a broken lock is to be caught, and nothing found of a right one. It is inconclusive if the trigger did
    /// not come, or the lock was never acquired.
    pub result: CheckResult,
    /// Why nothing follows, as far as it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Caveat>,
}

impl SelfTest {
    /// Judges what the runs of the triggers have recorded; these are all of them, or a signal came.
    pub(crate) fn of(records: &[Record], are_all: bool) -> Self {
        let is_broken = |name: &str| Flaw::VARIANTS.iter().any(|flaw| flaw.name() == name);
        let broken = Flaw::VARIANTS.iter().map(|flaw| {
            let (layers, needed, what) = flaw.row();
            Row::of(records, [flaw.name(), what], layers, needed, |name| name == flaw.name())
        });
        let mutex = [MUTEX, "right: one for all app servers"];
        let none = &[Layer::DoubleHolds, Layer::DoubleUses, Layer::LostUpdates];
        let right = [
            Row::of(records, mutex, none, 0, |name| name == MUTEX),
            Row::of(
                records,
                ["engine", "right: this program's own locks"],
                &[Layer::LawViolations],
                0,
                |name| name != MUTEX && !is_broken(name),
            ),
        ];
        let rows: Vec<Row> = broken.chain(right).flatten().collect();
        let passed = are_all && rows.iter().all(|row| row.result == CheckResult::Held);
        Self { passed, rows }
    }

    /// The names of the right locks with this result, or of the broken ones.
    pub fn with(&self, result: CheckResult, are_right: bool) -> Vec<&'static str> {
        let rows = self.rows.iter();
        let rows = rows.filter(|row| row.result == result && row.is_right() == are_right);
        rows.map(|row| row.lock).collect()
    }
}

impl Row {
    /// Whether the lock is right, so that nothing is to be found.
    pub const fn is_right(&self) -> bool {
        self.needed == 0
    }

    /// What these layers have counted of some arms, of which at least so much is needed; `None` if none of them has played.
    fn of(
        records: &[Record],
        [lock, what]: [&'static str; 2],
        layers: &'static [Layer],
        needed: u64,
        is_it: impl Fn(&str) -> bool,
    ) -> Option<Self> {
        let in_record = |record: &Record| record.arms.iter().filter(|arm| is_it(&arm.name)).count() > 0;
        let played: Vec<&Record> = records.iter().filter(|record| in_record(record)).collect();
        let is_doubtful = played
            .iter()
            .any(|record| record.interrupted || !record.inconclusive.is_empty());
        let came = played
            .iter()
            .all(|record| !record.interrupted && has_had_its_faults(record));
        let arms: Vec<&ArmRecord> = played
            .iter()
            .flat_map(|record| &record.arms)
            .filter(|arm| is_it(&arm.name))
            .collect();
        let are_sound = arms.iter().all(|arm| arm.doubt.is_none()) && !played.iter().any(|record| record.interrupted);
        let counted = |arm: &&ArmRecord| layers.iter().map(|layer| layer.of(&arm.figures)).sum::<u64>();
        let (found, acquired) = (
            arms.iter().map(counted).sum(),
            arms.iter().map(|arm| arm.figures.outcomes.acquired).sum(),
        );
        let result = match (needed, found) {
            // That nothing was found says nothing of a run that was lost.
            (0, 0) if acquired > 0 && are_sound => CheckResult::Held,
            (0, 1..) => CheckResult::Failed,
            (1.., _) if found >= needed => CheckResult::Held,
            // Whatever a busy machine adds or leaves out, an oracle that sees finds something.
            (1.., 0) if came => CheckResult::Failed,
            (1.., _) if !is_doubtful => CheckResult::Failed,
            _ => CheckResult::Inconclusive,
        };
        let mut doubts = arms.iter().filter_map(|arm| arm.doubt.clone());
        let doubt = doubts.next().filter(|_| result == CheckResult::Inconclusive);
        (!arms.is_empty()).then_some(Self {
            lock,
            what,
            layers,
            found,
            needed,
            acquired,
            result,
            doubt,
        })
    }
}

/// Whether as many faults took effect as its scenario has.
fn has_had_its_faults(record: &Record) -> bool {
    let took_effect = |event: &&Event| {
        matches!(
            event.kind,
            EventKind::Fault {
                action: Action::Fault(_),
                effect_at: Some(_),
                error: None,
                ..
            }
        )
    };
    record.events.iter().filter(took_effect).count() >= record.scenario.faults.len()
}

#[cfg(test)]
mod tests {
    use lockstorm_data::metrics::{Count, Entry, Figures};
    use lockstorm_kit::play::{arm_record, record};

    use super::super::trigger::plays;
    use super::*;

    /// The record of a run in which each layer has counted so much of these arms.
    fn played(arms: &[(&str, u64)]) -> Record {
        let (scenario, _) = plays(Flaw::VARIANTS).unwrap().remove(0);
        let arm = |(name, found): &(&str, u64)| {
            let mut figures = Figures {
                double_holds: *found,
                double_uses: *found,
                ledger: [(Entry::LostUpdatesPeak, *found)].into(),
                law_violations: *found,
                ..Figures::default()
            };
            figures.outcomes.acquired = 1000;
            figures.counts[Count::Fenced] = *found;
            arm_record(name, "", figures)
        };
        record(scenario, arms.iter().map(arm).collect())
    }

    #[test]
    fn a_broken_lock_is_caught_by_enough_and_missed_with_less() {
        for flaw in Flaw::VARIANTS {
            let (_, needed, _) = flaw.row();
            for (found, caught) in [
                (needed, CheckResult::Held),
                (needed - 1, CheckResult::Failed),
                (0, CheckResult::Failed),
            ] {
                let result = SelfTest::of(&[played(&[(flaw.name(), found)])], true);
                assert_eq!(result.with(caught, false), [flaw.name()], "{found}");
                assert_eq!(result.passed, caught == CheckResult::Held);
            }
        }
    }

    #[test]
    fn a_right_lock_is_clean_only_if_nothing_is_found_of_it_and_it_was_held() {
        for (name, lock) in [("mutex", "mutex"), ("single", "engine"), ("redlock", "engine")] {
            for (found, clean) in [(0, CheckResult::Held), (1, CheckResult::Failed)] {
                let result = SelfTest::of(&[played(&[(name, 0)]), played(&[(name, found)])], true);
                assert_eq!(result.with(clean, true), [lock]);
                assert_eq!(result.passed, clean == CheckResult::Held);
            }
            let mut never = played(&[(name, 0)]);
            never.arms[0].figures.outcomes.acquired = 0;
            assert_eq!(
                SelfTest::of(&[never], true).with(CheckResult::Inconclusive, true),
                [lock]
            );
            let mut lost = played(&[(name, 0)]);
            lost.arms[0].doubt = Some(Caveat::KeeperStopped);
            assert_eq!(
                SelfTest::of(&[lost], true).with(CheckResult::Inconclusive, true),
                [lock]
            );
        }
    }

    #[test]
    fn what_a_doubtful_or_cut_run_has_not_found_proves_nothing() {
        let mut doubtful = played(&[("no-nx", 3), ("max-incr", 100), ("lying-server", 0)]);
        doubtful.inconclusive.push(Caveat::MachineBusy { percent: 30 });
        let result = SelfTest::of(&[doubtful.clone()], true);
        assert_eq!(result.with(CheckResult::Inconclusive, false), ["no-nx"]);
        assert_eq!(result.with(CheckResult::Held, false), ["max-incr"]);
        // Nothing at all is too little even then, but not if the trigger did not come.
        assert_eq!(result.with(CheckResult::Failed, false), ["lying-server"]);
        doubtful.interrupted = true;
        assert_eq!(
            SelfTest::of(&[doubtful], true).with(CheckResult::Failed, false),
            [""; 0]
        );
        assert!(!SelfTest::of(&[], false).passed);
    }

    #[test]
    fn every_flaw_has_an_arm_in_one_trigger() {
        let plays = plays(Flaw::VARIANTS).unwrap();
        let arms = || plays.iter().flat_map(|(scenario, _)| &scenario.arms);
        for flaw in Flaw::VARIANTS {
            assert_eq!(arms().filter(|arm| arm.name == flaw.name()).count(), 1, "{flaw:?}");
        }
    }
}
