//! What is to be told of the clients of an arm.

use std::mem;
use std::sync::{Mutex, PoisonError};

/// How many of each kind are told of each arm: a client that does wrong once often does it for ever.
const MOST: usize = 8;

/// What is to be told of the clients of an arm, until the run takes it.
#[derive(Debug, Default)]
pub struct Complaints(Mutex<Told>);

#[derive(Debug, Default)]
struct Told {
    wrong: Vec<String>,
    wrong_so_far: usize,
    errors: Vec<String>,
    /// How many of the errors have been taken.
    errors_taken: usize,
}

impl Complaints {
    /// Adds something wrong with a client, which casts doubt on the arm.
    pub fn add(&self, why: String) {
        self.with(|told| {
            told.wrong_so_far += 1;
            told.wrong.extend(Some(why).filter(|_| told.wrong_so_far <= MOST));
        });
    }

    /// Adds an error that a client has answered with: that is its right, but whoever looks on should know.
    pub fn error(&self, text: String) {
        self.with(|told| {
            if told.errors.len() < MOST && !told.errors.contains(&text) {
                told.errors.push(text);
            }
        });
    }

    /// What is newly wrong.
    pub fn take(&self) -> Vec<String> {
        self.with(|told| mem::take(&mut told.wrong))
    }

    /// The new errors.
    pub fn take_errors(&self) -> Vec<String> {
        self.with(|told| {
            let from = mem::replace(&mut told.errors_taken, told.errors.len());
            told.errors[from..].to_vec()
        })
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
        complaints.error("no space".to_owned());
        complaints.error("no space".to_owned());
        assert_eq!(complaints.take(), ["it hangs"]);
        assert_eq!(complaints.take_errors(), ["no space"]);
        for number in 0..20 {
            complaints.add(number.to_string());
            complaints.error(number.to_string());
        }
        assert_eq!(complaints.take().len(), MOST - 1);
        assert_eq!(complaints.take_errors().len(), MOST - 1);
        complaints.add("one more".to_owned());
        assert_eq!((complaints.take(), complaints.take_errors()), (Vec::new(), Vec::new()));
    }
}
