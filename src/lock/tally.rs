//! The arithmetic of votes and of validity, without any clock or socket.

use std::time::Duration;

use smallvec::SmallVec;

use crate::model::{Cause, Outcome};

/// The votes that make a lock: more than half of the nodes.
pub(super) const fn quorum(nodes: usize) -> usize {
    nodes / 2 + 1
}

/// The part of a TTL that a lock may rely on: without 1 % + 2 ms for clocks that run differently and for the
/// precision of expiry.
pub(super) fn reliable(ttl: Duration) -> Duration {
    ttl.saturating_sub(ttl / 100 + Duration::from_millis(2))
}

/// Until when a quorum of keys stands, given for each node until when its key does: the quorum's latest times end with
/// the earliest of them. None if fewer stand at all.
pub(super) fn validity_end<T: Ord + Copy>(stands: &[Option<T>]) -> Option<T> {
    let mut standing: SmallVec<[T; 5]> = stands.iter().flatten().copied().collect();
    standing.sort_unstable();
    let earliest = standing.len().checked_sub(quorum(stands.len()))?;
    standing.get(earliest).copied()
}

/// Where the vote of one node stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Slot {
    /// The command waits to be written; it can be withdrawn.
    Queued,
    /// It was written, and no reply came yet.
    Written,
    /// The node voted for us.
    Yes,
    /// It did not, or we did not hear of it.
    No(Cause),
    /// It had voted, and does not have the key any more.
    Gone,
}

impl Slot {
    /// Whether the node may hold our key now or later, so that it must be told to delete it.
    pub(super) const fn may_hold(&self) -> bool {
        match self {
            Self::Written | Self::Yes => true,
            Self::No(cause) => cause.may_have_voted(),
            Self::Queued | Self::Gone => false,
        }
    }

    const fn is_pending(&self) -> bool {
        matches!(self, Self::Queued | Self::Written)
    }
}

/// The number of votes for us.
pub(super) fn votes(slots: &[Slot]) -> usize {
    slots.iter().filter(|slot| matches!(slot, Slot::Yes)).count()
}

/// Whether waiting for more answers can't change how the attempt ends. Without a quorum of anything the causes of
/// all nodes are waited for: they are what the caller wants to know then.
pub(super) fn is_decided(quorum: usize, slots: &[Slot]) -> bool {
    let yes = votes(slots);
    let held = slots
        .iter()
        .filter(|slot| matches!(slot, Slot::No(Cause::Held)))
        .count();
    let pending = slots.iter().filter(|slot| slot.is_pending()).count();
    yes >= quorum || pending == 0 || (yes + pending < quorum && yes + held >= quorum)
}

