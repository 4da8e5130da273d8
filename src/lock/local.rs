//! A keyed mutex inside one app server, first come, first served.

use std::sync::Arc;

use crate::clock;
use crate::gauges::Gauges;
use crate::protocol::Time;
use crate::waiting::lines::{Lines, Permit};

/// The keyed mutex; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Local(Lines);

impl Local {
    /// Takes the key, or waits in its line until `deadline`; without a deadline it does not wait. `None` if it did not get
    /// the key.
    pub(crate) async fn acquire(&self, key: &[u8], gauges: &Arc<Gauges>, deadline: Option<Time>) -> Option<LocalGuard> {
        // Nobody takes the key away from whoever has it.
        let (since, until) = (clock::now(), Time::MAX);
        let Some(deadline) = deadline else {
            return Some(LocalGuard::new(self.0.try_enter(key, since, until)?, gauges, false));
        };
        let (mut permit, waits) = self.0.enter(key, since, until);
        if waits {
            let _waiting = gauges.wait();
            permit.turn(since, deadline).await.ok()?;
        }
        Some(LocalGuard::new(permit, gauges, waits))
    }
}

/// A held key; dropping the guard passes the key on.
#[derive(Debug)]
pub(crate) struct LocalGuard {
    /// Passes the key on when it is dropped.
    permit: Permit,
    gauges: Arc<Gauges>,
    since: Time,
    waited: bool,
}

impl LocalGuard {
    fn new(permit: Permit, gauges: &Arc<Gauges>, waited: bool) -> Self {
        gauges.hold();
        Self {
            permit,
            gauges: Arc::clone(gauges),
            since: clock::now(),
            waited,
        }
    }

    /// The key.
    pub(crate) fn key(&self) -> &[u8] {
        self.permit.key()
    }

    /// Whether others held the key while its holder waited.
    pub(crate) const fn waited(&self) -> bool {
        self.waited
    }
}

impl Drop for LocalGuard {
    fn drop(&mut self) {
        self.gauges.end(self.permit.key(), self.since, false, clock::now());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use super::*;

    fn soon() -> Time {
        clock::now() + Duration::from_secs(60)
    }

    #[tokio::test(start_paused = true)]
    async fn waiters_are_served_in_order_and_nothing_stays_behind() {
        let (local, gauges) = (Local::default(), Arc::<Gauges>::default());
        let first = local.acquire(b"k", &gauges, None).await.unwrap();
        assert!(local.acquire(b"k", &gauges, None).await.is_none());
        let other = local.acquire(b"other", &gauges, Some(soon())).await.unwrap();
        assert_eq!(gauges.waits(), 0);
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for number in 0..50 {
            let (waiter, gauges, order) = (local.clone(), Arc::clone(&gauges), Arc::clone(&order));
            tasks.push(tokio::spawn(async move {
                let _guard = waiter.acquire(b"k", &gauges, Some(soon())).await.unwrap();
                order.lock().unwrap().push(number);
                tokio::task::yield_now().await;
            }));
            tokio::task::yield_now().await;
        }
        assert_eq!((gauges.holding(), gauges.waiting(), gauges.waits()), (2, 50, 50));
        // Every third waiter gives up, the next in line included.
        tasks.iter().step_by(3).for_each(tokio::task::JoinHandle::abort);
        drop(first);
        for task in tasks {
            // Aborted tasks end with an error.
            let _ = task.await;
        }
        let expected: Vec<i32> = (0..50).filter(|number| number % 3 != 0).collect();
        assert_eq!(*order.lock().unwrap(), expected);
        drop(other);
        assert_eq!((gauges.holding(), gauges.waiting()), (0, 0));
        assert!(local.0.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_gives_up_at_its_deadline_and_leaves_the_queue() {
        let (local, gauges) = (Local::default(), Arc::<Gauges>::default());
        let guard = local.acquire(b"k", &gauges, None).await.unwrap();
        for _ in 0..1000 {
            let deadline = clock::now() + Duration::from_millis(5);
            assert!(local.acquire(b"k", &gauges, Some(deadline)).await.is_none());
        }
        assert!(local.0.behind(b"k") <= 1);
        drop(guard);
        assert!(local.0.is_empty());
        assert_eq!(gauges.holding(), 0);
    }

    #[tokio::test]
    async fn a_permit_handed_to_a_waiter_that_is_gone_passes_on() {
        let (local, gauges) = (Local::default(), Arc::<Gauges>::default());
        let guard = local.acquire(b"k", &gauges, None).await.unwrap();
        let mut gone = Box::pin(local.acquire(b"k", &gauges, Some(soon())));
        let mut next = Box::pin(local.acquire(b"k", &gauges, Some(soon())));
        assert!(poll_once(gone.as_mut()).is_none());
        assert!(poll_once(next.as_mut()).is_none());
        drop(guard);
        drop(gone);
        assert!(next.await.is_some());
        assert!(local.0.is_empty());
    }

    /// Polls once, without a task to wake.
    fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        match future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        }
    }
}
