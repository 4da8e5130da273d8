//! Orders to break, mend and turn things, by key and by schedule, and their results.

use std::time::Instant;

use super::state::Engine;
use crate::collect::arm::Arm;
use crate::collect::hold_audit::Hit;
use crate::orders::came_back::CameBack;
use crate::orders::command::Knob;
use crate::orders::faults::{Effect, FaultOrder, Paused, Report};
use crate::orders::meaning::forgotten;
use crate::schedule::{Due, Schedule};
use crate::show::events::Meaning;
use crate::show::snapshot::{Knobs, Phase};
use crate::swarm::AppServer;
use crate::watch::masters::locks_of;
use lockstorm_data::facts::{ArmConsequence, Caveat, EventKind, OrderedBy};
use lockstorm_data::metrics::ConsequenceKind;
use lockstorm_data::model::{Action, Condition, Fault, HostId, Link, OrderId, ServerId, Target};
use lockstorm_data::scenario::{LockKind, Persistence};

impl Engine {
    /// Starts the faults that are due by the schedule.
    pub fn due_faults(&mut self) {
        if self.stage.phase != Phase::Running {
            return;
        }
        let now = self.now();
        let mut schedule = std::mem::replace(&mut self.faults.schedule, Schedule::new(&[]));
        schedule.seats = self.lab.seats();
        let due = schedule.due(now, |arm, metric| self.figure(arm, metric));
        let missed = schedule.missed();
        self.faults.schedule = schedule;
        for (fault, why) in missed {
            self.log.warn_once(Caveat::FaultUnmet { fault, why });
        }
        for due in due {
            let order = self.faults.orders.get(&due.fault).copied();
            self.order_fault(due.action, due.target, order, Some(due));
        }
    }

    /// Orders a fault, by key or by schedule, and logs it.
    pub fn order_fault(&mut self, action: Action, target: Target, order: Option<OrderId>, due: Option<Due>) {
        let event = self.log.fault(action, target, order, self.who(due));
        let may_forget = match (action, target) {
            (action, Target::Host(host)) if action.may_lose_keys() => {
                // What is lost of another program's locks can't be looked for, and on such a disk nothing is.
                let persistence = match action.loses_while_up() {
                    // Whatever they lose, it is not what they did not write.
                    true => None,
                    false => Some(self.lab.kept_by(host)),
                };
                let keeps_all = persistence == Some(Persistence::AofAlways);
                let may_lose =
                    |arm: &Arm| arm.spec.lock.uses_nodes() && !(keeps_all && arm.spec.lock == LockKind::Client);
                let arms = locks_of(&self.arms, &self.swarm, may_lose);
                let forgets = persistence == Some(Persistence::None);
                Some((forgets, arms))
            }
            _ => None,
        };
        match target {
            Target::Host(host) => self.order(host, true),
            Target::Server(_) if is_death(action, target) => {
                self.arms.iter_mut().for_each(|arm| arm.collector.expect_kill());
            }
            Target::Server(_) | Target::Link(_) | Target::Client(_) => {}
        }
        let order = FaultOrder {
            event,
            due,
            action,
            target,
            may_forget,
        };
        self.faults
            .carry_out(order, self.lab.handle.clone(), &self.swarm.servers);
        self.publish();
    }

    /// What ordered the fault.
    fn who(&self, due: Option<Due>) -> OrderedBy {
        match due {
            None => OrderedBy::User,
            Some(due) if !self.faults.schedule.is_scripted(due.fault) => OrderedBy::Bounce,
            Some(Due { fault, undo: true, .. }) => OrderedBy::EndOfFault(fault),
            Some(Due { fault, .. }) => OrderedBy::Fault(fault),
        }
    }

    /// Notes that from `at` on a fault, or somebody else without an order, may make locks unavailable that are on `target`.
    fn outage_from(&mut self, at: Instant, target: Target, fault: Option<usize>, event: Option<u64>) {
        for arm in &mut self.arms {
            let uses_it = match target {
                Target::Client(_) => arm.spec.lock == LockKind::Client,
                // Its nodes may be on any host if there are none that it always uses.
                Target::Host(host) | Target::Link(Link::Route(_, host)) => {
                    arm.hosts().is_empty() || arm.hosts().contains(&host)
                }
                Target::Server(_) | Target::Link(_) => true,
            };
            // An arm that has nothing left to do asks for no lock.
            if arm.spec.lock.is_on_hosts() && uses_it && !self.swarm.is_done(arm.index) {
                arm.collector.outage_from(at, Some(target), fault, event);
            }
        }
    }

