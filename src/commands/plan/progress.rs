//! How far long work in virtual time has got, told now and then.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lockstorm_data::metrics::units::count;

use crate::failure::tell;

/// When progress is first told; what is over earlier needs none.
const FIRST: Duration = Duration::from_secs(1);
/// How often it is told afterwards.
const OFTEN: Duration = Duration::from_secs(5);

/// Does the work, and tells meanwhile how many of `all` it has `done`.
pub fn told<T>(all: &AtomicU64, what: &str, done: &AtomicU64, work: impl FnOnce() -> T) -> T {
    let (begun, over) = (Instant::now(), AtomicBool::new(false));
    thread::scope(|scope| {
        let teller = scope.spawn(|| {
            let mut next = FIRST;
            while !over.load(Ordering::Relaxed) {
                thread::park_timeout(next.saturating_sub(begun.elapsed()));
                if !over.load(Ordering::Relaxed) && begun.elapsed() >= next {
                    tell(&line(
                        done.load(Ordering::Relaxed),
                        all.load(Ordering::Relaxed),
                        what,
                        begun.elapsed(),
                    ));
                    next = begun.elapsed() + OFTEN;
                }
            }
        });
        let made = work();
        over.store(true, Ordering::Relaxed);
        teller.thread().unpark();
        made
    })
}

fn line(done: u64, all: u64, what: &str, elapsed: Duration) -> String {
    let left = match done {
        0 => String::new(),
        _ => {
            let left = elapsed.mul_f64(all.saturating_sub(done) as f64 / done as f64);
            format!(
                ", about {} left",
                humantime::format_duration(Duration::from_secs(left.as_secs()))
            )
        }
    };
    format!(
        "{} of {} {what}{left}; Ctrl-C keeps what was played",
        count(done),
        count(all)
    )
}
