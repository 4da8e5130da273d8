//! The figures of one contender in one round.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::contender::Contender;
use super::nodes::NodeCounts;
use super::statistics::jain;
use super::tally::Tally;
use lockstorm_data::metrics::Quantiles;
use lockstorm_data::metrics::units::rounded;
use lockstorm_data::model::in_us;

/// One contender in one round.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The contender.
    pub contender: Contender,
    /// Why it could not be measured.
    pub error: Option<String>,
    /// The measured part.
    pub figures: Option<Figures>,
    /// The load on healthy nodes, just before; only in cases that break a node.
    pub baseline: Option<Figures>,
    /// The mean time of an acquire without contention, before the load; only if tasks share a key.
    pub uncontended_ns: Option<u64>,
    /// The bytes of one cycle without any load, on that link and in that direction where they are the most; only if the
    /// nodes are behind links.
    pub link_bytes_per_cycle: Option<f64>,
    /// The memory of this process before the measured part, MiB.
    pub rss_before_mib: Option<f64>,
    /// The memory of this process after the measured part, MiB.
    pub rss_after_mib: Option<f64>,
    /// How long after a node's first answer a lock had the votes of all nodes; only if a node comes back, and the client
    /// reports votes.
    #[serde(rename = "back_in_use_us", with = "in_us")]
    pub back_in_use: Option<Duration>,
    /// Keys on the node that was up, 100 ms after the load ended; only without a quorum.
    pub survivor_keys: Option<u64>,
    /// Locks that were held and renewed, but lost all the same; only in cases that hold locks until the end.
    pub lost: Option<u64>,
    /// Leftover keys on each node.
    pub orphans: Vec<u64>,
}

/// What was used between the two ends of a phase.
#[derive(Debug, Clone, Default)]
pub(super) struct Usage {
    pub wall: Duration,
    pub client_cpu: f64,
    /// For each node its counts, with the time over which they were counted; `None` if it was not up at the end.
    pub nodes: Vec<Option<(NodeCounts, Duration)>>,
    /// `None` if a client does not count its attempts.
    pub attempts: Option<u64>,
}

/// What was measured in one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The length of the phase.
    #[serde(rename = "elapsed_us", with = "in_us")]
    pub elapsed: Duration,
    /// Acquires with their releases that ended in the phase.
    pub cycles: u64,
    /// Cycles a second.
    pub cycles_per_s: f64,
    /// Granted acquires that ended in the phase or were under way at its end, waiting included; acquires that never ended
    /// count with the time that they had waited. The load is a closed loop: a waiting task asks for nothing else, so this
    /// is the time that a caller waits, not the latency under requests that arrive independently.
    pub acquire_ns: Quantiles,
    /// Acquires that had not ended several seconds after the phase.
    pub unfinished: u64,
    /// Acquires that were refused.
    pub refusal_ns: Quantiles,
    /// Releases, as long as the client itself waits for them.
    pub release_ns: Quantiles,
    /// The mean time from an acquire to its release.
    pub hold_mean_ns: u64,
    /// The share of acquires that were granted, 0 to 1, where unfinished ones count as not granted; null if there were
    /// none.
    pub acquired_share: Option<f64>,
    /// Refusals by kind.
    pub refused: BTreeMap<String, u64>,
    /// Why nodes gave no vote for refused acquires, if the client says so.
    pub causes: BTreeMap<String, u64>,
    /// The message of the first refusal.
    pub refusal_text: Option<String>,
    /// Processor time of this process.
    #[serde(rename = "client_cpu_us", with = "in_us")]
    pub client_cpu: f64,
    /// The same for one cycle.
    pub client_cpu_ns_per_cycle: Option<u64>,
    /// Processor time of all nodes, as they report it. They are asked while the load runs, a little before the phase
    /// begins and after it ends, so the value is scaled to `elapsed_us`.
    #[serde(rename = "server_cpu_us", with = "in_us")]
    pub server_cpu: f64,
    /// The same for one cycle.
    pub server_cpu_ns_per_cycle: Option<u64>,
    /// Commands that the clients sent to a node for one cycle: the mean of the nodes that were up, scaled in the same way.
    /// A script counts once. Null if no lock was granted.
    pub commands_per_node_and_cycle: Option<f64>,
    /// Calls of each command on all nodes, as they report it, including calls within scripts.
    pub calls: BTreeMap<String, u64>,
    /// The time over which the calls were counted, averaged over the nodes; a little longer than `elapsed_us`.
    #[serde(rename = "calls_over_us", with = "in_us")]
    pub calls_over: f64,
    /// Attempts for one cycle, if the client counts them.
    pub attempts_per_cycle: Option<f64>,
    /// Jain's fairness index over the cycles of all tasks; null without cycles, and in a baseline.
    pub jain: Option<f64>,
}

