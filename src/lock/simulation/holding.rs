//! A held lock: its validity, its renewal, its loss and its release.

use std::time::Duration;

use super::report::Check;
use super::worker::WorkerStage;
use super::world::World;
use crate::protocol::{Command, NodeSet, Renewal, Time};

impl World {
    /// A worker got its lock.
    pub(super) fn hold(&mut self, w: usize, id: u32, now: Time) {
        let mut hold = Duration::from_nanos(self.settings.hold.draw(&mut self.random));
        let found = self.stock.get(self.workers[w].key).copied();
        if found == Some(0) {
            hold = Duration::ZERO;
        }
        let wants = self.settings.wants_of(w);
        let (renew, rules) = (wants.renew, wants.rules);
        let claim = &mut self.claims[id];
        claim.was_held = true;
        let start = claim.attempt.start();
        let worker = &mut self.workers[w];
        if self.keeps_samples {
            self.samples.acquires.push(now - worker.caller.since());
        }
        worker.stage = WorkerStage::Holding;
        worker.found = found;
        worker.granted = now;
        worker.until = if worker.probes.is_empty() { now + hold } else { now };
        worker.renewal = renew.map(|interval| Renewal::new(interval, &rules, start));
        worker.renews = worker.renewal.map_or(Time::MAX, |renewal| renewal.first());
        worker.probes.pop();
        self.begin_belief(id);
        self.keep_turn(w, id, now);
        self.look_at_loss(w, now);
    }

    /// Does what is due for a held lock.
    pub(super) fn look_at_lock(&mut self, w: usize, now: Time) {
        let Some(id) = self.workers[w].claim else { return };
        if now >= self.workers[w].until {
            self.release(w, now);
        } else if now >= self.workers[w].renews {
            self.renew(w, id, now);
        }
    }

    /// Signals the loss if it is time to, or else sets when to check again.
    pub(super) fn look_at_loss(&mut self, w: usize, now: Time) {
        self.workers[w].signals = Time::MAX;
        let Some(id) = self.workers[w]
            .claim
            .filter(|_| self.workers[w].stage == WorkerStage::Holding)
        else {
            return;
        };
        if self.claims[id].lost {
            return;
        }
        match self.claims[id].attempt.lease_mut().on_timeout(now) {
            Some(signals) => self.workers[w].signals = signals,
            None => self.lose(id),
        }
    }

    /// The validity of a held lock may have changed. If it ends later, the present timer still checks in time.
    pub(super) fn update_validity(&mut self, id: u32, sooner: bool) {
        let claim = &mut self.claims[id];
        let valid_until = claim.attempt.lease().valid_until();
        if claim.lost || claim.valid_until == valid_until {
            return;
        }
        claim.valid_until = valid_until;
        let (w, app) = (claim.worker, claim.app);
        let now = self.time(app);
        self.change_belief(id);
        if sooner {
            self.look_at_loss(w, now);
            self.arm(w);
        }
    }

    /// The loss of a held lock is signalled.
    pub(super) fn lose(&mut self, id: u32) {
        let claim = &mut self.claims[id];
        if std::mem::replace(&mut claim.lost, true) {
            return;
        }
        claim.valid_until = None;
        let (w, app) = (claim.worker, claim.app);
        self.report.losses += 1;
        self.note(|world| {
            let claim = &world.claims[id];
            format!(
                "app server {app}, worker {w}, key {}: token {} is lost",
                claim.key, claim.token
            )
        });
        self.signal_belief(id);
        let now = self.time(app);
        let worker = &mut self.workers[w];
        worker.signals = Time::MAX;
        if worker.heeds_loss && worker.stage == WorkerStage::Holding {
            worker.until = now;
            self.wake(w);
        }
    }

    fn renew(&mut self, w: usize, id: u32, now: Time) {
        let valid_until = self.claims[id].attempt.lease().valid_until();
        let worker = &mut self.workers[w];
        let due = worker
            .renewal
            .as_mut()
            .and_then(|renewal| renewal.on_timeout(valid_until, now));
        let Some(due) = due else {
            worker.renewal = None;
            worker.renews = Time::MAX;
            return;
        };
        worker.renews = due.next;
        if due.repair {
            let missing = self.claims[id].attempt.repair();
            self.send(id, missing, Command::Set, false, now);
        }
        if due.extend {
            self.check_renewal(w, id, valid_until);
            let connections = self.connections_of(self.claims[id].app);
            let well = self.connections[connections].iter().enumerate();
            let well: NodeSet = well
                .filter(|(_, one)| one.mailbox.link().is_well())
                .map(|(node, _)| node)
                .collect();
            let nodes = self.claims[id].attempt.renew(well);
            if !nodes.is_empty() && well.len() <= self.nodes.len() / 2 {
                let (app, key) = (self.claims[id].app, self.claims[id].key);
                self.violate(Check::Renewal, Some(key), Some(app), || {
                    format!("an extension is asked of {nodes:?} though only {well:?} are well")
                });
            }
            self.send(id, nodes, Command::Extend, false, now);
        }
    }

    /// A lock that is valid until this time is extended: that must be able to put the end off, and must not have been tried too
    /// often in vain.
    fn check_renewal(&mut self, w: usize, id: u32, valid_until: Option<Time>) {
        let wants = self.settings.wants_of(w);
        let (rules, interval) = (wants.rules, wants.renew.unwrap_or(wants.rules.ttl));
        let claim = &mut self.claims[id];
        claim.renewals = match claim.renewals {
            (until, tries) if until == valid_until => (until, tries + 1),
            _ => (valid_until, 1),
        };
        let (tries, app, key) = (claim.renewals.1, claim.app, claim.key);
        let end = rules.lifetime.map(|lifetime| claim.attempt.start() + lifetime);
        // They come half as often each time and then twice as often, and never less often than renewals.
        let checks = interval.as_nanos() / rules.reply_timeout.saturating_mul(2).min(interval).as_nanos().max(1);
        let most = 2 * u128::BITS - 2 * checks.leading_zeros() + 6;
        let most = u128::from(most) + rules.ttl.as_nanos() / interval.as_nanos().max(1);
        if u128::from(tries) > most || end.is_some() && end == valid_until {
            self.violate(Check::Renewal, Some(key), Some(app), || {
                format!(
                    "an extension of a lock that is valid until {valid_until:?} is tried in vain for the {tries}th time"
                )
            });
        }
    }

    /// Releases the lock, and waits until enough nodes have confirmed it.
    pub(super) fn release(&mut self, w: usize, now: Time) {
        let (key, found) = (self.workers[w].key, self.workers[w].found);
        if let Some(id) = self.workers[w].claim.filter(|_| found != Some(0)) {
            if let Some(found) = found {
                self.stock[key] = found - 1;
            }
            self.report.sections += 1;
            if self.keeps_samples {
                self.samples.holds.push(now - self.workers[w].granted);
            }
            self.report.overran += u64::from(self.claims[id].attempt.lease().overran(now));
        }
        self.close(w, now);
        // The next waiter's commands are queued behind the deletes.
        self.leave_line(w, now);
        let reply_timeout = self.settings.wants_of(w).rules.reply_timeout;
        let worker = &mut self.workers[w];
        worker.stage = WorkerStage::Releasing;
        worker.until = now + reply_timeout;
        worker.gives_up = Time::MAX;
    }
}
