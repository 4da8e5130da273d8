//! What is to be told of the clients of an arm.

use std::mem;
use std::sync::{Mutex, PoisonError};

use lockstorm_data::facts::{Caveat, ClientFault, Order};
use lockstorm_data::model::ServerId;

/// How many of each kind are told of each arm: a client that does wrong once often does it for ever.
const MOST: usize = 8;

/// The arm and the app server of a client.
#[derive(Debug, Clone)]
pub struct Whose {
    /// The name of the arm.
    pub arm: String,
    /// The app server.
    pub server: ServerId,
}

/// What is to be told of the clients of an arm, until the run takes it.
#[derive(Debug, Default)]
pub struct Complaints(Mutex<Told>);

#[derive(Debug, Default)]
struct Told {
    wrong: Caveats,
    errors: Caveats,
    /// The last error that nobody has asked for, new or not.
    last_error: Option<String>,
    who: Option<String>,
}

/// Each is told once.
#[derive(Debug, Default)]
struct Caveats {
    all: Vec<Caveat>,
    /// How many have been taken.
    taken: usize,
}

impl Caveats {
    fn add(&mut self, one: Caveat) {
        if self.all.len() < MOST && !self.all.contains(&one) {
            self.all.push(one);
        }
    }

    fn take(&mut self) -> Vec<Caveat> {
        let from = mem::replace(&mut self.taken, self.all.len());
        self.all[from..].to_vec()
    }
}

impl Complaints {
    /// Adds something wrong with a client, which casts doubt on the arm.
    pub(super) fn add(&self, Whose { arm, server }: Whose, fault: ClientFault) {
        self.with(|told| told.wrong.add(Caveat::Client { arm, server, fault }));
    }

    /// Adds an error with which a client has answered an order: that is its right, but whoever looks on should know.
    pub(super) fn error(&self, Whose { arm, server }: Whose, to: Order, text: String) {
        self.with(|told| {
            let quoted = text.clone();
            told.errors.add(Caveat::ClientError {
                arm,
                server,
                to,
                quoted,
            });
            told.last_error = Some(text);
        });
    }

    /// What is newly wrong.
    pub fn take(&self) -> Vec<Caveat> {
        self.with(|told| told.wrong.take())
    }

    /// The new errors.
    pub fn take_errors(&self) -> Vec<Caveat> {
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

    fn whose() -> Whose {
        Whose {
            arm: "client".to_owned(),
            server: ServerId(1),
        }
    }

    fn failed(quoted: &str) -> ClientFault {
        ClientFault::Failed {
            quoted: quoted.to_owned(),
        }
    }

    #[test]
    fn each_thing_is_told_once_and_no_more_than_a_few() {
        let complaints = Complaints::default();
        let taken = || {
            let [wrong, errors] = [complaints.take(), complaints.take_errors()];
            [wrong, errors].map(|all| all.iter().map(Caveat::to_string).collect::<Vec<_>>())
        };
        assert_eq!(taken(), [[""; 0]; 2]);
        for _ in 0..2 {
            complaints.add(whose(), failed("hangs"));
            complaints.error(whose(), Order::Acquire, "no space".to_owned());
        }
        let first = taken();
        assert_eq!(first[0], ["client: the client of app server 1 hangs"]);
        assert_eq!(
            first[1],
            ["client: the client of app server 1: an acquire ended with: no space"]
        );
        complaints.add(whose(), failed("hangs"));
        complaints.error(whose(), Order::Acquire, "no space".to_owned());
        assert_eq!(taken(), [[""; 0]; 2]);
        assert_eq!(
            complaints.take_last_error().as_deref(),
            Some("no space"),
            "though it is not new"
        );
        assert_eq!(complaints.take_last_error(), None);
        for number in 0..20 {
            complaints.add(whose(), failed(&number.to_string()));
            complaints.error(whose(), Order::Acquire, number.to_string());
        }
        assert_eq!(taken().map(|all| all.len()), [MOST - 1; 2]);
        complaints.add(whose(), failed("one more"));
        assert_eq!(taken(), [[""; 0]; 2]);
    }
}
