use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::Command;
use super::engine::Engine;
use crate::fault::{Due, Schedule};
use crate::lab::Lab;
use crate::metrics::Phase;
use crate::model::{Action, EventKind, HostId, ServerId, Target};
use crate::scenario::{FaultSpec, FaultStart};

/// The faults of a run: what the scenario schedules, and what is under way on the hosts.
#[derive(Debug)]
pub(super) struct Faults {
    pub schedule: Schedule,
    reports: mpsc::UnboundedSender<Report>,
    inbox: mpsc::UnboundedReceiver<Report>,
}

/// What became of one action on one target.
#[derive(Debug)]
pub(super) struct Report {
    /// The event that announced it.
    event: u64,
    /// The scheduled fault that it belongs to.
    due: Option<Due>,
    effect: Result<(Instant, String), String>,
}

impl Faults {
    pub fn new(faults: &[FaultSpec]) -> Self {
        let (reports, inbox) = mpsc::unbounded_channel();
        Self {
            schedule: Schedule::new(faults),
            reports,
            inbox,
        }
    }

    /// The next report of a host.
    pub async fn report(&mut self) -> Report {
        match self.inbox.recv().await {
            Some(report) => report,
            // Not reached: this struct holds a sender itself.
            None => std::future::pending().await,
        }
    }

    /// Does it on a host, beside the run's loop: a node may take seconds to save and end.
    fn on_host(&self, lab: Arc<Lab>, action: Action, host: HostId, event: u64, due: Option<Due>) {
        let reports = self.reports.clone();
        tokio::spawn(async move {
            let effect = match lab.apply(action, host).await {
                Ok(effect) => Ok((effect.at, effect.text)),
                Err(error) => Err(error.to_string()),
            };
            // The run is over if nobody listens.
            let _ = reports.send(Report { event, due, effect });
        });
    }
}

impl Engine {
    /// Begins what the schedule says is due.
    pub(super) async fn due_faults(&mut self) {
        if self.phase != Phase::Running {
            return;
        }
        let now = Duration::from_secs_f64(self.elapsed().max(0.0));
        let mut schedule = std::mem::replace(&mut self.faults.schedule, Schedule::new(&[]));
        let due = schedule.due(now, |arm, metric| self.figure(arm, metric));
        self.faults.schedule = schedule;
        for due in due {
            self.order_fault(due.action, due.target, Some(due)).await;
        }
    }

    /// Kills a host now and brings it back after its verified death: a fault like the scenario's own.
    pub(super) async fn bounce(&mut self, host: HostId) {
        self.faults.schedule.add(FaultSpec {
            start: FaultStart::At(Duration::ZERO),
            action: Action::Kill,
            targets: vec![Target::Host(host)],
            lasts: Some(Command::BOUNCE),
        });
        self.due_faults().await;
    }

    /// Orders a fault, by key or by schedule, and logs it.
    pub(super) async fn order_fault(&mut self, action: Action, target: Target, due: Option<Due>) {
        let why = match due {
            None => String::new(),
            Some(due) if !self.faults.schedule.is_scripted(due.fault) => " (bounce)".to_owned(),
            Some(due) if due.undo => format!(" (end of fault {})", due.fault),
            Some(due) => format!(" (fault {})", due.fault),
        };
        let event = self.log.fault(action, target, &why);
        match target {
            Target::Host(host) => self.faults.on_host(self.lab.clone(), action, host, event, due),
            Target::Server(server) => {
                let effect = self.on_server(action, server).await;
                self.fault_reported(Report { event, due, effect });
            }
        }
        self.publish();
    }

    pub(super) fn fault_reported(&mut self, report: Report) {
        let Report { event, due, effect } = report;
        if let Some(due) = due {
            let at = effect
                .as_ref()
                .ok()
                .map(|(at, _)| at.saturating_duration_since(self.origin));
            self.faults.schedule.reported(due, at);
        }
        self.log.effect(event, effect);
        self.publish();
    }

    async fn on_server(&mut self, action: Action, id: ServerId) -> Result<(Instant, String), String> {
        let server = self
            .servers
            .get_mut(id.index())
            .ok_or_else(|| format!("there is no {id}"))?;
        let (done, text) = match action {
            Action::Kill => (server.kill().await, "its runtime is gone, its locks keep their TTL"),
            Action::Pause => (server.pause().await, "its thread is blocked"),
            Action::Resume => (server.resume().await, "its thread goes on"),
            Action::Shutdown | Action::Restart => {
                return Err(format!(
                    "an app server can be killed, paused and resumed, not {action}ed"
                ));
            }
        };
        let done = done
            .map(|at| (at, text.to_owned()))
            .map_err(|error| error.to_string())?;
        if action == Action::Kill {
            // It is verified: from now on nothing is dealt to it.
            self.load.remove(id.index());
        }
        Ok(done)
    }

    /// Warns of scheduled faults that did not happen. Says whether all did.
    pub(super) fn all_faults_took_effect(&mut self) -> bool {
        let missing = self.faults.schedule.without_effect();
        for fault in &missing {
            let text = format!("fault {fault} of the scenario did not take effect");
            self.log.push(EventKind::Warning, text.clone());
            self.warnings.push(text);
        }
        missing.is_empty()
    }
}
