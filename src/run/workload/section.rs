use std::time::Instant;

use super::failed::Failed;
use super::held_locks::{Held, Refused, Sold};
use super::stalls::Moment;
use super::tools::Tools;
use crate::store::Mark;
use crate::under_test::{Guard, Lock};
use lockstorm_data::metrics::{Count, Counter, Part, Time};
use lockstorm_data::scenario::{OnLoss, OnOutage};
use lockstorm_lock::{AcquireOptions, Outcome};

/// The part of a TTL that is valid, roughly: the rest is for clocks that drift apart.
const VALID: f64 = 0.99;

/// The part of a request that holds the lock; arms without a lock have one too. End it with [`Section::leave`].
pub(super) struct Section<'a> {
    tools: &'a Tools,
    /// Counts for the request.
    pub(super) counter: Counter<'a>,
    /// `None` once it is released.
    locked: Option<Locked<'a>>,
    since: Moment,
}

/// The lock of a section.
struct Locked<'a> {
    /// Removed before the lock is released.
    held: Held<'a>,
    /// `None` if it proceeds although it did not get the lock.
    guard: Option<Guard>,
}

impl Tools {
    /// Acquires the arm's lock for `what` and counts the outcome, for this worker. An arm without a lock acquires nothing.
    pub(super) async fn enter<'a>(
        &'a self,
        counter: Counter<'a>,
        what: &str,
        worker: usize,
    ) -> Result<Section<'a>, Failed> {
        let asked = Instant::now();
        let key = self.arm.key(&self.key_prefix, what);
        let options = self.options();
        let pending = self.waiting.begin(asked);
        // The engine's lock tells of each attempt by itself.
        let is_other = matches!(self.lock(counter.part()), Lock::Other(_));
        let asking = is_other.then(|| self.held_locks.ask(&key));
        let measured = counter.part() == Part::Measured;
        let acquired = tokio::select! {
            biased;
            acquired = self.lock(counter.part()).acquire(&key, &options) => acquired,
            () = self.hurry.waiting.cancelled() => return Err(Failed::Cancelled),
        };
        drop(pending);
        let took = asked.elapsed();
        let counted = self.arm.lock.is_some();
        match acquired {
            Ok(guard) => {
                if counted {
                    counter.acquired(took);
                }
                // Another node may become its master.
                let moves = self.arm.has_master();
                let lock = guard.held_lock();
                if let Some(lock) = &lock {
                    let by = guard.voters().first().copied().filter(|_| moves);
                    counter.granted(&key, lock.asked(), by);
                }
                let held = match counted {
                    true => self.held_locks.enter(worker, measured, asked, &key, lock),
                    false => self.held_locks.enter_without_lock(worker, measured, asked, &key),
                };
                Ok(self.section(counter, held, Some(guard)))
            }
            Err(refusal) => {
                if counted {
                    counter.refused(took, refusal.outcome(), refusal.causes());
                }
                if asking.is_some() {
                    self.held_locks.not_granted(&key, asked, refusal.outcome());
                }
                self.held_locks.refused(|| Refused {
                    worker,
                    measured,
                    key: key.clone(),
                    asked,
                    busy: refusal.outcome() == Outcome::Contended,
                });
                match (self.arm.on_outage, refusal.outcome()) {
                    (OnOutage::GiveUp, _) | (_, Outcome::Contended) => Err(Failed::Refused),
                    (OnOutage::Proceed, _) => {
                        let held = self.held_locks.enter_without_lock(worker, measured, asked, &key);
                        Ok(self.section(counter, held, None))
                    }
                }
            }
        }
    }

    fn section<'a>(&'a self, counter: Counter<'a>, held: Held<'a>, guard: Option<Guard>) -> Section<'a> {
        Section {
            tools: self,
            counter,
            locked: Some(Locked { held, guard }),
            since: self.stalls.now(),
        }
    }

    fn options(&self) -> AcquireOptions {
        let ttl = self.live_settings.ttl(self.arm.ttl);
        let mut options = AcquireOptions::new()
            .ttl(ttl)
            .wait(self.arm.wait)
            .timeout(self.arm.timeout)
            // All arms use the same nodes, and each has its own node timeout.
            .reply_timeout(self.arm.node_timeout);
        options.renew = self.arm.renew.interval(ttl);
        options.lifetime = self.arm.lifetime;
        options
    }
}

