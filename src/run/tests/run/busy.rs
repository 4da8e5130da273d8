//! Every built-in scenario while the machine is busy with two endless loops. A slow machine may never lead to a wrong
//! verdict. Run by `.ci/long busy`, one scenario and seed at a time.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::{env, hint, thread};

use lockstorm_data::metrics::{Count, Entry, Metric};
use lockstorm_data::scenario::{LockKind, Op};
use lockstorm_kit::play::{Run, texts};
use lockstorm_kit::scenario::builtin;
use lockstorm_run::{ArmRecord, CheckResult, Record};

/// Keeps two processors busy until it is dropped.
struct Busy(Arc<AtomicBool>);

impl Busy {
    fn begin() -> Self {
        let on = Arc::new(AtomicBool::new(true));
        for _ in 0..2 {
            let on = Arc::clone(&on);
            thread::spawn(move || {
                while on.load(Relaxed) {
                    hint::spin_loop();
                }
            });
        }
        Self(on)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(false, Relaxed);
    }
}

fn damage(arm: &ArmRecord) -> u64 {
    let figures = &arm.figures;
    figures.booked(Entry::Oversold)
        + figures.booked(Entry::LostUpdatesPeak)
        + figures.duplicate_pages
        + figures.missing_pages
}

/// Asserts that Redlock has no damage without a lost lock, and that nothing has a check mark that could not have shown.
fn judge(record: &Record) {
    let name = &record.scenario.name;
    for (arm, spec) in record.arms.iter().zip(&record.scenario.arms) {
        let lost = arm.figures.counts[Count::LocksLost] + arm.figures.counts[Count::Overran];
        if spec.lock == LockKind::Redlock && damage(arm) > 0 {
            assert!(
                lost > 0,
                "{name}: {} has damage and no lost lock: {:?}",
                arm.name,
                arm.figures
            );
        }
        if spec.lock == LockKind::Redlock && lost == 0 {
            assert_eq!(damage(arm), 0, "{name}: {}", arm.name);
        }
    }
    for checked in record
        .expectations
        .iter()
        .filter(|checked| checked.result == CheckResult::Held)
    {
        assert!(
            texts(&record.inconclusive).is_empty(),
            "{name}: {checked} beside {:?}",
            texts(&record.inconclusive)
        );
        let arm = record.arms.iter().find(|arm| checked.expectation.arm == arm.name);
        let arm = arm.expect("an expectation is of an arm");
        let of = &checked.expectation;
        if of.metric == Metric::Oversold && of.op == Op::Equal {
            assert_eq!(damage(arm), 0, "{name}: {checked}");
        }
    }
}

#[test]
#[ignore = "takes minutes; `.ci/long busy` runs it for each scenario and seed"]
fn a_busy_machine_makes_no_verdict_wrong() {
    let _lab = lockstorm_kit::alone();
    let name = env::var("LOCKSTORM_SCENARIO").expect("LOCKSTORM_SCENARIO names a scenario");
    let seed = env::var("LOCKSTORM_SEED").expect("LOCKSTORM_SEED is a number");
    let record = {
        let _busy = Busy::begin();
        Run::begin(builtin(&name, &[&format!("seed={seed}")])).finish()
    };
    judge(&record);
    for checked in &record.expectations {
        println!("{name}, seed {seed}: {:?} {}", checked.result, checked);
    }
}
