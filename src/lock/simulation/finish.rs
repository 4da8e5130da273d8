//! The end of a world: everything is healed, every lock is acquired once more, and nothing may be left over.

use std::time::Duration;

use super::report::{Check, Report};
use super::socket::{Phase, Socket};
use super::units::nanos;
use super::worker::WorkerStage;
use super::world::World;
use crate::protocol::{Link, Wait};

/// The pause between two attempts at a lock that must soon be free.
const RETRY: Duration = Duration::from_millis(5);

/// The longest pause between two attempts of a waiter in line that gets no announcement: 100 ms, and a few milliseconds of
/// round trips. The head start of other app servers is added to it.
const LONGEST_PAUSE: Duration = Duration::from_millis(150);

impl World {
    /// Heals everything, runs until every key has been acquired once more, and then until all is quiet.
    pub fn finish(&mut self) -> Report {
        self.end_all();
        let probed = self.now.saturating_add(self.recovery());
        while self.now < probed && !self.is_probed() {
            self.run_until(probed.min(self.now + nanos(RETRY)));
        }
        for w in 0..self.workers.len() {
            for key in self.workers[w].probes.clone() {
                let app = self.workers[w].app;
                self.violate(Check::Availability, Some(key), Some(app), || {
                    format!("worker {w} could not get the lock within the recovery time after all was healed")
                });
            }
        }
        // Orders that come after the end do nothing.
        let quiet = self.now.saturating_add(self.quiet()).max(self.orders.last);
        self.run_until(quiet);
        self.check_leftovers();
        self.report()
    }

    /// The time within which every lock can be acquired again once all is healed. Messages under way arrive within the
    /// longest delay; a key that one of them sets exists for its TTL by a clock that may be slow. Meanwhile all connections
    /// are made again, after the reconnect time. Then the next attempt gets the lock: it comes after the reply timeout of
    /// the attempt before and the longest pause, and nobody else asks. The lock is released at once; and so on for each key
    /// of a worker.
    fn recovery(&self) -> u64 {
        let Self { settings, .. } = self;
        let under_way = settings.delay.usual.most().max(settings.delay.long.most);
        let expiry = settings.longest_ttl().mul_f64(1.01) + Duration::from_millis(2);
        let connected = settings.reconnect
            + Link::connection_wait(settings.longest_reply_timeout())
            + settings.delay.usual.most() * 4
            + settings.lag;
        let round = settings.delay.usual.most() * 4 + settings.lag * 6;
        let others = Duration::from_millis(4) + settings.longest_reply_timeout() * 4;
        let yields = others * u32::try_from(settings.app_servers).unwrap_or(u32::MAX);
        let attempt = settings.longest_reply_timeout() * 2 + LONGEST_PAUSE + yields + round;
        let probes = u32::try_from(self.settings.keys).unwrap_or(u32::MAX);
        nanos(under_way * 2 + expiry + connected + attempt * probes + attempt) + self.orders.linger * 2
    }

    /// The time after which nothing may be left over: no message, no owed delete, no channel, and no superseded timer.
    fn quiet(&self) -> u64 {
        let Self { settings, .. } = self;
        let expiry = settings.longest_ttl().mul_f64(1.01) + Duration::from_millis(2);
        let longest = settings.delay.usual.most().max(settings.delay.long.most);
        let timeouts = settings.wants.iter().map(|wants| wants.timeout);
        let faults = settings.faults.iter();
        let faults = faults.map(|faults| faults.every.most() + faults.lasts.most()).max();
        let freezes = settings.freezes.as_ref();
        let freezes = freezes.map_or(Duration::ZERO, |freezes| freezes.every.most() + freezes.lasts.most());
        let timers = freezes + settings.hold.most() + timeouts.max().unwrap_or_default() + faults.unwrap_or_default();
        let connected = settings.reconnect + Link::connection_wait(settings.longest_reply_timeout()) + settings.lag * 8;
        nanos(expiry * 2 + settings.channel_idle * 2 + longest * 2 + timers + connected) + self.orders.linger * 2
    }

    /// Ends all faults and all cycles, and assigns the keys to workers, each to be acquired once more.
    fn end_all(&mut self) {
        self.note(|_| "all is healed".to_owned());
        self.mend_all();
        self.run_woken();
        for w in 0..self.workers.len() {
            let now = self.time(self.workers[w].app);
            match self.workers[w].stage {
                // A resting worker begins no cycle any more, however late its next one was planned.
                WorkerStage::Idle | WorkerStage::Resting | WorkerStage::Releasing => continue,
                WorkerStage::Holding => self.release(w, now),
                _ => self.workers[w].gives_up = now,
            }
            self.look(w);
        }
        let workers = self.workers.len();
        for key in 0..self.settings.keys {
            self.workers[key % workers].probes.push(key);
        }
        for w in 0..workers {
            if self.workers[w].stage == WorkerStage::Resting {
                self.rest(w);
            }
        }
        self.run_woken();
    }

    /// How a worker waits for a key that it must acquire once more, and how long.
    pub(super) fn probe_terms(&self, wait: Wait) -> (Wait, Duration) {
        let retry = Wait::Retry {
            retries: u32::MAX,
            delay: RETRY,
            jitter: RETRY,
        };
        let wait = if wait == Wait::Queue { wait } else { retry };
        (wait, Duration::from_nanos(self.recovery()))
    }

    fn is_probed(&self) -> bool {
        self.workers.iter().all(|worker| worker.probes.is_empty())
    }

    fn check_leftovers(&mut self) {
        let mut left = Vec::new();
        for (n, node) in self.nodes.iter().enumerate() {
            let now = node.clock.millis(self.now);
            left.extend(
                node.store
                    .all(now)
                    .map(|(key, token)| format!("key {key} of token {token} on node {n}")),
            );
            if node.has_subscribers() {
                left.push(format!("subscriptions on node {n}"));
            }
        }
        for (connection, socket) in self.connections.iter().zip(&self.sockets) {
            let Socket { app, node, phase, .. } = *socket;
            let commands = connection.mailbox.len() + connection.pipeline.written().len();
            if commands > 0 {
                left.push(format!("{commands} commands of app server {app} for node {node}"));
            }
            if phase != Phase::Up {
                left.push(format!("no connection of app server {app} to node {node}"));
            }
        }
        for (a, app) in self.apps.iter().enumerate() {
            let channels = app.channels.len();
            if !app.lines.is_empty() || channels > 0 {
                left.push(format!("{channels} channels and perhaps lines of app server {a}"));
            }
        }
        if self.claims.in_use() > 0 {
            left.push(format!("{} attempts", self.claims.in_use()));
        }
        if let Some(event) = self.events.next(u64::MAX) {
            let at = Duration::from_nanos(event.at);
            left.push(format!("the event {:?}, planned for {at:?},", event.kind));
        }
        for what in left {
            self.violate(Check::Leftover, None, None, || format!("{what} when all is quiet"));
        }
        self.check_room();
    }

    /// The links must count as many attempts as the world does, which is none when all is quiet.
    fn check_room(&mut self) {
        for c in 0..self.connections.len() {
            let connection = &self.connections[c];
            let (counted, room) = (connection.mailbox.link().attempts(), connection.room);
            let Socket { app, node, .. } = self.sockets[c];
            if counted != 0 || room != 0 {
                self.violate(Check::Room, None, Some(app), || {
                    format!("its link to node {node} counts {counted} attempts when all is quiet, the world {room}")
                });
            }
        }
    }
}
