use std::fmt;
use std::mem::{Discriminant, discriminant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::id::HostId;
use crate::model::in_us::{self, InMicros};

/// How the effect of an action was verified. `T` is the time: an instant during the run, which a record counts from second 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proof<T> {
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
    /// Who found it.
    pub by: Observer,
    /// What it was found for: a node of a host, by its name, or an app server.
    pub of: String,
    /// When it was found.
    #[serde(
        rename = "at_us",
        with = "in_us",
        bound(serialize = "T: InMicros", deserialize = "T: InMicros")
    )]
    #[schemars(with = "i64")]
    pub at: T,
}

/// The possible findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum Finding {
    /// The process has ended and was waited for.
    ProcessGone,
    /// The process is stopped.
    ProcessStopped,
    /// The process runs.
    ProcessRuns,
    /// Nobody accepts connections on the port.
    PortRefuses {
        /// The port.
        port: u16,
    },
    /// Nobody can be reached at the port.
    Unreachable {
        /// The port.
        port: u16,
    },
    /// Somebody accepts connections on the port.
    Accepts {
        /// The port.
        port: u16,
    },
    /// The process that was started answers on the port, with its data loaded.
    Answers {
        /// The port.
        port: u16,
    },
    /// A PING and its reply, over the way that app servers use.
    RoundTrip {
        /// The port.
        port: u16,
        /// How long it took, in microseconds.
        took_us: u64,
    },
    /// The proxy in front of a node that does not answer delays nothing.
    NoDelay,
    /// The replicated node of a host has accepted a write, which only a master does.
    TakesWrites {
        /// The host.
        host: HostId,
    },
    /// What was published at a master has arrived at a replica.
    Arrives {
        /// How long it took, in microseconds.
        took_us: u64,
    },
    /// The replicas of a master have confirmed a write.
    Confirmed {
        /// How long that took, in microseconds.
        took_us: u64,
    },
    /// Nothing has come over a connection, although an answer was due.
    Silence {
        /// For how long, in microseconds.
        for_us: u64,
    },
    /// The proxy carries everything again between nodes that do not answer.
    NoCut,
    /// The engine has taken a container out of its network.
    LeftNetwork,
    /// A container is in its network again.
    InNetwork,
    /// What a server had not synced to disk was taken from its files.
    Unsynced {
        /// How many bytes.
        bytes: u64,
    },
    /// The server's files are gone.
    FilesGone {
        /// How many.
        files: u64,
    },
    /// Keys are gone that the server had.
    Gone {
        /// How many.
        keys: u64,
    },
    /// The server says that it has evicted keys.
    Evicted {
        /// How many, those of the cache that filled its memory included.
        evicted: u64,
        /// How many are gone of those that it had before.
        gone: u64,
    },
    /// The server refuses a write: OOM.
    OutOfMemory,
    /// The server refuses a write: MISCONF.
    CannotSave,
    /// The server takes a write again.
    NotRefused,
    /// A connection that was open was closed.
    Disconnected {
        /// How many others were, by the server's count.
        connections: u64,
    },
    /// So many bytes, and as many back, over the way that app servers use. It was not waited for longer than told.
    Transfer {
        /// How many each way.
        bytes: u64,
        /// How long it took, in microseconds.
        took_us: u64,
    },
    /// The server's clock, by which it expires keys, was ahead of the true time by this.
    Clock {
        /// In microseconds; negative if it was behind.
        ahead_us: i64,
    },
    /// The runtime of an app server was dropped.
    RuntimeGone,
    /// The thread of an app server is blocked.
    ThreadBlocked,
    /// The thread of an app server runs again.
    ThreadRuns,
    /// The target was already in this state.
    AlreadySo {
        /// The state, in words: "was already down (killed)".
        condition: String,
    },
}

