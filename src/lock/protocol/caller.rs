//! One caller of acquire: what it does next.

use std::time::Duration;

use super::announcements::{Announcements, WaitAnnouncement};
use super::attempt::{Attempt, Decision, Rules, Vote};
use super::draw::draw;
use super::node_set::NodeSet;
use super::quorum::quorum;
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

/// How an attempt failed.
#[derive(Debug, Clone, Copy)]
pub struct Failed {
    decision: Decision,
    votes: usize,
    /// The nodes where somebody else has the key.
    held: NodeSet,
    nodes: usize,
    cut_short: bool,
    elapsed: Duration,
}

impl Failed {
    /// Of an attempt that ended with this decision at `now`. `cut_short`: its caller's limit came first.
    #[must_use]
    pub fn of(attempt: &Attempt, decision: Decision, cut_short: bool, now: Time) -> Self {
        let nodes = attempt.nodes();
        Self {
            decision,
            votes: attempt.votes(),
            held: (0..nodes).filter(|&node| attempt.vote(node) == Vote::Held).collect(),
            nodes,
            cut_short,
            elapsed: now - attempt.start(),
        }
    }

    /// Whether the caller's limit ended it before it was decided and before the nodes' time to reply was over.
    #[must_use]
    pub const fn is_cut_short(&self) -> bool {
        self.cut_short
    }
}

/// What a caller does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<R> {
    /// Stand in line behind the other callers of the app server until it is its turn, for [`Caller::on_turn`], but not beyond
    /// this time, see [`Caller::take_last`].
    StandInLine(Time),
    /// Wait until this time, or until the announcements give a reason to ask again; then poll again.
    Wait(Time),
    /// Ask the nodes; votes after this time are worth nothing. [`Caller::on_refused`] is next unless the lock is granted.
    Ask(Time),
    /// Ask these nodes how long the key will still exist, for [`Caller::on_remaining`], until this time or until the
    /// announcements give a reason to ask for the lock again; then poll again.
    LookUp(NodeSet, Time),
    /// Give up, with this refusal; `None` if no attempt of it was refused.
    Refuse(Option<R>),
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    InLine,
    /// Stands in line again at this time.
    Apart(Time),
    /// Asks at this time, or earlier if there is a reason to.
    Pausing(Time),
    /// `by_deadline`: the caller's deadline ends the attempt, and not the TTL.
    Asking {
        by_deadline: bool,
    },
    /// `needed` of the keys must expire; asks again at `latest` at the latest.
    LookUp {
        held: NodeSet,
        needed: usize,
        latest: Time,
    },
    LookingUp {
        needed: usize,
        latest: Time,
        until: Time,
    },
    Refused,
}

/// One caller of acquire, with all its attempts. It is told what happens, and [polled](Self::poll) for what to do: at once, and
/// after each event. `R` is a refusal.
///
/// Only a caller that waits in line has announcements of others to heed, once it had to wait.
#[derive(Debug, Clone)]
pub struct Caller<R> {
    wait: Wait,
    /// No attempt begins after it but the first.
    deadline: Time,
    attempts: u32,
    /// Successive attempts that got some of the nodes but not enough.
    splits: u32,
    ttl: Duration,
    reply_timeout: Duration,
    since: Time,
    stage: Stage,
    /// The number of reasons to ask again that were seen.
    seen: u64,
    /// It was given its turn just now, as happens after a release.
    has_turn: bool,
    waited: bool,
    /// What the caller is told if nothing better comes.
    last: Option<R>,
}

impl<R> Caller<R> {
    /// A caller that begins at `since` and has `timeout` in all.
    #[must_use]
    pub fn new(wait: Wait, rules: &Rules, since: Time, timeout: Duration) -> Self {
        let stage = if wait == Wait::Queue {
            Stage::InLine
        } else {
            Stage::Pausing(since)
        };
        Self {
            wait,
            deadline: since + timeout,
            attempts: 0,
            splits: 0,
            ttl: rules.ttl,
            reply_timeout: rules.reply_timeout,
            since,
            stage,
            seen: 0,
            has_turn: false,
            waited: false,
            last: None,
        }
    }

    /// When it began.
    #[must_use]
    pub const fn since(&self) -> Time {
        self.since
    }

    /// The number of reasons to ask again that it knew of when it last asked.
    #[must_use]
    pub const fn seen(&self) -> u64 {
        self.seen
    }

    /// The number of attempts so far.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Whether somebody else may have had the lock since it began.
    #[must_use]
    pub const fn waited(&self) -> bool {
        self.waited
    }