    /// Notes which lock nodes died, were paused or came back without an order.
    pub fn take_unordered_outages(&mut self) {
        for (host, at, begins) in std::mem::take(&mut self.lab.unordered_outages) {
            let target = Target::Host(host);
            match begins {
                true => self.outage_from(at, target, None, None),
                false => self.arms.iter_mut().for_each(|arm| arm.collector.end_fault(at, target)),
            }
        }
    }

    pub fn fault_reported(&mut self, report: Report) {
        let Report {
            order,
            effect,
            came_back,
        } = report;
        let FaultOrder {
            event,
            due,
            action,
            target,
            may_forget,
        } = order;
        if let (Action::Fault(fault), Effect::Verified(verified)) = (action, &effect) {
            self.outage_from(verified.at, target, due.map(|due| due.fault), Some(event));
            if let Some(lasts) = fault.over_after() {
                let end = verified.at + lasts;
                self.arms
                    .iter_mut()
                    .for_each(|arm| arm.collector.end_fault(end, target));
            }
        }
        if let (Action::Undo(_), Effect::Verified(verified)) = (action, &effect) {
            self.arms
                .iter_mut()
                .for_each(|arm| arm.collector.end_fault(verified.at, target));
        }
        if let (false, Effect::Verified(verified)) = (effect.was_there(), &effect) {
            for arm in &mut self.arms {
                arm.collector.phase_from(verified.at, event);
            }
        }
        if let (Target::Server(id) | Target::Client(id), Effect::Verified(verified)) = (target, &effect)
            && (action == Fault::Pause.into() || action == Action::Undo(Condition::Paused))
        {
            let begins = action == Fault::Pause.into();
            for arm in &mut self.arms {
                arm.holds.paused(id.0, verified.at, begins);
            }
        }
        if is_death(action, target) {
            self.note_orphans(target, &effect);
        }
        if let Effect::Verified(_) = &effect {
            self.tell(action, target, due);
        }
        let schedule = &mut self.faults.schedule;
        match (due, &effect) {
            (None, _) => {}
            (Some(due), Effect::Verified(verified)) => {
                let at = verified.at.saturating_duration_since(self.timing.origin);
                schedule.reported(due, Some(at));
            }
            (Some(due), Effect::Not(why)) => {
                schedule.not_yet(due, why.clone());
                if !effect.is_late() {
                    schedule.reported(due, None);
                }
            }
        }
        match target {
            Target::Host(host) if !effect.is_late() => self.order(host, false),
            // The kill is verified: from now on the dealer skips this app server.
            Target::Server(id) if self.swarm.servers.get(id.index()).is_some_and(AppServer::is_dead) => {
                self.swarm.load.remove(id.index());
            }
            Target::Host(_) | Target::Server(_) | Target::Link(_) | Target::Client(_) => {}
        }
        let mut meaning = Meaning::default();
        if !effect.was_there() {
            let lost = match (target, &effect) {
                (Target::Server(id), Effect::Verified(verified)) => self.note_pause(id, action, verified.at, event),
                (Target::Host(_), Effect::Verified(verified)) if action.ends_or_stops() => {
                    self.note_members(verified.at, event)
                }
                _ => self.note_forgotten(&came_back, event),
            };
            let of_arm = |(arm, kind): (usize, _)| ArmConsequence {
                arm: self.arms[arm].spec.name.clone(),
                kind,
            };
            meaning.consequences = lost.into_iter().map(of_arm).collect();
            match (action, target) {
                (Action::Undo(condition), Target::Host(_)) if condition.forgets() => {
                    let forgets = may_forget.as_ref().is_some_and(|(forgets, _)| *forgets);
                    let kept = self.lab.spec.persistence;
                    meaning.returned_with = Some(if forgets { Persistence::None } else { kept });
                }
                (Action::Fault(_), Target::Host(host)) => meaning.unavailable = self.lab.unavailable(host, &self.arms),
                _ => {}
            }
        }
        self.log.effect(event, effect, meaning);
        self.look_at_story();
        self.publish();
    }

    /// Notes what nodes have lost that are back, and what that means for each arm.
    fn note_forgotten(&mut self, nodes: &[CameBack], event: u64) -> Vec<(usize, ConsequenceKind)> {
        let mut all = Vec::new();
        let Some(CameBack { back, .. }) = nodes.first() else {
            return all;
        };
        let at = self.log.seconds(*back);
        // What is held is known to the last moment.
        self.collect();
        let down = self.lab.emptied_while_down();
        for arm in &mut self.arms {
            let mut hit = Hit::default();
            for loss in nodes.iter().filter_map(|node| node.loss(arm.index, event)) {
                hit = hit.and(arm.holds.lost(loss, &down));
            }
            let unseen = nodes.iter().filter_map(|node| node.unseen_loss(arm.index, event));
            unseen.for_each(|loss| arm.holds.may_have_lost(loss));
            for kind in forgotten(arm, hit) {
                arm.consequence(at, Some(event), kind);
                all.push((arm.index, kind));
            }
        }
        all
    }