impl Figures {
    /// The figures of all app servers together.
    pub(super) fn of(tally: &Tally, usage: &Usage, cycles_of_tasks: &[u64]) -> Self {
        let nodes: Vec<_> = usage.nodes.iter().flatten().collect();
        let mean = |sum: f64| sum / nodes.len().max(1) as f64;
        // Scales a figure that was counted over `time` to the length of the phase.
        let scale = |figure: f64, time: Duration| figure * usage.wall.as_secs_f64() / time.as_secs_f64();
        let server_cpu = nodes.iter().map(|(node, time)| scale(node.cpu, *time)).sum();
        let commands = nodes.iter().map(|(node, time)| scale(node.commands() as f64, *time));
        let commands_per_node = mean(commands.sum());
        let mut calls = BTreeMap::new();
        for (command, n) in nodes.iter().flat_map(|(node, _)| &node.calls) {
            *calls.entry(command.clone()).or_default() += n;
        }
        let granted = tally.acquire.len() - tally.unfinished;
        // Without a granted lock, the releases of locks from before the phase say nothing about the commands for a cycle.
        let per_cycle = |figure: f64| (tally.cycles > 0 && granted > 0).then(|| figure / tally.cycles as f64);
        let asked = tally.acquire.len() + tally.refusal.len();
        let named = |counts: &BTreeMap<&str, u64>| counts.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
        Self {
            elapsed: usage.wall,
            cycles: tally.cycles,
            cycles_per_s: tally.cycles as f64 / usage.wall.as_secs_f64(),
            acquire_ns: Quantiles::of(&tally.acquire),
            unfinished: tally.unfinished,
            refusal_ns: Quantiles::of(&tally.refusal),
            release_ns: Quantiles::of(&tally.release),
            hold_mean_ns: rounded(tally.held.as_secs_f64() * 1e9 / granted.max(1) as f64),
            acquired_share: (asked > 0).then(|| granted as f64 / asked as f64),
            refused: named(&tally.refused),
            causes: named(&tally.causes),
            refusal_text: tally.refusal_text.clone(),
            client_cpu: usage.client_cpu,
            client_cpu_ns_per_cycle: per_cycle(usage.client_cpu * 1e9).map(rounded),
            server_cpu,
            server_cpu_ns_per_cycle: per_cycle(server_cpu * 1e9).map(rounded),
            commands_per_node_and_cycle: per_cycle(commands_per_node),
            calls,
            calls_over: mean(nodes.iter().map(|(_, time)| time.as_secs_f64()).sum()),
            attempts_per_cycle: usage.attempts.and_then(|attempts| per_cycle(attempts as f64)),
            jain: jain(cycles_of_tasks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A phase of one second, in which three nodes were counted over 1.1 s.
    fn usage() -> Usage {
        let counts = NodeCounts {
            cpu: 0.55,
            calls: [("set", 110), ("evalsha", 110), ("get", 110), ("del", 110)]
                .map(|(command, n)| (command.to_owned(), n))
                .into(),
        };
        Usage {
            wall: Duration::from_secs(1),
            client_cpu: 0.2,
            nodes: vec![Some((counts, Duration::from_millis(1100))); 3],
            attempts: Some(100),
        }
    }

    #[test]
    fn counts_of_nodes_are_scaled_to_the_phase() {
        let mut tally = Tally {
            cycles: 100,
            ..Tally::default()
        };
        tally.acquire.record(1_000_000).unwrap();
        let figures = Figures::of(&tally, &usage(), &[100]);
        assert!((figures.commands_per_node_and_cycle.unwrap() - 2.0).abs() < 1e-9);
        assert!((figures.server_cpu - 1.5).abs() < 1e-9);
        assert_eq!((figures.calls["set"], figures.cycles), (330, 100));
        assert!((figures.calls_over - 1.1).abs() < 1e-9);
    }

    #[test]
    fn without_a_granted_lock_there_are_no_figures_for_a_cycle() {
        let tally = Tally {
            cycles: 8,
            ..Tally::default()
        };
        let figures = Figures::of(&tally, &usage(), &[8]);
        assert_eq!(
            (figures.commands_per_node_and_cycle, figures.server_cpu_ns_per_cycle),
            (None, None)
        );
    }
}
