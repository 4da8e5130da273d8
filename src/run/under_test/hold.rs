use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What does not change of a lock that was granted.
#[derive(Debug, Clone)]
pub struct Granted {
    /// The name of its keys.
    pub key: String,
    /// The value of its keys, or whatever else tells its holder from others.
    pub token: String,
    /// The number of this lock at whoever granted it; 0 if it needs none.
    pub number: u64,
    /// When the attempt began by which it was acquired.
    pub asked: Instant,
    /// The servers that voted for it.
    pub voters: Vec<SocketAddr>,
    /// How many servers were asked.
    pub nodes: usize,
    /// The number that fences its holder, if the lock hands one out.
    pub fence: Option<u64>,
    /// How long its keys live, if its end is not told: from the acquire, or from the last extension.
    pub ttl: Option<Duration>,
    /// Whether it is renewed by its client, which does not say when it has.
    pub is_renewed: bool,
}

/// How long the keys of a lock live whose end is not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyLife {
    /// When its acquire, or its last extension, was asked for and answered: its keys were set in between.
    pub set: [Instant; 2],
    /// How long they live from then on.
    pub ttl: Duration,
    /// Whether it is renewed by its client, which is still there and does not say when it has.
    pub is_renewed: bool,
}

/// A held lock that is not the engine's, and what its lock has said of it since. It can be read from any thread, also after its end.
#[derive(Debug)]
pub struct OtherHold {
    /// What does not change.
    pub granted: Granted,
    /// Since when it is known that it was granted.
    pub since: Instant,
    term: Mutex<Term>,
}

#[derive(Debug, Clone, Copy)]
struct Term {
    until: Option<Instant>,
    lost: Option<Instant>,
    is_over: bool,
    /// Whether the client said at its release that it was still held.
    is_released: bool,
    /// Whether its client has gone.
    is_abandoned: bool,
    /// When its acquire, or its last extension, was asked for and answered.
    set: [Instant; 2],
}

impl OtherHold {
    /// A lock on which its holder may rely until then; `None`: without end.
    pub fn new(granted: Granted, until: Option<Instant>) -> Self {
        let since = Instant::now();
        let term = Term {
            until,
            lost: None,
            is_over: false,
            is_released: false,
            is_abandoned: false,
            set: [granted.asked, since],
        };
        Self {
            granted,
            since,
            term: Mutex::new(term),
        }
    }

    /// The lock was extended: its holder may rely on it until then. Where that was over already, it stays over.
    pub fn rely_until(&self, until: Instant) {
        let mut term = self.term();
        if term.until.is_none_or(|before| before > Instant::now()) {
            term.until = Some(until);
        }
    }

    /// It was extended just now. `asked`: when that was asked for; `None` if that is not known.
    pub fn extended(&self, asked: Option<Instant>) {
        let mut term = self.term();
        term.set = [asked.unwrap_or(term.set[0]), Instant::now()];
    }

    /// Its client has gone: it is not renewed any more.
    pub fn abandon(&self) {
        self.term().is_abandoned = true;
    }

    /// The client said at its release that it was still held.
    pub fn released(&self) {
        self.term().is_released = true;
    }

    /// Whether the client said so.
    pub fn was_released(&self) -> bool {
        self.term().is_released
    }

    /// How long its keys live, if its holder does not hear of their end.
    pub fn key_life(&self) -> Option<KeyLife> {
        let term = *self.term();
        let ttl = self.granted.ttl.filter(|_| term.until.is_none())?;
        Some(KeyLife {
            set: term.set,
            ttl,
            is_renewed: self.granted.is_renewed && !term.is_abandoned,
        })
    }

    /// Signals to its holder that the lock is lost, from `at` on. It stays lost.
    pub fn lose(&self, at: Instant) {
        self.term().lost.get_or_insert(at);
    }

    /// Whether the lock has told that it is lost.
    pub fn tells_loss(&self) -> bool {
        self.term().lost.is_some()
    }

    /// Until when its holder has reason to rely on it, as far as the lock has said by now; `None`: without end. A release changes
    /// nothing.
    pub fn relied_until(&self) -> Option<Instant> {
        let term = *self.term();
        match (term.until, term.lost) {
            (Some(until), Some(lost)) => Some(until.min(lost)),
            (until, lost) => until.or(lost),
        }
    }

    /// Whether its holder can't rely on it any more: its validity has ended, or it is lost.
    pub fn is_lost(&self) -> bool {
        self.relied_until().is_some_and(|until| until <= Instant::now())
    }

    /// Whether its section has outlasted it.
    pub(super) fn overran(&self) -> bool {
        self.term().until.is_some_and(|until| until <= Instant::now())
    }

    /// Whether its section has ended. Nobody extends it then.
    pub fn is_over(&self) -> bool {
        self.term().is_over
    }

    pub(super) fn end(&self) {
        self.term().is_over = true;
    }

    fn term(&self) -> MutexGuard<'_, Term> {
        // Each change is one assignment.
        self.term.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_holder_relies_on_its_lock_until_the_end_or_the_loss_that_the_lock_has_told() {
        let granted = Granted {
            key: "k".to_owned(),
            token: "t".to_owned(),
            number: 0,
            asked: Instant::now(),
            voters: Vec::new(),
            nodes: 1,
            fence: None,
            ttl: None,
            is_renewed: false,
        };
        let now = granted.asked;
        let (soon, later) = (now + Duration::from_mins(1), now + Duration::from_mins(2));
        let endless = OtherHold::new(granted.clone(), None);
        assert_eq!(
            (endless.relied_until(), endless.is_lost(), endless.overran()),
            (None, false, false)
        );
        endless.lose(now);
        endless.lose(later);
        assert_eq!((endless.relied_until(), endless.is_lost()), (Some(now), true));
        let held = OtherHold::new(granted.clone(), Some(soon));
        held.rely_until(later);
        assert_eq!((held.relied_until(), held.is_lost()), (Some(later), false));
        held.lose(soon);
        assert_eq!((held.relied_until(), held.is_over()), (Some(soon), false));
        held.end();
        assert_eq!((held.relied_until(), held.is_over()), (Some(soon), true));
        held.rely_until(later + Duration::from_mins(1));
        assert_eq!(held.relied_until(), Some(soon), "what is lost stays lost");
        let late = OtherHold::new(granted, Some(now));
        assert!(late.is_lost() && late.overran());
        late.rely_until(later);
        assert!(late.is_lost(), "an extension does not revive what is over");
    }
}
