use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::way::Direction;
use crate::model::id::{HostId, ServerId};

/// A target of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A host with all its nodes.
    Host(HostId),
    /// An app server with all its workers.
    Server(ServerId),
    /// Connections between hosts.
    Link(Link),
    /// The programs by which an app server acquires its `client` locks, without its workers.
    Client(ServerId),
}

/// Connections between hosts, by which replicas and Sentinels work, or of an app server to a host. Those within a host are not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    /// All connections between these two hosts.
    Between(HostId, HostId),
    /// Those of an app server to the lock node of a host.
    Route(ServerId, HostId),
    /// Those of all replicas to their master, wherever it is.
    Replication,
    /// Those of all Sentinels, to replicated nodes and to each other.
    Sentinels,
}

impl Link {
    /// The links of several hosts.
    pub const GROUPS: [Self; 2] = [Self::Replication, Self::Sentinels];

    /// Its word in scenarios; `None` if it has two ends.
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Self::Between(..) | Self::Route(..) => None,
            Self::Replication => Some("replication"),
            Self::Sentinels => Some("sentinels"),
        }
    }
}

impl Target {
    /// Its kind.
    pub const fn kind(self) -> TargetKind {
        match self {
            Self::Host(_) => TargetKind::Host,
            Self::Server(_) => TargetKind::Server,
            Self::Link(Link::Route(..)) => TargetKind::Route,
            Self::Link(_) => TargetKind::Link,
            Self::Client(_) => TargetKind::Client,
        }
    }

    /// Its key among targets of its kind in scenarios: `1`.
    pub fn key(self) -> String {
        match self {
            Self::Host(id) => id.0.to_string(),
            Self::Server(id) | Self::Client(id) => id.0.to_string(),
            Self::Link(Link::Between(one, other)) => format!("{}-{}", one.0, other.0),
            Self::Link(Link::Route(server, host)) => format!("{}-{}", server.0, host.0),
            Self::Link(link) => link.word().unwrap_or_default().to_owned(),
        }
    }

    /// One way of it in words, to stand behind what is done to it: ` from host 1 to host 2`. Nothing for both ways.
    pub fn course(self, direction: Direction) -> String {
        let is_there = direction == Direction::There;
        match self {
            _ if direction == Direction::Both => String::new(),
            Self::Host(_) | Self::Server(_) | Self::Client(_) if is_there => " on the way to it".to_owned(),
            Self::Host(_) | Self::Server(_) | Self::Client(_) => " on the way from it".to_owned(),
            Self::Link(Link::Between(one, other)) if is_there => format!(" from {one} to {other}"),
            Self::Link(Link::Between(one, other)) => format!(" from {other} to {one}"),
            Self::Link(Link::Route(server, host)) if is_there => format!(" from {server} to {host}"),
            Self::Link(Link::Route(server, host)) => format!(" from {host} to {server}"),
            Self::Link(Link::Replication) if is_there => " from the master to its replicas".to_owned(),
            Self::Link(Link::Replication) => " from the replicas to their master".to_owned(),
            Self::Link(Link::Sentinels) if is_there => " from the Sentinels".to_owned(),
            Self::Link(Link::Sentinels) => " to the Sentinels".to_owned(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(id) => id.fmt(f),
            Self::Server(id) => id.fmt(f),
            Self::Client(id) => write!(f, "the clients of {id}"),
            Self::Link(Link::Between(one, other)) => write!(f, "the link of hosts {} and {}", one.0, other.0),
            Self::Link(Link::Route(server, host)) => write!(f, "the link of {server} and {host}"),
            Self::Link(Link::Replication) => f.write_str("replication"),
            Self::Link(Link::Sentinels) => f.write_str("the network of the Sentinels"),
        }
    }
}

/// The kinds of target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum TargetKind {
    /// Hosts of the lab.
    Host,
    /// App servers of the swarm.
    Server,
    /// Connections between hosts.
    Link,
    /// Connections of an app server to a host.
    Route,
    /// The programs of `client` locks, by app server.
    Client,
}

