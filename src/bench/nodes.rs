//! What the nodes count: their processor time, the commands that they ran, and their keys.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use lockstorm_lock::{NodeAddress, NodeOptions, Reply, Session, SessionError};

/// How long a node that is up may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Commands of the bench itself, and those that every client sends when it connects.
const NOT_COUNTED: [&str; 9] = [
    "auth", "client", "config", "flushall", "hello", "info", "keys", "ping", "select",
];

/// Commands that only the contenders' scripts run. The client's command is the script, not these.
const WITHIN_SCRIPTS: [&str; 4] = ["del", "get", "pexpire", "publish"];

/// What one node counted since it started, or over a period.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct NodeCounts {
    /// Processor seconds, user and system.
    pub cpu: f64,
    /// Calls of each command, with subcommands added up; without the commands that are not counted.
    pub calls: BTreeMap<String, u64>,
}

/// What one node had counted when it was asked.
#[derive(Debug)]
pub(super) struct Reading {
    counts: NodeCounts,
    at: Instant,
}

impl Reading {
    /// Reads the counts of the node at `address`.
    pub async fn of(address: &NodeAddress) -> Result<Self, SessionError> {
        let info = order(address, &["INFO", "all"]).await?;
        Ok(Self {
            counts: NodeCounts::read(info.text().unwrap_or_default()),
            at: Instant::now(),
        })
    }

    /// What was counted since `before`, and over which time. If the node was not up then, or has been restarted, this is
    /// everything that it counted, over the time `phase`.
    pub fn since(&self, before: Option<&Self>, phase: Duration) -> (NodeCounts, Duration) {
        match before {
            Some(before) if self.counts.cpu >= before.counts.cpu => {
                (self.counts.since(&before.counts), self.at - before.at)
            }
            _ => (self.counts.clone(), phase),
        }
    }
}

impl NodeCounts {
    fn read(info: &str) -> Self {
        let seconds = |name: &str| {
            let value = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            value.and_then(|value| value.trim().parse::<f64>().ok()).unwrap_or(0.0)
        };
        let mut calls = BTreeMap::new();
        for line in info.lines() {
            let Some((command, rest)) = line
                .strip_prefix("cmdstat_")
                .and_then(|line| line.split_once(":calls="))
            else {
                continue;
            };
            let command = command.split('|').next().unwrap_or(command);
            let number = rest.split(',').next().and_then(|number| number.parse::<u64>().ok());
            if !NOT_COUNTED.contains(&command) {
                *calls.entry(command.to_owned()).or_default() += number.unwrap_or(0);
            }
        }
        Self {
            cpu: seconds("used_cpu_user") + seconds("used_cpu_sys"),
            calls,
        }
    }

    /// The difference from `before`.
    fn since(&self, before: &Self) -> Self {
        let calls = self.calls.iter().filter_map(|(command, n)| {
            let n = n.saturating_sub(before.calls.get(command).copied().unwrap_or(0));
            (n > 0).then(|| (command.clone(), n))
        });
        Self {
            cpu: self.cpu - before.cpu,
            calls: calls.collect(),
        }
    }

    /// The number of commands that clients sent. A script that publishes also deletes, so any further publish came from a
    /// client.
    pub fn commands(&self) -> u64 {
        let calls = |command: &str| self.calls.get(command).copied().unwrap_or(0);
        let scripts = self.calls.contains_key("evalsha") || self.calls.contains_key("eval");
        let sent = |command: &str| !(scripts && WITHIN_SCRIPTS.contains(&command));
        let commands = self.calls.iter().filter(|(command, _)| sent(command));
        let published = if scripts {
            calls("publish").saturating_sub(calls("del"))
        } else {
            0
        };
        commands.map(|(_, n)| n).sum::<u64>() + published
    }
}

/// The number of keys that have not expired.
pub(super) async fn keys(address: &NodeAddress) -> Result<u64, SessionError> {
    Ok(order(address, &["KEYS", "bench:*"]).await?.parts().len() as u64)
}

/// Removes all keys.
pub(super) async fn flush(address: &NodeAddress) -> Result<(), SessionError> {
    order(address, &["FLUSHALL"]).await.map(drop)
}

async fn order(address: &NodeAddress, command: &[&str]) -> Result<Reply, SessionError> {
    let options = NodeOptions::new().connect_timeout(ANSWER_TIMEOUT);
    Session::open(address, &options).await?.order(command).await
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "# CPU\r\nused_cpu_sys:1.500000\r\nused_cpu_user:2.000000\r\nused_cpu_sys_children:9.0\r\n# Commandstats\r\n\
                        cmdstat_set:calls=10,usec=5,usec_per_call=0.5\r\ncmdstat_evalsha:calls=9,usec=1\r\n\
                        cmdstat_get:calls=9,usec=1\r\ncmdstat_del:calls=9,usec=1\r\ncmdstat_script|load:calls=1,usec=1\r\n\
                        cmdstat_client|setinfo:calls=2,usec=1\r\ncmdstat_info:calls=4,usec=1\r\n";

    #[test]
    fn a_script_is_one_command_and_the_bench_is_not_counted() {
        let counts = NodeCounts::read(INFO);
        assert!((counts.cpu - 3.5).abs() < 1e-9);
        assert_eq!(counts.commands(), 10 + 9 + 1);
        let none = counts.since(&counts);
        assert_eq!((none.commands(), none.calls.len()), (0, 0));
    }

    #[test]
    fn publishes_without_a_script_were_sent_by_clients() {
        let counts = NodeCounts::read(
            "cmdstat_evalsha:calls=5,u=1\r\ncmdstat_del:calls=4,u=1\r\ncmdstat_publish:calls=7,u=1\r\n",
        );
        assert_eq!(counts.commands(), 5 + 3);
    }

    #[test]
    fn without_scripts_every_command_counts() {
        let counts = NodeCounts::read("cmdstat_set:calls=3,usec=1\r\ncmdstat_del:calls=2,usec=1\r\n");
        assert_eq!(counts.commands(), 5);
    }

    #[test]
    fn a_restarted_node_counts_from_zero() {
        let at = Instant::now();
        let reading = |info: &str, millis: u64| Reading {
            counts: NodeCounts::read(info),
            at: at + Duration::from_millis(millis),
        };
        let (before, phase) = (reading(INFO, 0), Duration::from_millis(300));
        let after = reading("used_cpu_user:0.1\r\ncmdstat_set:calls=3,usec=1\r\n", 310);
        let (counts, time) = after.since(Some(&before), phase);
        assert_eq!((counts.commands(), time), (3, phase));
        assert_eq!(after.since(None, phase).0.commands(), 3);
        // A node that kept running is counted over the time between the two readings.
        let later = reading("used_cpu_user:0.2\r\ncmdstat_set:calls=8,usec=1\r\n", 620);
        let (counts, time) = later.since(Some(&after), phase);
        assert_eq!((counts.commands(), time), (5, Duration::from_millis(310)));
    }
}
