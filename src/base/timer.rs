//! A timer that fires within a tenth of a millisecond.
//!
//! tokio's timer counts whole milliseconds and fires 0.8 to 1.9 ms late: a hold of 0.5 ms would take 1.7 ms. What workers
//! simulate (holds, service times, pauses) is timed by this one instead: a heap of deadlines and, on Linux, one `timerfd` on
//! the high-resolution clock of the kernel for each runtime. Elsewhere it falls back to tokio's.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Deadlines this close to the one that fired are served with it; waking up once more would take longer.
const SLACK: Duration = Duration::from_micros(20);

/// A timer of one runtime. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Timer(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    #[cfg(target_os = "linux")]
    alarm: Option<crate::alarm::Alarm>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// The wakers by deadline; a number distinguishes equal deadlines.
    sleepers: BTreeMap<(Instant, u64), Waker>,
    next: u64,
}

impl Timer {
    /// A timer on the current runtime. Where the kernel offers no `timerfd`, tokio's timer is used.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start() -> Self {
        #[cfg(target_os = "linux")]
        {
            let timer = Self(Arc::new(Shared {
                waiting: Mutex::default(),
                alarm: crate::alarm::Alarm::new().ok(),
            }));
            if timer.0.alarm.is_some() {
                // The task ends with the runtime; until then a timer that nobody uses costs only its descriptor.
                tokio::spawn(ring(Arc::clone(&timer.0)));
            }
            timer
        }
        #[cfg(not(target_os = "linux"))]
        Self::default()
    }

    /// Resolves when `time` has passed; at once when it is zero.
    pub async fn sleep(&self, time: Duration) {
        if !time.is_zero() {
            self.sleep_until(Instant::now() + time).await;
        }
    }

    /// Resolves at `deadline`, or at once if it has passed.
    pub async fn sleep_until(&self, deadline: Instant) {
        if self.0.is_precise() {
            Sleep {
                shared: &self.0,
                deadline,
                number: None,
            }
            .await;
        } else {
            tokio::time::sleep_until(deadline.into()).await;
        }
    }
}

impl Shared {
    #[cfg(target_os = "linux")]
    const fn is_precise(&self) -> bool {
        self.alarm.is_some()
    }

    #[cfg(not(target_os = "linux"))]
    const fn is_precise(&self) -> bool {
        false
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the alarm to the first deadline.
    fn arm(&self, first: Instant) {
        #[cfg(target_os = "linux")]
        if let Some(alarm) = &self.alarm {
            alarm.set(first.saturating_duration_since(Instant::now()));
        }
        #[cfg(not(target_os = "linux"))]
        let _ = first;
    }
}

/// Serves the alarm for as long as the runtime lives.
#[cfg(target_os = "linux")]
async fn ring(shared: Arc<Shared>) {
    let Some(alarm) = &shared.alarm else { return };
    while alarm.rings().await.is_ok() {
        let mut due = Vec::new();
        {
            let mut waiting = shared.waiting();
            let later = waiting.sleepers.split_off(&(Instant::now() + SLACK, u64::MAX));
            due.extend(std::mem::replace(&mut waiting.sleepers, later).into_values());
            if let Some((&(first, _), _)) = waiting.sleepers.first_key_value() {
                shared.arm(first);
            }
        }
        due.into_iter().for_each(Waker::wake);
    }
}

/// A sleeper. When it is dropped, its deadline is removed.
struct Sleep<'a> {
    shared: &'a Shared,
    deadline: Instant,
    /// Its number among the sleepers, once it is registered.
    number: Option<u64>,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if Instant::now() + SLACK >= self.deadline {
            return Poll::Ready(());
        }
        let mut waiting = self.shared.waiting();
        let number = self.number.unwrap_or(waiting.next);
        waiting.next = waiting.next.max(number + 1);
        waiting.sleepers.insert((self.deadline, number), cx.waker().clone());
        let first = waiting.sleepers.first_key_value().map(|(key, _)| *key);
        if first == Some((self.deadline, number)) {
            // Under the lock, so that the alarm is set in the order in which the first deadline changes.
            self.shared.arm(self.deadline);
        }
        drop(waiting);
        self.number = Some(number);
        Poll::Pending
    }
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.shared.waiting().sleepers.remove(&(self.deadline, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_a_runtime<T>(body: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(body)
    }

    #[test]
    fn deadlines_come_in_their_order_and_never_early() {
        on_a_runtime(async {
            let timer = Timer::start();
            let start = Instant::now();
            let order = Arc::new(Mutex::new(Vec::new()));
            let mut tasks = Vec::new();
            for millis in [30, 10, 20, 10] {
                let (timer, order) = (timer.clone(), Arc::clone(&order));
                tasks.push(tokio::spawn(async move {
                    timer.sleep_until(start + Duration::from_millis(millis)).await;
                    let woken = start.elapsed() + SLACK;
                    assert!(woken >= Duration::from_millis(millis), "{woken:?}");
                    order.lock().expect("no panic").push(millis);
                }));
            }
            for task in tasks {
                task.await.expect("no panic");
            }
            assert_eq!(*order.lock().expect("no panic"), [10, 10, 20, 30]);
            assert!(timer.0.waiting().sleepers.is_empty());
        });
    }

    #[test]
    fn a_dropped_sleep_is_forgotten_and_wakes_nobody() {
        on_a_runtime(async {
            let timer = Timer::start();
            let hour = Duration::from_hours(1);
            tokio::select! {
                () = timer.sleep(hour) => unreachable!("an hour has not passed"),
                () = timer.sleep(Duration::from_millis(1)) => {}
            }
            assert!(timer.0.waiting().sleepers.is_empty());
            timer.sleep(Duration::ZERO).await;
        });
    }
}
