//! The last lines of the nodes' logs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use lockstorm_data::model::HostId;
use lockstorm_lab::{Lab, last_lines};

/// How often the logs are read.
const EVERY: Duration = Duration::from_millis(500);

/// The last lines by host, each behind the name of its node.
type Lines = BTreeMap<HostId, Arc<[String]>>;

/// Reads logs in a thread of its own, which nobody waits for: a disk that hangs must not hang the run. It ends soon after this is dropped.
#[derive(Debug, Default)]
pub(super) struct LogWatch {
    lines: Arc<Mutex<Lines>>,
}

impl LogWatch {
    /// Reads the logs of this lab from now on. Without a thread there are none.
    pub fn start(lab: &Lab) -> Self {
        let watch = Self::default();
        let (lines, logs) = (Arc::downgrade(&watch.lines), lab.logs());
        let read = move || {
            while let Some(lines) = lines.upgrade() {
                let mut all: BTreeMap<HostId, Vec<String>> = BTreeMap::new();
                for (host, node, log) in &logs {
                    let told = last_lines(log, 0).into_iter().map(|line| format!("{node}: {line}"));
                    all.entry(*host).or_default().extend(told);
                }
                let all = all.into_iter().map(|(host, lines)| (host, lines.into()));
                *lines.lock().unwrap_or_else(PoisonError::into_inner) = all.collect();
                drop(lines);
                thread::sleep(EVERY);
            }
        };
        let _ = thread::Builder::new().name("logs".to_owned()).spawn(read);
        watch
    }

    /// The last lines of this host's nodes.
    pub fn of(&self, host: HostId) -> Arc<[String]> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.get(&host).cloned().unwrap_or_default()
    }
}
