//! What the nodes of a host have lost that was down and is back, or that may lose keys while it is up.

use std::net::SocketAddr;
use std::time::Instant;

use crate::under_test::HeldLock;
use crate::watch::lacks::{ArmLocks, Lacks, lost_keys, of_arms};
use lockstorm_base::monotonic_ns;
use lockstorm_data::model::{Action, Condition, Fault, HostId, How, Ongoing, Skew};
use lockstorm_judge::law::{Loss, LostKeys};
use lockstorm_lab::{Lab, NodeName, Role};

/// A host that is down and is to come back, or that may lose keys while it is up.
#[derive(Debug, Clone)]
pub(crate) struct Returning {
    nodes: Vec<DownNode>,
    /// Whether they keep nothing.
    forgets: bool,
    /// Of one that stays up, how keys end early there.
    early: Option<Early>,
    /// Whether all keys of its nodes are deleted while they are up.
    is_wiped: bool,
    arms: Vec<ArmLocks>,
}

/// How keys end before their TTL is over on a node that stays up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Early {
    /// How far it jumps ahead, in nanoseconds; 0 if it is set back.
    jump: i64,
    /// How fast it runs from then on, in parts per million of the true rate, and not less than that.
    rate_ppm: u32,
}

impl Early {
    /// By this action, if nodes stay up in it, on a host whose clock is wrong like that `now`, if it is.
    fn by(action: Action, now: Option<&Ongoing<Instant>>) -> Option<Self> {
        let (ahead_us, ppm) = match (action, now.map(|ongoing| (&ongoing.how, ongoing.since))) {
            (Action::Fault(Fault::Clock(skew)), _) => (skew.ahead_ms * 1000, skew.rate_ppm),
            (_, Some((Some(How::By(Fault::Clock(skew))), since))) if action.loses_while_up() => {
                (-skew.ahead_us_after(since.elapsed()), Skew::TRUE_RATE)
            }
            _ => {
                return action.loses_while_up().then_some(Self {
                    jump: 0,
                    rate_ppm: Skew::TRUE_RATE,
                });
            }
        };
        Some(Self {
            jump: ahead_us.max(0).saturating_mul(1000),
            rate_ppm: ppm.max(Skew::TRUE_RATE),
        })
    }
}

/// A node that keeps locks, before it comes back.
#[derive(Debug, Clone)]
struct DownNode {
    node: NodeName,
    servers: Vec<SocketAddr>,
    died: Instant,
}

/// A node that is back.
#[derive(Debug)]
pub(crate) struct CameBack {
    /// Its addresses, before and now.
    servers: Vec<SocketAddr>,
    /// Since when it was down.
    died: Instant,
    /// When that was over.
    pub back: Instant,
    /// Whether it keeps nothing.
    forgets: bool,
    /// Of one that stays up, how keys end early there.
    early: Option<Early>,
    /// Whether all its keys were deleted while it was up.
    is_wiped: bool,
    /// When it was looked for its keys, which is when they were gone for certain.
    looked: Instant,
    /// What it lacks of the locks that it voted for and that are held, for each arm by its position; `None` if it did not answer, or
    /// need not be asked.
    lacks: Vec<(usize, Option<Lacks>)>,
}

impl CameBack {
    /// What it has lost of the locks of the arm at this position; `None` if the arm uses no nodes.
    pub fn loss(&self, arm: usize, event: u64) -> Option<Loss> {
        let (_, lacks) = self.lacks.iter().find(|(index, _)| *index == arm)?;
        Some(Loss {
            servers: self.servers.clone(),
            event: Some(event),
            masters: Vec::new(),
            since: monotonic_ns(self.died),
            asked_from: i64::MIN,
            // Whoever asks a dead node gets no vote of it, so a later vote is one of the node that is back. It votes before that is proved.
            asked_before: monotonic_ns(if self.early.is_some() { self.looked } else { self.died }),
            keys: match self.forgets {
                true => LostKeys::All,
                false => lost_keys(lacks.as_ref()),
            },
        })
    }

    /// What it may have lost, or lose, of these locks, and nobody can see: keys that expire early after the look.
    pub fn unseen_loss(&self, arm: usize, event: u64) -> Option<Loss> {
        let Early { jump, rate_ppm } = self.early?;
        if self.is_wiped {
            // Those that had ended when it was looked for them, too.
            return Some(Loss {
                asked_before: monotonic_ns(self.died),
                keys: LostKeys::All,
                ..self.loss(arm, event)?
            });
        }
        let is_fast = rate_ppm > Skew::TRUE_RATE;
        let loss = self.loss(arm, event).filter(|_| is_fast || jump > 0)?;
        Some(Loss {
            // Those that are asked for later too, where it runs fast.
            asked_before: if is_fast { i64::MAX } else { loss.asked_before },
            keys: LostKeys::Early { jump, rate_ppm },
            ..loss
        })
    }
}

