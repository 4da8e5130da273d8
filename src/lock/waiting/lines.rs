//! Those of one app server who want the same key, first come, first served.
//!
//! Whoever has the permit of a key may ask for it, and keeps it as long as the lock is held: all others of the app
//! server need not ask meanwhile.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::sync::oneshot;

use crate::{
    Refusal,
    clock::{self, FOREVER},
    held::Held,
    protocol::{Line, Time},
};

/// The number of a permit that is not to be passed on.
const NOBODYS: u64 = 0;

/// The lines of all keys; clones share them. A key that nobody wants has none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    lines: HashMap<Arc<str>, KeyLine>,
    last_permit: u64,
}

/// The line of one key.
#[derive(Debug)]
struct KeyLine {
    line: Line<oneshot::Sender<Permit>>,
    /// The lock that was acquired with the permit.
    held: Option<Weak<dyn Held>>,
    /// Why the one who has the permit has not got the lock yet.
    refusal: Option<Refusal>,
}

/// What came of entering a line.
#[derive(Debug)]
pub(crate) enum Entered {
    /// Nobody was there.
    First(Permit),
    /// Somebody has the permit.
    Behind(Waiter),
}

/// Whoever has it may ask for the key. Dropping it passes it on.
#[derive(Debug)]
#[must_use]
pub(crate) struct Permit {
    lines: Lines,
    key: Arc<str>,
    number: u64,
}

/// Somebody in a line. Dropping it leaves the line.
#[derive(Debug)]
#[must_use]
pub(crate) struct Waiter {
    lines: Lines,
    key: Arc<str>,
    permit: oneshot::Receiver<Permit>,
}

impl Lines {
    /// Takes the permit of the key if nobody has it.
    pub(crate) fn try_enter(&self, key: &str) -> Option<Permit> {
        let mut state = self.lock();
        if state.lines.contains_key(key) {
            return None;
        }
        let key = Arc::<str>::from(key);
        let number = state.next();
        let line = KeyLine {
            line: Line::new(number),
            held: None,
            refusal: None,
        };
        state.lines.insert(Arc::clone(&key), line);
        Some(self.permit(key, number))
    }

    /// Takes the permit of the key if nobody has it, or else a place behind all others. `since`: when the wait began.
    pub(crate) fn enter(&self, key: &str, since: Time) -> Entered {
        loop {
            if let Some(permit) = self.try_enter(key) {
                return Entered::First(permit);
            }
            let mut state = self.lock();
            // It may have ended since.
            let Some((key, _)) = state.lines.get_key_value(key) else {
                continue;
            };
            let key = Arc::clone(key);
            let (sender, permit) = oneshot::channel();
            if let Some(line) = state.lines.get_mut(&key) {
                // So that a key held for long collects no dead waiters.
                line.front();
                line.line.enter(since, sender);
            }
            let lines = self.clone();
            return Entered::Behind(Waiter { lines, key, permit });
        }
    }

    fn permit(&self, key: Arc<str>, number: u64) -> Permit {
        let lines = self.clone();
        Permit { lines, key, number }
    }

    /// Since when the first of those waits who stand behind the one who has the permit.
    pub(crate) fn front(&self, key: &str) -> Option<Time> {
        self.lock().lines.get_mut(key)?.front()
    }

    /// Hands permit `number` of the key to the next who still waits, or ends the line.
    fn pass_on(&self, key: &Arc<str>, mut number: u64) {
        loop {
            let mut state = self.lock();
            let following = state.next();
            let Some(line) = state.lines.get_mut(key).filter(|line| line.line.is_permit(number)) else {
                // It was taken away.
                return;
            };
            let Some(next) = line.line.pass_on(following) else {
                state.lines.remove(key);
                return;
            };
            line.held = None;
            drop(state);
            number = following;
            // A waiter that gives up from now on drops the permit, which passes it on again.
            match next.send(self.permit(Arc::clone(key), number)) {
                Ok(()) => return,
                Err(mut refused) => refused.number = NOBODYS,
            }
        }
    }

    /// Passes the permit on if it is kept for a lock that has ended by itself; or else when that will be, if a lock is held.
    fn pass_on_if_over(&self, key: &Arc<str>) -> Option<Time> {
        let (number, held) = {
            let state = self.lock();
            let line = state.lines.get(key)?;
            (line.line.permit(), line.held.clone()?)
        };
        match held
            .upgrade()?
            .lease()
            .valid_until()
            .filter(|until| *until > clock::now())
        {
            None => {
                self.pass_on(key, number);
                None
            }
            until => until,
        }
    }

