use std::collections::BTreeSet;
use std::io::BufRead;

use serde::{Deserialize, Serialize};

use super::lines::{HistoryError, Lines};

/// So many names of fields are told that are none of an event.
const NAMES: usize = 10;
/// What to do about a mistake.
const CURE: &str =
    "write {\"event\":\"acquired\",\"client\":\"a\",\"key\":\"k\",\"t\":1} and the like, one object a line";

/// What a program reports of one of its locks: a line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// What happened.
    pub event: EventWord,
    /// Who: whoever holds a lock and relies on it, a thread or a task.
    pub client: String,
    /// The key of the lock.
    pub key: String,
    /// When, in nanoseconds of a monotonic clock that all clients share.
    pub t: i64,
    /// By which the lock tells this holder from others, if it does. An empty one is a token, too.
    #[serde(default)]
    pub token: Option<String>,
    /// The end of the validity that was handed out; left out: it has none. Of `acquired` and `extended`.
    #[serde(default)]
    pub until: Option<i64>,
    /// The number that fences this holder, if there is one.
    #[serde(default)]
    pub fence: Option<u64>,
}

/// What can be reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventWord {
    /// It wants the lock from now on.
    Asked,
    /// It does not want it any more, and has not got it.
    Refused,
    /// It has got it: the clock was read after the reply.
    Acquired,
    /// It has renewed it.
    Extended,
    /// It begins to use what the lock guards.
    Entered,
    /// It has written to what the lock guards.
    Write,
    /// It has ended to use it.
    Left,
    /// It gives the lock back: the clock was read before that was sent.
    Released,
    /// It was told that it has lost it.
    Lost,
}

impl Event {
    /// Reads what a program reports, line by line. `ignored` hears the name of each field that is none of an event, when it first comes;
    /// of many the first ones.
    pub fn read(
        source: impl BufRead,
        mut ignored: impl FnMut(&str),
    ) -> impl Iterator<Item = Result<Self, HistoryError>> {
        let (mut lines, mut names) = (Lines::of(source, CURE), BTreeSet::new());
        let mut note = move |name: &str| {
            if names.len() < NAMES && names.insert(name.to_owned()) {
                ignored(name);
            }
        };
        std::iter::from_fn(move || lines.read_next(|lines| lines.parse_noting(&mut note)))
    }
}
