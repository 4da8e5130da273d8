//! The acts: what is played, and what is asked of the client in it.

use super::criterion::{self, Criterion};
use super::reason::Reason;
use super::subject::Subject;
use lockstorm_data::scenario::{Overrides, Scenario, ScenarioErrors, Source, Topology, parse};

/// What all acts have in common. Everything else is in the table.
const BASE: &str = r#"
duration = "6s"
lab      = { hosts = 3 }
swarm    = { servers = 3, workers = 4 }
workload = { kind = "inventory", products = 24, stock = 1000000, hold = { median = "40ms", sigma = 0.3 } }

[[arm]]
name    = "client"
lock    = "redlock"
ttl     = "1s"
renew   = "ttl/3"
wait    = { retries = 40, delay = "25ms", jitter = "25ms" }
timeout = "2s"
on_loss = "abort"
"#;

/// A node restarts with its keys three times, since a client that is wrong loses a lock only sometimes. 4.5 s between them leave room for waits that
/// are too long, and whoever holds each lock for 1.5 s has held one for half a second each time.
const RESTARTS: &str = r#"
[[fault]]
at = "2s"
do = "kill"
on = "host:1"
for = "200ms"

[[fault]]
at = "6500ms"
do = "kill"
on = "host:1"
for = "200ms"

[[fault]]
at = "11s"
do = "kill"
on = "host:1"
for = "200ms"
"#;

/// An act.
pub(crate) struct Act {
    pub name: &'static str,
    /// What happens in it, in a few words.
    pub title: &'static str,
    /// Changes of the base, as on the command line.
    set: &'static [&'static str],
    /// Its faults, as in a scenario.
    faults: &'static str,
    /// Who plays it.
    for_whom: ForWhom,
    /// What is asked of those who hold its locks.
    pub holders: Criterion,
    /// What is asked besides that, and besides what is always asked.
    pub asks: &'static [Criterion],
}

/// Who plays an act.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ForWhom {
    All,
    /// Those whose locks can be renewed.
    Renewing,
    /// Those on one node: the master that Sentinels name.
    OnOneNode,
}

/// What is asked in each act, besides who holds its locks.
pub(crate) const ALWAYS: [Criterion; 4] = [
    criterion::works,
    criterion::damage,
    criterion::answers,
    criterion::stuck,
];

const PLAIN: Act = Act {
    name: "",
    title: "",
    set: &[],
    faults: "",
    for_whom: ForWhom::All,
    holders: criterion::exclusion,
    asks: &[],
};

