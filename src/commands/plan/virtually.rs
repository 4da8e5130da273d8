//! The simulation of a plan: how long it will take, its progress, and its end by a signal.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lockstorm::metrics::units::count;
use lockstorm::plan::{Plan, simulate};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::failure::{Failure, tell};

/// How often progress is told.
const OFTEN: Duration = Duration::from_secs(5);

/// Plays so many sections of each setting. Returns the exit code of the signal that ended it, if one did.
pub fn play(plan: &mut Plan, sections: u64, seed: u64) -> Result<Option<ExitCode>, Failure> {
    let (stop, signal) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    for number in [SIGINT, SIGTERM] {
        signal_hook::flag::register(number, Arc::clone(&stop)).map_err(Failure::error)?;
        let which = usize::try_from(number).unwrap_or(0);
        signal_hook::flag::register_usize(number, Arc::clone(&signal), which).map_err(Failure::error)?;
    }
    let all = sections * plan.rows.len() as u64;
    let (done, over) = (AtomicU64::new(0), AtomicBool::new(false));
    tell_beforehand(plan, all, &stop);
    let begun = Instant::now();
    thread::scope(|scope| {
        let teller = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                thread::park_timeout(OFTEN);
                tell_progress(done.load(Ordering::Relaxed), all, begun.elapsed());
            }
        });
        for row in &mut plan.rows {
            let played = simulate(&plan.question, &row.setting, sections, seed, &stop, &done);
            row.simulated = (played.sections > 0).then_some(played);
        }
        over.store(true, Ordering::Relaxed);
        teller.thread().unpark();
    });
    Ok(match signal.load(Ordering::Relaxed) {
        0 => None,
        number => Some(ExitCode::from(u8::try_from(128 + number).unwrap_or(1))),
    })
}

/// A small part, played first, says how long the whole will take.
fn tell_beforehand(plan: &Plan, all: u64, stop: &AtomicBool) {
    const PART: u64 = 20_000;
    let Some(row) = plan.rows.first() else { return };
    let begun = Instant::now();
    let _ = simulate(&plan.question, &row.setting, PART, 0, stop, &AtomicU64::new(0));
    // It is one world, on one of the processors.
    let threads = thread::available_parallelism().map_or(1.0, |threads| threads.get() as f64);
    let whole = begun.elapsed().mul_f64(all as f64 / PART as f64 / threads);
    if whole > OFTEN {
        let whole = humantime::format_duration(Duration::from_secs(whole.as_secs()));
        tell(&format!(
            "{} sections in virtual time, about {whole}; Ctrl-C keeps what was played",
            count(all)
        ));
    }
}

fn tell_progress(done: u64, all: u64, elapsed: Duration) {
    if done == 0 || done >= all || elapsed < OFTEN {
        return;
    }
    let left = elapsed.mul_f64((all - done) as f64 / done as f64);
    let left = humantime::format_duration(Duration::from_secs(left.as_secs()));
    tell(&format!(
        "{} of {} sections, about {left} left",
        count(done),
        count(all)
    ));
}
