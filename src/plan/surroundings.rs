use std::time::Duration;

use super::draws::{draw, duration, poisson};
use super::elapsed::until_quorum;
use super::question::Question;
use super::spread::Spread;
use lockstorm_lock::protocol::Wait;
use lockstorm_lock::simulation::{Faults, Span, Weights};

/// App servers of sections that are played back to back.
const BACK_TO_BACK: usize = 64;

/// Who plays in virtual time, what they share, and what breaks there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// Clients, each an app server with a clock and connections of its own.
    pub clients: usize,
    /// Workers of each client, which do one section after another.
    pub workers: usize,
    /// The locks that they share, one of which is picked at random for each section; `None` if each worker has its own.
    pub keys: Option<usize>,
    /// What a client does when the lock is not free.
    pub wait: Wait,
    /// The longest that an acquire may take; `None`: as long as the TTL.
    pub timeout: Option<Duration>,
    /// The longest that a node is waited for; `None`: as long as the TTL.
    pub node_timeout: Option<Duration>,
    /// The time from the end of a section to the next acquire.
    pub think: Span,
    /// The most by which clocks are fast or slow, in millionths, 0 to 5000.
    pub drift_ppm: u32,
    /// Whether the work stands still while its app server pauses, so that as much is left after a pause as before.
    pub pauses_stop_work: bool,
    /// Whether the nodes share a machine, so that they are slow together: a round trip is then drawn for all of them at once.
    pub share_machine: bool,
    /// What breaks besides, independently of each other.
    pub faults: Vec<Faults>,
}

impl Default for Surroundings {
    /// Sections back to back, each with a lock of its own, and nothing that breaks.
    fn default() -> Self {
        Self {
            clients: BACK_TO_BACK,
            workers: 1,
            keys: None,
            wait: Wait::FailFast,
            timeout: None,
            node_timeout: None,
            think: Span::micros(1, 1000),
            drift_ppm: 0,
            pauses_stop_work: true,
            share_machine: false,
            faults: Vec::new(),
        }
    }
}

/// The mean time of a section with its acquire and its release, in seconds.
fn busy(question: &Question) -> f64 {
    let quorum = until_quorum(&question.round_trip, question.nodes);
    let round: f64 = quorum.iter().map(|(time, weight)| time * weight).sum();
    question.hold.mean() + 2.0 * round
}

/// Crashes of lock nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeCrashes {
    /// How many there are in a second, of all nodes together.
    pub per_second: f64,
    /// How long a node stays away.
    pub away: Spread,
    /// Whether it comes back with its keys.
    pub keeps: bool,
}

/// Jumps of the clocks of lock nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockJumps {
    /// How many there are in a second, of all nodes together.
    pub per_second: f64,
    /// How far a clock jumps.
    pub by: Spread,
    /// Whether it jumps back, and not forward.
    pub back: bool,
}

impl Surroundings {
    /// So many clients that together do as many sections a second as the question says, and crash as often.
    pub fn of_clients(question: &Question, clients: usize) -> Self {
        let busy = busy(question);
        let each = clients as f64 / question.per_second;
        // Evenly from nearly nothing to twice the mean.
        let think = duration((each - busy).max(1e-6) * 2.0);
        let crashes = question.crashes_per_second / (busy / each).clamp(1e-9, 1.0);
        let faults = (crashes > 0.0).then(|| Faults {
            every: poisson(crashes),
            lasts: Span::of(Duration::from_secs(1)).into(),
            weights: Weights {
                kill: 1,
                ..Weights::default()
            },
        });
        Self {
            clients,
            think: Span {
                least: Duration::from_micros(1),
                most: think.max(Duration::from_micros(1)),
            },
            faults: faults.into_iter().collect(),
            ..Self::default()
        }
    }

    /// About how many sections a second they do, if nothing breaks.
    pub fn per_second(&self, question: &Question) -> f64 {
        let think = (self.think.least + self.think.most).as_secs_f64() / 2.0;
        (self.clients * self.workers) as f64 / (busy(question) + think)
    }

    /// The most sections a second that so many clients can do, if they never rest.
    pub fn most_per_second(question: &Question, clients: usize) -> f64 {
        clients as f64 / busy(question)
    }

    /// Lets clocks of nodes jump too.
    pub fn jump_clocks(&mut self, jumps: &ClockJumps) {
        let (jump, jump_back) = (u32::from(!jumps.back), u32::from(jumps.back));
        self.also(
            jumps.per_second,
            &jumps.by,
            Weights {
                jump,
                jump_back,
                ..Weights::default()
            },
        );
    }

    /// Lets nodes crash too.
    pub fn crash_nodes(&mut self, crashes: &NodeCrashes) {
        let (crash, forget) = (u32::from(crashes.keeps), u32::from(!crashes.keeps));
        self.also(
            crashes.per_second,
            &crashes.away,
            Weights {
                crash,
                forget,
                ..Weights::default()
            },
        );
    }

    fn also(&mut self, per_second: f64, lasts: &Spread, weights: Weights) {
        self.faults.push(Faults {
            every: poisson(per_second),
            lasts: draw(lasts),
            weights,
        });
    }
}