impl Returning {
    /// What must be known of this host before this `action` brings it back, or costs it keys. `arms` are those whose lock uses nodes.
    pub fn of(lab: &Lab, host: HostId, action: Action, forgets: bool, arms: Vec<ArmLocks>) -> Self {
        let skewed = lab.state(host).conditions;
        let (early, now) = (Early::by(action, skewed.get(Condition::Skewed)), Instant::now());
        let keeps_locks = |name: &NodeName| {
            let with_locks = matches!(name.role, Role::Lock | Role::Replicated) || name.role.is_in_cluster();
            with_locks && name.host == Some(host)
        };
        let down = |node| {
            let state = lab.node_state(node);
            let down = state.conditions.get(Condition::Down);
            Some(DownNode {
                node,
                servers: lab.servers(node),
                died: match early {
                    None => down?.since,
                    Some(_) => now,
                },
            })
        };
        Self {
            forgets,
            early,
            // A replica forgets only what its master does.
            is_wiped: action == Fault::Forget { every: 1 }.into() && lab.names().all(|name| !has_replicas(name.role)),
            nodes: lab.names().filter(keeps_locks).filter_map(down).collect(),
            arms,
        }
    }

    /// Asks its nodes, which are back since `back`, for the locks that they voted for. Those that keep nothing need not be asked.
    pub async fn look(&self, lab: &Lab, back: Instant) -> Vec<CameBack> {
        let mut all = Vec::new();
        for DownNode { node, servers, died } in &self.nodes {
            let looked = Instant::now();
            let asked_before = if self.early.is_some() { looked } else { *died };
            let is_voter = |server: &SocketAddr| servers.contains(server);
            let on_it = |lock: &HeldLock| lock.voters().iter().any(is_voter);
            let lacks = match self.forgets {
                true => self.arms.iter().map(|(arm, _)| (*arm, None)).collect(),
                false => of_arms(lab, *node, asked_before, &self.arms, on_it).await,
            };
            all.push(CameBack {
                servers: [servers.clone(), lab.servers(*node)].concat(),
                died: *died,
                back,
                forgets: self.forgets,
                early: self.early,
                is_wiped: self.is_wiped,
                looked,
                lacks,
            });
        }
        all
    }
}

