//! One caller's attempts: whether there is another attempt, and when.

use std::time::Duration;

use super::attempt::Decision;
use super::time::Time;
use super::wait::Wait;

/// The least pause before a waiter asks again without an announcement, unless the keys expire earlier.
const POLL_PAUSE: Duration = Duration::from_millis(50);

/// The most that is added to the pause, drawn anew each time.
const POLL_JITTER: Duration = Duration::from_millis(50);

/// The most that is added to the remaining TTL of a key, so that its waiters do not all ask at once.
const EXPIRY_JITTER: Duration = Duration::from_millis(5);

/// How often an attempt that got some of the nodes is repeated soon, since perhaps nobody got a quorum.
const MAX_SPLITS: u32 = 3;

/// One caller's attempts at a lock of any kind.
#[derive(Debug, Clone, Copy)]
pub struct Acquire {
    wait: Wait,
    deadline: Time,
    attempts: u32,
    /// Successive attempts that got some of the nodes but not enough.
    splits: u32,
}

/// What to do after an attempt that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Give up, with the refusal of this attempt.
    GiveUp,
    /// Ask again at this time. A caller that waits in line asks earlier if a release is announced, and then yields to
    /// callers that have waited longer.
    At(Time),
    /// Look up how long the key will still exist, for [`Acquire::on_remaining`]; ask again at this time at the latest.
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

    /// The time by which the whole acquire must be over.
    #[must_use]
    pub const fn deadline(&self) -> Time {
        self.deadline
    }

    /// The number of attempts so far.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Whether to begin an attempt at `now`, which is then counted. The first attempt always begins.
    pub fn begins(&mut self, now: Time) -> bool {
        let begins = self.attempts == 0 || now < self.deadline;
        self.attempts += u32::from(begins);
        begins
    }

    /// The attempt that began last is not made after all.
    pub const fn take_back(&mut self) {
        self.attempts -= 1;
    }

    /// What to do at `now` after an attempt that ended with the decision `why` and `votes` votes. `spread` bounds the random
    /// delays that keep callers apart that split the nodes between them; `random` is a new random number for each call, over the
    /// whole range of numbers.
    pub fn on_refused(&mut self, why: Decision, votes: usize, spread: Duration, random: u64, now: Time) -> Next {
        match self.wait {
            Wait::FailFast => Next::GiveUp,
            Wait::Retry { retries, delay, jitter } => {
                let next = now + delay.saturating_add(draw(jitter, random));
                // Waiting for an attempt that may not begin is useless.
                if self.attempts > retries || next >= self.deadline {
                    Next::GiveUp
                } else {
                    Next::At(next)
                }
            }
            Wait::Queue if why == Decision::Contended && votes > 0 && self.splits < MAX_SPLITS => {
                self.splits += 1;
                Next::At(now + draw(spread.saturating_mul(self.splits), random))
            }
            Wait::Queue => {
                self.splits = 0;
                Next::LookUp(now + POLL_PAUSE + draw(POLL_JITTER, random))
            }
        }
    }

    /// When to ask again if the key exists for `remaining` from `now` on and callers that have waited longer get a head
    /// start of `yield_delay`; `latest` is the time in [`Next::LookUp`].
    #[must_use]
    pub fn on_remaining(latest: Time, remaining: Duration, yield_delay: Duration, random: u64, now: Time) -> Time {
        latest.min(now + remaining + yield_delay + draw(EXPIRY_JITTER, random))
    }
}

/// How long it takes until enough keys have expired for a lock, given the remaining times of the keys that are held, of
/// which `needed` must expire. `None` if no remaining time is known.
#[must_use]
pub fn free_after(mut remaining: Vec<Duration>, needed: usize) -> Option<Duration> {
    remaining.sort_unstable();
    let last = remaining.last().copied();
    remaining.get(needed.saturating_sub(1)).copied().or(last)
}

/// A random duration from 0 to `most`, both included; `random` is drawn over the whole range of numbers.
#[must_use]
pub fn draw(most: Duration, random: u64) -> Duration {
    let most = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
    // By Lemire (<https://arxiv.org/abs/1805.10941>), the upper half of the product is a uniform draw from 0 to `most`, with
    // a bias of less than one part in 2^64 / most.
    let product = u128::from(random) * (u128::from(most) + 1);
    Duration::from_nanos(u64::try_from(product >> 64).unwrap_or(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPREAD: Duration = Duration::from_millis(3);
    /// The highest random number.
    const HIGHEST: u64 = u64::MAX;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn fail_fast_gives_up_and_retry_repeats_a_number_of_times() {
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
        for (random, next) in [(0, 21), (HIGHEST, 31)] {
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
    fn only_the_first_attempt_begins_after_the_deadline() {
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
            let next = acquire.on_refused(Decision::Contended, 1, SPREAD, HIGHEST, at(0));
            assert_eq!(next, Next::At(Time::ZERO + SPREAD * times));
        }
        let next = acquire.on_refused(Decision::Contended, 1, SPREAD, HIGHEST, at(0));
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
        assert_eq!((draw(most, 0), draw(most, HIGHEST)), (Duration::ZERO, most));
        assert_eq!(draw(Duration::ZERO, HIGHEST), Duration::ZERO);
        assert_eq!(draw(Duration::MAX, HIGHEST).as_nanos(), u128::from(u64::MAX));
    }
}
