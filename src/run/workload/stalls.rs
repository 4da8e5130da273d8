use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lockstorm_base::timer::Timer;

/// How often the thread shows that it runs.
const BEAT: Duration = Duration::from_millis(20);
/// Less than this is how late any thread may be.
const USUAL: Duration = Duration::from_millis(5);

/// How long the thread of an app server has stood still although nobody paused it: this machine gave it no processor time.
#[derive(Debug)]
pub struct Stalls {
    origin: Instant,
    /// When the next beat is due, and the sum of the stalls before, in microseconds.
    due_us: AtomicU64,
    sum_us: AtomicU64,
}

/// A moment of a thread, small enough for each request to keep.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    at_us: u64,
    sum_us: u64,
}

impl Stalls {
    /// Beats for as long as the thread runs.
    pub async fn watch(&self, timer: &Timer) {
        loop {
            self.goes_on();
            timer.sleep(BEAT).await;
            self.sum_us.store(micros(self.sum()), Ordering::Relaxed);
        }
    }

    /// Notes that the thread goes on now: that it stood still until now was somebody's order.
    pub fn goes_on(&self) {
        let due = self.origin.elapsed() + BEAT;
        self.due_us.store(micros(due), Ordering::Relaxed);
    }

    /// This moment.
    pub(super) fn now(&self) -> Moment {
        Moment {
            at_us: micros(self.origin.elapsed()),
            sum_us: micros(self.sum()),
        }
    }

    /// The time since then, and how much of it the thread stood still.
    pub(super) fn since(&self, then: Moment) -> (Duration, Duration) {
        let now = self.now();
        let from = |then: u64, now: u64| Duration::from_micros(now.saturating_sub(then));
        (from(then.at_us, now.at_us), from(then.sum_us, now.sum_us))
    }

    /// How long it has stood still in all the stalls that are over. It can be read from any thread.
    pub fn over(&self) -> Duration {
        Duration::from_micros(self.sum_us.load(Ordering::Relaxed))
    }

    /// How long it has stood still so far, in all.
    fn sum(&self) -> Duration {
        let (due, before) = (Duration::from_micros(self.due_us.load(Ordering::Relaxed)), self.over());
        let late = self.origin.elapsed().saturating_sub(due);
        before + if late > USUAL { late } else { Duration::ZERO }
    }
}

/// None so far.
impl Default for Stalls {
    fn default() -> Self {
        let new = Self {
            origin: Instant::now(),
            due_us: AtomicU64::new(0),
            sum_us: AtomicU64::new(0),
        };
        new.goes_on();
        new
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread::sleep;

    use super::*;

    #[test]
    fn a_thread_that_stands_still_is_noticed_unless_it_was_paused() {
        const LONG: Duration = Duration::from_millis(300);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let (stalls, timer) = (Arc::new(Stalls::default()), Timer::start());
            let (watching, its_timer) = (Arc::clone(&stalls), timer.clone());
            tokio::spawn(async move { watching.watch(&its_timer).await });
            timer.sleep(BEAT).await;
            let before = stalls.sum();
            // A block of the thread, as a pause does it.
            sleep(LONG);
            stalls.goes_on();
            timer.sleep(2 * BEAT).await;
            let paused = stalls.sum().saturating_sub(before);
            sleep(LONG);
            // It is known before the next beat, and counted once.
            let at_once = stalls.sum().saturating_sub(before + paused);
            timer.sleep(3 * BEAT).await;
            let stalled = stalls.sum().saturating_sub(before + paused);
            assert!(
                at_once + 2 * BEAT >= LONG && stalled >= at_once,
                "{at_once:?} {stalled:?}"
            );
            assert!(paused < stalled, "{paused:?} {stalled:?}");
        });
    }
}
