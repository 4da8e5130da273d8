//! The state of an arm at this moment. Requests that have ended say nothing about those that are stuck, so this comes from
//! the states of the nodes that the arm needs and from the acquires that wait.

use std::time::{Duration, Instant};

use super::lab::LiveLab;
use crate::collect::arm::Arm;
use crate::collect::live_swarm::LiveSwarm;
use crate::show::snapshot::{Health, Live};
use lockstorm_data::facts::{Shortage, Unavailable};
use lockstorm_data::model::{Cause, CauseKind, HostId};
use lockstorm_data::scenario::LockNodes;
use lockstorm_lab::Role;

/// An arm stands still if it has answered nobody for longer than this and than its own work takes.
const STILL: Duration = Duration::from_secs(1);

impl LiveLab {
    /// How an arm fares whose work takes `hold`.
    pub fn live(&self, arm: &Arm, swarm: &LiveSwarm, hold: Duration) -> Live {
        let now = Instant::now();
        let (per_second, failed_attempts) = arm.activity.rates();
        let oldest_wait = swarm.oldest_wait(arm.index, now);
        let limit = STILL + hold;
        let health = match (self.health(arm), no_vote(arm)) {
            (Health::Well, Some(cause)) => Health::NoVote(cause),
            (Health::Well, None) => match arm.activity.silent(now) {
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

    /// Whether the nodes that an arm's lock needs are running. One that is paused answers nobody, so it does not count; what
    /// became of the other nodes of its host does not matter.
    fn health(&self, arm: &Arm) -> Health {
        let role = match arm.spec.nodes() {
            LockNodes::Nowhere | LockNodes::OneHost | LockNodes::EveryHost => Some(Role::Lock),
            LockNodes::Master | LockNodes::FirstMaster => Some(Role::Replicated),
            // Either of a host's two nodes may be a master.
            LockNodes::Cluster | LockNodes::ClusterMasters => None,
        };
        let is_up = |host: HostId| match role {
            Some(role) => self.node_answers(host, role),
            None => self.answers(host),
        };
        match arm.spec.nodes() {
            LockNodes::Master if self.roles.masters().any(is_up) => return Health::Well,
            LockNodes::Master => return Health::NoMaster,
            LockNodes::Cluster if self.cluster.is_down() => return Health::ClusterDown,
            LockNodes::ClusterMasters => {
                let mut lacking = arm.collector.lacking.iter();
                if lacking.any(|lacking| lacking.cause == Cause::Moved) {
                    // Only the master that has the key can vote.
                    let of = arm.voters.len();
                    return Health::NoQuorum { up: 1, of };
                }
            }
            LockNodes::Cluster
            | LockNodes::Nowhere
            | LockNodes::OneHost
            | LockNodes::FirstMaster
            | LockNodes::EveryHost => {}
        }
        Health::of_nodes(&arm.hosts(), is_up)
    }

    /// What the hosts' states mean for the arms that need `host`: `: single has no lock node`. Empty if every arm has what
    /// it needs.
    pub fn unavailable(&self, host: HostId, arms: &[Arm]) -> Vec<Unavailable> {
        let hit = arms.iter().filter_map(|arm| {
            let why = match self.health(arm) {
                Health::NodeDown(down) if down == host => Shortage::NoNode,
                Health::NoMaster => Shortage::NoMaster,
                Health::ClusterDown => Shortage::ClusterDown,
                Health::NoQuorum { up, of } => Shortage::NoQuorum { up, of },
                _ => return None,
            };
            let arm = arm.spec.name.clone();
            Some(Unavailable { arm, why })
        });
        hit.collect()
    }
}

/// Why the newest acquire got no vote, if none was granted for a second.
fn no_vote(arm: &Arm) -> Option<CauseKind> {
    let lacking = arm.collector.lacking.first()?;
    arm.announced.is_blocked().then(|| lacking.cause.kind())
}
