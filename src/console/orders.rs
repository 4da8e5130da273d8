//! What keys have ordered for hosts and app servers and no snapshot shows as done. A key acts on the state that was
//! ordered, not on the last snapshot.

use std::collections::{HashMap, VecDeque};

use crate::model::{Action, Event, EventKind, Target};

/// The orders under way, oldest first. The run carries out those of one target one after the other.
#[derive(Debug, Default)]
pub(super) struct Orders {
    open: Vec<Pending>,
    /// For each target, the first event that can belong to its next order.
    from: HashMap<Target, u64>,
}

#[derive(Debug)]
struct Pending {
    target: Target,
    /// The actions still to be done: two for a bounce, otherwise one.
    steps: VecDeque<Action>,
    /// The event of the first of these actions, once the run has logged it.
    event: Option<u64>,
    is_bounce: bool,
}

/// The state that a target with orders under way will have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// The state after this action.
    After(Action),
    /// It will be killed and come back by itself.
    Bounce,
}

/// How an order ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Done {
    /// What the run says about it.
    pub text: String,
    /// Whether it had no effect.
    pub failed: bool,
}

impl Orders {
    /// Adds an order that is given now; `events` are the events before it.
    pub fn add(&mut self, target: Target, steps: &[Action], events: &[Event]) {
        let next = events.last().map_or(0, |event| event.id + 1);
        let from = self.from.entry(target).or_default();
        *from = next.max(*from);
        self.open.push(Pending {
            target,
            steps: steps.iter().copied().collect(),
            event: None,
            is_bounce: steps.len() > 1,
        });
    }

    /// The state that the orders under way will bring a target into; `None` if there are none.
    pub fn expected(&self, target: Target) -> Option<Expected> {
        let mut own = self.open.iter().filter(|order| order.target == target);
        let last = own.next_back()?;
        if last.is_bounce {
            return Some(Expected::Bounce);
        }
        last.steps.back().copied().map(Expected::After)
    }

    /// Takes in new events and forgets the orders that are done. Returns how the last of them ended.
    pub fn settle(&mut self, events: &[Event]) -> Option<Done> {
        let mut last = None;
        let mut waiting: Vec<Target> = Vec::new();
        let from = &mut self.from;
        self.open.retain_mut(|order| {
            // The orders of a target are carried out one after the other.
            if waiting.contains(&order.target) {
                return true;
            }
            let done = order.follow(from.entry(order.target).or_default(), events);
            if done.is_none() {
                waiting.push(order.target);
            }
            let is_open = done.is_none();
            last = done.or(last.take());
            is_open
        });
        last
    }

    /// Whether nothing is under way.
    pub const fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

impl Pending {
    /// Follows the order as far as the events go. Returns how it ended, if it did.
    fn follow(&mut self, from: &mut u64, events: &[Event]) -> Option<Done> {
        while let Some(&step) = self.steps.front() {
            let id = match self.event {
                Some(id) => id,
                None => events.iter().find(|event| is_of(event, step, self.target, *from))?.id,
            };
            self.event = Some(id);
            *from = id + 1;
            // Snapshots carry only the newest events: one that is missing was done long ago.
            let event = events.iter().find(|event| event.id == id);
            let (effect, failed) = event.map_or((true, false), outcome);
            if !effect && !failed {
                return None;
            }
            self.event = None;
            self.steps.pop_front();
            if failed || self.steps.is_empty() {
                let text = event.map(|event| event.text.clone()).unwrap_or_default();
                return Some(Done { text, failed });
            }
        }
        None
    }
}

fn is_of(event: &Event, step: Action, of: Target, from: u64) -> bool {
    event.id >= from
        && matches!(&event.kind, EventKind::Fault { action, target, .. } if *action == step && *target == of)
}

/// Whether the effect is verified, and whether the action failed.
const fn outcome(event: &Event) -> (bool, bool) {
    match &event.kind {
        EventKind::Fault { effect_at, error, .. } => (effect_at.is_some(), error.is_some()),
        _ => (true, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Condition, Fault, HostId};

    const HOST: Target = Target::Host(HostId(1));

    fn event(id: u64, action: Action, effect_at: Option<f64>) -> Event {
        Event {
            id,
            at: 1.0,
            kind: EventKind::Fault {
                action,
                target: HOST,
                effect_at,
                proof: Vec::new(),
                error: None,
            },
            text: format!("{action} {HOST}"),
        }
    }

    #[test]
    fn an_order_counts_until_its_own_event_is_done() {
        let before = [event(0, Action::Fault(Fault::Pause), Some(1.0))];
        let mut orders = Orders::default();
        orders.add(HOST, &[Action::Fault(Fault::Pause)], &before);
        assert_eq!(orders.settle(&before), None, "an older pause is not this one");
        assert_eq!(
            orders.expected(HOST),
            Some(Expected::After(Action::Fault(Fault::Pause)))
        );
        assert_eq!(
            orders.settle(&[event(1, Action::Fault(Fault::Pause), None)]),
            None,
            "asked for, not done"
        );
        let done = orders
            .settle(&[event(1, Action::Fault(Fault::Pause), Some(1.1))])
            .expect("done");
        assert_eq!((done.text.as_str(), done.failed), ("pause host 1", false));
        assert!(orders.is_empty() && orders.expected(HOST).is_none());
    }

    #[test]
    fn orders_of_a_target_are_done_one_after_the_other() {
        let mut orders = Orders::default();
        for action in [
            Action::Fault(Fault::Pause),
            Action::Undo(Condition::Paused),
            Action::Fault(Fault::Pause),
        ] {
            orders.add(HOST, &[action], &[]);
        }
        let two = [
            event(0, Action::Fault(Fault::Pause), Some(1.0)),
            event(1, Action::Undo(Condition::Paused), Some(1.1)),
        ];
        assert!(orders.settle(&two).is_some());
        assert_eq!(
            orders.expected(HOST),
            Some(Expected::After(Action::Fault(Fault::Pause))),
            "the third is open"
        );
        assert_eq!(orders.settle(&two), None, "and the first is not counted for it");
    }

    #[test]
    fn a_bounce_is_done_when_the_host_is_back_or_was_not_killed() {
        let killed = event(0, Action::Fault(Fault::Kill), Some(1.0));
        let mut orders = Orders::default();
        orders.add(HOST, &[Action::Fault(Fault::Kill), Action::Undo(Condition::Down)], &[]);
        assert_eq!(orders.settle(std::slice::from_ref(&killed)), None);
        assert_eq!(orders.expected(HOST), Some(Expected::Bounce));
        assert!(
            orders
                .settle(&[killed, event(1, Action::Undo(Condition::Down), Some(1.4))])
                .is_some()
        );
        assert!(orders.is_empty());

        let mut failed = event(2, Action::Fault(Fault::Kill), None);
        if let EventKind::Fault { error, .. } = &mut failed.kind {
            *error = Some("is down already".to_owned());
        }
        orders.add(HOST, &[Action::Fault(Fault::Kill), Action::Undo(Condition::Down)], &[]);
        assert_eq!(orders.settle(&[failed]).map(|done| done.failed), Some(true));
        assert!(orders.is_empty());
    }
}
