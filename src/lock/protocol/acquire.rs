//! One caller's attempts: whether there is another one, and when.

use std::time::Duration;

use super::{Decision, Time, Wait};

/// The least pause between attempts without news, unless keys expire earlier.
const PAUSE: Duration = Duration::from_millis(50);

/// The most that is added to it, drawn anew each time.
const PAUSE_JITTER: Duration = Duration::from_millis(50);

/// The most that is added to the remaining TTL of a key, so that those who wait for it do not all come at once.
const EXPIRY_JITTER: Duration = Duration::from_millis(5);

/// An attempt that got some of the nodes is repeated soon, so often: perhaps nobody got enough of them.
const SPLITS: u32 = 3;

/// One caller's attempts at a lock, of whatever kind.
#[derive(Debug, Clone, Copy)]
pub struct Acquire {
    wait: Wait,
    deadline: Time,
    attempts: u32,
    /// Attempts in a row that got some of the nodes.
    splits: u32,
}

/// What to do after an attempt that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Give up, with the refusal of this attempt.
    GiveUp,
    /// Ask again then. Who waits in line asks earlier if there is news, and yields to others then.
    At(Time),
    /// Find out how long the key is still there, for [`Acquire::on_remaining`]; ask again then at the latest.
    LookUp(Time),
}

impl Acquire {
    /// An acquire that begins no attempt after `deadline`.
    #[must_use]
    pub const fn new(wait: Wait, deadline: Time) -> Self {
        Self {
            wait,
            deadline,
            attempts: 0,
            splits: 0,
        }
    }

    /// The bound of the whole acquire.
    #[must_use]
    pub const fn deadline(&self) -> Time {
        self.deadline
    }

    /// The attempts so far.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Whether to begin an attempt at `now`. The first one always is; it counts.
    pub fn begins(&mut self, now: Time) -> bool {
        let begins = self.attempts == 0 || now < self.deadline;
        self.attempts += u32::from(begins);
        begins
    }

    /// What to do at `now` after an attempt that ended like this, with so many votes. `spread` is the most by which those are
    /// kept apart who took nodes from each other; `random` is drawn anew for each call, over the whole range of numbers.
    pub fn on_refused(&mut self, why: Decision, votes: usize, spread: Duration, random: u64, now: Time) -> Next {
        match self.wait {
            Wait::FailFast => Next::GiveUp,
            Wait::Retry { retries, delay, jitter } => {
                let next = now + delay.saturating_add(draw(jitter, random));
                // Nothing can come of waiting for an attempt that may not begin.
                if self.attempts > retries || next >= self.deadline {
                    Next::GiveUp
                } else {
                    Next::At(next)
                }
            }
            Wait::Queue if why == Decision::Contended && votes > 0 && self.splits < SPLITS => {
                self.splits += 1;
                Next::At(now + draw(spread.saturating_mul(self.splits), random))
            }
            Wait::Queue => {
                self.splits = 0;
                Next::LookUp(now + PAUSE + draw(PAUSE_JITTER, random))
            }
        }
    }

    /// When to ask again if the key is there for so long from `now` on, and others who wait for longer are given
    /// `yield_delay`; `latest` is what [`Next::LookUp`] said.
    #[must_use]
    pub fn on_remaining(latest: Time, remaining: Duration, yield_delay: Duration, random: u64, now: Time) -> Time {
        latest.min(now + remaining + yield_delay + draw(EXPIRY_JITTER, random))
    }
}

/// When enough keys are gone for a lock, given how long each of those is still there that were refused, and how many of them
/// are `needed`. None if nothing is known of them.
#[must_use]
pub fn free_after(mut remaining: Vec<Duration>, needed: usize) -> Option<Duration> {
    remaining.sort_unstable();
    let last = remaining.last().copied();
    remaining.get(needed.saturating_sub(1)).copied().or(last)
}

