//! The callers of one app server that want the same key, first come, first served.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Poll, Waker};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::clock;
use crate::nodes::Nodes;
use crate::protocol::{self, Rules, Time};
use crate::quorum::extensions::remember;
use crate::quorum::lock::QuorumLock;
use crate::refusal::Refusal;

/// How often to look for turns that nobody acts on.
const LOOK_INTERVAL: Duration = Duration::from_millis(25);

/// The lines of all keys; clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines {
    /// Whose runtime looks after them; if there are none, the first waiter's.
    nodes: Option<Nodes>,
    state: Arc<Mutex<LinesState>>,
}

#[derive(Debug, Default)]
struct LinesState {
    lines: protocol::Lines<Arc<[u8]>, Option<Waker>, Weak<QuorumLock>>,
    /// By key, why the caller whose turn it is has not got the lock yet, and by which rules it asked.
    refusals: HashMap<Arc<[u8]>, (Rules, Refusal)>,
    /// Looks for turns that nobody acts on, as long as somebody waits.
    watch: Option<JoinHandle<()>>,
}

/// A place in the line of a key, and once it is its turn, the right to ask the nodes for it. Dropping it leaves the line, or
/// passes the turn on.
#[derive(Debug)]
#[must_use]
pub(crate) struct Permit {
    lines: Lines,
    key: Arc<[u8]>,
    ticket: u64,
    /// Until when its turn lasts at least, if it is its turn.
    until: Time,
}

/// The deadline of a waiter came before its turn.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TimeOver;

impl Permit {
    /// The key.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }
}

impl Lines {
    /// No lines yet, for keys of these nodes.
    pub(crate) fn new(nodes: Nodes) -> Self {
        Self {
            nodes: Some(nodes),
            state: Arc::default(),
        }
    }

    /// Takes a place, and returns whether others are ahead. `since`: when the wait began; `until`: when it has asked the nodes if
    /// nobody is ahead.
    pub(crate) fn enter(&self, key: &[u8], since: Time, until: Time) -> (Permit, bool) {
        let key = Arc::<[u8]>::from(key);
        let enter = |state: &mut LinesState| {
            let waits = state.lines.is_wanted(&key);
            (state.lines.enter(&key, since, until, None), waits)
        };
        let (ticket, waits) = self.change(enter);
        let lines = self.clone();
        let permit = Permit {
            lines,
            key,
            ticket,
            until,
        };
        (permit, waits)
    }

    /// Takes a place if nobody is ahead.
    pub(crate) fn try_enter(&self, key: &[u8], since: Time, until: Time) -> Option<Permit> {
        let (permit, waits) = self.enter(key, since, until);
        (!waits).then_some(permit)
    }

    /// Since when the first of those has waited that do not have the lock.
    pub(crate) fn waiting_since(&self, key: &[u8]) -> Option<Time> {
        self.lock().lines.waiting_since(key)
    }

    /// Why the caller whose turn it is has not got the lock yet, for one whose time is over, if that is no matter of other rules.
    pub(crate) fn refusal(&self, key: &[u8], rules: &Rules) -> Refusal {
        let noted = self.lock().refusals.get(key).filter(|noted| noted.0 == *rules).cloned();
        noted.map_or(Refusal::Contended, |(_, refusal)| refusal)
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        let state = self.lock();
        state.lines.is_empty() && state.refusals.is_empty()
    }

    /// The number of waiters behind the present turn.
    #[cfg(test)]
    pub(crate) fn behind(&self, key: &[u8]) -> usize {
        self.lock().lines.behind(&Arc::from(key))
    }

    fn change<T>(&self, change: impl FnOnce(&mut LinesState) -> T) -> T {
        let mut state = self.lock();
        let result = change(&mut state);
        if state.lines.due().is_some() && state.watch.as_ref().is_none_or(JoinHandle::is_finished) {
            let watch = watch(Arc::downgrade(&self.state));
            state.watch = match (&self.nodes, Handle::try_current()) {
                (Some(nodes), _) => Some(nodes.spawn(watch)),
                (None, Ok(runtime)) => Some(runtime.spawn(watch)),
                (None, Err(_)) => None,
            };
        }
        result
    }

    fn lock(&self) -> MutexGuard<'_, LinesState> {
        lock(&self.state)
    }
}

fn lock(state: &Mutex<LinesState>) -> MutexGuard<'_, LinesState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes on turns that nobody acts on, until nobody waits.
async fn watch(state: Weak<Mutex<LinesState>>) {
    let now = clock::now;
    while let Some(told) = state.upgrade().and_then(|state| lock(&state).look(now())) {
        told.into_iter().flatten().for_each(Waker::wake);
        clock::sleep_until(now() + LOOK_INTERVAL).await;
    }
}

