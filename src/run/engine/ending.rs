//! The end of the load: workers finish, the books are closed, and the schemas are dropped. What makes no progress is given
//! up and listed as missing; an order to stop makes all of this short.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::preparation::drop_schemas;
use super::state::Engine;
use super::timing::CONDITIONS;
use crate::collect::progress_limit::ProgressLimit;
use crate::orders::command::{Command, Inbox};
use crate::show::notice::Notice;
use crate::show::snapshot::Phase;
use crate::swarm::AppServer;
use lockstorm_data::facts::{Caveat, EventKind, GivenUp, Step};
use lockstorm_data::metrics::Count;
use lockstorm_data::model::{Action, Condition, Fault, ServerId};

/// How soon given-up requests end. Only those that wait for a database or the cache node take longer.
const GRACE: Duration = Duration::from_secs(1);
/// How soon given-up requests must end if the user has asked twice to stop.
const SHORT_GRACE: Duration = Duration::from_millis(300);
/// How long the threads of abandoned app servers may take to end.
const THREADS: Duration = Duration::from_secs(3);
/// How long it may take to drop the schemas if the database hangs or the user does not want to wait.
const SHORT: Duration = Duration::from_secs(1);

impl Engine {
    /// Ends the load: no further request begins, and those under way may end. Requests that wait for a lock are given up
    /// after [`ProgressLimit::QUIET`]; the others are waited for as long as some of them end, and their work may take
    /// as long as the scenario says, unless its `drain` cuts that off. If the run was `stopped`, waiting requests and simulated
    /// work are given up at once. If it is told to stop once more, it waits for nothing. Returns whether the run was told to
    /// stop at all.
    pub(crate) async fn drain(&mut self, stopped: bool, inbox: &mut Inbox) -> bool {
        let began = Instant::now();
        self.timing.timeline.end(began);
        // The end that was planned, or now if the run was stopped before it.
        let end = began.min(self.timing.origin + self.timing.timeline.length().unwrap_or_default());
        self.swarm.load.end();
        self.stage.phase = Phase::Draining;
        self.log.push_at(end, EventKind::Phase { step: Step::LoadEnded });
        let mut limit = ProgressLimit::new(began, ProgressLimit::QUIET + self.longest_work());
        limit.moved(self.ended_requests(), began);
        let (mut stops, mut given_up) = (usize::from(stopped), None);
        self.stage.gives_up_at = Some(limit.until());
        self.publish();
        // Whoever is paused goes on now.
        for (_, paused) in std::mem::take(&mut self.faults.paused) {
            self.note_end_of_pause(paused, began);
        }
        for server in &self.swarm.servers {
            server.drain();
            let (lab, id) = (Arc::clone(&self.lab.handle), server.id);
            tokio::spawn(async move { lab.guests_follow(Action::Undo(Condition::Paused), id).await });
        }
        while !self.swarm.servers.iter().all(AppServer::has_ended) {
            let now = Instant::now();
            limit.moved(self.ended_requests(), now);
            let is_cut_off = self.scenario.drain.is_some_and(|limit| now >= began + limit);
            if stops > 0 || is_cut_off {
                self.swarm.hurry.all.cancel();
                limit.quiet = ProgressLimit::QUIET;
            }
            if given_up.is_none() && (stops > 0 || is_cut_off || now >= began + ProgressLimit::QUIET) {
                self.swarm.hurry.waiting.cancel();
                given_up = Some(now);
                if stops == 0 && !is_cut_off && !limit.is_over(now) {
                    let at_most_s = ProgressLimit::MOST.as_secs();
                    let step = Step::WaitsForRequests { at_most_s };
                    self.log.push(EventKind::Phase { step });
                }
            }
            let grace = if stops > 1 { SHORT_GRACE } else { self.grace() };
            let heard = given_up.is_some_and(|at| now >= at + grace);
            if heard && (stops > 1 || limit.is_over(now)) {
                let why = if stops > 1 {
                    GivenUp::ToldNotToWait
                } else if now >= began + ProgressLimit::MOST {
                    let limit_s = ProgressLimit::MOST.as_secs();
                    GivenUp::TooLong { limit_s }
                } else {
                    let for_s = limit.quiet.as_secs();
                    GivenUp::NoneEnded { for_s }
                };
                self.abandon(why, inbox).await;
                break;
            }
            self.stage.gives_up_at = Some(limit.until().max(now));
            stops += usize::from(self.goes_on(inbox).await);
        }
        self.stage.gives_up_at = None;
        self.stage.waits_for_nothing = stops > 1;
        self.collect();
        stops > 0
    }

    /// How soon given-up requests end: one may still be in a read of the database, which takes its simulated time.
    fn grace(&self) -> Duration {
        (GRACE + 3 * self.scenario.database.read.median).min(ProgressLimit::QUIET)
    }

