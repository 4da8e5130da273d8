//! Waiting in line for a lock: in this app server behind those who came before, and among app servers in the order in
//! which they began to wait, as far as they hear of each other.
//!
//! Only the first of an app server asks. Between attempts it waits for the news that the lock was released, and asks
//! again without news from time to time, or when the key must have expired: news can be lost, and holders can die.

use std::{ops::RangeInclusive, sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{
    Gauges, Guard, Refusal, Terms,
    channel::Channel,
    line::{Entered, Turn},
    quorum::{Missed, Quorum},
    round::Answer,
    tally::{Slot, quorum, votes},
    wire,
};
use crate::model::Cause;

/// The pause between attempts without news, unless keys expire earlier; drawn anew each time.
const PAUSE: RangeInclusive<Duration> = Duration::from_millis(50)..=Duration::from_millis(100);

/// The most that is added to the remaining TTL of a key, so that those who wait for it do not all come at once.
const EXPIRY_JITTER: Duration = Duration::from_millis(5);

/// An attempt that got some of the nodes is repeated soon, so often: perhaps nobody got enough of them.
const SPLITS: u32 = 3;

/// Acquires the lock when it is our turn.
pub(super) async fn acquire(quorum: &Quorum, key: &str, terms: &Terms, gauges: &Arc<Gauges>) -> Result<Guard, Refusal> {
    let since = Instant::now();
    let deadline = since + terms.deadline;
    let (turn, waited) = match quorum.lines.enter(key, since) {
        Entered::First(turn) => (turn, false),
        Entered::Behind(place) => {
            let _waiting = gauges.wait();
            // Without others nobody needs to know, and nodes need not tell us. They say at a release if somebody is there.
            let channel = quorum.channels.get(key);
            if let Some(channel) = &channel {
                let front = quorum.lines.front(key);
                quorum.channels.announce(key, channel, front, false, terms.node_timeout);
            }
            (place.turn(deadline, terms.ttl).await?, true)
        }
    };
    let head = Head {
        quorum,
        key,
        terms,
        gauges,
        since,
        deadline,
        turn,
        channel: quorum.channels.get(key),
        splits: 0,
    };
    head.acquire(waited).await
}

/// The one of an app server whose turn it is.
struct Head<'a> {
    quorum: &'a Quorum,
    key: &'a str,
    terms: &'a Terms,
    gauges: &'a Arc<Gauges>,
    /// When the wait began.
    since: Instant,
    deadline: Instant,
    turn: Turn,
    /// None as long as nobody had to wait.
    channel: Option<Arc<Channel>>,
    /// Attempts in a row that got some of the nodes.
    splits: u32,
}

impl Head<'_> {
    async fn acquire(mut self, mut waited: bool) -> Result<Guard, Refusal> {
        let mut attempts = 0;
        let mut last = None;
        let mut at = Instant::now();
        let mut heard = 0;
        if let Some(channel) = &self.channel {
            heard = channel.news();
            at += channel.courtesy(self.since);
        }
        loop {
            if let Some(channel) = &self.channel
                && (at > Instant::now() || attempts > 0)
            {
                waited = true;
                let _waiting = self.gauges.wait();
                channel.turn(self.since, at, heard, self.deadline).await;
                heard = channel.news();
            }
            if Instant::now() >= self.deadline
                && let Some(refusal) = last
            {
                return Err(refusal);
            }
            attempts += 1;
            let attempt = self
                .quorum
                .attempt(self.key, self.terms, self.gauges, self.deadline)
                .await;
            let missed = match (attempt, last) {
                (Ok(claim), _) => {
                    self.turn.hold(&claim);
                    self.channel = self.channel.or_else(|| self.quorum.channels.get(self.key));
                    self.announce(self.quorum.lines.front(self.key), false);
                    let renewal = self.quorum.renew(&claim, self.terms);
                    return Ok(Guard::quorum(claim, renewal, Some(self.turn), attempts, waited));
                }
                // Cut short by the deadline it says less than the one before.
                (Err(Missed { cut_short: true, .. }), Some(complete)) => return Err(complete),
                (Err(missed), _) => missed,
            };
            // Waiting does not help.
            if let Refusal::NotPermitted { .. } = missed.refusal {
                return Err(missed.refusal);
            }
            self.turn.note(&missed.refusal);
            at = self.next(&missed, heard).await;
            last = Some(missed.refusal);
        }
    }

    /// When to ask again after an attempt that began when so much news was `heard`, unless there is news.
    async fn next(&mut self, missed: &Missed, heard: u64) -> Instant {
        let channel = Arc::clone(self.channel.get_or_insert_with(|| self.quorum.channels.join(self.key)));
        self.announce(Some(self.since), true);
        let contended = missed.refusal == Refusal::Contended;
        if contended {
            // Without an answer it says nothing about round trips.
            channel.took(missed.elapsed);
        }
        if contended && votes(&missed.slots) > 0 && self.splits < SPLITS {
            self.splits += 1;
            let spread = channel.spread() * self.splits;
            return Instant::now() + self.quorum.random(Duration::ZERO..=spread);
        }
        self.splits = 0;
        let poll = Instant::now() + self.quorum.random(PAUSE);
        let _waiting = self.gauges.wait();
        tokio::select! {
            () = channel.has_news(heard) => poll,
            left = self.remaining_ttl(missed) => {
                let Some(left) = left else { return poll };
                let jitter = self.quorum.random(Duration::ZERO..=EXPIRY_JITTER);
                poll.min(Instant::now() + left + channel.courtesy(self.since) + jitter)
            }
        }
    }

    /// How long until enough of the nodes that refused us are free, as far as they say.
    async fn remaining_ttl(&self, missed: &Missed) -> Option<Duration> {
        let slots = &missed.slots;
        let holders: Vec<_> = (0..slots.len())
            .filter(|&index| slots[index] == Slot::No(Cause::Held))
            .collect();
        let needed = quorum(slots.len()).saturating_sub(votes(slots));
        let timeout = self.terms.node_timeout;
        let until = self.deadline.min(Instant::now() + timeout);
        let question = wire::pttl(self.key);
        let answers = self
            .quorum
            .nodes
            .question(&holders, &question, timeout, until, |_| false)
            .await;
        let mut left: Vec<_> = answers.into_iter().filter_map(time_left).collect();
        left.sort_unstable();
        left.get(needed.saturating_sub(1)).or(left.last()).copied()
    }

    /// Tells the other app servers since when the first of those waits here who will ask.
    fn announce(&self, since: Option<Instant>, asked: bool) {
        if let Some(channel) = &self.channel {
            let timeout = self.terms.node_timeout;
            self.quorum.channels.announce(self.key, channel, since, asked, timeout);
        }
    }
}

/// A `PTTL` reply, rounded up: the key is still there in its last millisecond. A key that never expires is no use.
fn time_left(answer: Option<Answer>) -> Option<Duration> {
    match answer? {
        Answer::Int(-2) => Some(Duration::ZERO),
        Answer::Int(millis) => Some(Duration::from_millis(u64::try_from(millis).ok()? + 1)),
        Answer::Failed(_) => None,
    }
}
