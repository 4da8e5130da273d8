//! The last lines of the nodes' logs, and what people write to the nodes by hand.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use lockstorm_data::model::HostId;
use lockstorm_lab::{Lab, ManualWrite, ManualWrites, last_lines};

/// How often the logs are read.
const EVERY: Duration = Duration::from_millis(500);
/// How often it is looked whether somebody has written to a node.
const LOOK: Duration = Duration::from_millis(50);

/// The last lines by host, each behind the name of its node.
type Lines = BTreeMap<HostId, Arc<[String]>>;

/// Reads files in a thread of its own, which nobody waits for: a disk that hangs must not hang the run. It ends soon after this is dropped.
#[derive(Debug)]
pub(super) struct LogWatch {
    lines: Arc<Mutex<Lines>>,
    writes: Receiver<ManualWrite>,
}

impl LogWatch {
    /// Reads the logs of this lab from now on. Without a thread there are none.
    pub fn start(lab: &Lab) -> Self {
        let (tell, writes) = channel();
        let watch = Self {
            lines: Arc::default(),
            writes,
        };
        let (lines, logs, mut written) = (Arc::downgrade(&watch.lines), lab.logs(), ManualWrites::of(lab.dir()));
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
                let next = Instant::now() + EVERY;
                while Instant::now() < next {
                    // If nobody listens any more, this ends soon.
                    written.take().into_iter().for_each(|write| _ = tell.send(write));
                    thread::sleep(LOOK);
                }
            }
        };
        let _ = thread::Builder::new().name("logs".to_owned()).spawn(read);
        watch
    }

    /// What people have written to the nodes since the last call.
    pub fn take_writes(&self) -> Vec<ManualWrite> {
        self.writes.try_iter().collect()
    }

    /// The last lines of this host's nodes.
    pub fn of(&self, host: HostId) -> Arc<[String]> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.get(&host).cloned().unwrap_or_default()
    }
}
