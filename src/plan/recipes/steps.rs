//! A recipe in words. Nodes are numbered from 1, as hosts are.

use super::fault::{ClientFault, NodeFault};
use super::law::{needed_losses, spare_nodes};
use super::play::{DoubleHold, TTL};
use super::recipe::{Kind, Recipe};
use super::schedule::Schedule;

/// The faults, in a few words: `node 1 forgets, node 3 is away at the acquire`.
pub(super) fn title(schedule: &Schedule) -> String {
    let of_nodes = groups(schedule).map(|(fault, nodes)| {
        let said = match fault {
            NodeFault::ClockJumps => return format!("{} forward", clocks(&nodes)),
            NodeFault::ClockJumpsBack => return format!("{} back", clocks(&nodes)),
            NodeFault::Forgets => ["forgets", "forget"],
            NodeFault::KeepsKeys => ["restarts with its keys", "restart with their keys"],
            NodeFault::ReturnsLate => ["comes back late", "come back late"],
            NodeFault::Cut => ["loses its connections", "lose their connections"],
            NodeFault::ForgetsBefore => ["forgets before the acquire", "forget before the acquire"],
            NodeFault::MessageLate => [
                "is asked late by the first client",
                "are asked late by the first client",
            ],
            NodeFault::AnswerLate => ["answers the first client late", "answer the first client late"],
            NodeFault::Paused => ["is paused at the acquire", "are paused at the acquire"],
            NodeFault::Away => ["is away at the acquire", "are away at the acquire"],
        };
        format!("{} {}", named(&nodes), one_or_many(&nodes, said))
    });
    let of_clients = schedule.of_clients().map(|fault| match fault {
        ClientFault::FirstPauses => "the holder pauses for longer than its TTL".to_owned(),
        ClientFault::SectionTooLong => "the section takes longer than the TTL".to_owned(),
        ClientFault::SecondPauses => "the second client pauses".to_owned(),
    });
    of_nodes.chain(of_clients).collect::<Vec<_>>().join(", ")
}

/// What happens, one step after the other.
pub(super) fn steps(recipe: &Recipe) -> Vec<String> {
    let Recipe { schedule, kind, double } = recipe;
    let count = schedule.nodes();
    let (before, within): (Vec<_>, Vec<_>) = groups(schedule).partition(|(fault, _)| fault.is_before_the_acquire());
    let mut steps: Vec<String> = before.iter().map(|(fault, nodes)| begins(*fault, nodes)).collect();
    let granted = match kind {
        Kind::WithinValidity => double.votes,
        // Its keys have expired since.
        Kind::AfterValidity => count,
    };
    steps.push(format!(
        "The first client asks for the key. {granted} of {count} nodes vote for it, and it enters its section."
    ));
    steps.extend(before.iter().filter_map(|(fault, nodes)| ends(*fault, nodes)));
    steps.extend(within.iter().map(|(fault, nodes)| begins(*fault, nodes)));
    steps.extend(schedule.of_clients().map(|fault| {
        let ttl = TTL.as_secs();
        match fault {
            ClientFault::FirstPauses => format!(
                "The first client stops in its section (a long collection, a frozen machine) for longer than its TTL, here {ttl} s."
            ),
            ClientFault::SectionTooLong => {
                format!("The first client's work takes longer than its TTL, here {ttl} s, and nothing renews the lock.")
            }
            ClientFault::SecondPauses => "The second client stops for a while.".to_owned(),
        }
    }));
    let second = double.votes_of_second;
    steps.push(match kind {
        Kind::WithinValidity => format!(
            "The second client asks. {second} of {count} nodes have no key of the first one, and vote for it. It enters its \
             section, while the first client is in its own and may rely on its lock for another {:.1} s.",
            double.first_valid_for.as_secs_f64()
        ),
        Kind::AfterValidity => format!(
            "The first client's keys expire. The second client asks, {second} of {count} nodes vote for it, and it enters its \
             section, while the first client is still in its own."
        ),
    });
    steps
}

/// Why it works.
pub(super) fn cause(recipe: &Recipe) -> String {
    let DoubleHold { votes, lost, .. } = recipe.double;
    let nodes = recipe.schedule.nodes();
    let (spare, needed) = (spare_nodes(nodes), needed_losses(nodes, votes));
    match recipe.kind {
        Kind::WithinValidity => format!(
            "a second client can do without f = {spare} of {nodes} nodes, so it can win as soon as the holder has lost \
             votes − f keys: {votes} − {spare} = {needed}. {lost} {} lost.",
            if lost == 1 { "was" } else { "were" }
        ),
        Kind::AfterValidity => {
            "a lock is valid for its TTL, and a holder that does not look at the time does not know when that is over. No number of \
             nodes changes that."
                .to_owned()
        }
    }
}

/// What prevents it.
pub(super) fn remedy(recipe: &Recipe) -> String {
    let schedule = &recipe.schedule;
    let mut remedies = Vec::new();
    if !schedule.having(NodeFault::Forgets).is_empty() {
        remedies.push("a node that has lost its keys stays away for the longest TTL, or nodes write every key to disk before they answer");
    }
    if !schedule.having(NodeFault::ClockJumps).is_empty() {
        remedies.push("clocks of nodes are slewed and never stepped");
    }
    if schedule.has(ClientFault::SectionTooLong) {
        remedies.push("the lock is renewed, or its TTL is longer than the longest section");
    }
    if schedule.has(ClientFault::FirstPauses) {
        remedies.push(
            "what the lock protects checks a fence at the read and at the write; neither renewal nor more nodes help",
        );
    }
    remedies.join("; ")
}