/// A part of `most`, both ends included, by a random number over the whole range of numbers.
#[must_use]
pub fn draw(most: Duration, random: u64) -> Duration {
    let most = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
    // The upper half of the product is a fair draw from 0 to `most`, by Lemire (<https://arxiv.org/abs/1805.10941>), but for
    // one part in 2^64 / most.
    let product = u128::from(random) * (u128::from(most) + 1);
    Duration::from_nanos(u64::try_from(product >> 64).unwrap_or(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPREAD: Duration = Duration::from_millis(3);
    /// The most that can be drawn.
    const MOST: u64 = u64::MAX;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn who_fails_fast_gives_up_and_who_retries_does_so_a_number_of_times() {
        let mut acquire = Acquire::new(Wait::FailFast, at(1000));
        assert!(acquire.begins(at(0)));
        assert_eq!(
            acquire.on_refused(Decision::NoQuorum, 0, SPREAD, 0, at(1)),
            Next::GiveUp
        );
        let wait = Wait::Retry {
            retries: 2,
            delay: Duration::from_millis(20),
            jitter: Duration::from_millis(10),
        };
        let mut acquire = Acquire::new(wait, at(1000));
        for (random, next) in [(0, 21), (MOST, 31)] {
            assert!(acquire.begins(at(0)));
            let refused = acquire.on_refused(Decision::Contended, 1, SPREAD, random, at(1));
            assert_eq!(refused, Next::At(at(next)));
        }
        assert!(acquire.begins(at(0)));
        assert_eq!(
            acquire.on_refused(Decision::Contended, 1, SPREAD, 0, at(1)),
            Next::GiveUp
        );
        assert_eq!(acquire.attempts(), 3);
    }

    #[test]
    fn no_attempt_begins_after_the_deadline_but_the_first() {
        let wait = Wait::Retry {
            retries: 9,
            delay: Duration::from_millis(20),
            jitter: Duration::ZERO,
        };
        let mut acquire = Acquire::new(wait, at(10));
        assert!(acquire.begins(at(11)));
        assert!(!acquire.begins(at(11)));
        let mut acquire = Acquire::new(wait, at(30));
        assert!(acquire.begins(at(0)));
        assert_eq!(
            acquire.on_refused(Decision::Unknown, 0, SPREAD, 0, at(10)),
            Next::GiveUp
        );
        assert_eq!(
            acquire.on_refused(Decision::Unknown, 0, SPREAD, 0, at(9)),
            Next::At(at(29))
        );
    }

    #[test]
    fn in_line_a_split_is_tried_again_soon_three_times_and_then_keys_are_looked_at() {
        let mut acquire = Acquire::new(Wait::Queue, at(1000));
        for times in 1..=3 {
            let next = acquire.on_refused(Decision::Contended, 1, SPREAD, MOST, at(0));
            assert_eq!(next, Next::At(Time::ZERO + SPREAD * times));
        }
        let next = acquire.on_refused(Decision::Contended, 1, SPREAD, MOST, at(0));
        assert_eq!(next, Next::LookUp(at(100)));
        assert_eq!(
            acquire.on_refused(Decision::NoQuorum, 1, SPREAD, 0, at(0)),
            Next::LookUp(at(50))
        );
        assert_eq!(
            acquire.on_refused(Decision::Contended, 0, SPREAD, 0, at(0)),
            Next::LookUp(at(50))
        );
        let remaining = Duration::from_millis(10);
        assert_eq!(Acquire::on_remaining(at(50), remaining, SPREAD, 0, at(2)), at(15));
        assert_eq!(Acquire::on_remaining(at(12), remaining, SPREAD, 0, at(2)), at(12));
    }

    #[test]
    fn a_lock_is_free_when_as_many_keys_are_gone_as_are_needed() {
        let millis = |list: &[u64]| {
            list.iter()
                .map(|&millis| Duration::from_millis(millis))
                .collect::<Vec<_>>()
        };
        assert_eq!(free_after(millis(&[30, 10, 20]), 2), Some(Duration::from_millis(20)));
        assert_eq!(free_after(millis(&[30]), 2), Some(Duration::from_millis(30)));
        assert_eq!(free_after(millis(&[30, 10]), 0), Some(Duration::from_millis(10)));
        assert_eq!(free_after(millis(&[]), 2), None);
    }

    #[test]
    fn draws_reach_both_ends() {
        let most = Duration::from_millis(7);
        assert_eq!((draw(most, 0), draw(most, MOST)), (Duration::ZERO, most));
        assert_eq!(draw(Duration::ZERO, MOST), Duration::ZERO);
        assert_eq!(draw(Duration::MAX, MOST).as_nanos(), u128::from(u64::MAX));
    }
}
