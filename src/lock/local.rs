//! A keyed mutex inside one app server, first come, first served.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};

use super::{Gauges, Guard};

/// The keys that are held, with those who wait for each. A key that nobody holds has no entry.
type Held = HashMap<Arc<str>, VecDeque<oneshot::Sender<LocalGuard>>>;

/// The keyed mutex; clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Local {
    held: Arc<Mutex<Held>>,
}

impl Local {
    /// Takes the key, or waits in its queue until `deadline`; without a deadline it does not wait.
    pub(super) async fn acquire(&self, key: &str, gauges: &Arc<Gauges>, deadline: Option<Instant>) -> Option<Guard> {
        let (turn, deadline) = {
            let mut held = self.lock();
            let Some(queue) = held.get_mut(key) else {
                let key = Arc::<str>::from(key);
                held.insert(Arc::clone(&key), VecDeque::new());
                return Some(Guard::local(self.guard(key, Arc::clone(gauges)), false));
            };
            let deadline = deadline?;
            // Those who gave up leave from the front, so that a key held for long collects no dead waiters.
            while queue.front().is_some_and(oneshot::Sender::is_closed) {
                queue.pop_front();
            }
            let (sender, receiver) = oneshot::channel();
            queue.push_back(sender);
            (receiver, deadline)
        };
        let _waiting = gauges.wait();
        let guard = timeout_at(deadline, turn).await.ok()?.ok()?;
        Some(Guard::local(guard, true))
    }

    fn guard(&self, key: Arc<str>, gauges: Arc<Gauges>) -> LocalGuard {
        gauges.hold();
        LocalGuard {
            local: self.clone(),
            key: Some(key),
            gauges,
        }
    }

    /// Hands the key to the next who still waits, or frees it.
    fn pass_on(&self, key: Arc<str>, gauges: &Arc<Gauges>) {
        loop {
            let next = {
                let mut held = self.lock();
                let next = held.get_mut(&key).and_then(VecDeque::pop_front);
                if next.is_none() {
                    held.remove(&key);
                }
                next
            };
            let Some(next) = next else { return };
            // A waiter that gives up from now on drops the guard, which passes it on again.
            match next.send(self.guard(Arc::clone(&key), Arc::clone(gauges))) {
                Ok(()) => return,
                Err(refused) => refused.disarm(),
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A key held; dropping it passes the key on.
#[derive(Debug)]
pub(super) struct LocalGuard {
    local: Local,
    /// None once disarmed.
    key: Option<Arc<str>>,
    gauges: Arc<Gauges>,
}

impl LocalGuard {
    fn disarm(mut self) {
        self.key = None;
    }
}

impl Drop for LocalGuard {
    fn drop(&mut self) {
        self.gauges.unhold();
        if let Some(key) = self.key.take() {
            self.local.pass_on(key, &self.gauges);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn soon() -> Option<Instant> {
        Some(Instant::now() + Duration::from_secs(60))
    }

    #[tokio::test(start_paused = true)]
    async fn waiters_are_served_in_order_and_nothing_stays_behind() {
        let (local, gauges) = (Local::default(), Arc::<Gauges>::default());
        let first = local.acquire("k", &gauges, None).await.unwrap();
        assert!(local.acquire("k", &gauges, None).await.is_none());
        let other = local.acquire("other", &gauges, None).await.unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for number in 0..50 {
            let (waiter, gauges, order) = (local.clone(), Arc::clone(&gauges), Arc::clone(&order));
            tasks.push(tokio::spawn(async move {
                let _guard = waiter.acquire("k", &gauges, soon()).await.unwrap();
                order.lock().unwrap().push(number);
                tokio::task::yield_now().await;
            }));
            tokio::task::yield_now().await;
        }
        assert_eq!((gauges.holding(), gauges.waiting()), (2, 50));
        // Every third gives up, also the one whose turn is next.
        tasks.iter().step_by(3).for_each(tokio::task::JoinHandle::abort);
        drop(first);
        for task in tasks {
            // Those aborted end with an error.
            let _ = task.await;
        }
        let expected: Vec<i32> = (0..50).filter(|number| number % 3 != 0).collect();
        assert_eq!(*order.lock().unwrap(), expected);
        drop(other);
        assert_eq!((gauges.holding(), gauges.waiting()), (0, 0));
        assert!(local.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_gives_up_at_its_deadline_and_leaves_the_queue() {
        let (local, gauges) = (Local::default(), Arc::<Gauges>::default());
        let guard = local.acquire("k", &gauges, None).await.unwrap();
        for _ in 0..1000 {
            let deadline = Instant::now() + Duration::from_millis(5);
            assert!(local.acquire("k", &gauges, Some(deadline)).await.is_none());
        }
        assert!(local.lock()["k"].len() <= 1);
        drop(guard);
        assert!(local.lock().is_empty());
        assert_eq!(gauges.holding(), 0);
    }

    #[tokio::test]
    async fn a_turn_handed_to_a_waiter_that_is_gone_passes_on() {
        let (local, gauges) = (Local::default(), Arc::<Gauges>::default());
        let guard = local.acquire("k", &gauges, None).await.unwrap();
        let mut gone = Box::pin(local.acquire("k", &gauges, soon()));
        let mut next = Box::pin(local.acquire("k", &gauges, soon()));
        assert!(poll_once(gone.as_mut()).is_none());
        assert!(poll_once(next.as_mut()).is_none());
        drop(guard);
        drop(gone);
        assert!(next.await.is_some());
        assert!(local.lock().is_empty());
    }

    /// Polls once, without a task to wake.
    fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        match future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        }
    }
}