impl Finding {
    /// What was found for several nodes, to stand after their number; `None` if each is told by itself.
    const fn plural(&self) -> Option<&'static str> {
        match self {
            Self::ProcessGone => Some("processes are gone"),
            Self::ProcessStopped => Some("processes are stopped"),
            Self::ProcessRuns => Some("processes run"),
            Self::PortRefuses { .. } => Some("ports refuse"),
            Self::Unreachable { .. } => Some("ports can't be reached"),
            Self::Accepts { .. } => Some("ports accept connections"),
            Self::Answers { .. } => Some("nodes answer"),
            Self::NoDelay => Some("nodes have a proxy that delays nothing"),
            Self::Silence { .. } => Some("connections are silent"),
            Self::LeftNetwork => Some("containers have left the network"),
            Self::InNetwork => Some("containers are in the network again"),
            Self::RoundTrip { .. }
            | Self::TakesWrites { .. }
            | Self::Arrives { .. }
            | Self::Confirmed { .. }
            | Self::NoCut
            | Self::Clock { .. }
            | Self::Unsynced { .. }
            | Self::FilesGone { .. }
            | Self::Gone { .. }
            | Self::Evicted { .. }
            | Self::OutOfMemory
            | Self::CannotSave
            | Self::NotRefused
            | Self::Disconnected { .. }
            | Self::Transfer { .. }
            | Self::RuntimeGone
            | Self::ThreadBlocked
            | Self::ThreadRuns
            | Self::AlreadySo { .. } => None,
        }
    }
}

/// The possible observers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Observer {
    /// The keeper, by `waitpid` or from the engine of the containers.
    Keeper,
    /// A connect to the port.
    Connect,
    /// PING, and the process id in INFO.
    Ping,
    /// A write.
    Write,
    /// A replica that was told by its master.
    Replica,
    /// The lab's proxy.
    Proxy,
    /// Its files.
    Files,
    /// Its keys, with their values.
    Keys,
    /// INFO.
    Info,
    /// TIME, and the PTTL of a key that was given a time to expire at.
    Time,
    /// The process itself, when it read its clock.
    Process,
    /// The app server itself.
    AppServer,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProcessGone => f.write_str("its process is gone"),
            Self::ProcessStopped => f.write_str("its process is stopped"),
            Self::ProcessRuns => f.write_str("its process runs"),
            Self::PortRefuses { port } => write!(f, "port {port} refuses"),
            Self::Unreachable { port } => write!(f, "port {port} can't be reached"),
            Self::Accepts { port } => write!(f, "port {port} accepts connections"),
            Self::Answers { port } => write!(f, "it answers on port {port}"),
            Self::RoundTrip { port, took_us } => {
                write!(f, "a round trip on port {port} takes {}", millis(*took_us))
            }
            Self::NoDelay => f.write_str("its proxy delays nothing"),
            Self::TakesWrites { host } => write!(f, "the replicated node of {host} accepted a write as the master"),
            Self::NoCut => f.write_str("its proxy carries everything"),
            Self::Arrives { took_us } => write!(f, "a write arrives after {}", millis(*took_us)),
            Self::Confirmed { took_us } => write!(f, "a write is confirmed after {}", millis(*took_us)),
            Self::Silence { for_us } => write!(f, "nothing has arrived for {}", millis(*for_us)),
            Self::LeftNetwork => f.write_str("its container has left the network"),
            Self::InNetwork => f.write_str("its container is in the network again"),
            Self::Unsynced { bytes } => write!(f, "it has lost {bytes} bytes that were not synced"),
            Self::FilesGone { files } => write!(f, "it has lost {files} of its files"),
            Self::Gone { keys: 0 } => f.write_str("it had no keys"),
            Self::Gone { keys } => write!(f, "it has lost {keys} of its keys"),
            Self::Evicted { evicted, gone } => {
                write!(f, "it has evicted {evicted} keys, and {gone} that it had are gone")
            }
            Self::OutOfMemory => f.write_str("it refuses a write (OOM)"),
            Self::CannotSave => f.write_str("it refuses a write (MISCONF)"),
            Self::NotRefused => f.write_str("it takes a write"),
            Self::Disconnected { connections } => {
                write!(f, "it has closed a connection of the lab and {connections} more")
            }
            Self::Transfer { bytes, took_us } => {
                write!(f, "{bytes} bytes there and back take {}", millis(*took_us))
            }
            Self::Clock { ahead_us } => write!(f, "its clock is {}", of_clock(*ahead_us)),
            Self::RuntimeGone => f.write_str("its runtime is gone"),
            Self::ThreadBlocked => f.write_str("its thread is blocked"),
            Self::ThreadRuns => f.write_str("its thread runs again"),
            Self::AlreadySo { condition } => write!(f, "it {condition}"),
        }
    }
}

