//! Those of one app server who want the same key, first come, first served.
//!
//! Whoever has the turn of a key may ask for it, and keeps the turn as long as the lock is held: all others of the app
//! server need not ask meanwhile.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};

use super::{FOREVER, Refusal, claim::Claim};

/// The number of a turn that is not to be passed on.
const NOBODYS: u64 = 0;

/// The lines of all keys; clones share them. A key that nobody wants has none.
#[derive(Debug, Clone, Default)]
pub(super) struct Lines(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    lines: HashMap<Arc<str>, Line>,
    last_turn: u64,
}

#[derive(Debug)]
struct Line {
    /// The number of the turn that somebody has.
    turn: u64,
    /// The lock that was acquired in this turn.
    held: Option<Weak<Claim>>,
    /// Why the one whose turn it is has not got the lock yet.
    refusal: Option<Refusal>,
    behind: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    since: Instant,
    turn: oneshot::Sender<Turn>,
}

/// What came of entering a line.
#[derive(Debug)]
pub(super) enum Entered {
    /// Nobody was there.
    First(Turn),
    /// Somebody has the turn.
    Behind(Place),
}

/// The turn of a key. Dropping it passes it on.
#[derive(Debug)]
#[must_use]
pub(super) struct Turn {
    lines: Lines,
    key: Arc<str>,
    number: u64,
}

/// A place in a line. Dropping it leaves the line.
#[derive(Debug)]
#[must_use]
pub(super) struct Place {
    lines: Lines,
    key: Arc<str>,
    turn: oneshot::Receiver<Turn>,
}

impl Lines {
    /// Takes the turn of the key if nobody has it.
    pub(super) fn try_enter(&self, key: &str) -> Option<Turn> {
        let mut state = self.lock();
        if state.lines.contains_key(key) {
            return None;
        }
        let key = Arc::<str>::from(key);
        let number = state.next();
        state.lines.insert(Arc::clone(&key), Line::new(number));
        Some(self.turn(key, number))
    }

    /// Takes the turn of the key if nobody has it, or else a place behind all others. `since`: when the wait began.
    pub(super) fn enter(&self, key: &str, since: Instant) -> Entered {
        loop {
            if let Some(turn) = self.try_enter(key) {
                return Entered::First(turn);
            }
            let mut state = self.lock();
            // It may have ended since.
            let Some((key, _)) = state.lines.get_key_value(key) else {
                continue;
            };
            let key = Arc::clone(key);
            let (sender, turn) = oneshot::channel();
            if let Some(line) = state.lines.get_mut(&key) {
                // So that a key held for long collects no dead waiters.
                line.front();
                line.behind.push_back(Waiter { since, turn: sender });
            }
            let lines = self.clone();
            return Entered::Behind(Place { lines, key, turn });
        }
    }

    fn turn(&self, key: Arc<str>, number: u64) -> Turn {
        let lines = self.clone();
        Turn { lines, key, number }
    }

    /// Since when the first of those waits who stand behind the one whose turn it is.
    pub(super) fn front(&self, key: &str) -> Option<Instant> {
        self.lock().lines.get_mut(key)?.front()
    }

    /// Hands turn `number` of the key to the next who still waits, or ends the line.
    fn pass_on(&self, key: &Arc<str>, mut number: u64) {
        loop {
            let mut state = self.lock();
            let following = state.next();
            let Some(line) = state.lines.get_mut(key).filter(|line| line.turn == number) else {
                // It was taken away.
                return;
            };
            let Some(next) = line.behind.pop_front() else {
                state.lines.remove(key);
                return;
            };
            (line.turn, line.held) = (following, None);
            drop(state);
            number = following;
            // A waiter that gives up from now on drops the turn, which passes it on again.
            match next.turn.send(self.turn(Arc::clone(key), number)) {
                Ok(()) => return,
                Err(mut refused) => refused.number = NOBODYS,
            }
        }
    }

    /// Passes the turn on if it is kept for a lock that has ended by itself; or else when that will be, if a lock is held.
    fn pass_on_if_over(&self, key: &Arc<str>) -> Option<Instant> {
        let (number, claim) = {
            let state = self.lock();
            let line = state.lines.get(key)?;
            (line.turn, line.held.clone()?)
        };
        match claim.upgrade()?.ends().filter(|ends| *ends > Instant::now()) {
            None => {
                self.pass_on(key, number);
                None
            }
            ends => ends,
        }
    }