impl TargetKind {
    /// The word before the colon in scenarios: `host:1`.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// One of them, in words: `a host`.
    pub const fn one(self) -> &'static str {
        match self {
            Self::Host => "a host",
            Self::Server => "an app server",
            Self::Link => "a link",
            Self::Route => "the link of an app server",
            Self::Client => "a client",
        }
    }
}

/// Whom a fault of the schedule hits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Targets {
    /// These, whatever they do by then.
    Named(Vec<Target>),
    /// The hosts with this seat when the fault starts.
    By(Seat),
}

impl Targets {
    /// The kind of all of them; `None` if there are none.
    pub fn kind(&self) -> Option<TargetKind> {
        match self {
            Self::Named(targets) => Some(targets.first()?.kind()),
            Self::By(_) => Some(TargetKind::Host),
        }
    }

    /// All of them in words, with what `behind` says of each: once, if that is the same for all.
    pub fn with(&self, behind: impl Fn(Target) -> String) -> String {
        let targets = match self {
            Self::Named(targets) => targets,
            // Of a host, whichever it is, the same is said.
            Self::By(seat) => return format!("the {}{}", seat.word(), behind(Target::Host(HostId(1)))),
        };
        let said: Vec<String> = targets.iter().map(|target| behind(*target)).collect();
        let is_one = said.windows(2).all(|two| two[0] == two[1]);
        let name = |(target, said): (&Target, &String)| {
            if is_one {
                target.to_string()
            } else {
                format!("{target}{said}")
            }
        };
        let names: Vec<_> = targets.iter().zip(&said).map(name).collect();
        let for_all = said.first().filter(|_| is_one).map_or("", String::as_str);
        names.join(" and ") + for_all
    }

    /// How many there are; `None` if that is known only when the fault starts.
    pub const fn count(&self) -> Option<usize> {
        match self {
            Self::Named(targets) => Some(targets.len()),
            Self::By(_) => None,
        }
    }
}

impl fmt::Display for Targets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with(|_| String::new()))
    }
}

/// The seat of a host among the replicated nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, VariantArray, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Seat {
    /// It has the master.
    Primary,
    /// It has a replica.
    Replicas,
}

impl Seat {
    /// Its word in scenarios.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// The hosts with each seat, as they were observed last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seats {
    /// The host that has the master, if one is known.
    pub primary: Option<HostId>,
    /// The hosts that have a replica, the most advanced one first.
    pub replicas: Vec<HostId>,
}

impl Seats {
    /// The hosts with this seat; empty if none is known.
    pub fn of(&self, seat: Seat) -> Vec<Target> {
        let hosts = match seat {
            Seat::Primary => self.primary.as_slice(),
            Seat::Replicas => self.replicas.as_slice(),
        };
        hosts.iter().copied().map(Target::Host).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_written_as_a_list_or_a_word() {
        let named = Targets::Named(vec![Target::Host(HostId(1)), Target::Host(HostId(3))]);
        let json = serde_json::to_string(&[named.clone(), Targets::By(Seat::Replicas)]).unwrap();
        assert_eq!(json, r#"[[{"host":1},{"host":3}],"replicas"]"#);
        let read: [Targets; 2] = serde_json::from_str(&json).unwrap();
        assert_eq!(read, [named.clone(), Targets::By(Seat::Replicas)]);
        assert_eq!(named.to_string(), "host 1 and host 3");
        assert_eq!(Targets::By(Seat::Primary).to_string(), "the primary");
        assert_eq!(named.with(|_| " by 5 ms".to_owned()), "host 1 and host 3 by 5 ms");
        let key = |target: Target| format!(" ({})", target.key());
        assert_eq!(named.with(key), "host 1 (1) and host 3 (3)");
    }

    #[test]
    fn a_seat_may_be_empty() {
        let mut seats = Seats::default();
        assert_eq!((seats.of(Seat::Primary), seats.of(Seat::Replicas)), (vec![], vec![]));
        seats.primary = Some(HostId(2));
        assert_eq!(seats.of(Seat::Primary), [Target::Host(HostId(2))]);
    }
}