    /// Notes how many members of etcd are left to keep the locks that are held there.
    fn note_members(&mut self, at: Instant, event: u64) -> Vec<(usize, ConsequenceKind)> {
        let of = self.lab.spec.hosts;
        let answers = |host: &HostId| self.lab.handle.state(*host).conditions.answers();
        let members = (0..of).map(HostId::from_index).filter(answers).count();
        let (at, mut all) = (self.log.seconds(at), Vec::new());
        for arm in self.arms.iter_mut().filter(|arm| arm.spec.lock == LockKind::Etcd) {
            let locks: usize = self.swarm.servers.iter().map(|server| server.held(arm.index).0).sum();
            if locks > 0 && members * 2 > of {
                let locks = locks as u64;
                let kind = ConsequenceKind::KeptByOthers { locks, members, of };
                arm.consequence(at, Some(event), kind);
                all.push((arm.index, kind));
            }
        }
        all
    }

    /// Notes since when an app server stands still, and what that meant once it goes on.
    fn note_pause(&mut self, id: ServerId, action: Action, at: Instant, event: u64) -> Vec<(usize, ConsequenceKind)> {
        if let (true, Some(server)) = (action == Fault::Pause.into(), self.swarm.servers.get(id.index())) {
            let held = self.arms.iter().map(|arm| server.held(arm.index).0).collect();
            let since = at;
            self.faults.paused.entry(id).or_insert(Paused { since, event, held });
            return Vec::new();
        }
        let paused = self.faults.paused.remove(&id);
        let went_on = paused.filter(|_| action == Action::Undo(Condition::Paused));
        went_on.map_or_else(Vec::new, |paused| self.note_end_of_pause(paused, at))
    }

    /// Notes the locks whose TTL was shorter than this pause: nobody could renew them.
    pub fn note_end_of_pause(&mut self, paused: Paused, at: Instant) -> Vec<(usize, ConsequenceKind)> {
        let (since, mut lost) = (self.log.seconds(paused.since), Vec::new());
        for (arm, held) in self.arms.iter_mut().zip(paused.held) {
            let ttl = self.swarm.live_settings.ttl(arm.spec.ttl);
            if held > 0 && arm.spec.lock.has_ttl() && at.saturating_duration_since(paused.since) >= ttl {
                let kind = ConsequenceKind::PausedPastTtl { locks: held as u64 };
                arm.consequence(since, Some(paused.event), kind);
                lost.push((arm.index, kind));
            }
        }
        lost
    }

    /// An order for a host begins or ends: the changes before came from outside, or were its effect.
    fn order(&mut self, host: HostId, begins: bool) {
        let changes = self.lab.order(host, begins, &self.arms);
        self.note(changes);
    }

    /// Turns a knob for all arms at once, and logs it. What changes nothing is not logged.
    pub fn turn(&mut self, knob: Knob) {
        let before = self.knobs;
        self.knobs.turn(knob);
        let turns = self.knobs.turns;
        if self.knobs == (Knobs { turns, ..before }) {
            return;
        }
        match knob {
            Knob::Ttl(ttl) => {
                self.swarm.live_settings.set_ttl(ttl);
                self.machine.stall.on_ttl(ttl);
            }
            Knob::Workers(workers) => {
                for server in &self.swarm.servers {
                    server.set_workers(workers);
                }
            }
            Knob::Rate(rate) => self.swarm.load.set_rate(rate),
            Knob::Hold(hold) => self.swarm.live_settings.set_hold(hold),
        }
        let turn = before.turn_of(knob, &self.scenario);
        self.turned.add(self.timing.elapsed(), turn.clone());
        self.log.push(EventKind::Knob { turn });
    }

    /// Notes which locks an app server held when it was killed; none if it was not, or was dead before.
    fn note_orphans(&mut self, target: Target, effect: &Effect) {
        let server = match target {
            Target::Server(id) => self.swarm.servers.get(id.index()),
            Target::Host(_) | Target::Link(_) | Target::Client(_) => None,
        };
        let since = match effect {
            Effect::Verified(verified) if !effect.was_there() => Some(verified.at),
            _ => None,
        };
        for (index, arm) in self.arms.iter_mut().enumerate() {
            let dead = server.zip(since).map(|(server, since)| (since, server.orphans(index)));
            let orphans = dead.as_ref().map_or(0, |(_, keys)| keys.len() as u64);
            arm.collector.availability.set_orphans(target, orphans);
            arm.collector.killed(dead);
        }
    }
}

/// Whether an app server is to die.
fn is_death(action: Action, target: Target) -> bool {
    matches!((action, target), (Action::Fault(Fault::Kill), Target::Server(_)))
}
