use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use crate::orders::faults::Effect;
use crate::show::snapshot::Snapshot;
use lockstorm_data::facts::{ArmConsequence, Caveat, Event, EventKind, OrderedBy, Unavailable};
use lockstorm_data::model::{Action, OrderId, Proof, Target};
use lockstorm_data::scenario::Persistence;

/// All events of a run, in the order of their causes.
#[derive(Debug)]
pub(crate) struct EventLog {
    origin: Instant,
    all: Vec<Event>,
    /// The newest events, for snapshots; made anew only after a change.
    newest: Arc<Vec<Event>>,
    changed: bool,
    /// The events that are new or have changed since somebody has written them down.
    unwritten: BTreeSet<usize>,
    /// What a reader of the record should know.
    warnings: Vec<Caveat>,
}

/// What the effect of a fault meant.
#[derive(Debug, Default)]
pub(crate) struct Meaning {
    /// What a host that came back keeps over a restart.
    pub returned_with: Option<Persistence>,
    /// What became of the held locks of each arm.
    pub consequences: Vec<ArmConsequence>,
    /// The arms whose locks can't be acquired.
    pub unavailable: Vec<Unavailable>,
}

impl EventLog {
    /// An empty log whose second 0 is `origin`.
    pub fn new(origin: Instant) -> Self {
        Self {
            origin,
            all: Vec::new(),
            newest: Arc::default(),
            changed: false,
            unwritten: BTreeSet::new(),
            warnings: Vec::new(),
        }
    }

    /// Sets second 0 once it is known. Events that were logged before get a time before it.
    pub fn set_origin(&mut self, origin: Instant) {
        let shift = seconds(self.origin, origin);
        for event in &mut self.all {
            event.at -= shift;
            if let EventKind::Fault { effect_at, proof, .. } = &mut event.kind {
                let proof = proof.iter_mut().map(|proof| &mut proof.at);
                effect_at.iter_mut().chain(proof).for_each(|at| *at -= shift);
            }
        }
        self.origin = origin;
        self.changed = true;
        self.unwritten = (0..self.all.len()).collect();
    }

    /// Seconds from second 0 to `at`.
    pub fn seconds(&self, at: Instant) -> f64 {
        seconds(self.origin, at)
    }

    /// Logs an event that happens now.
    pub fn push(&mut self, kind: EventKind) -> u64 {
        self.push_at(Instant::now(), kind)
    }

    /// Logs an event that happened at `at`, which must not be much earlier than the newest event.
    pub fn push_at(&mut self, at: Instant, kind: EventKind) -> u64 {
        let (id, at) = (self.all.len() as u64, self.seconds(at));
        self.unwritten.insert(self.all.len());
        self.all.push(Event { id, at, kind });
        self.changed = true;
        id
    }

    /// Logs a warning, which the record has too.
    pub fn warn(&mut self, caveat: Caveat) {
        self.warn_at(Instant::now(), caveat);
    }

    /// Logs a warning, unless it is known.
    pub fn warn_once(&mut self, caveat: Caveat) {
        if !self.warnings.contains(&caveat) {
            self.warn(caveat);
        }
    }

    /// What a reader of the record should know.
    pub fn warnings(&self) -> &[Caveat] {
        &self.warnings
    }

    /// Logs a warning of something that happened at `at`.
    pub fn warn_at(&mut self, at: Instant, caveat: Caveat) {
        let kind = EventKind::Warning { caveat: caveat.clone() };
        self.push_at(at, kind);
        self.warnings.push(caveat);
    }

    /// Logs a fault that is ordered now; its effect follows.
    pub fn fault(&mut self, action: Action, target: Target, order: Option<OrderId>, by: OrderedBy) -> u64 {
        let ended = self.ended_by(action, target);
        let mut kind = EventKind::fault(action, target, by, None);
        if let EventKind::Fault { order: of, ends, .. } = &mut kind {
            (*of, *ends) = (order, ended);
        }
        self.push(kind)
    }

    /// The newest fault that brought this target into the condition that the action undoes, if nothing has undone it since.
    fn ended_by(&self, action: Action, target: Target) -> Option<u64> {
        let Action::Undo(undone) = action else { return None };
        let condition = |event: &Event| match event.kind {
            EventKind::Fault {
                action,
                target: of,
                effect_at,
                ..
            } if of == target => match action {
                Action::Fault(fault) => effect_at.and(fault.brings()).map(|brought| (brought, Some(event.id))),
                Action::Undo(condition) => effect_at.map(|_| (condition, None)),
            },
            _ => None,
        };
        let mut found = self.all.iter().rev().filter_map(condition);
        found.find(|(condition, _)| *condition == undone)?.1
    }