    /// What to do at `now`.
    pub fn poll<T: Clone + PartialEq>(&mut self, mut channel: Option<&mut Announcements<T>>, now: Time) -> Step<R> {
        let deadline = self.deadline;
        if let Stage::LookingUp { latest, until, .. } = self.stage {
            let changed = |channel: &&mut Announcements<T>| channel.changes() != self.seen;
            if now < until && !channel.as_ref().is_some_and(changed) {
                return Step::Wait(until);
            }
            self.stage = Stage::Pausing(latest);
        }
        match self.stage {
            Stage::Apart(until) if now < until.min(deadline) => Step::Wait(until.min(deadline)),
            Stage::InLine | Stage::Apart(_) => Step::StandInLine(deadline),
            Stage::Pausing(planned) => {
                let mut at = planned;
                if let Some(channel) = &mut channel {
                    at = channel.ask_at(planned, self.seen, self.since, now);
                }
                let at = at.min(deadline);
                if now < at {
                    self.waited = true;
                    return Step::Wait(at);
                }
                if let Some(channel) = channel {
                    let released = std::mem::take(&mut self.has_turn) || channel.changes() != self.seen;
                    self.seen = channel.on_ask(released, self.since);
                }
                self.ask(now)
            }
            Stage::LookUp { held, needed, latest } => {
                let until = deadline.min(now + self.reply_timeout);
                self.stage = Stage::LookingUp { needed, latest, until };
                Step::LookUp(held, until)
            }
            Stage::Asking { .. } | Stage::LookingUp { .. } => Step::Wait(deadline),
            Stage::Refused => Step::Refuse(self.last.take()),
        }
    }

    fn ask(&mut self, now: Time) -> Step<R> {
        let (deadline, ends) = (self.deadline, now + self.ttl);
        if self.attempts > 0 && now >= deadline {
            return Step::Refuse(self.last.take());
        }
        self.attempts += 1;
        self.stage = Stage::Asking {
            by_deadline: deadline < ends,
        };
        Step::Ask(deadline.min(ends))
    }

    /// It has its turn in line at `now`: it asks, after the head start of app servers that have waited longer. `waited`: others
    /// were ahead.
    pub fn on_turn<T: Clone + PartialEq>(&mut self, channel: Option<&mut Announcements<T>>, waited: bool, now: Time) {
        (self.has_turn, self.waited) = (waited, self.waited || waited);
        let mut at = now;
        if let Some(channel) = channel {
            self.seen = channel.changes();
            at = now + channel.yield_delay(self.since, now);
        }
        self.stage = Stage::Pausing(at);
    }

    /// Its turn in line has passed on, since it did not do in time what it was to do: it stands in line again.
    pub fn on_turn_over(&mut self) {
        if let Stage::Asking { .. } = self.stage {
            self.attempts -= 1;
        }
        self.stage = Stage::InLine;
    }

    /// Whether it leaves the line now, and stands in line again later: the lock was free, but it was too slow for its TTL, so
    /// others try first.
    #[must_use]
    pub const fn steps_back(&self) -> bool {
        matches!(self.stage, Stage::Apart(_))
    }

    /// An attempt failed, and no other can succeed.
    pub fn on_hopeless(&mut self, refusal: R) {
        (self.last, self.stage) = (Some(refusal), Stage::Refused);
    }

    /// An attempt failed. Returns what to announce. `random` is a new random number, over the whole range of numbers.
    pub fn on_refused<T: Clone + PartialEq>(
        &mut self,
        failed: &Failed,
        refusal: R,
        channel: Option<&mut Announcements<T>>,
        random: u64,
        now: Time,
    ) -> Option<WaitAnnouncement> {
        self.waited = true;
        // Cut short by the deadline, this attempt says less than the one before.
        if failed.cut_short && matches!(self.stage, Stage::Asking { by_deadline: true }) && self.last.is_some() {
            self.stage = Stage::Refused;
            return None;
        }
        self.last = Some(refusal);
        let (mut announced, mut spread) = (None, Duration::ZERO);
        if let Some(channel) = channel {
            announced = channel.announce(Some(self.since), true, now);
            if failed.decision == Decision::Contended {
                // Other attempts may lack answers and then say nothing about round trips.
                channel.on_round_trip(failed.elapsed);
            }
            spread = channel.spread();
        }
        self.stage = self.after(failed, spread, random, now);
        announced
    }