/// All acts, in the order in which they are played. The first one tells how fast the client is if nothing fails.
pub(crate) const ACTS: [Act; 14] = [
    Act {
        name: "healthy",
        title: "nothing fails",
        asks: &[criterion::busy_is_told, criterion::lasts, criterion::enough],
        ..PLAIN
    },
    Act {
        name: "contention",
        title: "twelve workers want one lock",
        set: &["workload.products=1", "workload.hold=5ms"],
        asks: &[criterion::busy_is_told, criterion::lasts, criterion::enough],
        ..PLAIN
    },
    Act {
        name: "node-paused",
        title: "a node stands still for two seconds",
        faults: "[[fault]]\nat = \"2s\"\ndo = \"pause\"\non = \"host:1\"\nfor = \"2s\"\n",
        asks: &[criterion::one_of_many, criterion::recovers],
        ..PLAIN
    },
    Act {
        name: "node-killed",
        title: "a node is killed and comes back empty two seconds later",
        faults: "[[fault]]\nat = \"2s\"\ndo = \"kill\"\non = \"host:1\"\nfor = \"2s\"\n",
        asks: &[criterion::one_of_many, criterion::recovers],
        ..PLAIN
    },
    Act {
        name: "node-bounced",
        title: "a node is killed and comes back empty at once, while locks are held",
        // Half of the workers wait, so that they come in at once if the keys are gone.
        set: &["workload.hold=1500ms", "workload.products=6", "arm.client.ttl=3s"],
        faults: "[[fault]]\nat = \"2s\"\ndo = \"kill\"\non = \"host:1\"\nfor = \"100ms\"\n",
        asks: &[criterion::recovers],
        ..PLAIN
    },
    Act {
        name: "failover",
        title: "the master is killed with the Sentinel of its host, and the others choose another one",
        set: &[
            "duration=10s",
            "arm.client.lock=single",
            "arm.client.topology=replicated",
            "lab.replicated.down_after=1s",
            // The old master is told at once that it is a replica now, so that whoever stays with it shows.
            "lab.replicated.sentinel_period=100ms",
        ],
        faults: "[[fault]]\nat = \"2s\"\ndo = \"kill\"\non = \"primary\"\nfor = \"5s\"\n",
        for_whom: ForWhom::OnOneNode,
        asks: &[criterion::recovers],
        ..PLAIN
    },
    Act {
        name: "majority-away",
        title: "most nodes are killed and come back empty five seconds later",
        // Longer than an acquire may take, so that a client that waits for the nodes shows, and all others are refused and hear why.
        set: &["duration=10s"],
        faults: "[[fault]]\nat = \"2s\"\ndo = \"kill\"\non = \"majority\"\nfor = \"5s\"\n",
        asks: &[criterion::outage_is_told, criterion::recovers],
        ..PLAIN
    },
    Act {
        name: "slow-replies",
        title: "a node answers 300 ms later for three seconds",
        faults: "[[fault]]\nat = \"2s\"\ndo = \"lag\"\ndelay = \"150ms\"\non = \"host:1\"\nfor = \"3s\"\n",
        asks: &[criterion::one_of_many],
        ..PLAIN
    },
    Act {
        name: "connection-broken",
        title: "a node restarts with its keys three times while locks are renewed",
        // Half of the workers wait, so that they come in at once if a lock ends. Most locks are extended once while the node is away, and
        // hardly any twice.
        set: &[
            "duration=14s",
            "workload.hold=1500ms",
            "workload.products=12",
            "swarm.workers=8",
            "lab.persistence=aof-always",
        ],
        faults: RESTARTS,
        for_whom: ForWhom::Renewing,
        asks: &[criterion::renewed, criterion::recovers],
        ..PLAIN
    },
    Act {
        name: "long-work",
        title: "work of two and a half TTLs, with renewal",
        set: &["workload.hold=2500ms", "duration=8s"],
        for_whom: ForWhom::Renewing,
        asks: &[criterion::renewed],
        ..PLAIN
    },
    Act {
        name: "overrun",
        title: "work of two TTLs without renewal",
        set: &[
            "workload.hold=2s",
            "workload.products=6",
            "arm.client.renew=off",
            "duration=8s",
        ],
        holders: criterion::end_is_told,
        ..PLAIN
    },
    Act {
        name: "client-paused",
        title: "an app server with its client stands still for three and a half TTLs",
        // Most of its workers hold a lock at any time.
        set: &["swarm.workers=8", "workload.hold=400ms", "duration=8s"],
        faults: "[[fault]]\nat = \"2s\"\ndo = \"pause\"\non = \"server:1\"\nfor = \"3500ms\"\n",
        holders: criterion::end_is_told,
        ..PLAIN
    },
    Act {
        name: "holder-killed",
        title: "an app server is killed with the locks that it holds",
        set: &["workload.products=6", "workload.hold=200ms"],
        faults: "[[fault]]\nat = \"2s\"\ndo = \"kill\"\non = \"server:1\"\n",
        ..PLAIN
    },
    Act {
        name: "waiting-restart",
        title: "a node restarts with its keys three times while eleven workers wait for one lock",
        // All wait anew every quarter of a second, so that who misses the restart waits for most of the timeout.
        set: &[
            "duration=14s",
            "workload.products=1",
            "workload.hold=20ms",
            "lab.persistence=aof-always",
        ],
        faults: RESTARTS,
        asks: &[criterion::recovers],
        ..PLAIN
    },
];

/// The names of the acts.
pub fn names() -> Vec<&'static str> {
    ACTS.iter().map(|act| act.name).collect()
}

impl Act {
    /// Why it says nothing of this one, if that is so.
    pub fn not_for(&self, subject: &Subject) -> Option<Reason> {
        match self.for_whom {
            ForWhom::Renewing if !subject.renews() => Some(Reason::CannotRenew),
            ForWhom::OnOneNode if subject.nodes() > 1 => Some(Reason::NoSentinel),
            _ => None,
        }
    }

    /// Its scenario, with this one in the arm.
    ///
    /// # Errors
    /// It is not valid, which is a bug.
    pub fn scenario(&self, subject: &Subject, seed: u64) -> Result<Scenario, ScenarioErrors> {
        let source = Source {
            name: self.name.to_owned(),
            text: format!("title = \"{}\"\n{BASE}{}", self.title, self.faults),
        };
        let overrides = Overrides {
            set: self.set.iter().map(|set| (*set).to_owned()).collect(),
            seed: Some(seed),
            ..Overrides::default()
        };
        let mut scenario = parse(&source, &overrides)?;
        for arm in &mut scenario.arms {
            let topology = arm.topology;
            subject.play_as(arm);
            if topology == Topology::Replicated {
                arm.hosts = None;
            }
        }
        Ok(scenario)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::scenario::LockKind;

    #[test]
    fn every_act_is_a_scenario_and_has_a_name_of_its_own() {
        let client = |nodes| Subject::Client {
            command: vec!["true".to_owned()],
            name: "x".to_owned(),
            nodes,
            renews: false,
        };
        for act in &ACTS {
            for subject in [
                client(1),
                client(3),
                Subject::Engine(LockKind::Single),
                Subject::Engine(LockKind::Redlock),
            ] {
                let scenario = act
                    .scenario(&subject, 1)
                    .unwrap_or_else(|why| panic!("{}: {why}", act.name));
                assert_eq!(scenario.arms.len(), 1);
                assert!(scenario.duration.as_secs() <= 15, "an act is short");
            }
        }
        let mut names = names();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ACTS.len());
    }
}
