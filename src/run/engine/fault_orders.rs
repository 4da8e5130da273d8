//! Orders to break and to mend things, by key and by schedule, and their results.

use std::time::Duration;

use crate::engine::state::Engine;
use crate::fault::{Due, Schedule};
use crate::orders::command::Command;
use crate::orders::effect::Effect;
use crate::orders::faults::{Place, Report};
use crate::show::snapshot::Phase;
use crate::swarm::AppServer;
use lockstorm_data::model::{Action, Fault, HostId, OrderId, Target, Targets};
use lockstorm_data::scenario::{FaultSpec, FaultStart};

impl Engine {
    /// Starts the faults that are due by the schedule.
    pub(crate) fn due_faults(&mut self) {
        if self.stage.phase != Phase::Running {
            return;
        }
        let now = Duration::from_secs_f64(self.elapsed().max(0.0));
        let mut schedule = std::mem::replace(&mut self.faults.schedule, Schedule::new(&[]));
        schedule.observe(self.lab.seats());
        let due = schedule.due(now, |arm, metric| self.figure(arm, metric));
        let missed = schedule.missed();
        self.faults.schedule = schedule;
        for (fault, why) in missed {
            self.warn(format!("fault {fault} had no effect: {why}"));
        }
        for due in due {
            let order = self.faults.orders.get(&due.fault).copied();
            self.order_fault(due.action, due.target, order, Some(due));
        }
    }

    /// Kills a host now and brings it back once its death was verified. It counts as a fault like the scenario's own.
    pub(crate) fn bounce(&mut self, host: HostId, order: OrderId) {
        let fault = self.faults.schedule.add(FaultSpec {
            start: FaultStart::At(Duration::ZERO),
            action: Fault::Kill.into(),
            targets: Targets::Named(vec![Target::Host(host)]),
            lasts: Some(Command::BOUNCE),
            caption: None,
        });
        self.faults.orders.insert(fault, order);
        self.due_faults();
    }

    /// Orders a fault, by key or by schedule, and logs it.
    pub(crate) fn order_fault(&mut self, action: Action, target: Target, order: Option<OrderId>, due: Option<Due>) {
        let event = self.log.fault(action, target, order, self.who(due).as_deref());
        let held = match (action, target) {
            // Read now, while the host is still down: once it is back, others get the locks that it forgot.
            (Action::Undo(condition), Target::Host(host)) if condition.forgets() => self.locks_on(host),
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
                self.faults
                    .in_lab(self.lab.handle.clone(), action, Place::Host(host), report);
            }
            Target::Link(link) => {
                self.faults
                    .in_lab(self.lab.handle.clone(), action, Place::Link(link), report);
            }
            Target::Server(server) => {
                if is_death(action, target) {
                    self.arms.iter_mut().for_each(|arm| arm.collector.expect_kill());
                }
                let app_server = self.swarm.servers.get(server.index());
                self.faults.on_server(app_server, action, server, report);
            }
        }
        self.publish();
    }

    /// What ordered the fault, unless it was a key.
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

    pub(crate) fn fault_reported(&mut self, report: Report) {
        let Report {
            event,
            due,
            action,
            target,
            held,
            effect,
        } = report;
        if let (Action::Fault(_), Effect::Verified(verified)) = (action, &effect) {
            for index in 0..self.arms.len() {
                let arm = &self.arms[index].spec;
                // An arm that has nothing left to do asks for no lock.
                if arm.lock.uses_nodes() && !self.swarm.is_done(index) {
                    let fault = due.map(|due| due.fault);
                    self.arms[index].collector.outage_from(verified.at, fault);
                }
            }
        }
        if is_death(action, target) {
            self.note_orphans(target, &effect);
        }
        if let (Some(due), Effect::Verified(_)) = (due, &effect)
            && !due.undo
        {
            // A fault by key has no caption.
            let fault = self.scenario.faults.get(due.fault - 1);
            self.say(fault.and_then(|fault| fault.caption.clone()));
        }
        let schedule = &mut self.faults.schedule;
        match (due, &effect) {
            (None, _) => {}
            (Some(due), Effect::Verified(verified)) => {
                let at = verified.at.saturating_duration_since(self.timing.origin);
                schedule.reported(due, Some(at));
            }
            (Some(due), Effect::Late(why)) => schedule.not_yet(due, why),
            (Some(due), Effect::Failed(why)) => {
                schedule.not_yet(due, why);
                schedule.reported(due, None);
            }
        }
        match target {
            Target::Host(host) if !matches!(effect, Effect::Late(_)) => self.order_ends(host),
            // The kill is verified: from now on the dealer skips this app server.
            Target::Server(id) if self.swarm.servers.get(id.index()).is_some_and(AppServer::is_dead) => {
                self.swarm.load.remove(id.index());
            }
            Target::Host(_) | Target::Server(_) | Target::Link(_) => {}
        }
        let meaning = if effect.was_there() {
            format!("{}: nothing to do", action.on(target))
        } else {
            self.meaning(action, effect.new_master().map_or(target, Target::Host), &held)
        };
        let who = self.who(due);
        self.log.effect(event, effect, &meaning, who.as_deref());
        self.publish();
    }

    /// Notes which locks an app server held when it was killed; none if it was not, or was dead before.
    fn note_orphans(&mut self, target: Target, effect: &Effect) {
        let server = match target {
            Target::Server(id) => self.swarm.servers.get(id.index()),
            Target::Host(_) | Target::Link(_) => None,
        };
        let since = match effect {
            Effect::Verified(verified) if !effect.was_there() => Some(verified.at),
            _ => None,
        };
        for (index, arm) in self.arms.iter_mut().enumerate() {
            let dead = server.zip(since).map(|(server, since)| (since, server.orphans(index)));
            arm.collector.killed(dead);
        }
    }
}

/// Whether an app server is to die.
fn is_death(action: Action, target: Target) -> bool {
    matches!((action, target), (Action::Fault(Fault::Kill), Target::Server(_)))
}
