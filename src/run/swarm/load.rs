//! The load of a run: closed loops, or a dealer with its queues.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use super::dealer::Dealer;
use super::error::SwarmError;
use super::intake::{ClosedLoop, Intake, Queue};
use lockstorm_data::metrics::Timeline;
use lockstorm_data::scenario::{Scenario, Turns, WorkloadSpec};

/// The source of all requests of a run.
#[derive(Debug)]
pub struct Load {
    /// That of the run.
    pub timeline: Arc<Timeline>,
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// Indexed by arm.
    Closed(Vec<Arc<ClosedLoop>>),
    Open {
        /// Indexed by app server, then by arm.
        queues: Vec<Vec<Arc<Queue>>>,
        /// Set once the load has begun.
        dealer: Option<Dealer>,
    },
}

impl Load {
    /// The load of a scenario. It begins with [`Load::begin`].
    pub fn new(scenario: &Scenario, timeline: &Arc<Timeline>) -> Self {
        let (swarm, arms) = (&scenario.swarm, scenario.arms.len());
        let source = if swarm.rate.is_some() {
            let queues = || (0..arms).map(|_| Arc::new(Queue::new(Arc::clone(timeline)))).collect();
            Source::Open {
                queues: (0..swarm.servers).map(|_| queues()).collect(),
                dealer: None,
            }
        } else {
            let turns = swarm.turns.map(|length| Turns::of(length, arms));
            let closed = |arm: usize| {
                let turn = turns.map(|turns| (turns, arm as u64));
                Arc::new(ClosedLoop::new(swarm.think, swarm.requests, turn, Arc::clone(timeline)))
            };
            Source::Closed((0..arms).map(closed).collect())
        };
        Self {
            timeline: Arc::clone(timeline),
            source,
        }
    }

    /// The intake of this arm on this app server.
    pub fn intake(&self, server: usize, arm: usize) -> Intake {
        match &self.source {
            Source::Closed(arms) => Intake::Closed(Arc::clone(&arms[arm])),
            Source::Open { queues, .. } => Intake::Open(Arc::clone(&queues[server][arm])),
        }
    }

    /// Starts the dealer of an open loop: its first request is due at `since`.
    ///
    /// # Errors
    /// The dealer's thread could not be started.
    pub fn begin(&mut self, scenario: &Scenario, since: Instant) -> Result<(), SwarmError> {
        if let (Source::Open { queues, dealer }, Some(rate)) = (&mut self.source, scenario.swarm.rate) {
            let started = Dealer::start(
                &scenario.swarm,
                rate,
                scenario.seed,
                &self.timeline,
                queues.clone(),
                since,
                matches!(scenario.workload, WorkloadSpec::Job(_)),
            );
            *dealer = Some(started.map_err(SwarmError::Dealer)?);
        }
        Ok(())
    }

    /// Sets the rate from now on; does nothing in a closed loop.
    pub fn set_rate(&self, rate: f64) {
        if let Some(dealer) = self.dealer() {
            dealer.set_rate(rate);
        }
    }

    /// Takes a killed app server out of rotation: from now on nothing is dealt to it.
    pub fn remove(&self, server: usize) {
        if let Some(dealer) = self.dealer() {
            dealer.remove(server);
        }
    }

    /// Ends the load: no further request begins. What was due before the timeline's end stays offered, begun or not.
    pub fn end(&mut self) {
        match &mut self.source {
            Source::Closed(arms) => arms.iter().for_each(|closed| closed.end()),
            Source::Open { dealer, .. } => dealer.iter_mut().for_each(Dealer::end),
        }
    }

    /// How many requests were due for each arm in each second, since the last call; `None` in a closed loop, where nothing
    /// is due.
    pub fn offered_by_second(&self) -> Option<BTreeMap<i64, u64>> {
        match &self.source {
            Source::Closed(_) => None,
            Source::Open { dealer, .. } => Some(dealer.as_ref().map(Dealer::due_since).unwrap_or_default()),
        }
    }

    /// Measured requests, for each arm, that were due when no app server was left.
    pub fn dropped(&self) -> u64 {
        self.dealer().map_or(0, Dealer::dropped)
    }

    /// Whether this arm has a fixed number of requests, and all of them were handed out.
    pub fn all_handed_out(&self, arm: usize) -> bool {
        match &self.source {
            Source::Closed(arms) => arms[arm].all_begun(),
            Source::Open { dealer, .. } => dealer.as_ref().is_some_and(Dealer::exhausted),
        }
    }

    /// Whether no further request of this arm will come.
    pub fn exhausted(&self, arm: usize) -> bool {
        match &self.source {
            Source::Closed(arms) => arms[arm].exhausted(),
            Source::Open { dealer, .. } => dealer.as_ref().is_some_and(Dealer::exhausted),
        }
    }

    /// What was dealt to this app server and arm; `None` in a closed loop, where workers take their requests.
    pub fn queue(&self, server: usize, arm: usize) -> Option<&Queue> {
        match &self.source {
            Source::Open { queues, .. } => Some(&queues[server][arm]),
            Source::Closed(_) => None,
        }
    }

    /// How many ticks of jobs were due in the measured part, if each request is one.
    pub fn ticks(&self) -> Option<u64> {
        self.dealer()
            .filter(|dealer| dealer.deals_to_all())
            .map(Dealer::offered)
    }

    const fn dealer(&self) -> Option<&Dealer> {
        match &self.source {
            Source::Open { dealer, .. } => dealer.as_ref(),
            Source::Closed(_) => None,
        }
    }
}