    /// What comes after an attempt that failed. `spread` bounds the random delays that keep callers apart that split the nodes
    /// between them.
    fn after(&mut self, failed: &Failed, spread: Duration, random: u64, now: Time) -> Stage {
        let Failed { decision, votes, .. } = *failed;
        let contended = decision == Decision::Contended;
        let latest = now + POLL_PAUSE + draw(POLL_JITTER, random);
        match self.wait {
            Wait::FailFast => Stage::Refused,
            Wait::Retry { retries, delay, jitter } => {
                let next = now + delay.saturating_add(draw(jitter, random));
                // Waiting for an attempt that may not begin is useless.
                if self.attempts > retries || next >= self.deadline {
                    Stage::Refused
                } else {
                    Stage::Pausing(next)
                }
            }
            Wait::Queue if contended && votes > 0 && self.splits < MAX_SPLITS => {
                self.splits += 1;
                Stage::Pausing(now + draw(spread.saturating_mul(self.splits), random))
            }
            // It was too slow for its TTL.
            Wait::Queue if decision == Decision::Expired || !contended && failed.elapsed >= self.ttl => {
                Stage::Apart(latest)
            }
            Wait::Queue => {
                self.splits = 0;
                let needed = quorum(failed.nodes).saturating_sub(votes);
                let held = failed.held;
                Stage::LookUp { held, needed, latest }
            }
        }
    }

    /// The nodes have answered how long the key will still exist.
    pub fn on_remaining<T: Clone + PartialEq>(
        &mut self,
        remaining: Vec<Duration>,
        channel: Option<&mut Announcements<T>>,
        random: u64,
        now: Time,
    ) {
        if let Stage::LookingUp { needed, latest, .. } = self.stage {
            let yields = channel.map_or(Duration::ZERO, |channel| channel.yield_delay(self.since, now));
            let at = free_after(remaining, needed).map(|free| now + free + yields + draw(EXPIRY_JITTER, random));
            self.stage = Stage::Pausing(at.unwrap_or(latest).min(latest));
        }
    }

    /// Its time was over in line: what it is told; `None` if none of its attempts was refused.
    pub const fn take_last(&mut self) -> Option<R> {
        self.last.take()
    }
}

/// How long it takes until enough keys have expired for a lock, given the remaining times of the keys that are held, of
/// which `needed` must expire. `None` if no remaining time is known.
fn free_after(mut remaining: Vec<Duration>, needed: usize) -> Option<Duration> {
    remaining.sort_unstable();
    let last = remaining.last().copied();
    remaining.get(needed.saturating_sub(1)).copied().or(last)
}

#[cfg(test)]
mod tests {
    use super::super::answer::Answer;
    use super::*;