    /// How long the simulated work of a request may well take: twice its 99th percentile.
    fn longest_work(&self) -> Duration {
        let spec = self.scenario.workload.about().live_time(&self.scenario.database);
        let longest = 2.0 * self.swarm.live_settings.hold(spec).p99();
        Duration::try_from_secs_f64(longest).map_or(ProgressLimit::MOST, |longest| longest.min(ProgressLimit::MOST))
    }

    /// Notes what became of the lab while the load ran.
    pub fn look_at_lab(&mut self) {
        let changes = self.lab.look(&self.arms);
        self.note(changes);
        let without_nodes = self.lab.arms_without_nodes(&self.arms);
        self.note(without_nodes);
    }

    /// Requests that have ended so far.
    fn ended_requests(&self) -> u64 {
        self.arms
            .iter()
            .map(|arm| arm.collector.totals.measured.counts[Count::Completed])
            .sum()
    }

    /// Ends the app servers, with everything that is still under way. The result of those requests is unknown, so they are
    /// missing.
    async fn abandon(&mut self, why: GivenUp, inbox: &mut Inbox) {
        for index in 0..self.arms.len() {
            let stuck: usize = self.swarm.servers.iter().map(|server| server.active(index)).sum();
            if stuck > 0 {
                let (arm, requests) = (self.arms[index].spec.name.clone(), stuck as u64);
                self.miss(index, Caveat::Unanswered { arm, requests, why });
            }
        }
        self.swarm.servers.iter().for_each(AppServer::abandon);
        let until = Instant::now() + THREADS;
        while !self.swarm.servers.iter().all(AppServer::has_ended) && Instant::now() < until {
            self.goes_on(inbox).await;
        }
        let alive = self.swarm.servers.iter().filter(|server| !server.has_ended());
        let alive: Vec<ServerId> = alive.map(|server| server.id).collect();
        for server in alive {
            self.missing.push(Caveat::ServerHangs { server });
            self.note([Notice::Once(Caveat::ServerHangs { server })]);
        }
    }

    /// Reads all ledgers a last time, all at once. A ledger that can't be read any more keeps the books that were read
    /// last, and they prove nothing.
    pub(crate) async fn close_books(&mut self, inbox: &mut Inbox) {
        let now = Instant::now();
        for audit in self.arms.iter_mut().filter_map(|arm| arm.audit.as_mut()) {
            audit.close(now);
        }
        loop {
            let now = Instant::now();
            for index in 0..self.arms.len() {
                let arm = &mut self.arms[index];
                let Some(audit) = &mut arm.audit else { continue };
                if self.stage.waits_for_nothing {
                    audit.hurry(now);
                }
                let Some(closed) = audit.closed(now).await else {
                    continue;
                };
                let (books, news) = audit.found();
                arm.audit = None;
                arm.collector.audit(books, &news);
                if let Err(quoted) = closed {
                    let arm = self.arms[index].spec.name.clone();
                    self.miss(index, Caveat::LedgerUnreadable { arm, quoted });
                }
            }
            if self.arms.iter().all(|arm| arm.audit.is_none()) {
                return;
            }
            if self.goes_on(inbox).await {
                self.stage.waits_for_nothing = true;
            }
        }
    }

    /// Drops the arms' schemas. The app servers, whose connections used them, are gone.
    pub(crate) async fn drop_schemas_of_arms(&mut self, inbox: &mut Inbox) {
        let hangs = self.arms.iter().any(|arm| !arm.missing.is_empty());
        let limit = if self.stage.waits_for_nothing || hangs {
            SHORT
        } else {
            ProgressLimit::QUIET
        };
        let mut until = Instant::now() + limit + SHORT;
        let mut removing = JoinSet::new();
        removing.spawn(drop_schemas(&self.arms, limit));
        let stay = loop {
            if let Some(stay) = removing.try_join_next() {
                break stay.unwrap_or_default();
            }
            if Instant::now() >= until {
                self.log.warn(Caveat::SchemaLeft { quoted: None });
                return;
            }
            if self.goes_on(inbox).await {
                until = until.min(Instant::now() + SHORT);
            }
        };
        for error in stay {
            self.log.warn(Caveat::SchemaLeft { quoted: Some(error) });
        }
    }

    /// Ends a run that leaves no record, and removes everything it made.
    pub(crate) async fn give_up(&mut self, limit: Duration) {
        self.swarm.load.end();
        for server in &self.swarm.servers {
            let _ = server.control.apply(Fault::Kill.into()).await;
        }
        self.swarm.servers.clear();
        for text in drop_schemas(&self.arms, limit).await {
            tracing::warn!("{text}");
        }
    }

    /// Does what must go on while the run waits for something, until the next tick or report, or for a moment. Returns whether it was
    /// told to stop.
    async fn goes_on(&mut self, inbox: &mut Inbox) -> bool {
        tokio::select! {
            command = inbox.next() => return command == Command::Stop,
            // An action that was ordered before the end may still take effect.
            report = self.faults.report() => self.fault_reported(report),
            _ = self.ticks.tick() => self.tick(),
            () = sleep(CONDITIONS) => {}
        }
        false
    }
}
