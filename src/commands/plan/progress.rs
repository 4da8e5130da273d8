//! How far long work in virtual time has got, told now and then.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lockstorm_data::metrics::units::count;

use crate::failure::tell;

/// How often progress is told.
pub const OFTEN: Duration = Duration::from_secs(5);

/// Does the work, and tells meanwhile how many of `all` it has `done`.
pub fn told<T>(all: u64, what: &str, done: &AtomicU64, work: impl FnOnce() -> T) -> T {
    let (begun, over) = (Instant::now(), AtomicBool::new(false));
    thread::scope(|scope| {
        let teller = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                thread::park_timeout(OFTEN);
                tell_progress(done.load(Ordering::Relaxed), all, what, begun.elapsed());
            }
        });
        let made = work();
        over.store(true, Ordering::Relaxed);
        teller.thread().unpark();
        made
    })
}

fn tell_progress(done: u64, all: u64, what: &str, elapsed: Duration) {
    if done == 0 || done >= all || elapsed < OFTEN {
        return;
    }
    let left = elapsed.mul_f64((all - done) as f64 / done as f64);
    let left = humantime::format_duration(Duration::from_secs(left.as_secs()));
    tell(&format!("{} of {} {what}, about {left} left", count(done), count(all)));
}
