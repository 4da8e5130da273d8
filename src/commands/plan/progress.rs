//! How far long work has got, told now and then.

use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lockstorm_data::metrics::units::count;

use crate::failure::tell;

/// When progress is first told; what is over earlier needs none.
const FIRST: Duration = Duration::from_millis(250);
/// How often it is told afterwards.
const OFTEN: Duration = Duration::from_secs(5);

/// Does the work, and tells meanwhile how many of `all` it has `done`.
pub fn told<T>(all: &AtomicU64, what: &str, done: &AtomicU64, work: impl FnOnce() -> T) -> T {
    let now = |elapsed| {
        let [done, all] = [done, all].map(|count| count.load(Ordering::Relaxed));
        tell(&line(done, all, what, elapsed));
    };
    meanwhile(&now, work)
}

/// Does the work, and tells meanwhile on a terminal how many it has `done`: nobody knows how many there will be.
pub fn waited_for<T>(done: &AtomicU64, what: &str, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    meanwhile(
        &|_| tell(&format!("{} {what} looked at", count(done.load(Ordering::Relaxed)))),
        work,
    )
}

/// Does the work, and calls this meanwhile now and then, with the time since the beginning.
fn meanwhile<T>(now: &(dyn Fn(Duration) + Sync), work: impl FnOnce() -> T) -> T {
    let (begun, over) = (Instant::now(), AtomicBool::new(false));
    thread::scope(|scope| {
        let teller = scope.spawn(|| {
            let mut next = FIRST;
            while !over.load(Ordering::Relaxed) {
                thread::park_timeout(next.saturating_sub(begun.elapsed()));
                if !over.load(Ordering::Relaxed) && begun.elapsed() >= next {
                    now(begun.elapsed());
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
