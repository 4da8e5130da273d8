//! The story of a scenario: its acts and captions, which follow what happened, keys that play an act, and the schedule that is held.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::state::Engine;
use crate::orders::command::Command;
use crate::schedule::Due;
use crate::show::snapshot::{Act, Phase};
use lockstorm_data::facts::{Caveat, EventKind, Step};
use lockstorm_data::metrics::units::rounded;
use lockstorm_data::model::{Action, Fault, HostId, Obstacle, OrderId, Target, Targets};
use lockstorm_data::scenario::{FaultSpec, FaultStart};

impl Engine {
    /// Orders a fault by hand: the next act, if that begins with it.
    pub fn by_hand(&mut self, action: Action, target: Target, order: OrderId) {
        let due = self.claim(action, target, false);
        self.order_fault(action, target, Some(order), due);
    }

    /// Kills a host now and brings it back once its death was verified. It counts as a fault like the scenario's own.
    pub fn bounce(&mut self, host: HostId, order: OrderId) {
        let (action, target) = (Action::Fault(Fault::Kill), Target::Host(host));
        if let Some(due) = self.claim(action, target, true) {
            self.faults.orders.insert(due.fault, order);
            self.order_fault(action, target, Some(order), Some(due));
            return;
        }
        let fault = self.faults.schedule.add(FaultSpec {
            start: FaultStart::At(Duration::ZERO),
            action,
            targets: Targets::Named(vec![target]),
            lasts: Some(Command::BOUNCE),
            title: None,
            caption: None,
            teaches: None,
        });
        self.faults.orders.insert(fault, order);
        self.due_faults();
    }

    /// The next act, if a fault by hand is what it begins with.
    fn claim(&mut self, action: Action, target: Target, is_bounce: bool) -> Option<Due> {
        if self.stage.phase != Phase::Running || self.obstacle(action, target).is_some() {
            return None;
        }
        self.faults.schedule.seats = self.lab.seats();
        self.faults.schedule.claim(action, target, is_bounce)
    }

    /// Why an action makes no sense for a target as it is.
    fn obstacle(&self, action: Action, target: Target) -> Option<Obstacle> {
        let now = match target {
            Target::Host(host) => self.lab.handle.state(host).conditions,
            Target::Server(id) => self
                .swarm
                .servers
                .get(id.index())
                .map(|server| server.control.conditions())?,
            Target::Client(id) => self.lab.handle.guest_conditions(id)?,
            // No key breaks links.
            Target::Link(_) => return None,
        };
        action.obstacle(target.kind(), &self.lab.handle.lacks(), &now)
    }

    /// Looks whether the next act is possible, and tells if only a key makes it so.
    pub fn look_at_story(&mut self) {
        if self.stage.phase != Phase::Running {
            return;
        }
        let found = self.faults.schedule.next_deed().and_then(|(action, targets)| {
            let mut targets = targets.into_iter();
            targets.find_map(|target| Some((target, self.obstacle(action, target)?)))
        });
        let blocked = self.faults.schedule.look_at_obstacle(found);
        let caption = self.stage.say(blocked.map(|act| act.to_string()), None, None);
        self.note(caption);
    }

    /// Says what an effect means for the story. What a caption says must be so: after a key, and after the end of what the caption
    /// was about, it is what happened.
    pub fn tell(&mut self, action: Action, target: Target, due: Option<Due>) {
        let scripted = due.filter(|due| self.faults.schedule.is_scripted(due.fault));
        // Keys add no fault that ends by itself but a bounce.
        let is_bounce = due.is_some_and(|due| due.undo) && scripted.is_none();
        let happened = || {
            Some(if is_bounce {
                format!("{target} bounced")
            } else {
                action.done_to(target)
            })
        };
        let fault = scripted.filter(|due| !due.undo).map(|due| due.fault);
        let (caption, of) = match scripted {
            None if self.stage.caption.is_some() => (happened().map(|what| format!("by hand: {what}")), None),
            None => (None, None),
            Some(due) if due.undo => (happened().filter(|_| self.stage.caption_of == Some(due.fault)), None),
            Some(Due { fault, .. }) => {
                let spec = &self.scenario.faults[fault - 1];
                if let (Some((number, of)), Some(title)) = (self.faults.schedule.act_of(fault), &spec.title) {
                    let teaches = spec.teaches.as_deref().map(Arc::from);
                    let title = Arc::from(title.as_str());
                    self.stage.act = Some(Act {
                        number,
                        of,
                        title,
                        teaches,
                    });
                }
                (
                    spec.caption.clone(),
                    spec.lasts.filter(|lasts| *lasts > Command::BOUNCE).map(|_| fault),
                )
            }
        };
        let caption = self.stage.say(caption, fault, of);
        self.note(caption);
    }

    /// Holds the schedule, or lets it go on.
    pub fn hold(&mut self, hold: bool) {
        if hold == self.faults.schedule.is_held() {
            return;
        }
        self.faults.schedule.hold(hold, self.now());
        let step = if hold {
            Step::ScheduleHeld
        } else {
            Step::ScheduleResumed
        };
        self.plan_end();
        self.log.push(EventKind::Phase { step });
        self.publish();
    }

    /// When the load ends: later than planned by as long as the schedule was held; `None` while it is.
    pub fn end(&self) -> Option<Instant> {
        let after = self.faults.schedule.when(self.scenario.duration)?;
        Some(self.timing.origin + after)
    }

    /// Tells everything that counts when the load ends.
    pub fn plan_end(&self) {
        self.timing.timeline.plan(self.end());
    }

    /// A run whose schedule was held lasts as long as its user liked, and so do its counts.
    pub fn warn_of_hold(&mut self) {
        let (planned, took) = (self.scenario.duration, self.now());
        if self.faults.schedule.when(took) != Some(took) {
            let [lasted_s, planned_s] = [took, planned].map(|time| rounded(time.as_secs_f64()));
            self.log.warn(Caveat::ScheduleHeld { lasted_s, planned_s });
        }
    }

    /// Lets the next thing of the schedule happen now.
    pub fn step(&mut self) {
        if self.stage.phase == Phase::Running && self.faults.schedule.step() {
            self.due_faults();
        }
    }

    /// The time of the measured part so far.
    pub fn now(&self) -> Duration {
        Duration::from_secs_f64(self.timing.elapsed().max(0.0))
    }
}