    const RULES: Rules = Rules {
        ttl: Duration::from_millis(100),
        reply_timeout: Duration::from_millis(40),
        lifetime: None,
        repair: false,
    };

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn caller(wait: Wait, timeout: u64) -> Caller<&'static str> {
        Caller::new(wait, &RULES, at(0), Duration::from_millis(timeout))
    }

    fn poll(caller: &mut Caller<&'static str>, now: u64) -> Step<&'static str> {
        caller.poll(None::<&mut Announcements<u32>>, at(now))
    }

    /// An attempt of the caller at `began` fails at `now`, since nobody answers or another has the key on all three nodes.
    fn refuse(caller: &mut Caller<&'static str>, held: bool, cut_short: bool, refusal: &'static str, now: u64) {
        let mut attempt = Attempt::new(3, RULES, at(now - 1));
        for node in 0..3 {
            attempt.on_written(node, at(now - 1));
            if held {
                let _ = attempt.on_vote(node, at(now - 1), Answer::No, at(now));
            }
        }
        let decision = attempt.decide(at(now));
        let failed = Failed::of(&attempt, decision, cut_short, at(now));
        caller.on_refused(&failed, refusal, None::<&mut Announcements<u32>>, 0, at(now));
    }

    #[test]
    fn a_caller_that_does_not_stand_in_line_asks_at_once_and_again_after_its_pause() {
        let wait = Wait::Retry {
            retries: 1,
            delay: Duration::from_millis(20),
            jitter: Duration::ZERO,
        };
        let mut caller = caller(wait, 1000);
        assert_eq!(poll(&mut caller, 0), Step::Ask(at(100)));
        refuse(&mut caller, true, false, "first", 5);
        assert_eq!(poll(&mut caller, 5), Step::Wait(at(25)));
        assert_eq!(poll(&mut caller, 25), Step::Ask(at(125)));
        assert!(caller.waited());
        refuse(&mut caller, true, false, "second", 30);
        assert_eq!(poll(&mut caller, 30), Step::Refuse(Some("second")));
        assert_eq!(caller.attempts(), 2);
    }

    #[test]
    fn pauses_are_drawn_and_only_the_first_attempt_begins_after_the_deadline() {
        let spread = Duration::from_millis(3);
        let failed = |decision, votes| Failed {
            decision,
            votes,
            held: NodeSet::EMPTY,
            nodes: 3,
            cut_short: false,
            elapsed: Duration::ZERO,
        };
        let wait = Wait::Retry {
            retries: 9,
            delay: Duration::from_millis(20),
            jitter: Duration::from_millis(10),
        };
        let mut late = caller(wait, 40);
        assert_eq!(poll(&mut late, 41), Step::Ask(at(40)));
        for (random, now, next) in [
            (0, 1, Some(21)),
            (u64::MAX, 1, Some(31)),
            (0, 19, Some(39)),
            (0, 20, None),
        ] {
            let stage = late.after(&failed(Decision::Unknown, 0), spread, random, at(now));
            let next = next.map_or(Stage::Refused, |next| Stage::Pausing(at(next)));
            assert_eq!(format!("{stage:?}"), format!("{next:?}"));
        }
        late.on_hopeless("refused");
        late.stage = Stage::Pausing(at(41));
        assert_eq!(poll(&mut late, 41), Step::Refuse(Some("refused")));
        // In line a split is tried again soon, three times.
        let mut split = caller(Wait::Queue, 1000);
        for millis in [3, 6, 9, 100] {
            let stage = split.after(&failed(Decision::Contended, 1), spread, u64::MAX, at(0));
            assert!(
                matches!(stage, Stage::Pausing(next) | Stage::LookUp { latest: next, needed: 1, .. } if next == at(millis))
            );
        }
        let too_late = split.after(&failed(Decision::Expired, 2), spread, 0, at(0));
        assert!(matches!(too_late, Stage::Apart(until) if until == at(50)));
    }

    #[test]
    fn a_lock_is_free_when_as_many_keys_are_gone_as_are_needed() {
        let millis = |list: &[u64]| list.iter().copied().map(Duration::from_millis).collect();
        assert_eq!(free_after(millis(&[30, 10, 20]), 2), Some(Duration::from_millis(20)));
        assert_eq!(free_after(millis(&[30]), 2), Some(Duration::from_millis(30)));
        assert_eq!(free_after(millis(&[30, 10]), 0), Some(Duration::from_millis(10)));
        assert_eq!(free_after(millis(&[]), 2), None);
    }

    #[test]
    fn a_caller_in_line_looks_up_who_has_the_key_and_asks_when_it_is_free() {
        let mut caller = caller(Wait::Queue, 1000);
        assert_eq!(poll(&mut caller, 0), Step::StandInLine(at(1000)));
        caller.on_turn(None::<&mut Announcements<u32>>, false, at(0));
        assert_eq!((poll(&mut caller, 0), caller.waited()), (Step::Ask(at(100)), false));
        refuse(&mut caller, true, false, "held", 5);
        assert_eq!(poll(&mut caller, 5), Step::LookUp(NodeSet::first(3), at(45)));
        assert_eq!(poll(&mut caller, 6), Step::Wait(at(45)));
        let remaining = [30, 10, 20].map(Duration::from_millis).to_vec();
        caller.on_remaining(remaining, None::<&mut Announcements<u32>>, 0, at(7));
        assert_eq!(poll(&mut caller, 7), Step::Wait(at(27)));
        // Without an answer, it asks after the usual pause.
        assert_eq!(poll(&mut caller, 27), Step::Ask(at(127)));
        refuse(&mut caller, true, false, "held", 30);
        assert_eq!(poll(&mut caller, 30), Step::LookUp(NodeSet::first(3), at(70)));
        assert_eq!(poll(&mut caller, 70), Step::Wait(at(80)));
    }

    #[test]
    fn a_reason_to_ask_ends_a_pause_and_a_look_up() {
        let mut channel = Announcements::<u32>::new(1, 3, at(0));
        let mut caller = caller(Wait::Queue, 1000);
        caller.on_turn(Some(&mut channel), true, at(0));
        assert_eq!(poll(&mut caller, 0), Step::Ask(at(100)));
        refuse(&mut caller, true, false, "held", 5);
        assert!(matches!(caller.poll(Some(&mut channel), at(5)), Step::LookUp(..)));
        (0..3).for_each(|node| {
            channel.on_released(node, 7, at(6));
        });
        (0..3).for_each(|node| {
            channel.on_subscribed(node, true, at(6));
        });
        assert_eq!(caller.poll(Some(&mut channel), at(6)), Step::Ask(at(106)));
    }

    #[test]
    fn a_caller_is_told_the_last_refusal_that_its_deadline_did_not_cut_short() {
        for (timeout, told) in [(60, "complete"), (1000, "last")] {
            let mut caller = caller(Wait::Queue, timeout);
            caller.on_turn(None::<&mut Announcements<u32>>, false, at(0));
            poll(&mut caller, 0);
            refuse(&mut caller, true, false, "complete", 5);
            caller.stage = Stage::Pausing(at(50));
            assert!(matches!(poll(&mut caller, 50), Step::Ask(_)));
            refuse(&mut caller, false, true, "last", 60);
            assert_eq!(caller.take_last(), Some(told));
        }
        let mut alone = caller(Wait::FailFast, 10);
        poll(&mut alone, 0);
        refuse(&mut alone, false, true, "cut short", 10);
        assert_eq!(poll(&mut alone, 10), Step::Refuse(Some("cut short")));
    }
}