/// How an attempt with these causes ended; none is a vote for us.
pub(super) fn outcome(quorum: usize, causes: &[Option<Cause>]) -> Outcome {
    let count = |test: fn(&Cause) -> bool| causes.iter().flatten().filter(|cause| test(cause)).count();
    let yes = causes.iter().filter(|cause| cause.is_none()).count();
    if yes >= quorum {
        Outcome::Acquired
    } else if yes + count(|cause| *cause == Cause::Held) >= quorum {
        Outcome::Contended
    } else if yes + count(Cause::may_have_voted) >= quorum {
        Outcome::Unknown
    } else {
        Outcome::NoQuorum
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cause() -> impl Strategy<Value = Cause> {
        prop_oneof![
            3 => Just(Cause::Held),
            1 => Just(Cause::Refused),
            1 => Just(Cause::Timeout),
            1 => Just(Cause::Disconnected),
            1 => Just(Cause::Suspect),
            1 => Just(Cause::Error("OOM".into())),
        ]
    }

    fn slot() -> impl Strategy<Value = Slot> {
        prop_oneof![
            Just(Slot::Queued),
            Just(Slot::Written),
            Just(Slot::Yes),
            cause().prop_map(Slot::No)
        ]
    }

    fn outcome_of(quorum: usize, slots: &[Slot]) -> Outcome {
        let causes: Vec<_> = slots
            .iter()
            .map(|slot| match slot {
                Slot::Yes => None,
                Slot::No(cause) => Some(cause.clone()),
                Slot::Queued | Slot::Written | Slot::Gone => Some(Cause::Timeout),
            })
            .collect();
        outcome(quorum, &causes)
    }

    proptest! {
        #[test]
        fn two_quorums_always_share_a_node(nodes in 1usize..100) {
            prop_assert!(2 * quorum(nodes) > nodes);
            prop_assert!(quorum(nodes) <= nodes);
        }

        #[test]
        fn acquired_is_exactly_a_quorum_of_votes(causes in prop::collection::vec(prop::option::of(cause()), 1..10)) {
            let quorum = quorum(causes.len());
            let yes = causes.iter().filter(|cause| cause.is_none()).count();
            prop_assert_eq!(outcome(quorum, &causes) == Outcome::Acquired, yes >= quorum);
        }

        #[test]
        fn a_decided_attempt_ends_the_same_way_whatever_comes(
            slots in prop::collection::vec(slot(), 1..10),
            rest in prop::collection::vec(prop_oneof![Just(Slot::Yes), cause().prop_map(Slot::No)], 10),
        ) {
            let quorum = quorum(slots.len());
            if is_decided(quorum, &slots) {
                let finished: Vec<_> = slots
                    .iter()
                    .zip(rest)
                    .map(|(slot, later)| if slot.is_pending() { later } else { slot.clone() })
                    .collect();
                prop_assert_eq!(outcome_of(quorum, &slots), outcome_of(quorum, &finished));
            }
        }

        #[test]
        fn no_contention_and_no_doubt_without_enough_answers(
            causes in prop::collection::vec(cause().prop_map(Some), 1..10),
        ) {
            let quorum = quorum(causes.len());
            let held = causes.iter().flatten().filter(|cause| **cause == Cause::Held).count();
            let doubtful = causes.iter().flatten().filter(|cause| cause.may_have_voted()).count();
            let expected = match (held >= quorum, doubtful >= quorum) {
                (true, _) => Outcome::Contended,
                (false, true) => Outcome::Unknown,
                (false, false) => Outcome::NoQuorum,
            };
            prop_assert_eq!(outcome(quorum, &causes), expected);
        }

        #[test]
        fn at_the_end_of_the_validity_a_quorum_of_keys_stands_and_later_none(
            stands in prop::collection::vec(prop::option::of(0u32..100), 1..10),
        ) {
            let standing = |at: u32| stands.iter().flatten().filter(|&&until| until >= at).count();
            match validity_end(&stands) {
                Some(end) => {
                    prop_assert!(standing(end) >= quorum(stands.len()));
                    prop_assert!(standing(end + 1) < quorum(stands.len()));
                }
                None => prop_assert!(standing(0) < quorum(stands.len())),
            }
        }

        #[test]
        fn less_than_the_ttl_is_relied_on(millis in 0u64..10_000_000) {
            let ttl = Duration::from_millis(millis);
            let kept = reliable(ttl);
            prop_assert!(kept + ttl / 100 + Duration::from_millis(2) == ttl || kept.is_zero());
        }
    }

    #[test]
    fn examples() {
        use Cause::{Held, Refused, Suspect, Timeout};
        let cases = [
            (vec![None, None, Some(Timeout)], Outcome::Acquired),
            (vec![None, Some(Held), Some(Timeout)], Outcome::Contended),
            (vec![Some(Held), Some(Held), None], Outcome::Contended),
            (vec![None, Some(Timeout), Some(Refused)], Outcome::Unknown),
            (vec![Some(Held), Some(Timeout), Some(Timeout)], Outcome::Unknown),
            (vec![Some(Held), Some(Timeout), Some(Refused)], Outcome::NoQuorum),
            (vec![None, Some(Refused), Some(Suspect)], Outcome::NoQuorum),
        ];
        for (causes, expected) in cases {
            assert_eq!(outcome(2, &causes), expected, "{causes:?}");
        }
    }
}

/// The arithmetic above against a model of nodes, clocks and delays: it must add up to a lock.
#[cfg(test)]
mod world {
    use proptest::prelude::*;

    use super::*;

    /// Short, so that what happens in the same few milliseconds is no rarity.
    const TTL: Duration = Duration::from_millis(30);

    /// What one holder-to-be asks of all nodes at `start`: the key, or, after the first time, an extension.
    #[derive(Debug, Clone)]
    struct Question {
        start: Duration,
        /// For each node how long the way there takes, and the way back.
        ways: Vec<(Duration, Duration)>,
    }

    /// One question as one node sees it.
    #[derive(Debug, Clone, Copy)]
    struct Command {
        client: usize,
        node: usize,
        start: Duration,
        runs: Duration,
        answered: Duration,
        is_first: bool,
    }

    fn way() -> impl Strategy<Value = Duration> {
        // Mostly quick, now and then as long as a node is paused.
        prop_oneof![4 => 0u64..3, 1 => 0u64..60].prop_map(Duration::from_millis)
    }

    fn questions(nodes: usize) -> impl Strategy<Value = Vec<Question>> {
        let question = (0u64..25, prop::collection::vec((way(), way()), nodes));
        // Late enough for some to find the key free again.
        let begin = 0u64..100;
        (begin, prop::collection::vec(question, 1..6)).prop_map(|(begin, questions)| {
            let mut start = Duration::from_millis(begin);
            let ask = |(pause, ways)| {
                start += Duration::from_millis(pause);
                Question { start, ways }
            };
            questions.into_iter().map(ask).collect()
        })
    }

    /// Connections are ordered: what comes later runs and is answered later.
    fn commands(clients: &[Vec<Question>], nodes: usize) -> Vec<Command> {
        let mut commands = Vec::new();
        for (client, questions) in clients.iter().enumerate() {
            for node in 0..nodes {
                let (mut runs, mut answered) = (Duration::ZERO, Duration::ZERO);
                for (number, question) in questions.iter().enumerate() {
                    let (there, back) = question.ways[node];
                    runs = runs.max(question.start + there);
                    answered = answered.max(runs + back);
                    let is_first = number == 0;
                    let start = question.start;
                    commands.push(Command {
                        client,
                        node,
                        start,
                        runs,
                        answered,
                        is_first,
                    });
                }
            }
        }
        commands
    }

    /// Whether each command found the key free, or its client's. Nodes keep a key for the whole TTL on the fastest of
    /// clocks, and expire it in whole milliseconds.
    fn granted(commands: &mut [Command], nodes: usize) -> Vec<bool> {
        let kept = TTL - TTL / 100 - Duration::from_millis(1);
        let mut keys: Vec<Option<(usize, Duration)>> = vec![None; nodes];
        commands.sort_by_key(|command| command.runs);
        let run = |command: &Command| {
            let key = &mut keys[command.node];
            let holder = key
                .filter(|(_, expires)| *expires > command.runs)
                .map(|(holder, _)| holder);
            let granted = if command.is_first {
                holder.is_none()
            } else {
                holder == Some(command.client)
            };
            if granted {
                *key = Some((command.client, command.runs + kept));
            }
            granted
        };
        commands.iter().map(run).collect()
    }

    /// From when to when this client could rely on the lock, as it saw the answers.
    fn beliefs(client: usize, commands: &[Command], granted: &[bool], nodes: usize) -> Vec<(Duration, Duration)> {
        let mut answers: Vec<_> = commands
            .iter()
            .zip(granted)
            .filter(|(command, _)| command.client == client)
            .collect();
        answers.sort_by_key(|(command, _)| command.answered);
        let mut stands = vec![None; nodes];
        let mut beliefs: Vec<(Duration, Duration)> = Vec::new();
        for (command, granted) in answers {
            let now = command.answered;
            let known = &mut stands[command.node];
            // An extension never shortens what is known.
            *known = granted.then(|| (command.start + reliable(TTL)).max(known.unwrap_or_default()));
            if let Some(last) = beliefs.last_mut() {
                if last.1 <= now {
                    break; // once lost it stays lost
                }
                last.1 = now;
            }
            match validity_end(&stands).filter(|end| *end > now) {
                Some(end) => beliefs.push((now, end)),
                None if beliefs.is_empty() => {}
                None => break,
            }
        }
        beliefs
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        #[test]
        fn whatever_the_delays_no_two_rely_on_a_lock_at_a_time(
            (nodes, clients) in prop::sample::select(vec![1usize, 2, 3, 4, 5]).prop_flat_map(|nodes| {
                (Just(nodes), prop::collection::vec(questions(nodes), 2..5))
            }),
        ) {
            let mut commands = commands(&clients, nodes);
            let granted = granted(&mut commands, nodes);
            let mut all: Vec<_> = (0..clients.len())
                .flat_map(|client| beliefs(client, &commands, &granted, nodes))
                .collect();
            all.sort_unstable();
            for pair in all.windows(2) {
                prop_assert!(pair[0].1 <= pair[1].0, "{:?} and {:?}", pair[0], pair[1]);
            }
        }
    }
}