impl Section<'_> {
    /// Checks the lock. To be called right before the work is written.
    ///
    /// # Errors
    /// The lock is lost, and the arm aborts in that case.
    pub(super) fn check(&self) -> Result<(), Failed> {
        let Some(Locked {
            held,
            guard: Some(guard),
        }) = &self.locked
        else {
            return Ok(());
        };
        if self.tools.arm.on_loss == OnLoss::Abort && guard.is_lost() {
            return Err(Failed::Lost);
        }
        if guard.overran() {
            held.writes_late();
        }
        Ok(())
    }

    /// Notes what its write left of a stock.
    pub(super) fn sold(&self, sold: Sold) {
        if let Some(locked) = &self.locked {
            locked.held.sold(sold);
        }
    }

    /// What its order says of it, besides what it sells.
    pub(super) fn mark<'b>(&self, buyer: &'b str) -> Mark<'b> {
        Mark {
            buyer,
            stalled: self.is_stalled(),
            at_us: self.counter.micros(),
            measured: self.counter.part() == Part::Measured,
        }
    }

    /// The number that fences its holder, if the lock hands one out.
    pub(super) fn fence(&self) -> Option<u64> {
        self.guard()?.fence()
    }

    /// Whether the lock, as far as it knows, still keeps everybody else out.
    pub(super) fn is_ours(&self) -> bool {
        self.tools.arm.lock.is_some() && self.guard().is_some_and(|guard| !guard.is_lost())
    }

    fn guard(&self) -> Option<&Guard> {
        self.locked.as_ref()?.guard.as_ref()
    }

    /// Whether the lock's validity is over only because its thread stood still although nobody paused it: without that, the section
    /// would have been in time, or the next renewal.
    pub(super) fn is_stalled(&self) -> bool {
        let Some(guard) = self.guard().filter(|guard| guard.overran()) else {
            return false;
        };
        let Some(lock) = guard.held_lock() else {
            return false;
        };
        let arm = &self.tools.arm;
        let ttl = self.tools.live_settings.ttl(arm.ttl);
        let explains = match arm.renew.interval(ttl) {
            Some(interval) => ttl.saturating_sub(interval),
            None => lock.asked().elapsed().saturating_sub(ttl.mul_f64(VALID)),
        };
        let (_, stood_still) = self.tools.stalls.since(self.since);
        !stood_still.is_zero() && stood_still >= explains
    }

    /// Ends it: [`release`](Self::release), if that was not done before.
    pub(super) async fn leave(mut self, worked: &Result<bool, Failed>) {
        self.release(worked).await;
    }

    /// Counts what the section did with its lock, the votes and a lost lock, and releases the lock. `worked`: whether it found
    /// something to do.
    pub(super) async fn release(&mut self, worked: &Result<bool, Failed>) {
        let (counter, is_stalled) = (self.counter, self.is_stalled());
        let Some(Locked { held, guard }) = self.locked.take() else {
            return;
        };
        let Some(guard) = guard else {
            return held.end()(true);
        };
        match worked {
            // It ended at once, whatever its TTL.
            Ok(false) => {}
            // Nobody knows how long it would have taken.
            Err(Failed::Cancelled) => counter.count(Count::CutOff),
            Ok(true) | Err(_) => self.count_work(&guard),
        }
        if held.has_written_late() && matches!(worked, Ok(true)) {
            counter.count(Count::LateWrites);
        }
        if guard.tells_votes() {
            counter.voted(guard.votes(), guard.nodes());
            self.count_late_votes(&guard);
        }
        let (was_lost, lock) = (guard.is_lost(), guard.held_lock());
        if was_lost {
            counter.count(Count::LocksLost);
        }
        if is_stalled {
            counter.count(Count::Stalled);
            held.is_stalled();
        }
        let replied = held.end();
        let is_released = guard.release().await;
        // Some learn it only now.
        if !is_released && !was_lost && lock.is_some_and(|lock| lock.tells_loss()) {
            counter.count(Count::LocksLost);
        }
        replied(is_released);
    }

    /// Counts a section that had work: what it needed of its lock says something about a TTL.
    fn count_work(&self, guard: &Guard) {
        self.counter.time(Time::Hold, self.tools.stalls.since(self.since).0);
        // A lock's validity counts from the attempt that acquired it. A request is too large to keep that time too.
        if let Some(lock) = guard.held_lock() {
            self.counter.time(Time::Needed, lock.asked().elapsed());
        }
        if guard.overran() {
            self.counter.count(Count::Overran);
        }
    }

    /// Counts the votes that the lock has in the end: now if all nodes have answered, otherwise once they had their time
    /// to.
    fn count_late_votes(&self, guard: &Guard) {
        let (late, nodes) = (guard.late_votes(), guard.nodes());
        let known = match &late {
            Some(late) => late.known(),
            None => Some(guard.votes()),
        };
        let late = match (known, late) {
            (None, Some(late)) => late,
            (votes, _) => return self.counter.voted_in_the_end(votes.unwrap_or_default(), nodes),
        };
        let (recorder, part) = (self.counter.recorder(), self.counter.part());
        self.tools.after.spawn(async move {
            recorder.of(part).voted_in_the_end(late.wait().await, nodes);
        });
    }
}
