//! A schedule, played in the lock engine's virtual world.

use std::time::Duration;

use super::fault::{ClientFault, NodeFault};
use super::schedule::Schedule;
use lockstorm_lock::protocol::{Rules, WINDOW, Wait};
use lockstorm_lock::simulation::{AcquireSettings, Delay, InvalidSettings, Order, Settings, Span, World};

/// The TTL of the lock.
pub(super) const TTL: Duration = Duration::from_secs(10);
/// How long a section takes: the lock is valid for all of it.
const SECTION: Duration = Duration::from_secs(7);
/// How long a section takes that outlasts its lock.
const LONG_SECTION: Duration = Duration::from_secs(15);
/// When the first client asks; it is granted the lock at once.
const FIRST_ASKS: Duration = Duration::from_secs(1);
/// When the second client is there; it asks as long after it as the first one does after the beginning, and then again and again.
const SECOND_IS_THERE: Duration = at(1500);
/// When all has been seen: the longest section is over.
const END: Duration = Duration::from_secs(18);
/// By how much what is late is late: it arrives after the first client's section.
const LATE: Duration = Duration::from_secs(10);
const BOTH: [usize; 2] = [0, 1];

/// Milliseconds from the beginning.
const fn at(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Two clients in their sections for one key at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoubleHold {
    /// When the second one entered, from the beginning of the schedule.
    pub at: Duration,
    /// How long the first one could still rely on its lock then; zero if its validity was over.
    pub first_valid_for: Duration,
    /// The votes of the first one that would still exist if no node had lost any.
    pub votes: usize,
    /// How many of these had been lost.
    pub lost: usize,
    /// The votes of the second one, when it entered.
    pub votes_of_second: usize,
}

/// Plays the schedule by the protocol that ships, and returns the first double hold, if there is one.
///
/// # Errors
/// If the world can't have so many nodes.
pub fn play(schedule: &Schedule) -> Result<Option<DoubleHold>, InvalidSettings> {
    let mut world = World::new(settings(schedule), 1)?;
    world.order(at(0), Order::Kill { app_server: 1 })?;
    world.order(SECOND_IS_THERE, Order::Replace { app_server: 1 })?;
    for (at, order) in schedule.of_nodes().flat_map(|(node, fault)| of_node(node, fault)) {
        world.order(at, order)?;
    }
    for (at, order) in schedule.of_clients().flat_map(of_client) {
        world.order(at, order)?;
    }
    while world.now() < END && world.step() {
        let [first, second] = world.sections(0)[..] else {
            continue;
        };
        return Ok(Some(DoubleHold {
            at: world.now(),
            first_valid_for: first.valid_for,
            votes: first.kept + first.lost,
            lost: first.lost,
            votes_of_second: second.kept,
        }));
    }
    Ok(None)
}

fn settings(schedule: &Schedule) -> Settings {
    let section = if schedule.has(ClientFault::SectionTooLong) {
        LONG_SECTION
    } else {
        SECTION
    };
    Settings {
        nodes: schedule.nodes(),
        app_servers: BOTH.len(),
        workers: 1,
        keys: 1,
        own_keys: false,
        wants: vec![AcquireSettings {
            rules: Rules {
                ttl: TTL,
                reply_timeout: at(200),
                lifetime: None,
                repair: false,
            },
            renew: None,
            wait: Wait::Retry {
                retries: u32::MAX,
                delay: at(200),
                jitter: at(100),
            },
            timeout: Duration::from_mins(1),
        }],
        think: Span::of(FIRST_ASKS),
        hold: Span::of(section).into(),
        delay: Delay {
            usual: Span::micros(100, 500).into(),
            long: Span::micros(0, 0),
            long_per_mille: 0,
            round_trips: false,
            together: false,
        },
        lag: Duration::ZERO,
        drift_ppm: 0,
        reconnect: at(50),
        channel_idle: Duration::from_secs(2),
        window: WINDOW,
        give_up_per_mille: 0,
        heed_loss_per_mille: 0,
        freezes: None,
        faults: Vec::new(),
        busy: Duration::ZERO,
    }
}

/// What a fault of a node does, and when. Those of one node come one after the other.
fn of_node(node: usize, fault: NodeFault) -> Vec<(Duration, Order)> {
    let away = |from: u64, forgets: bool, until: Duration| {
        vec![
            (at(from), Order::Crash { node, forgets }),
            (until, Order::Restart { node }),
        ]
    };
    let late = |there, back| Order::Delay {
        app_server: 0,
        node,
        there,
        back,
    };
    match fault {
        NodeFault::ForgetsBefore => away(300, true, at(400)),
        NodeFault::Away => away(500, true, at(1500)),
        NodeFault::Paused => vec![(at(600), Order::Pause { node }), (at(1600), Order::Resume { node })],
        NodeFault::MessageLate => vec![(at(700), late(LATE, at(0)))],
        NodeFault::AnswerLate => vec![(at(750), late(at(0), LATE))],
        // The first client has its lock, and the second one asks for it.
        NodeFault::Forgets => away(3000, true, at(3100)),
        NodeFault::KeepsKeys => away(3300, false, at(3400)),
        NodeFault::ReturnsLate => away(3600, true, FIRST_ASKS + TTL + at(1000)),
        NodeFault::ClockJumps => vec![(at(4000), Order::Jump { node, by: TTL })],
        NodeFault::ClockJumpsBack => vec![(at(4300), Order::JumpBack { node, by: TTL })],
        NodeFault::Cut => vec![(at(4600), Order::Cut { app_server: 0, node })],
    }
}

fn of_client(fault: ClientFault) -> Vec<(Duration, Order)> {
    let stops = |app_server: usize, from: u64, until: u64| {
        vec![
            (at(from), Order::Freeze { app_server }),
            (at(until), Order::Thaw { app_server }),
        ]
    };
    match fault {
        ClientFault::FirstPauses => stops(0, 3200, 14_000),
        // The section itself is longer.
        ClientFault::SectionTooLong => Vec::new(),
        ClientFault::SecondPauses => stops(1, 2700, 4800),
    }
}

#[cfg(test)]
mod tests {
    use super::super::law::needed_losses;
    use super::*;

    fn played(nodes: usize, faults: &[NodeFault], clients: &[ClientFault]) -> Option<DoubleHold> {
        play(&Schedule::of(nodes, faults, clients)).unwrap()
    }

    /// The first client gets so many votes, and loses so many.
    fn lost(nodes: usize, votes: usize, losses: usize) -> Option<DoubleHold> {
        let away = vec![NodeFault::Away; nodes - votes];
        played(nodes, &[away, vec![NodeFault::Forgets; losses]].concat(), &[])
    }

    /// All cases with 3 and 5 nodes, with the number of losses that the law asks for written out.
    #[test]
    fn two_hold_exactly_when_the_first_has_lost_as_many_keys_as_the_law_says() {
        let mut cases = 0;
        for (nodes, votes, needed) in [(3, 2, 1), (3, 3, 2), (5, 3, 1), (5, 4, 2), (5, 5, 3)] {
            assert_eq!(needed_losses(nodes, votes), needed);
            for losses in 0..=needed {
                cases += 1;
                let what = format!("{nodes} nodes, {votes} votes, {losses} lost");
                match lost(nodes, votes, losses) {
                    None => assert!(losses < needed, "{what}: one holder"),
                    Some(double) => {
                        assert_eq!(losses, needed, "{what}: two holders");
                        assert_eq!((double.votes, double.lost), (votes, losses), "{what}");
                        assert!(double.first_valid_for > at(1000), "{what}: {double:?}");
                        assert!(double.votes_of_second > nodes / 2, "{what}: {double:?}");
                    }
                }
            }
        }
        assert_eq!(cases, 14);
    }

    #[test]
    fn a_holder_that_sleeps_through_its_ttl_is_not_alone_and_its_validity_is_over() {
        for fault in [ClientFault::FirstPauses, ClientFault::SectionTooLong] {
            let double = played(3, &[], &[fault]).unwrap();
            assert_eq!(double.first_valid_for, at(0), "{fault:?}");
            assert!(double.at > TTL, "{double:?}");
        }
        assert_eq!(played(3, &[], &[]), None);
        assert_eq!(played(3, &[], &[ClientFault::SecondPauses]), None);
    }

    #[test]
    fn a_node_that_comes_back_late_lets_nobody_in() {
        use NodeFault::{Away, Forgets, ReturnsLate};
        for (harm, cure) in [
            ([Forgets, Forgets], [ReturnsLate, ReturnsLate]),
            ([Forgets, Away], [ReturnsLate, Away]),
        ] {
            assert!(played(3, &harm, &[]).is_some());
            assert_eq!(played(3, &cure, &[]), None);
        }
    }

    #[test]
    fn a_node_that_was_paused_gives_its_vote_later() {
        use NodeFault::{Forgets, Paused};
        assert_eq!(played(3, &[Forgets, Paused], &[]), None);
        let double = played(3, &[Forgets, Forgets, Paused], &[]).unwrap();
        assert_eq!((double.votes, double.lost), (3, 2));
    }
}
