//! The evidence of an arm's double holds: which of them are kept, and what is told of them.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::server_hold::ServerHold;
use crate::oracle::holds::{DoubleHold, Hold};
use lockstorm_data::history::{self, LostVote, Removal, Ruling};
use lockstorm_data::model::HostId;
use lockstorm_judge::law::LostKey;

/// Of so many double holds the evidence is kept: the first ones, a random choice of the others, and the longest.
const FIRST: usize = 50;
const CHOICE: usize = 50;
const LONGEST: usize = 10;
/// While the run goes on, the first one is shown and so many of the newest.
const NEWEST: usize = 9;

/// A double hold with what is known of its cause.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub double: DoubleHold<ServerHold>,
    /// `None` as long as its cause may still be found, and for a lock without votes.
    pub ruling: Option<Ruling>,
    /// The votes that the first one had lost.
    pub lost: Vec<LostKey>,
    /// Whether a late release has most likely removed the key of the first one.
    pub is_removed: bool,
    pub is_over: bool,
}

/// The evidence of double holds that are over and judged.
#[derive(Debug)]
pub(super) struct Evidence {
    /// The first ones, and behind them a random choice.
    some: Vec<Case>,
    longest: Vec<Case>,
    newest: VecDeque<Case>,
    /// How many there were.
    all: usize,
    rng: SmallRng,
    /// The numbers of those that the journal has, and what it says of their cause.
    written: HashMap<u64, Option<Ruling>>,
}

impl Evidence {
    /// Keeps nothing yet; `seed` chooses what is kept.
    pub fn new(seed: u64) -> Self {
        Self {
            some: Vec::new(),
            longest: Vec::new(),
            newest: VecDeque::new(),
            all: 0,
            rng: SmallRng::seed_from_u64(seed),
            written: HashMap::new(),
        }
    }

    /// Takes in a double hold that is over and judged.
    pub fn add(&mut self, case: Case) {
        self.all += 1;
        self.newest.push_back(case.clone());
        if self.newest.len() > NEWEST {
            self.newest.pop_front();
        }
        let overlap = |case: &Case| case.double.overlap();
        let place = self.longest.partition_point(|longer| overlap(longer) >= overlap(&case));
        if place < LONGEST {
            self.longest.insert(place, case.clone());
            self.longest.truncate(LONGEST);
        }
        if self.some.len() < FIRST + CHOICE {
            self.some.push(case);
            return;
        }
        // Each of those behind the first ones is chosen with the same probability.
        let place = FIRST + self.rng.random_range(0..self.all - FIRST);
        if let Some(one) = self.some.get_mut(place) {
            *one = case;
        }
    }

    /// What a journal has to say anew of the first ones, and of the first of those that are `waiting` for another cause.
    pub fn unwritten(
        &mut self,
        waiting: &[Case],
        origin: i64,
        host: impl Fn(SocketAddr) -> Option<HostId>,
    ) -> Vec<history::DoubleHold> {
        let ruled = waiting.iter().filter(|case| case.is_over && case.ruling.is_some());
        let mut new = Vec::new();
        for case in self.some.iter().take(FIRST).chain(ruled.take(FIRST)) {
            let number = case.double.number;
            let has_room = self.written.len() < FIRST || self.written.contains_key(&number);
            if has_room && self.written.insert(number, case.ruling) != Some(case.ruling) {
                new.push(case.told(origin, &host));
            }
        }
        new
    }

    /// The double holds that are kept, and the first of those that are `waiting`, in the order in which they were found. `host` tells which
    /// host a server is on.
    pub fn told(
        &self,
        waiting: &[Case],
        origin: i64,
        host: impl Fn(SocketAddr) -> Option<HostId>,
    ) -> Vec<history::DoubleHold> {
        let kept = self.some.iter().chain(&self.longest);
        told(kept.chain(waiting.iter().take(FIRST)), origin, host)
    }

    /// The first of those that are kept and the newest ones, with the first of the `waiting`, whose cause or end may not be known.
    pub fn shown(
        &self,
        waiting: &[Case],
        origin: i64,
        host: impl Fn(SocketAddr) -> Option<HostId>,
    ) -> Vec<history::DoubleHold> {
        let kept = self.some.first().into_iter().chain(&self.newest);
        told(kept.chain(waiting.iter().take(NEWEST)), origin, host)
    }
}

/// These double holds in the order in which they were found, each once.
fn told<'a>(
    cases: impl Iterator<Item = &'a Case>,
    origin: i64,
    host: impl Fn(SocketAddr) -> Option<HostId>,
) -> Vec<history::DoubleHold> {
    let mut cases: Vec<&Case> = cases.collect();
    cases.sort_by_key(|case| case.double.number);
    cases.dedup_by_key(|case| case.double.number);
    cases.into_iter().map(|case| case.told(origin, &host)).collect()
}

impl Case {
    fn told(&self, origin: i64, host: &impl Fn(SocketAddr) -> Option<HostId>) -> history::DoubleHold {
        let double = &self.double;
        let number = |server: SocketAddr| host(server).map(|host| host.0);
        let lost = self.lost.iter().map(|lost| {
            let master = |is_old| lost.master.filter(|master| master.is_old == is_old);
            LostVote {
                host: number(lost.server),
                event: lost.event,
                new_master: master(false).and_then(|master| number(master.server)),
                old_master: master(true).and_then(|master| number(master.server)),
            }
        });
        history::DoubleHold {
            number: double.number,
            key: double.second.key().to_owned(),
            first: double.first.told(double.first_from, double.first_until, origin, host),
            second: double
                .second
                .told(double.second_from, double.second_until, origin, host),
            overlap_us: double
                .overlap()
                .map(|overlap| length(overlap).as_micros())
                .and_then(|us| us.try_into().ok()),
            lost: lost.collect(),
            ruling: self.ruling,
            removed_by: double
                .overtaken
                .as_ref()
                .filter(|_| self.is_removed)
                .map(|(hold, at)| Removal {
                    holder: hold.holder(),
                    name: None,
                    at_us: (at - origin).div_euclid(1000),
                }),
        }
    }
}

pub(super) fn length(nanos: i64) -> Duration {
    Duration::from_nanos(nanos.max(0).cast_unsigned())
}
