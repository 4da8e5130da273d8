//! After the load: keys that nobody holds and that still can't be locked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::preparation::server_plan;
use super::state::Engine;
use crate::collect::arm::Arm;
use crate::orders::command::{Command, Inbox};
use crate::show::notice::Notice;
use crate::swarm::{ArmPlan, Patience, stuck_locks};
use lockstorm_data::facts::{Caveat, EventKind, Lacking, Step};
use lockstorm_data::metrics::Recorder;
use lockstorm_data::scenario::ArmSpec;

/// How many keys are tried, of the first of the workload.
const MOST: usize = 1_000;
/// How much longer than the longest TTL a key may be taken.
const MARGIN: Duration = Duration::from_secs(1);
/// How long locks are tried that servers refuse which are not ours. It is not known that this is about to end, as it is of ours.
const REFUSED: Duration = Duration::from_secs(5);
/// After this time the user is told what the run waits for.
const PATIENCE: Duration = Duration::from_secs(1);

impl Engine {
    /// Tries to get every lock once, now that nobody holds one. What a killed app server or a broken release left is gone after the
    /// longest TTL. It is not tried if a host or a link is not in order, since then it would prove nothing, or once the user wants to stop.
    pub(crate) async fn try_keys(&mut self, inbox: &mut Inbox) {
        let uses_nodes = self.arms.iter().any(|arm| arm.spec.lock.uses_nodes());
        if !self.lab.all_is_well() || !uses_nodes || self.lab.is_gone() {
            return;
        }
        let names: Vec<String> = self.scenario.workload.about().lock_names().take(MOST).collect();
        let ttls = self
            .arms
            .iter()
            .map(|arm| self.swarm.live_settings.ttl(arm.spec.ttl).max(arm.spec.ttl));
        let within = ttls.max().unwrap_or_default() + MARGIN;
        let are_ours = self.scenario.lab.are_ours();
        let for_each = Patience {
            taken: within,
            refused: if are_ours { within } else { within.min(REFUSED) },
        };
        let arm_plan = |arm: &Arm| ArmPlan {
            // Whether a key is taken no replica tells, and WAIT would take its time for each.
            spec: Arc::new(ArmSpec {
                wait_replicas: 0,
                ..ArmSpec::clone(&arm.spec)
            }),
            database: arm.database.clone(),
            // Nothing is counted for the arms.
            recorder: Arc::new(Recorder::new(Arc::clone(&self.timing.timeline))),
            // Whatever lock an arm has, it is the engine that tries its keys; but only another program knows what its keys are.
            other: arm.other.clone(),
            intake: self.swarm.load.intake(0, arm.index),
        };
        let arms = self.arms.iter().map(arm_plan).collect();
        let index = self.swarm.servers.len();
        let plan = server_plan(&self.scenario, &self.lab.handle, &self.swarm, index, arms);
        let mut trial = std::pin::pin!(stuck_locks(&plan, &names, for_each));
        let mut patience = std::pin::pin!(sleep(PATIENCE));
        let mut told = false;
        self.stage.gives_up_at = Some(Instant::now() + within);
        let stuck = loop {
            tokio::select! {
                stuck = &mut trial => break stuck,
                command = inbox.next() => if command == Command::Stop {
                    return;
                },
                () = &mut patience, if !told => {
                    told = true;
                    let at_most_s = within.as_secs();
                    let step = Step::TriesLocks { at_most_s };
                    self.log.push(EventKind::Phase { step });
                }
                _ = self.ticks.tick() => self.tick(),
            }
        };
        self.stage.gives_up_at = None;
        match stuck {
            // What was refused since something failed meanwhile is not stuck.
            Ok(_) if !self.lab.all_is_well() => {}
            Ok(stuck) => {
                for (index, tried) in stuck.into_iter().enumerate() {
                    let Some(tried) = tried else { continue };
                    let spec = &self.arms[index].spec;
                    // What a server of ours does follows from the scenario. Another one was changed by somebody else.
                    match Lacking::of(spec, &tried.refused).filter(|_| !are_ours) {
                        None => self.arms[index].noted.stuck = Some(tried.failed),
                        Some(lacking) => {
                            let arm = spec.name.clone();
                            self.note([Notice::Once(Caveat::NoLockAtEnd { arm, lacking })]);
                        }
                    }
                }
            }
            Err(error) => tracing::warn!("the keys could not be tried: {error}"),
        }
    }
}
