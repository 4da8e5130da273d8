//! What is to be told of the clients of an arm.

use std::mem;
use std::sync::{Mutex, PoisonError};

/// How many of each kind are told of each arm: a client that does wrong once often does it for ever.
const MOST: usize = 8;
/// What stands before the error with which an order has ended.
pub const ENDED_WITH: &str = " ended with: ";

/// What is to be told of the clients of an arm, until the run takes it.
#[derive(Debug, Default)]
pub struct Complaints(Mutex<Told>);

#[derive(Debug, Default)]
struct Told {
    wrong: Lines,
    errors: Lines,
    /// The last error that nobody has asked for, new or not.
    last_error: Option<String>,
    who: Option<String>,
}

/// Each line is told once.
#[derive(Debug, Default)]
struct Lines {
    all: Vec<String>,
    /// How many have been taken.
    taken: usize,
}

impl Lines {
    fn add(&mut self, line: String) {
        if self.all.len() < MOST && !self.all.contains(&line) {
            self.all.push(line);
        }
    }

    fn take(&mut self) -> Vec<String> {
        let from = mem::replace(&mut self.taken, self.all.len());
        self.all[from..].to_vec()
    }
}

impl Complaints {
    /// Adds something wrong with a client, which casts doubt on the arm.
    pub fn add(&self, why: String) {
        self.with(|told| told.wrong.add(why));
    }

    /// Adds an error with which a client has answered an order: that is its right, but whoever looks on should know.
    pub fn error(&self, order: &str, text: String) {
        self.with(|told| {
            told.errors.add(format!("{order}{ENDED_WITH}{text}"));
            told.last_error = Some(text);
        });
    }

    /// What is newly wrong.
    pub fn take(&self) -> Vec<String> {
        self.with(|told| told.wrong.take())
    }

    /// The new errors.
    pub fn take_errors(&self) -> Vec<String> {
        self.with(|told| told.errors.take())
    }

    /// The text of the last error since this was asked before.
    pub fn take_last_error(&self) -> Option<String> {
        self.with(|told| told.last_error.take())
    }

    /// Says who the clients are, by their own account.
    pub fn introduce(&self, who: String) {
        self.with(|told| told.who = Some(who));
    }

    /// Who they are, once one has started.
    pub fn who(&self) -> Option<String> {
        self.with(|told| told.who.clone())
    }

    fn with<T>(&self, change: impl FnOnce(&mut Told) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_is_told_once_and_no_more_than_a_few() {
        let complaints = Complaints::default();
        assert_eq!((complaints.take(), complaints.take_errors()), (Vec::new(), Vec::new()));
        complaints.add("it hangs".to_owned());
        complaints.add("it hangs".to_owned());
        complaints.error("an acquire", "no space".to_owned());
        assert_eq!(complaints.take(), ["it hangs"]);
        assert_eq!(complaints.take_errors(), ["an acquire ended with: no space"]);
        complaints.add("it hangs".to_owned());
        complaints.error("an acquire", "no space".to_owned());
        assert_eq!((complaints.take(), complaints.take_errors()), (Vec::new(), Vec::new()));
        assert_eq!(
            complaints.take_last_error().as_deref(),
            Some("no space"),
            "though it is not new"
        );
        assert_eq!(complaints.take_last_error(), None);
        for number in 0..20 {
            complaints.add(number.to_string());
            complaints.error("an acquire", number.to_string());
        }
        assert_eq!(complaints.take().len(), MOST - 1);
        assert_eq!(complaints.take_errors().len(), MOST - 1);
        complaints.add("one more".to_owned());
        assert_eq!((complaints.take(), complaints.take_errors()), (Vec::new(), Vec::new()));
    }
}