const fn has_replicas(role: Role) -> bool {
    matches!(role, Role::Replicated) || role.is_in_cluster()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::collect::availability::Availability;
    use crate::collect::hold_audit::{Hit, HoldAudit};
    use crate::under_test::Guard;
    use crate::workload::HeldLocks;
    use lockstorm_data::metrics::{Figures, Timeline};
    use lockstorm_data::scenario::{LabSpec, Overrides, Source, parse};
    use lockstorm_kit::{beside, lab};
    use lockstorm_lock::{AcquireOptions, Lock, NodeOptions, Nodes, Outcome};

    /// An arm with Redlock, its judge, and the lab that it runs on.
    struct Case {
        lab: Arc<Lab>,
        nodes: Nodes,
        held: Arc<HeldLocks>,
        timeline: Timeline,
    }

    fn audit() -> HoldAudit {
        let source = Source::open("single-vs-redlock").unwrap();
        let scenario = parse(&source, &Overrides::default()).unwrap();
        let redlock = scenario.arms.iter().find(|arm| arm.name == "redlock").unwrap();
        HoldAudit::new(redlock, 1)
    }

    impl Case {
        /// The lock that an acquire of another app server gets; `None` if somebody else has it.
        async fn acquire(&self, hosts: usize, key: &str) -> Option<Guard> {
            let lock = Lock::redlock(&self.nodes.subset(&(0..hosts).collect::<Vec<_>>()), 1);
            let options = AcquireOptions::new().ttl(Duration::from_mins(5));
            loop {
                match lock.acquire(key, &options).await {
                    Ok(guard) => return Some(Guard::Engine(guard)),
                    Err(refusal) if refusal.outcome() == Outcome::Contended => return None,
                    // A host that has just come back is not connected yet.
                    Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                }
            }
        }

        async fn all_connected(&self) {
            while self.nodes.ready(Duration::from_secs(30)).await < 5 {}
        }

        async fn kill(&self, host: usize) {
            self.lab.apply(Action::Fault(Fault::Kill), HostId(host)).await.unwrap();
        }

        async fn bring_back(&self, host: usize) -> Vec<CameBack> {
            let arms = vec![(0, vec![Arc::clone(&self.held)])];
            let returning = Returning::of(&self.lab, HostId(host), Action::Undo(Condition::Down), true, arms);
            let back = self
                .lab
                .apply(Action::Undo(Condition::Down), HostId(host))
                .await
                .unwrap();
            returning.look(&self.lab, back.at).await
        }

        /// Lets a lock with so many votes of so many nodes lose some of them, and somebody else try to acquire it. Returns the figures
        /// of the judge, who is told of the losses only if `told`, and whether the other one got the lock.
        async fn play(&self, (nodes, votes, losses): (usize, usize, usize), told: bool) -> (Figures, bool) {
            let mut audit = audit();
            let key = format!("{nodes} {votes} {losses} {told}");
            for host in votes + 1..=nodes {
                self.kill(host).await;
            }
            let first = self.acquire(nodes, &key).await.unwrap();
            let entered = self.held.enter(0, true, Instant::now(), &key, first.held_lock());
            assert_eq!(first.late_votes().unwrap().wait().await, votes);
            for host in votes + 1..=nodes {
                self.bring_back(host).await;
            }
            for host in 1..=losses {
                self.kill(host).await;
                let back = self.bring_back(host).await;
                audit.look(
                    [Arc::clone(&self.held)].into_iter(),
                    &self.timeline,
                    None,
                    &mut Availability::default(),
                );
                for node in back.iter().filter(|_| told) {
                    let hit = audit.lost(node.loss(0, 7).unwrap(), &[]);
                    assert_eq!(hit.exposed + hit.covered, 1, "it had voted for the lock");
                }
            }
            self.all_connected().await;
            let second = self.acquire(nodes, &key).await;
            if let Some(second) = &second {
                drop(self.held.enter(1, true, Instant::now(), &key, second.held_lock()));
            }
            drop(entered);
            audit.look(
                [Arc::clone(&self.held)].into_iter(),
                &self.timeline,
                None,
                &mut Availability::default(),
            );
            audit.close();
            let mut figures = Figures::default();
            audit.fill(&mut figures);
            (figures, second.is_some())
        }
    }

    impl Case {
        /// That a node is back is proved some time after its first vote.
        async fn votes_of_a_node_that_is_back_are_not_lost(&self) {
            self.kill(1).await;
            let arms = vec![(0, vec![Arc::clone(&self.held)])];
            let [forgets, keeps] = [true, false].map(|forgets| {
                Returning::of(
                    &self.lab,
                    HostId(1),
                    Action::Undo(Condition::Down),
                    forgets,
                    arms.clone(),
                )
            });
            self.lab.apply(Action::Undo(Condition::Down), HostId(1)).await.unwrap();
            self.all_connected().await;
            let guard = self.acquire(1, "early").await.unwrap();
            let entered = self.held.enter(0, true, Instant::now(), "early", guard.held_lock());
            let mut audit = audit();
            audit.look(
                [Arc::clone(&self.held)].into_iter(),
                &self.timeline,
                None,
                &mut Availability::default(),
            );
            for returning in [forgets, keeps] {
                for node in returning.look(&self.lab, Instant::now()).await {
                    assert_eq!(audit.lost(node.loss(0, 7).unwrap(), &[]), Hit::default());
                }
            }
            drop(entered);
        }
    }

    #[tokio::test]
    async fn somebody_else_comes_in_exactly_when_votes_minus_f_are_lost_and_the_judge_knows_why() {
        let (options, _turn) = (lab::options(), beside());
        let lab = Arc::new(Lab::up(&LabSpec::of(5), options).await.unwrap());
        let addresses = lab
            .follow_lock_nodes()
            .into_iter()
            .map(|(_, address)| address)
            .collect();
        let case = Case {
            nodes: Nodes::follow(addresses, NodeOptions::default()),
            held: Arc::default(),
            timeline: Timeline::from(Instant::now()),
            lab: Arc::clone(&lab),
        };
        case.all_connected().await;
        let mut cases = 0;
        for (nodes, votes) in [(3, 2), (3, 3), (5, 3), (5, 4), (5, 5)] {
            let needed = votes - (nodes - 1) / 2;
            for losses in 0..=needed {
                let (figures, came_in) = case.play((nodes, votes, losses), true).await;
                let name = format!("{losses} of {votes} votes of {nodes} nodes lost");
                assert_eq!(came_in, losses == needed, "{name}");
                assert_eq!(figures.double_holds, u64::from(came_in), "{name}");
                assert_eq!((figures.law_violations, figures.unjudged), (0, 0), "{name}");
                let covered = if came_in { losses - 1 } else { losses };
                assert_eq!(figures.covered, covered as u64, "{name}");
                cases += 1;
            }
        }
        assert_eq!(cases, 14);
        case.votes_of_a_node_that_is_back_are_not_lost().await;
        // Nobody has told the judge of a loss: then the law is broken.
        let (figures, came_in) = case.play((3, 2, 1), false).await;
        assert!(came_in);
        assert_eq!(
            (figures.double_holds, figures.law_violations, figures.covered),
            (1, 1, 0)
        );
        lab.down().await;
    }
}
