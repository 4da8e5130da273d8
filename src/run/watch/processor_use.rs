//! How much of this machine's processor time other programs used.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The processor time that was used until now, in clock ticks, as Linux counts it (proc(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessorUse {
    /// All that there was, idle time included.
    all: u64,
    /// What was used, and what the hypervisor gave to other machines.
    used: u64,
    /// What this program and the processes that it started used.
    ours: u64,
}

impl ProcessorUse {
    /// Reads it; `None` where the system does not tell.
    pub fn now() -> Option<Self> {
        let (all, used) = of_machine(&fs::read_to_string("/proc/stat").ok()?)?;
        let processes = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| {
            let id: u32 = entry.file_name().to_str()?.parse().ok()?;
            // A process may have ended meanwhile.
            let (parent, ticks) = of_process(&fs::read_to_string(entry.path().join("stat")).ok()?)?;
            Some((id, (parent, ticks)))
        });
        let ours = of_tree(&processes.collect(), std::process::id());
        Some(Self { all, used, ours })
    }

    /// The part of all processor time since then that others used, from 0 to 1.
    pub fn by_others_since(self, then: Self) -> Option<f64> {
        let all = self.all.checked_sub(then.all).filter(|all| *all > 0)?;
        let ours = self.ours.saturating_sub(then.ours);
        let others = self.used.saturating_sub(then.used).saturating_sub(ours);
        Some(others as f64 / all as f64)
    }
}

/// All ticks and those that were used: the first line of /proc/stat.
fn of_machine(stat: &str) -> Option<(u64, u64)> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user and nice.
    let ticks = ticks.get(..8)?;
    let all: u64 = ticks.iter().sum();
    Some((all, all - ticks[3] - ticks[4]))
}

/// The parent of a process, and the ticks that it and its ended children used: /proc/PID/stat.
fn of_process(stat: &str) -> Option<(u32, u64)> {
    // Its name, which may have any character, stands in brackets.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: Option<Vec<u64>> = fields.get(11..15)?.iter().map(|field| field.parse().ok()).collect();
    Some((fields.get(1)?.parse().ok()?, ticks?.iter().sum()))
}

/// The ticks of a process and all below it.
fn of_tree(processes: &BTreeMap<u32, (u32, u64)>, root: u32) -> u64 {
    let mut tree = BTreeSet::from([root]);
    loop {
        let before = tree.len();
        let below = processes.iter().filter(|(_, (parent, _))| tree.contains(parent));
        let below: Vec<u32> = below.map(|(id, _)| *id).collect();
        tree.extend(below);
        if tree.len() == before {
            break;
        }
    }
    let ticks = tree.iter().filter_map(|id| processes.get(id));
    ticks.map(|(_, ticks)| ticks).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_used_is_all_that_was_used_without_ours() {
        let then = ProcessorUse {
            all: 1_000,
            used: 500,
            ours: 100,
        };
        let now = ProcessorUse {
            all: 2_000,
            used: 1_100,
            ours: 300,
        };
        assert_eq!(now.by_others_since(then), Some(0.4));
        assert_eq!(then.by_others_since(then), None, "no time has passed");
        let all_ours = ProcessorUse { ours: 900, ..now };
        assert_eq!(all_ours.by_others_since(then), Some(0.0));
    }

    #[test]
    fn it_is_read_as_linux_writes_it() {
        let stat = "cpu  100 20 30 400 50 6 7 8 90 10\ncpu0 1 2 3\n";
        assert_eq!(of_machine(stat), Some((621, 171)));
        assert_eq!(of_machine("intr 1 2\n"), None);
        let process = "42 (a ) b) S 7 1 1 0 -1 4194560 100 0 0 0 11 12 13 14 20 0 1 0 5 6";
        assert_eq!(of_process(process), Some((7, 50)));
        assert_eq!(of_process("42 (a) S 7"), None);
    }

    #[test]
    fn a_tree_has_the_children_of_children_and_no_others() {
        let processes = BTreeMap::from([(1, (0, 1)), (7, (1, 10)), (8, (7, 100)), (9, (8, 1_000)), (10, (1, 5))]);
        assert_eq!(of_tree(&processes, 7), 1_110);
        assert_eq!(of_tree(&processes, 11), 0);
    }
}
