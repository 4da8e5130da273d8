//! The table of cases.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::EnumDiscriminants;

use super::contender::Contender;
use lockstorm_data::model::{Fault, HostId};

/// One case: a load, and what goes wrong with the nodes meanwhile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    /// Its name on the command line and in the record.
    pub name: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// What the tasks do.
    pub load: Load,
    /// App servers: a thread, a runtime, connections and a lock each.
    pub servers: usize,
    /// Tasks on each app server, or locks that each holds.
    pub tasks: usize,
    /// Hosts, each with one lock node.
    pub hosts: usize,
    /// Whether clients talk to the nodes over TLS.
    pub tls: bool,
    /// The bytes a second that the link to each node carries in each direction; `None`: as many as the machine can.
    pub link: Option<u64>,
    /// The TTL of the locks.
    pub ttl: Duration,
    /// What goes wrong with the nodes.
    pub trouble: Trouble,
    /// The measured part takes this many times as long as usual.
    pub stretch: u32,
}

/// What the tasks of a case do.
#[derive(Debug, Clone, Copy, PartialEq, EnumDiscriminants)]
#[strum_discriminants(
    name(LoadKind),
    doc = "The kind of load of a case.",
    derive(Serialize, Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Load {
    /// Each task acquires and releases its own key, again and again.
    OwnKeys,
    /// All tasks acquire and release the same key, again and again.
    OneKey {
        /// The time inside the lock.
        hold: Duration,
        /// The mean of an exponentially distributed pause before each acquire; zero: no pause.
        think: Duration,
    },
    /// Each task holds a lock, which is renewed every third of its TTL.
    Renewal,
}

impl Load {
    /// The time inside the lock, and the mean pause before an acquire.
    pub(super) const fn times(self) -> [Duration; 2] {
        match self {
            Self::OneKey { hold, think } => [hold, think],
            Self::OwnKeys | Self::Renewal => [Duration::ZERO; 2],
        }
    }
}

/// What goes wrong with the nodes of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// Nothing.
    None,
    /// Host 1 is paused for the measured part.
    Paused,
    /// Host 1 is killed before the measured part.
    Killed,
    /// Host 1 is paused before the client connects.
    Hung,
    /// Host 1 is killed, and starts again empty when the measured part begins.
    Restarted,
    /// Hosts 1 and 2 of five are paused for the measured part. Three are left, which is a quorum.
    TwoPaused,
    /// Hosts 1 and 2 of three are killed, so there is no quorum.
    MostKilled,
    /// Hosts 1 and 2 of three are paused, so there is no quorum.
    MostPaused,
}

impl Trouble {
    /// The fault and its hosts; the last host is never broken.
    pub(super) const fn breaks(self) -> Option<(Fault, &'static [HostId])> {
        const ONE: &[HostId] = &[HostId(1)];
        const TWO: &[HostId] = &[HostId(1), HostId(2)];
        match self {
            Self::None => None,
            Self::Paused | Self::Hung => Some((Fault::Pause, ONE)),
            Self::Killed | Self::Restarted => Some((Fault::Kill, ONE)),
            Self::TwoPaused | Self::MostPaused => Some((Fault::Pause, TWO)),
            Self::MostKilled => Some((Fault::Kill, TWO)),
        }
    }
}

/// The usual values: 64 tasks with keys of their own on one app server, three healthy nodes, no TLS, a TTL of 10 s.
const OWN: Case = Case {
    name: "own-64",
    title: "64 tasks, each its own key",
    load: Load::OwnKeys,
    servers: 1,
    tasks: 64,
    hosts: 3,
    tls: false,
    link: None,
    ttl: Duration::from_secs(10),
    trouble: Trouble::None,
    stretch: 1,
};

const ONE_GREEDY: Load = Load::OneKey {
    hold: Duration::from_millis(2),
    think: Duration::ZERO,
};

const ONE_THINK: Load = Load::OneKey {
    hold: Duration::from_millis(2),
    think: Duration::from_millis(20),
};

/// 300 tasks over links of 1 MB/s. A few hundred tasks fill the links for as long as a node may owe a reply, and each of
/// 2,000 could be served within the second that its acquire may wait.
const LINK: Case = Case {
    name: "link-300",
    title: "300 tasks, each its own key, over links of 1 MB/s",
    tasks: 300,
    link: Some(1_000_000),
    stretch: 3,
    ..OWN
};

/// Four app servers with as many tasks as make the machine busy.
const FLEET: Case = Case {
    name: "fleet-4x64",
    title: "4 app servers with 64 tasks each, each its own key",
    servers: 4,
    ..OWN
};

