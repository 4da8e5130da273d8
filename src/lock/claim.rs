//! One attempt's commands: asking every node for its vote, and taking back what they may hold.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{
    Gauges, Nodes, Terms,
    ballot::Ballot,
    command,
    job::{Job, Purpose, Report},
    round::{Answer, Round},
    tally::{Slot, quorum},
};
use crate::model::Cause;

/// The votes asked for in one attempt. Dropping it takes all of them back, in the background: those not written are
/// withdrawn, behind all others goes a compare-and-delete on the same connection.
#[derive(Debug)]
pub(super) struct Claim {
    nodes: Nodes,
    ballot: Arc<Ballot>,
    key: Box<str>,
    token: Box<str>,
    ttl: Duration,
    node_timeout: Duration,
}

impl Claim {
    /// Asks all nodes at once, under a new token, and does not wait.
    pub(super) fn new(nodes: &Nodes, key: &str, terms: &Terms, gauges: &Arc<Gauges>) -> Self {
        let token = format!("{:032x}", rand::random::<u128>());
        let ballot = Arc::new(Ballot::new(nodes.len(), quorum(nodes.len()), Arc::clone(gauges)));
        let command = command::set(key, &token, terms.ttl);
        for index in 0..nodes.len() {
            let purpose = Purpose::Vote {
                ballot: Arc::clone(&ballot),
                index,
            };
            nodes.push(
                index,
                Job {
                    command: Arc::clone(&command),
                    timeout: terms.node_timeout,
                    purpose,
                },
            );
        }
        Self {
            nodes: nodes.clone(),
            ballot,
            key: key.into(),
            token: token.into(),
            ttl: terms.ttl,
            node_timeout: terms.node_timeout,
        }
    }

    /// The votes.
    pub(super) fn ballot(&self) -> &Ballot {
        &self.ballot
    }

    /// The number of nodes asked.
    pub(super) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The TTL of the keys.
    pub(super) const fn ttl(&self) -> Duration {
        self.ttl
    }

    /// How long to wait for replies.
    pub(super) const fn node_timeout(&self) -> Duration {
        self.node_timeout
    }

    /// Why each node gave no vote; none where it did.
    pub(super) fn causes(&self, slots: &[Slot]) -> Vec<Option<Cause>> {
        slots
            .iter()
            .enumerate()
            .map(|(index, slot)| self.cause(index, slot))
            .collect()
    }

    fn cause(&self, index: usize, slot: &Slot) -> Option<Cause> {
        match slot {
            Slot::Yes => None,
            Slot::No(cause) => Some(cause.clone()),
            Slot::Written => Some(Cause::Timeout),
            Slot::Queued => Some(self.nodes.unasked(index)),
        }
    }

    /// Asks every node that may hold the key to extend it.
    pub(super) fn extend(&self) -> Arc<Round> {
        let command = command::extend(&self.key, &self.token, self.ttl);
        let round = Arc::new(Round::new(self.nodes()));
        for (index, slot) in self.ballot.slots().iter().enumerate() {
            if slot.may_hold() {
                let purpose = Purpose::Question(Report {
                    round: Arc::clone(&round),
                    index,
                });
                self.nodes.push(
                    index,
                    Job {
                        command: Arc::clone(&command),
                        timeout: self.node_timeout,
                        purpose,
                    },
                );
            } else {
                let cause = self.cause(index, slot).unwrap_or(Cause::Held);
                round.put(index, Answer::Failed(cause));
            }
        }
        round
    }

    /// Takes all votes back. `round` may give a round for the answers of the nodes that must delete the key.
    /// Only the first call does anything.
    pub(super) fn take_back(&self, round: impl FnOnce(usize) -> Option<Arc<Round>>) {
        let holders = self.ballot.close();
        if holders.is_empty() {
            return;
        }
        let round = round(holders.len());
        let command = command::delete(&self.key, &self.token);
        let until = Instant::now() + self.ttl;
        for (place, index) in holders.into_iter().enumerate() {
            let report = round.clone().map(|round| Report { round, index: place });
            let purpose = Purpose::Delete { until, report };
            self.nodes.push(
                index,
                Job {
                    command: Arc::clone(&command),
                    timeout: self.node_timeout,
                    purpose,
                },
            );
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.take_back(|_| None);
    }
}