/// `2,000.1 ms ahead`, and `right` within a millisecond.
fn of_clock(ahead_us: i64) -> String {
    let by = millis(ahead_us.unsigned_abs());
    match ahead_us {
        1001.. => format!("{by} ahead"),
        ..=-1001 => format!("{by} behind"),
        _ => "right".to_owned(),
    }
}

/// `500.3 ms`.
fn millis(micros: u64) -> String {
    format!("{:.1} ms", micros as f64 / 1e3)
}

/// The verified effect of an action.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified<T> {
    /// Since when it is in effect. What is found by waiting, as a silence, is proved later.
    pub at: T,
    /// The proof.
    pub proof: Vec<Proof<T>>,
}

impl<T> Verified<T> {
    /// The proof in one line: "its process is gone and port 7001 refuses", and for several nodes, which found the same, "3
    /// processes are gone and 3 ports refuse".
    pub fn prose(&self) -> String {
        let several = self.proof.iter().any(|proof| proof.of != self.proof[0].of);
        let mut words: Vec<String> = Vec::new();
        let mut told: Vec<Discriminant<Finding>> = Vec::new();
        for proof in &self.proof {
            let kind = discriminant(&proof.finding);
            let alike = self.proof.iter().filter(|other| discriminant(&other.finding) == kind);
            match (alike.count(), proof.finding.plural()) {
                _ if !several => words.push(proof.finding.to_string()),
                (2.., Some(_)) if told.contains(&kind) => {}
                (number @ 2.., Some(plural)) => {
                    told.push(kind);
                    words.push(format!("{number} {plural}"));
                }
                _ => words.push(format!("{}: {}", proof.of, proof.finding)),
            }
        }
        words.join(" and ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proof_is_data_and_prose_is_made_from_it() {
        let proof = |finding, by, of: &str| Proof {
            finding,
            by,
            of: of.to_owned(),
            at: 1.5,
        };
        let mut effect = Verified {
            at: 1.5,
            proof: vec![
                proof(Finding::ProcessGone, Observer::Keeper, "host 1"),
                proof(Finding::PortRefuses { port: 7001 }, Observer::Connect, "host 1"),
            ],
        };
        assert_eq!(effect.prose(), "its process is gone and port 7001 refuses");
        let json = serde_json::to_string(&effect.proof[1]).unwrap();
        assert_eq!(
            json,
            r#"{"finding":"port_refuses","port":7001,"by":"connect","of":"host 1","at_us":1500000}"#
        );
        assert_eq!(serde_json::from_str::<Proof<f64>>(&json).unwrap(), effect.proof[1]);
        effect.proof[1].of = "the replica of host 1".to_owned();
        assert!(effect.prose().ends_with("the replica of host 1: port 7001 refuses"));
        effect.proof.extend([
            proof(Finding::ProcessGone, Observer::Keeper, "the replica of host 1"),
            proof(Finding::PortRefuses { port: 7002 }, Observer::Connect, "host 1"),
        ]);
        assert_eq!(effect.prose(), "2 processes are gone and 2 ports refuse");
    }
}