/// All cases.
pub const CASES: &[Case] = &[
    Case {
        name: "own-1",
        title: "1 task",
        tasks: 1,
        ..OWN
    },
    OWN,
    Case {
        name: "own-256",
        title: "256 tasks, each its own key",
        tasks: 256,
        ..OWN
    },
    Case {
        name: "tls-64",
        title: "64 tasks, each its own key, over TLS",
        tls: true,
        ..OWN
    },
    Case {
        name: "one-64",
        title: "64 greedy tasks on one key, 2 ms inside",
        load: ONE_GREEDY,
        stretch: 4,
        ..OWN
    },
    Case {
        name: "one-64-think",
        title: "64 tasks on one key, 2 ms inside, 20 ms think time",
        load: ONE_THINK,
        stretch: 4,
        ..OWN
    },
    Case {
        name: "one-4x16",
        title: "4 app servers with 16 greedy tasks each on one key, 2 ms inside",
        load: ONE_GREEDY,
        servers: 4,
        tasks: 16,
        stretch: 4,
        ..OWN
    },
    Case {
        name: "one-4x16-think",
        title: "4 app servers with 16 tasks each on one key, 2 ms inside, 20 ms think time",
        load: ONE_THINK,
        servers: 4,
        tasks: 16,
        stretch: 4,
        ..OWN
    },
    LINK,
    Case {
        name: "link-600",
        title: "600 tasks over the same links",
        tasks: 600,
        ..LINK
    },
    Case {
        name: "link-1000",
        title: "1,000 tasks over the same links",
        tasks: 1000,
        ..LINK
    },
    Case {
        name: "link-2000",
        title: "2,000 tasks over the same links",
        tasks: 2000,
        ..LINK
    },
    FLEET,
    Case {
        name: "fleet-4x3000",
        title: "4 app servers with 3,000 tasks each, each its own key",
        tasks: 3000,
        stretch: 3,
        ..FLEET
    },
    Case {
        name: "fleet-8x64",
        title: "8 app servers with 64 tasks each, each its own key",
        servers: 8,
        ..FLEET
    },
    Case {
        name: "fleet-8x3000",
        title: "8 app servers with 3,000 tasks each, each its own key",
        servers: 8,
        tasks: 3000,
        stretch: 3,
        ..FLEET
    },
    Case {
        name: "paused",
        title: "own-64 while one node is paused",
        trouble: Trouble::Paused,
        stretch: 10,
        ..OWN
    },
    Case {
        name: "five-two-paused",
        title: "own-64 on five nodes while two of them are paused",
        hosts: 5,
        trouble: Trouble::TwoPaused,
        stretch: 2,
        ..OWN
    },
    Case {
        name: "killed",
        title: "own-64 while one node is down",
        trouble: Trouble::Killed,
        stretch: 2,
        ..OWN
    },
    Case {
        name: "hung",
        title: "own-64 with one node paused before the client connects",
        trouble: Trouble::Hung,
        stretch: 2,
        ..OWN
    },
    Case {
        name: "restarted",
        title: "own-64 from the moment a killed node is back",
        trouble: Trouble::Restarted,
        ..OWN
    },
    Case {
        name: "short-ttl",
        title: "own-64 with a TTL of 400 ms while one node is paused",
        ttl: Duration::from_millis(400),
        trouble: Trouble::Paused,
        stretch: 2,
        ..OWN
    },
    Case {
        name: "no-quorum-killed",
        title: "8 tasks while two of three nodes are down",
        tasks: 8,
        trouble: Trouble::MostKilled,
        ..OWN
    },
    Case {
        name: "no-quorum-paused",
        title: "8 tasks while two of three nodes are paused",
        tasks: 8,
        trouble: Trouble::MostPaused,
        ..OWN
    },
    Case {
        name: "renewal",
        title: "10,000 locks held and renewed on one app server",
        load: Load::Renewal,
        tasks: 10_000,
        stretch: 10,
        ..OWN
    },
    Case {
        name: "renewal-paused",
        title: "1,000 renewed locks with a TTL of 1 s while one node is paused",
        load: Load::Renewal,
        tasks: 1000,
        ttl: Duration::from_secs(1),
        trouble: Trouble::Paused,
        ..OWN
    },
    Case {
        name: "renewal-restarted",
        title: "1,000 renewed locks with a TTL of 1 s from the moment a killed node is back",
        load: Load::Renewal,
        tasks: 1000,
        ttl: Duration::from_secs(1),
        trouble: Trouble::Restarted,
        ..OWN
    },
];

impl Case {
    /// The case with this name.
    ///
    /// # Errors
    /// A line that names the nearest case.
    pub fn find(name: &str) -> Result<Self, String> {
        let known = CASES.iter().find(|case| case.name == name);
        known.copied().ok_or_else(|| {
            let hint = lockstorm_data::scenario::hint(name, CASES.iter().map(|case| case.name));
            format!("there is no case \"{name}\"{hint}")
        })
    }

    /// The contenders of this case, in the order of the first round.
    pub fn contenders(&self) -> Vec<Contender> {
        Contender::ALL
            .iter()
            .copied()
            .filter(|contender| self.includes(*contender))
            .collect()
    }

    /// Whether this contender takes part.
    fn includes(&self, contender: Contender) -> bool {
        match contender {
            Contender::Engine => true,
            // Only the engine renews locks by itself.
            _ if self.load == Load::Renewal => false,
            Contender::Rslock | Contender::Naive => true,
            // Several app servers already have several threads.
            Contender::RslockMt => self.servers == 1 && self.link.is_none(),
            // These say how fast it can be where nothing goes wrong.
            Contender::EngineMt | Contender::Bare if self.load != Load::OwnKeys || self.trouble != Trouble::None => {
                false
            }
            Contender::EngineMt => self.servers == 1 && self.link.is_none(),
            Contender::Bare => !self.tls,
            // A client of one node has nothing to show when another node fails.
            Contender::Plain => self.trouble == Trouble::None,
        }
    }

    /// The length of the measured part, if it usually is `time`.
    pub fn measured(&self, time: Duration) -> Duration {
        match (self.load, self.trouble) {
            // This must show that locks are kept for longer than a TTL.
            (Load::Renewal, Trouble::Paused | Trouble::Restarted) => self.ttl * 10,
            // The figures after a restart are always those of the first two seconds.
            (_, Trouble::Restarted) => Duration::from_secs(2),
            _ => time * self.stretch,
        }
    }

    /// The number of tasks on all app servers.
    pub const fn all_tasks(&self) -> usize {
        self.servers * self.tasks
    }

    /// Whether its tasks wait for one another.
    pub const fn has_one_key(&self) -> bool {
        matches!(self.load, Load::OneKey { .. })
    }
}
