//! One attempt at a lock: what every node was asked, and taking back what they may hold.

use std::{
    future::poll_fn,
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use super::{
    Gauges, Nodes, Released, Terms,
    ballot::{Ballot, Effect},
    channels::Channels,
    gauges::Kind,
    job::{Delete, Done, Job, Place, Report},
    reply::Reply,
    round::{Answer, Round},
    tally::{Slot, reliable},
    wire::{self, Wire},
};
use crate::model::Cause;

/// One attempt. The caller owns it through an [`Owned`]; its commands and their connections share it.
#[derive(Debug)]
pub(super) struct Claim {
    nodes: Nodes,
    wire: Wire,
    /// The clock before the first command was queued.
    start: Instant,
    ttl: Duration,
    node_timeout: Duration,
    /// The lock may not be held longer than this.
    lifetime_ends: Option<Instant>,
    /// Where those who wait for the key are told of the release; none: they are not told.
    channels: Option<Arc<Channels>>,
    /// Whether nodes that lost the key are asked for it again.
    repairs: bool,
    gauges: Arc<Gauges>,
    ballot: Mutex<Ballot>,
    /// Tells those who wait for the loss.
    lost: Notify,
}

/// The caller's claim. Dropping it takes all votes back, in the background: those not written are withdrawn, behind
/// all others goes a compare-and-delete on the same connection.
#[derive(Debug)]
pub(super) struct Owned(Arc<Claim>);

impl Deref for Owned {
    type Target = Arc<Claim>;

    fn deref(&self) -> &Arc<Claim> {
        &self.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.take_back(false);
    }
}

impl Claim {
    /// Asks all nodes at once, under a new token, and does not wait. `channels`: those who wait for the key are told of
    /// the release.
    pub(super) fn ask(
        nodes: &Nodes,
        key: &str,
        terms: &Terms,
        gauges: &Arc<Gauges>,
        channels: Option<&Arc<Channels>>,
    ) -> Owned {
        let start = Instant::now();
        let claim = Arc::new(Self {
            nodes: nodes.clone(),
            wire: Wire::new(key, &wire::token(), terms.ttl),
            start,
            ttl: terms.ttl,
            node_timeout: terms.node_timeout,
            lifetime_ends: terms.lifetime.map(|lifetime| start + lifetime),
            channels: channels.map(Arc::clone),
            repairs: terms.repair,
            gauges: Arc::clone(gauges),
            ballot: Mutex::new(Ballot::new(nodes.len())),
            lost: Notify::new(),
        });
        for index in 0..nodes.len() {
            claim.push_set(index, start);
        }
        Owned(claim)
    }

    fn push_set(self: &Arc<Self>, index: usize, start: Instant) {
        let place = self.place(index);
        self.nodes.push(index, Job::Set { place, start });
    }

    fn place(self: &Arc<Self>, index: usize) -> Place {
        Place {
            claim: Arc::clone(self),
            index,
        }
    }

    /// The number of nodes asked.
    pub(super) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// How long to wait for replies.
    pub(super) const fn node_timeout(&self) -> Duration {
        self.node_timeout
    }

    /// When the first command was queued.
    pub(super) const fn start(&self) -> Instant {
        self.start
    }

    /// The commands of this attempt.
    pub(super) const fn wire(&self) -> &Wire {
        &self.wire
    }

    /// Until when the lock can be relied on if a quorum set or extended its key at `start` or later.
    fn stands(&self, start: Instant) -> Instant {
        let ends = start + reliable(self.ttl);
        self.lifetime_ends.map_or(ends, |most| ends.min(most))
    }

    pub(super) fn ballot(&self) -> MutexGuard<'_, Ballot> {
        self.ballot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // From here on: what happens to its commands.

    /// Says that the `SET` for node `index` is being written. False if it was withdrawn and must not be.
    pub(super) fn write(&self, index: usize, now: Instant) -> bool {
        let written = self.ballot().write(index, now);
        if written {
            self.sends(index, Kind::Set);
        }
        written
    }

    /// Counts a command for node `index`.
    pub(super) fn sends(&self, index: usize, kind: Kind) {
        self.gauges.send(index, kind);
    }

    /// Takes the reply to a `SET` that was queued at `start`.
    pub(super) fn voted(&self, index: usize, reply: Reply, start: Instant) -> Done {
        let mut ballot = self.ballot();
        // A repaired vote can't speak for the time before it.
        let late = start > self.start && ballot.is_over(Instant::now());
        let effect = ballot.vote(index, reply, (!late).then(|| self.stands(start)), &self.gauges);
        drop(ballot);
        self.apply(effect)
    }

    /// Takes note that there is no reply to a `SET`.
    pub(super) fn failed(&self, index: usize, cause: Cause) -> Done {
        let effect = self.ballot().fail(index, cause, &self.gauges);
        self.apply(effect)
    }

    /// Takes the answer to an extension: the key is there and was extended after `start`, or it is gone.
    pub(super) fn extended(&self, index: usize, start: Option<Instant>) -> Done {
        let stands = start.map(|start| self.stands(start));
        let effect = self.ballot().extended(index, stands, Instant::now(), &self.gauges);
        self.apply(effect)
    }

    /// Takes the answer to the release: whether the key was deleted; none if the node does not say now.
    pub(super) fn deleted(&self, deleted: Option<bool>) {
        let effect = self.ballot().deleted(deleted);
        self.apply(effect);
    }

    /// Node `index` told somebody of the release.
    pub(super) fn told(&self, index: usize) {
        if let Some(channels) = &self.channels {
            channels.told(index, self.wire.key());
        }
    }

    fn apply(&self, effect: Effect) -> Done {
        if let Some(waiter) = effect.wake {
            waiter.wake();
        }
        if effect.lost {
            self.lost.notify_waiters();
        }
        if effect.finished { Done::Finished } else { Done::Kept }
    }

    // And what the caller does.

    /// Waits until no further vote can change the outcome, the nodes have had their time to reply, or until `limit`.
    /// Whether it was the limit.
    pub(super) async fn decided(&self, limit: Instant) -> bool {
        let mut until = self.start + self.node_timeout;
        loop {
            self.decided_until(until.min(limit)).await;
            let (now, ballot) = (Instant::now(), self.ballot());
            until = ballot.patience(now, self.node_timeout);
            if ballot.is_decided() || now >= until {
                return false;
            }
            if now >= limit {
                return true;
            }
        }
    }

    async fn decided_until(&self, until: Instant) {
        let decided = poll_fn(|cx| {
            let mut ballot = self.ballot();
            if ballot.is_decided() {
                return Poll::Ready(());
            }
            ballot.wait(cx.waker());
            Poll::Pending
        });
        // A time that is over needs no word of its own: it shows as slots without an answer.
        let _ = timeout_at(until, decided).await;
    }

    /// Why each node gave no vote; none where it did.
    pub(super) fn causes(&self, slots: &[Slot]) -> Vec<Option<Cause>> {
        slots
            .iter()
            .enumerate()
            .map(|(index, slot)| match slot {
                Slot::Yes => None,
                Slot::No(cause) => Some(cause.clone()),
                Slot::Written => Some(Cause::Timeout),
                Slot::Queued => Some(self.nodes.unasked(index)),
                Slot::Gone => Some(Cause::Held),
            })
            .collect()
    }

    /// When the validity of the lock ends; none if it is lost.
    pub(super) fn ends(&self) -> Option<Instant> {
        let ballot = self.ballot();
        if ballot.is_lost() { None } else { ballot.ends() }
    }

    /// Loses the lock: its validity is over.
    pub(super) fn lose(&self) {
        self.ballot().lose();
    }

    /// Tells when the lock is lost before its validity ends.
    pub(super) const fn lost(&self) -> &Notify {
        &self.lost
    }

    /// Asks every node that may hold the key to extend it. The answers count when they come; `round` gets them too.
    pub(super) fn extend(self: &Arc<Self>, round: Option<&Arc<Round>>) {
        let start = Instant::now();
        let slots: super::ballot::PerNode<Slot> = self.ballot().slots().iter().cloned().collect();
        for (index, slot) in slots.iter().enumerate() {
            let report = round.map(|round| Report {
                round: Arc::clone(round),
                index,
            });
            if slot.may_hold() {
                let place = self.place(index);
                let job = Job::Extend {
                    place,
                    start,
                    report,
                    spelled_out: false,
                };
                self.nodes.push(index, job);
            } else if let Some(report) = report {
                let cause = match slot {
                    Slot::No(cause) => cause.clone(),
                    _ => Cause::Held,
                };
                report.round.put(index, Answer::Failed(cause));
            }
        }
    }

    /// Asks the nodes that do not have the key for it once more, with the whole TTL, if that was asked for.
    pub(super) fn repair(self: &Arc<Self>) {
        if !self.repairs {
            return;
        }
        let start = Instant::now();
        let missing = self.ballot().requeue_missing();
        for index in missing {
            self.push_set(index, start);
        }
    }

    /// Takes all votes back. Only the first call does anything. `awaited`: somebody waits for the answers.
    fn take_back(self: &Arc<Self>, awaited: bool) {
        let (holders, announce) = {
            let mut ballot = self.ballot();
            let announce = self.channels.is_some() && ballot.is_held();
            (ballot.close(&self.gauges), announce)
        };
        if holders.is_empty() {
            return;
        }
        let until = Instant::now() + self.ttl;
        for index in holders {
            let delete = Delete {
                place: self.place(index),
                announce,
                until,
                awaited,
                spelled_out: false,
            };
            self.nodes.push(index, Job::Delete(delete));
        }
    }

    /// Deletes the keys, and does not wait.
    pub(super) fn release(self: &Arc<Self>) {
        self.take_back(true);
    }

    /// Resolves when a quorum confirmed the release, all answered, or the node timeout is over.
    pub(super) async fn released(&self) -> Released {
        let until = Instant::now() + self.node_timeout;
        let released = poll_fn(|cx| {
            let mut ballot = self.ballot();
            let Some(released) = ballot.released() else {
                ballot.wait(cx.waker());
                return Poll::Pending;
            };
            Poll::Ready(released)
        });
        match timeout_at(until, released).await {
            Ok(released) => released,
            Err(_) => self.ballot().released_so_far(),
        }
    }
}