    /// Adds the effect to fault `id`: since when it is there and what that means, or why there was none.
    pub fn effect(&mut self, id: u64, effect: Effect, meaning: Meaning) {
        let origin = self.origin;
        let Some((place, event)) = usize::try_from(id)
            .ok()
            .and_then(|id| Some((id, self.all.get_mut(id)?)))
        else {
            return;
        };
        self.unwritten.insert(place);
        let EventKind::Fault {
            target,
            effect_at,
            proof,
            returned_with,
            consequences,
            unavailable,
            error,
            ..
        } = &mut event.kind
        else {
            return;
        };
        if let Some(host) = effect.new_master() {
            *target = Target::Host(host);
        }
        match effect {
            Effect::Verified(verified) => {
                (*effect_at, *error) = (Some(seconds(origin, verified.at)), None);
                let in_seconds = |Proof { finding, by, of, at }| {
                    let at = seconds(origin, at);
                    Proof { finding, by, of, at }
                };
                *proof = verified.proof.into_iter().map(in_seconds).collect();
                *returned_with = meaning.returned_with;
                (*consequences, *unavailable) = (meaning.consequences, meaning.unavailable);
            }
            Effect::Not(why) => *error = Some(why),
        }
        self.changed = true;
    }

    /// The newest events for a snapshot.
    pub fn newest(&mut self) -> Arc<Vec<Event>> {
        if std::mem::take(&mut self.changed) {
            let from = self.all.len().saturating_sub(Snapshot::EVENTS);
            self.newest = Arc::new(self.all[from..].to_vec());
        }
        self.newest.clone()
    }

    /// The events that are new or have changed since the last call.
    pub fn take_unwritten(&mut self) -> Vec<Event> {
        let unwritten = std::mem::take(&mut self.unwritten);
        unwritten.into_iter().map(|place| self.all[place].clone()).collect()
    }

    /// All events and warnings, for the record.
    pub fn into_all(self) -> (Vec<Event>, Vec<Caveat>) {
        (self.all, self.warnings)
    }
}

/// Seconds between two times; negative if `to` is before `from`.
pub(crate) fn seconds(from: Instant, to: Instant) -> f64 {
    to.checked_duration_since(from)
        .map_or_else(|| -from.duration_since(to).as_secs_f64(), |d| d.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::model::{Condition, Fault, HostId, Verified};

    #[test]
    fn what_ends_a_fault_names_the_newest_one_that_took_effect_on_its_target() {
        let mut log = EventLog::new(Instant::now());
        let mut does = |action: Action, host: usize, works: bool| {
            let id = log.fault(action, Target::Host(HostId(host)), None, OrderedBy::User);
            let effect = match works {
                true => Effect::Verified(Verified {
                    at: Instant::now(),
                    proof: Vec::new(),
                }),
                false => Effect::failed("it can't"),
            };
            log.effect(id, effect, Meaning::default());
            match log.all[log.all.len() - 1].kind {
                EventKind::Fault { ends, .. } => ends,
                _ => None,
            }
        };
        let (kill, pause) = (Action::Fault(Fault::Kill), Action::Fault(Fault::Pause));
        let (restart, resume) = (Action::Undo(Condition::Down), Action::Undo(Condition::Paused));
        // Events 0 to 3: faults end nothing.
        for (action, host, works) in [(kill, 1, true), (kill, 2, true), (pause, 3, true), (pause, 3, false)] {
            assert_eq!(does(action, host, works), None);
        }
        assert_eq!(does(restart, 1, false), Some(0), "it was tried");
        assert_eq!(does(restart, 1, true), Some(0));
        assert_eq!(does(restart, 1, true), None, "it is up");
        assert_eq!(does(resume, 3, true), Some(2));
        assert_eq!(does(kill, 1, true), None);
        assert_eq!((does(restart, 1, true), does(restart, 2, true)), (Some(8), Some(1)));
        assert_eq!(does(resume, 2, true), None, "nobody had paused it");
    }
}