    fn refusal(&self, key: &str) -> Refusal {
        let noted = self.lock().lines.get(key).and_then(|line| line.refusal.clone());
        noted.unwrap_or(Refusal::Contended)
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.lock().lines.is_empty()
    }

    /// How many stand behind the one whose turn it is, those who gave up and were not noticed included.
    #[cfg(test)]
    pub(super) fn behind(&self, key: &str) -> usize {
        self.lock().lines.get(key).map_or(0, |line| line.behind.len())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next(&mut self) -> u64 {
        self.last_turn += 1;
        self.last_turn
    }
}

impl Line {
    const fn new(turn: u64) -> Self {
        Self {
            turn,
            held: None,
            refusal: None,
            behind: VecDeque::new(),
        }
    }

    fn front(&mut self) -> Option<Instant> {
        while self.behind.front().is_some_and(|waiter| waiter.turn.is_closed()) {
            self.behind.pop_front();
        }
        self.behind.front().map(|waiter| waiter.since)
    }
}

impl Turn {
    /// Says that the lock was acquired. The turn goes on to the next once that has ended, released or not.
    pub(super) fn hold(&self, claim: &Arc<Claim>) {
        self.change(|line| (line.held, line.refusal) = (Some(Arc::downgrade(claim)), None));
    }

    /// Says why the lock was not acquired yet, for those whose time is over before it is their turn.
    pub(super) fn note(&self, refusal: &Refusal) {
        self.change(|line| line.refusal = Some(refusal.clone()));
    }

    fn change(&self, change: impl FnOnce(&mut Line)) {
        let mut state = self.lines.lock();
        if let Some(line) = state.lines.get_mut(&self.key).filter(|line| line.turn == self.number) {
            change(line);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.number != NOBODYS {
            self.lines.pass_on(&self.key, self.number);
        }
    }
}

impl Place {
    /// Waits for the turn until `deadline`. `patience`: how long those before may take to acquire the lock until it is
    /// looked up again when that ends.
    ///
    /// # Errors
    /// Why those before did not get the lock.
    pub(super) async fn turn(mut self, deadline: Instant, patience: Duration) -> Result<Turn, Refusal> {
        loop {
            let ends = self.lines.pass_on_if_over(&self.key);
            let look_up = ends.unwrap_or_else(|| Instant::now() + patience.min(FOREVER));
            match timeout_at(deadline.min(look_up), &mut self.turn).await {
                Ok(Ok(turn)) => return Ok(turn),
                Err(_) if Instant::now() < deadline => {}
                Ok(Err(_)) | Err(_) => return Err(self.lines.refusal(&self.key)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(lines: &Lines) -> Turn {
        lines.try_enter("k").unwrap()
    }

    fn behind(lines: &Lines) -> Place {
        match lines.enter("k", Instant::now()) {
            Entered::Behind(place) => place,
            Entered::First(_) => panic!("nobody is there"),
        }
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_passes_over_those_who_are_gone() {
        let lines = Lines::default();
        let turn = first(&lines);
        assert!(lines.try_enter("k").is_none());
        let (gone, late, next) = (behind(&lines), behind(&lines), behind(&lines));
        drop(gone);
        drop(turn);
        // The turn is on its way to one who does not take it.
        drop(late);
        let turn = next.turn(soon(), Duration::MAX).await.unwrap();
        assert!(!lines.is_empty());
        drop(turn);
        assert!(lines.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn whose_time_is_over_hears_why() {
        let lines = Lines::default();
        let turn = first(&lines);
        let deadline = Instant::now() + Duration::from_millis(5);
        let wait = behind(&lines).turn(deadline, Duration::MAX);
        assert_eq!(wait.await.unwrap_err(), Refusal::Contended);
        let refusal = Refusal::NoQuorum { causes: Vec::new() };
        turn.note(&refusal);
        let deadline = Instant::now() + Duration::from_millis(5);
        assert_eq!(behind(&lines).turn(deadline, Duration::MAX).await.unwrap_err(), refusal);
        assert!(lines.front("k").is_none());
    }
}