/// The faults of nodes in the order in which they happen, each with its nodes.
fn groups(schedule: &Schedule) -> impl Iterator<Item = (NodeFault, Vec<usize>)> {
    use NodeFault::{
        AnswerLate, Away, ClockJumps, ClockJumpsBack, Cut, Forgets, ForgetsBefore, KeepsKeys, MessageLate, Paused,
        ReturnsLate,
    };
    let all = [
        ForgetsBefore,
        Away,
        Paused,
        MessageLate,
        AnswerLate,
        Forgets,
        KeepsKeys,
        ReturnsLate,
        ClockJumps,
        ClockJumpsBack,
        Cut,
    ];
    all.into_iter()
        .map(|fault| (fault, schedule.having(fault)))
        .filter(|(_, nodes)| !nodes.is_empty())
}

fn begins(fault: NodeFault, nodes: &[usize]) -> String {
    let name = named(nodes);
    let says = |said| capital(&format!("{name} {}", one_or_many(nodes, said)));
    match fault {
        NodeFault::Forgets => says([
            "dies and is back at once. It has forgotten the key.",
            "die and are back at once. They have forgotten the key.",
        ]),
        NodeFault::KeepsKeys => says([
            "dies and is back at once, with its keys.",
            "die and are back at once, with their keys.",
        ]),
        NodeFault::ReturnsLate => says([
            "dies, and comes back without its keys when they would have expired.",
            "die, and come back without their keys when these would have expired.",
        ]),
        NodeFault::ForgetsBefore => says([
            "dies and is back at once, without its keys.",
            "die and are back at once, without their keys.",
        ]),
        NodeFault::Paused => says(["is paused.", "are paused."]),
        NodeFault::Away => says(["dies.", "die."]),
        NodeFault::ClockJumps => capital(&format!(
            "{} forward by the TTL: the first client's key expires there.",
            clocks(nodes)
        )),
        NodeFault::ClockJumpsBack => capital(&format!("{} back by the TTL.", clocks(nodes))),
        NodeFault::Cut => format!("The first client's connections to {name} break."),
        NodeFault::MessageLate => {
            format!("From now on, what the first client sends to {name} is late: it arrives after the section.")
        }
        NodeFault::AnswerLate => {
            format!("From now on, what {name} sends to the first client is late: it arrives after the section.")
        }
    }
}

/// How a fault that began before the acquire ends, if that is a step of its own.
fn ends(fault: NodeFault, nodes: &[usize]) -> Option<String> {
    let said = match fault {
        NodeFault::Away => ["comes back, without any key.", "come back, without any key."],
        NodeFault::Paused => [
            "goes on, and runs what the first client sent.",
            "go on, and run what the first client sent.",
        ],
        _ => return None,
    };
    Some(capital(&format!("{} {}", named(nodes), one_or_many(nodes, said))))
}

/// `the clock of node 1 jumps`.
fn clocks(nodes: &[usize]) -> String {
    let [clock, jumps] = if nodes.len() == 1 {
        ["clock", "jumps"]
    } else {
        ["clocks", "jump"]
    };
    format!("the {clock} of {} {jumps}", named(nodes))
}

/// `node 1`, or `nodes 1, 2 and 3`.
fn named(nodes: &[usize]) -> String {
    let mut numbers: Vec<String> = nodes.iter().map(|node| (node + 1).to_string()).collect();
    match numbers.pop() {
        Some(last) if !numbers.is_empty() => format!("nodes {} and {last}", numbers.join(", ")),
        last => format!("node {}", last.unwrap_or_default()),
    }
}

fn one_or_many<'a>(nodes: &[usize], [one, many]: [&'a str; 2]) -> &'a str {
    if nodes.len() == 1 { one } else { many }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::super::play::play;
    use super::*;

    fn recipe(nodes: usize, faults: &[NodeFault], clients: &[ClientFault]) -> Recipe {
        let schedule = Schedule::of(nodes, faults, clients);
        let double = play(&schedule).unwrap().unwrap();
        Recipe::new(schedule, double)
    }

    #[test]
    fn the_steps_say_what_happens_in_order() {
        let recipe = recipe(5, &[NodeFault::Away, NodeFault::Forgets, NodeFault::Forgets], &[]);
        let steps = steps(&recipe);
        let begins = [
            "Node 5 dies.",
            "The first client asks for the key. 4 of 5 nodes vote for it",
            "Node 5 comes back",
            "Nodes 1 and 2 die and are back at once.",
            "The second client asks. 3 of 5 nodes",
        ];
        assert_eq!(steps.len(), begins.len(), "{steps:?}");
        for (step, begin) in steps.iter().zip(begins) {
            assert!(step.starts_with(begin), "{steps:?}");
        }
        assert!(cause(&recipe).contains("4 − 2 = 2"), "{}", cause(&recipe));
        assert_eq!(
            title(&recipe.schedule),
            "node 5 is away at the acquire, nodes 1 and 2 forget"
        );
        assert!(remedy(&recipe).contains("longest TTL"));
    }

    #[test]
    fn a_holder_that_pauses_is_told_of_expiry() {
        let recipe = recipe(3, &[], &[ClientFault::FirstPauses]);
        let steps = steps(&recipe);
        assert_eq!(steps.len(), 3);
        assert!(
            steps[0].contains("3 of 3 nodes") && steps[2].contains("expire"),
            "{steps:?}"
        );
        assert!(remedy(&recipe).contains("fence"));
    }

    #[test]
    fn nodes_are_named_from_1() {
        assert_eq!(
            ["node 1", "nodes 1 and 3"],
            [named(&[0]), named(&[0, 2])].each_ref().map(String::as_str)
        );
        assert_eq!(named(&[0, 1, 4]), "nodes 1, 2 and 5");
    }
}
