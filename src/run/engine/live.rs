//! The state of an arm at this moment. Requests that have ended say nothing about those that are stuck, so this comes from
//! the states of the nodes that the arm needs and from the acquires that wait.

use std::time::{Duration, Instant};

use crate::engine::state::Engine;
use crate::show::snapshot::{Health, Live};
use lockstorm_data::model::{Cause, CauseKind, HostId};
use lockstorm_data::scenario::LockNodes;

/// An arm stands still if it has answered nobody for longer than this and than its own work takes.
const STILL: Duration = Duration::from_secs(1);

impl Engine {
    /// Notes the progress of every arm.
    pub(crate) fn note_progress(&mut self) {
        let now = Instant::now();
        for index in 0..self.arms.len() {
            let answers = self.arms[index].collector.answered();
            let failed = self.swarm.failed_attempts(index);
            self.arms[index].activity.note(now, answers, failed);
        }
    }

    pub(crate) fn live(&self, arm: usize) -> Live {
        let now = Instant::now();
        let activity = &self.arms[arm].activity;
        let (per_second, failed_attempts) = activity.rates();
        let oldest_wait = self.swarm.oldest_wait(arm, now);
        let limit = STILL + self.knobs.hold;
        let health = match (self.nodes_health(arm), self.no_vote(arm)) {
            (Health::Well, Some(cause)) => Health::NoVote(cause),
            (Health::Well, None) => match activity.silent(now) {
                Some(silent) if silent > limit && oldest_wait.is_some_and(|wait| wait > STILL) => {
                    Health::Stalled(silent)
                }
                _ => Health::Well,
            },
            (lacking, _) => lacking,
        };
        Live {
            health,
            per_second,
            failed_attempts,
            oldest_wait,
        }
    }

    /// Why the newest acquire got no vote, if none was granted for a second.
    fn no_vote(&self, arm: usize) -> Option<CauseKind> {
        let arm = &self.arms[arm];
        let lacking = arm.collector.lacking().first()?;
        arm.blocked.then(|| lacking.cause.kind())
    }

    /// Whether the nodes that an arm's lock needs are running. A paused host answers nobody, so it does not count.
    pub(crate) fn nodes_health(&self, arm: usize) -> Health {
        let is_up = |host: HostId| self.lab.handle.state(host).conditions.answers();
        let spec = &self.arms[arm].spec;
        match spec.nodes() {
            LockNodes::Master if self.lab.masters().any(is_up) => return Health::Well,
            LockNodes::Master => return Health::NoMaster,
            LockNodes::Cluster if self.lab.cluster.is_down() => return Health::ClusterDown,
            LockNodes::ClusterMasters => {
                let mut lacking = self.arms[arm].collector.lacking().iter();
                if lacking.any(|lacking| lacking.cause == Cause::Moved) {
                    // Only the master that has the key can vote.
                    let of = spec.voters(&self.scenario.lab).len();
                    return Health::NoQuorum { up: 1, of };
                }
            }
            LockNodes::Cluster | LockNodes::Nowhere | LockNodes::OneHost | LockNodes::EveryHost => {}
        }
        match spec.hosts_in(&self.scenario.lab).as_slice() {
            [] => Health::Well,
            [host] if is_up(*host) => Health::Well,
            [host] => Health::NodeDown(*host),
            hosts => {
                let of = hosts.len();
                let up = hosts.iter().filter(|host| is_up(**host)).count();
                if up > of / 2 {
                    Health::Well
                } else {
                    Health::NoQuorum { up, of }
                }
            }
        }
    }

    /// What the hosts' states mean for the arms that need `host`: `: single has no lock node`. Empty if every arm has what
    /// it needs.
    pub(crate) fn consequence(&self, host: HostId) -> String {
        let hit = (0..self.arms.len()).filter_map(|arm| {
            let name = &self.arms[arm].spec.name;
            match self.nodes_health(arm) {
                Health::NodeDown(down) if down == host => Some(format!("{name} has no lock node")),
                Health::NoMaster => Some(format!("{name} has no master")),
                Health::ClusterDown => Some(format!("{name} is down")),
                Health::NoQuorum { up, of } => Some(format!("{name} has no quorum ({up} of {of})")),
                _ => None,
            }
        });
        let hit: Vec<String> = hit.collect();
        if hit.is_empty() {
            String::new()
        } else {
            format!(": {}", hit.join(", "))
        }
    }
}
