//! What keys have ordered for hosts and app servers and no snapshot shows as done. A key acts on the state that was
//! ordered, not on the last snapshot.

use std::collections::VecDeque;

use lockstorm_data::facts::{Event, EventKind};
use lockstorm_data::model::{Action, OrderId, Target};

/// The orders under way, oldest first. The run carries out those of one target one after the other.
#[derive(Debug, Default)]
pub(super) struct Orders {
    open: Vec<Pending>,
    /// The number of the next order.
    next: OrderId,
}

#[derive(Debug)]
struct Pending {
    id: OrderId,
    target: Target,
    /// The actions still to be done: two for a bounce, otherwise one.
    steps: VecDeque<Action>,
    /// Whether the run has logged the first of these actions.
    is_logged: bool,
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
    /// The number that the next order will have.
    pub const fn next(&self) -> OrderId {
        self.next
    }

    /// Adds an order that is given now, with the next number.
    pub fn add(&mut self, target: Target, steps: &[Action]) {
        self.open.push(Pending {
            id: self.next,
            target,
            steps: steps.iter().copied().collect(),
            is_logged: false,
            is_bounce: steps.len() > 1,
        });
        self.next.0 += 1;
    }

    /// Forgets all orders under way: the run carries out no more.
    pub fn clear(&mut self) {
        self.open.clear();
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
        self.open.retain_mut(|order| {
            let done = order.follow(events);
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
    fn follow(&mut self, events: &[Event]) -> Option<Done> {
        while let Some(&step) = self.steps.front() {
            let event = events.iter().find(|event| is_step(event, self.id, step));
            let (effect, failed) = match event {
                Some(event) => outcome(event),
                // Snapshots carry only the newest events: one that is missing now was done long ago.
                None => (self.is_logged, false),
            };
            self.is_logged = event.is_some();
            if !effect && !failed {
                return None;
            }
            self.is_logged = false;
            self.steps.pop_front();
            if failed || self.steps.is_empty() {
                let text = event.map(Event::text).unwrap_or_default();
                return Some(Done { text, failed });
            }
        }
        None
    }
}

fn is_step(event: &Event, id: OrderId, step: Action) -> bool {
    matches!(&event.kind, EventKind::Fault { action, order, .. } if *order == Some(id) && *action == step)
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
    use lockstorm_data::facts::{NoEffect, OrderedBy};
    use lockstorm_data::model::{Condition, Fault, HostId};

    const HOST: Target = Target::Host(HostId(1));

    fn event(id: u64, action: Action, order: Option<u64>, effect_at: Option<f64>) -> Event {
        let mut kind = EventKind::fault(action, HOST, OrderedBy::User, effect_at);
        if let EventKind::Fault { order: of, .. } = &mut kind {
            *of = order.map(OrderId);
        }
        Event { id, at: 1.0, kind }
    }

    #[test]
    fn an_order_counts_until_its_own_event_is_done() {
        let pause = Action::Fault(Fault::Pause);
        let mut orders = Orders::default();
        orders.add(HOST, &[pause]);
        // The schedule pauses the same host in the same instant.
        let mut events = vec![event(0, pause, None, Some(1.0))];
        assert_eq!(orders.settle(&events), None, "that is not this one");
        assert_eq!(orders.expected(HOST), Some(Expected::After(pause)));
        events.push(event(1, pause, Some(0), None));
        assert_eq!(orders.settle(&events), None, "asked for, not done");
        events[1] = event(1, pause, Some(0), Some(1.1));
        let done = orders.settle(&events).expect("done");
        assert_eq!(
            (done.text.as_str(), done.failed),
            ("host 1 paused (effective after 100 ms)", false)
        );
        assert!(orders.is_empty() && orders.expected(HOST).is_none());
    }

    #[test]
    fn an_order_whose_event_is_not_shown_any_more_is_done() {
        let pause = Action::Fault(Fault::Pause);
        let mut orders = Orders::default();
        orders.add(HOST, &[pause]);
        assert_eq!(orders.settle(&[event(3, pause, Some(0), None)]), None);
        assert_eq!(orders.settle(&[]).map(|done| done.failed), Some(false));
    }

    #[test]
    fn orders_of_a_target_are_done_one_after_the_other() {
        let mut orders = Orders::default();
        let steps = [
            Action::Fault(Fault::Pause),
            Action::Undo(Condition::Paused),
            Action::Fault(Fault::Pause),
        ];
        for action in steps {
            orders.add(HOST, &[action]);
        }
        let two = [
            event(0, steps[0], Some(0), Some(1.0)),
            event(1, steps[1], Some(1), Some(1.1)),
        ];
        assert!(orders.settle(&two).is_some());
        assert_eq!(
            orders.expected(HOST),
            Some(Expected::After(steps[2])),
            "the third is open"
        );
        assert_eq!(orders.settle(&two), None, "and the first is not counted for it");
    }

    #[test]
    fn a_bounce_is_done_when_the_host_is_back_or_was_not_killed() {
        let bounce = [Action::Fault(Fault::Kill), Action::Undo(Condition::Down)];
        let killed = event(0, bounce[0], Some(0), Some(1.0));
        let mut orders = Orders::default();
        orders.add(HOST, &bounce);
        assert_eq!(orders.settle(std::slice::from_ref(&killed)), None);
        assert_eq!(orders.expected(HOST), Some(Expected::Bounce));
        let back = event(1, bounce[1], Some(0), Some(1.4));
        assert!(orders.settle(&[killed, back]).is_some());
        assert!(orders.is_empty());

        let mut failed = event(2, bounce[0], Some(1), None);
        if let EventKind::Fault { error, .. } = &mut failed.kind {
            *error = Some(NoEffect::Failed {
                quoted: "is down already".to_owned(),
            });
        }
        orders.add(HOST, &bounce);
        assert_eq!(orders.settle(&[failed]).map(|done| done.failed), Some(true));
        assert!(orders.is_empty());
    }
}
