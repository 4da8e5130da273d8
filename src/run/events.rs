use std::sync::Arc;
use std::time::Instant;

use crate::metrics::Snapshot;
use crate::model::{Action, Event, EventKind, Target};

/// All events of a run, in the order of their causes.
#[derive(Debug)]
pub(super) struct EventLog {
    origin: Instant,
    all: Vec<Event>,
    /// What snapshots carry; made anew only when something changed.
    newest: Arc<Vec<Event>>,
    changed: bool,
}

impl EventLog {
    /// An empty log whose second 0 is `origin`.
    pub fn new(origin: Instant) -> Self {
        Self {
            origin,
            all: Vec::new(),
            newest: Arc::default(),
            changed: false,
        }
    }

    /// Second 0 is now known; what was logged before moves to before it.
    pub fn set_origin(&mut self, origin: Instant) {
        let shift = seconds(self.origin, origin);
        for event in &mut self.all {
            event.at -= shift;
            if let EventKind::Fault {
                effect_at: Some(at), ..
            } = &mut event.kind
            {
                *at -= shift;
            }
        }
        self.origin = origin;
        self.changed = true;
    }

    /// Seconds from second 0 to `at`.
    pub fn seconds(&self, at: Instant) -> f64 {
        seconds(self.origin, at)
    }

    /// Logs an event of now.
    pub fn push(&mut self, kind: EventKind, text: impl Into<String>) -> u64 {
        self.push_at(Instant::now(), kind, text)
    }

    /// Logs an event of that instant, which must not be before that of the newest one by more than a moment.
    pub fn push_at(&mut self, at: Instant, kind: EventKind, text: impl Into<String>) -> u64 {
        let (id, at) = (self.all.len() as u64, self.seconds(at));
        self.all.push(Event {
            id,
            at,
            kind,
            text: text.into(),
        });
        self.changed = true;
        id
    }

    /// Logs a fault that is ordered now; its effect follows.
    pub fn fault(&mut self, action: Action, target: Target, why: &str) -> u64 {
        let kind = EventKind::Fault {
            action,
            target,
            effect_at: None,
            error: None,
        };
        self.push(kind, format!("{action} {target}{why}"))
    }

    /// Adds to fault `id` when its effect was verified, or why it was not.
    pub fn effect(&mut self, id: u64, effect: Result<(Instant, String), String>) {
        let origin = self.origin;
        let Some(event) = usize::try_from(id).ok().and_then(|id| self.all.get_mut(id)) else {
            return;
        };
        let EventKind::Fault { effect_at, error, .. } = &mut event.kind else {
            return;
        };
        match effect {
            Ok((at, text)) => {
                let at = seconds(origin, at);
                *effect_at = Some(at);
                let took = (at - event.at) * 1e3;
                event.text = format!("{}, effective after {took:.0} ms: {text}", event.text);
            }
            Err(why) => {
                event.text = format!("{}: no effect: {why}", event.text);
                *error = Some(why);
            }
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

    /// Every event, for the record.
    pub fn into_all(self) -> Vec<Event> {
        self.all
    }
}

fn seconds(from: Instant, to: Instant) -> f64 {
    to.checked_duration_since(from)
        .map_or_else(|| -from.duration_since(to).as_secs_f64(), |d| d.as_secs_f64())
}
