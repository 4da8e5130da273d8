use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::Command;
use super::effect::Effect;
use super::engine::Engine;
use crate::fault::{Due, Schedule};
use crate::lab::{Lab, LabError};
use crate::metrics::{Phase, ServerStatus};
use crate::model::{Action, HostId, ServerId, Target};
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
    action: Action,
    target: Target,
    /// Locks whose key was on the host when it was brought back.
    held: Vec<(usize, u64)>,
    effect: Effect,
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

    /// Does it on a host, beside the run's loop: a node may take long to save and end. What is late is reported as late,
    /// and once more when it has come true.
    fn on_host(&self, lab: Arc<Lab>, action: Action, host: HostId, report: impl Fn(Effect) -> Report + Send + 'static) {
        let reports = self.reports.clone();
        let scheduled = report(Effect::Late(String::new())).due.is_some();
        tokio::spawn(async move {
            let mut done = lab.apply(action, host).await;
            if let Err(LabError::NotYet { within }) = done {
                let limit = format!("not verified within {} s", within.as_secs());
                let _ = reports.send(report(Effect::Late(limit)));
                done = lab.comes_true(action, host).await;
            }
            let effect = match done {
                Ok(effect) => Effect::Shown {
                    at: effect.at,
                    proof: effect.text,
                },
                Err(error @ LabError::Impossible { .. }) => match lab.already(action, host) {
                    // What the scenario wants is so, whoever did it.
                    Some(proof) if scheduled => Effect::Shown {
                        at: Instant::now(),
                        proof: format!("it {proof}"),
                    },
                    _ => Effect::Failed(error.to_string()),
                },
                Err(error) => Effect::Failed(error.to_string()),
            };
            // The run is over if nobody listens.
            let _ = reports.send(report(effect));
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
        let event = self.log.fault(action, target, self.who(due).as_deref());
        let held = match (action, target) {
            // Now, while it is still away: once it is back others get what it forgot.
            (Action::Restart, Target::Host(host)) => self.locks_on(host),
            _ => Vec::new(),
        };
        let report = move |effect| Report {
            event,
            due,
            action,
            target,
            held: held.clone(),
            effect,
        };
        match target {
            Target::Host(host) => {
                self.order_begins(host);
                self.faults.on_host(self.lab.clone(), action, host, report);
            }
            Target::Server(server) => {
                let effect = self.on_server(action, server, due.is_some()).await;
                self.fault_reported(report(effect));
            }
        }
        self.publish();
    }

    /// Who wants it, unless it is a key.
    fn who(&self, due: Option<Due>) -> Option<String> {
        let due = due?;
        Some(if !self.faults.schedule.is_scripted(due.fault) {
            "bounce".to_owned()
        } else if due.undo {
            format!("end of fault {}", due.fault)
        } else {
            format!("fault {}", due.fault)
        })
    }

    pub(super) fn fault_reported(&mut self, report: Report) {
        let Report {
            event,
            due,
            action,
            target,
            held,
            effect,
        } = report;
        let schedule = &mut self.faults.schedule;
        match (due, &effect) {
            (None, _) => {}
            (Some(due), Effect::Shown { at, .. }) => {
                schedule.reported(due, Some(at.saturating_duration_since(self.origin)));
            }
            (Some(due), Effect::Late(why)) => schedule.not_yet(due, why),
            (Some(due), Effect::Failed(why)) => {
                schedule.not_yet(due, why);
                schedule.reported(due, None);
            }
        }
        if let (Target::Host(host), false) = (target, matches!(effect, Effect::Late(_))) {
            self.order_ends(host);
        }
        let (meaning, who) = (self.meaning(action, target, &held), self.who(due));
        self.log.effect(event, effect, &meaning, who.as_deref());
        self.publish();
    }

    async fn on_server(&mut self, action: Action, id: ServerId, scheduled: bool) -> Effect {
        let Some(server) = self.servers.get_mut(id.index()) else {
            return Effect::Failed(format!("there is no {id}"));
        };
        let already = match (action, server.status().0) {
            (Action::Kill, ServerStatus::Killed) => Some("it was dead already"),
            (Action::Pause, ServerStatus::Paused) => Some("it was paused already"),
            (Action::Resume, ServerStatus::Up) => Some("it was up already"),
            _ => None,
        };
        if let (true, Some(proof)) = (scheduled, already) {
            return Effect::Shown {
                at: Instant::now(),
                proof: proof.to_owned(),
            };
        }
        let (done, proof) = match action {
            Action::Kill => (server.kill().await, "its runtime is gone"),
            Action::Pause => (server.pause().await, "its thread is blocked"),
            Action::Resume => (server.resume().await, "its thread runs again"),
            Action::Shutdown | Action::Restart => {
                return Effect::Failed(format!(
                    "an app server can be killed, paused and resumed, not {action}ed"
                ));
            }
        };
        match done {
            Ok(at) => {
                if action == Action::Kill {
                    // It is verified: from now on nothing is dealt to it.
                    self.load.remove(id.index());
                }
                Effect::Shown {
                    at,
                    proof: proof.to_owned(),
                }
            }
            Err(error) => Effect::Failed(error.to_string()),
        }
    }
}