    fn refusal(&self, key: &str) -> Refusal {
        let noted = self.lock().lines.get(key).and_then(|line| line.refusal.clone());
        noted.unwrap_or(Refusal::Contended)
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().lines.is_empty()
    }

    /// How many stand behind the one who has the permit, those who gave up and were not noticed included.
    #[cfg(test)]
    pub(crate) fn behind(&self, key: &str) -> usize {
        self.lock().lines.get(key).map_or(0, |line| line.line.behind())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    const fn next(&mut self) -> u64 {
        self.last_permit += 1;
        self.last_permit
    }
}

impl KeyLine {
    fn front(&mut self) -> Option<Time> {
        self.line.front(oneshot::Sender::is_closed)
    }
}

impl Permit {
    /// Says that the lock was acquired. The permit goes on to the next once that has ended, released or not.
    pub(crate) fn hold<H: Held + 'static>(&self, lock: &Arc<H>) {
        let lock: Weak<dyn Held> = Arc::downgrade(&(Arc::clone(lock) as Arc<dyn Held>));
        self.change(|line| (line.held, line.refusal) = (Some(lock), None));
    }

    /// Says why the lock was not acquired yet, for those whose time is over before they get the permit.
    pub(crate) fn note(&self, refusal: &Refusal) {
        self.change(|line| line.refusal = Some(refusal.clone()));
    }

    fn change(&self, change: impl FnOnce(&mut KeyLine)) {
        let mut state = self.lines.lock();
        let line = state.lines.get_mut(&self.key);
        if let Some(line) = line.filter(|line| line.line.is_permit(self.number)) {
            change(line);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.number != NOBODYS {
            self.lines.pass_on(&self.key, self.number);
        }
    }
}

impl Waiter {
    /// Waits for the permit until `deadline`. `patience`: how long those before may take to acquire the lock until it is
    /// looked up again when that ends.
    ///
    /// # Errors
    /// Why those before did not get the lock.
    pub(crate) async fn wait(mut self, deadline: Time, patience: Duration) -> Result<Permit, Refusal> {
        loop {
            let ends = self.lines.pass_on_if_over(&self.key);
            let look_up = ends.unwrap_or_else(|| clock::now() + patience.min(FOREVER));
            match clock::timeout_at(deadline.min(look_up), &mut self.permit).await {
                Ok(Ok(permit)) => return Ok(permit),
                Err(_) if clock::now() < deadline => {}
                Ok(Err(_)) | Err(_) => return Err(self.lines.refusal(&self.key)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(lines: &Lines) -> Permit {
        lines.try_enter("k").unwrap()
    }

    fn behind(lines: &Lines) -> Waiter {
        match lines.enter("k", clock::now()) {
            Entered::Behind(waiter) => waiter,
            Entered::First(_) => panic!("nobody is there"),
        }
    }

    fn soon() -> Time {
        clock::now() + Duration::from_secs(60)
    }

    #[tokio::test(start_paused = true)]
    async fn a_permit_passes_over_those_who_are_gone() {
        let lines = Lines::default();
        let permit = first(&lines);
        assert!(lines.try_enter("k").is_none());
        let (gone, late, next) = (behind(&lines), behind(&lines), behind(&lines));
        drop(gone);
        drop(permit);
        // The permit is on its way to one who does not take it.
        drop(late);
        let permit = next.wait(soon(), Duration::MAX).await.unwrap();
        assert!(!lines.is_empty());
        drop(permit);
        assert!(lines.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn whose_time_is_over_hears_why() {
        let lines = Lines::default();
        let permit = first(&lines);
        let deadline = clock::now() + Duration::from_millis(5);
        let wait = behind(&lines).wait(deadline, Duration::MAX);
        assert_eq!(wait.await.unwrap_err(), Refusal::Contended);
        let refusal = Refusal::NoQuorum { causes: Vec::new() };
        permit.note(&refusal);
        let deadline = clock::now() + Duration::from_millis(5);
        assert_eq!(behind(&lines).wait(deadline, Duration::MAX).await.unwrap_err(), refusal);
        assert!(lines.front("k").is_none());
    }
}