impl LinesState {
    /// Returns those to wake; `None` once nobody waits.
    fn look(&mut self, now: Time) -> Option<Vec<Option<Waker>>> {
        if self.lines.due().is_none() {
            self.watch = None;
            return None;
        }
        let valid_until = |lock: &Weak<QuorumLock>| lock.upgrade()?.lease().valid_until().filter(|until| *until > now);
        let told = self.lines.look(valid_until, now).into_iter();
        Some(told.map(|(_, waker)| waker).collect())
    }
}

impl Permit {
    /// Waits for its turn until `deadline`, and promises once more what it promised when it took its place. `since`: when the
    /// wait began.
    ///
    /// # Errors
    /// If it is not its turn by then.
    pub(crate) async fn turn(&mut self, since: Time, deadline: Time) -> Result<(), TimeOver> {
        let turn = poll_fn(|cx| {
            let mut state = self.lines.lock();
            let mut is_turn = state.lines.promise(&self.key, self.ticket, self.until);
            if let Some(waker) = state.lines.waiter(&self.key, self.ticket) {
                remember(waker, cx.waker());
            } else if !is_turn {
                drop(state);
                // Nobody polled this when it was its turn.
                let (permit, waits) = self.lines.enter(&self.key, since, self.until);
                *self = permit;
                is_turn = !waits;
                cx.waker().wake_by_ref();
            }
            if is_turn { Poll::Ready(()) } else { Poll::Pending }
        });
        clock::timeout_at(deadline, turn).await.map_err(|_| TimeOver)
    }

    /// Its caller will act by `until`. Returns false if its turn is over.
    pub(crate) fn promise(&mut self, until: Time) -> bool {
        if self.until == until {
            return true;
        }
        self.until = until;
        self.lines
            .change(|state| state.lines.promise(&self.key, self.ticket, until))
    }

    /// Records that the lock was acquired. The turn lasts until the lock has ended, released or not.
    pub(crate) fn hold(&self, lock: &Arc<QuorumLock>) {
        let mut state = self.lines.lock();
        state.lines.hold(&self.key, self.ticket, Arc::downgrade(lock));
        state.refusals.remove(&self.key);
    }

    /// Records why the lock was not acquired yet, for waiters whose deadline comes before their turn.
    pub(crate) fn note(&self, rules: Rules, refusal: &Refusal) {
        let mut state = self.lines.lock();
        if state.lines.is_turn(&self.key, self.ticket) {
            state.refusals.insert(Arc::clone(&self.key), (rules, refusal.clone()));
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let told = self.lines.change(|state| {
            let told = state.lines.leave(&self.key, self.ticket, clock::lately());
            if told.is_none() && !state.refusals.is_empty() && !state.lines.is_wanted(&self.key) {
                state.refusals.remove(&self.key);
            }
            told
        });
        if let Some(Some(waker)) = told {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(lines: &Lines) -> Permit {
        lines.enter(b"k", clock::now(), soon()).0
    }

    fn soon() -> Time {
        clock::now() + Duration::from_secs(60)
    }

    #[tokio::test(start_paused = true)]
    async fn a_permit_passes_over_those_who_are_gone_and_they_take_no_room() {
        let lines = Lines::new(Nodes::unconnected(1));
        let permit = enter(&lines);
        assert!(lines.try_enter(b"k", clock::now(), soon()).is_none());
        let first = enter(&lines);
        drop((0..1000).map(|_| enter(&lines)).collect::<Vec<_>>());
        let mut last = enter(&lines);
        assert_eq!(lines.behind(b"k"), 2);
        drop(permit);
        // It is its turn, but it does not take it.
        drop(first);
        last.turn(clock::now(), soon()).await.unwrap();
        assert!(!lines.is_empty());
        drop(last);
        assert!(lines.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_whose_time_is_over_gets_the_reason_if_it_is_not_a_matter_of_the_others_rules() {
        let lines = Lines::new(Nodes::unconnected(1));
        let permit = enter(&lines);
        let deadline = clock::now() + Duration::from_millis(5);
        assert_eq!(enter(&lines).turn(clock::now(), deadline).await, Err(TimeOver));
        let rules = crate::AcquireOptions::default().rules(Duration::from_secs(1));
        let others = Rules {
            ttl: Duration::from_millis(1),
            ..rules
        };
        assert_eq!(lines.refusal(b"k", &rules), Refusal::Contended);
        let refusal = Refusal::NoQuorum { causes: Vec::new() };
        permit.note(others, &refusal);
        assert_eq!(lines.refusal(b"k", &rules), Refusal::Contended);
        assert_eq!(lines.refusal(b"k", &others), refusal);
        drop(permit);
        assert!(lines.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_nobody_takes_passes_on_and_comes_again() {
        let lines = Lines::new(Nodes::unconnected(1));
        let permit = enter(&lines);
        let (mut unpolled, mut next) = (enter(&lines), enter(&lines));
        drop(permit);
        next.turn(clock::now(), soon()).await.unwrap();
        assert!(!unpolled.promise(soon()));
        let leave = async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            drop(next);
        };
        let (turn, ()) = tokio::join!(unpolled.turn(clock::now(), soon()), leave);
        turn.unwrap();
    }
}
