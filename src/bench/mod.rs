//! The lock engine beside its peers, on the lab's own nodes.
//!
//! A *case* is a load and what befalls the nodes meanwhile, a *contender* a lock client. In each round of a case every
//! contender runs once, alone, in an order that rotates; so noise of the machine hits all of them, and what is compared is the
//! ratio within a round. All of it is one process: contenders differ in their code and in nothing else.
//!
//! Loads are closed loops: a task that waits asks for nothing meanwhile. The times are those that a caller waits; they say
//! nothing about requests that arrive whatever happens.

mod app_server;
mod board;
mod case;
mod certificates;
mod client;
mod contender;
mod engine;
mod figures;
mod fleet;
mod labs;
mod metric;
mod nodes;
#[cfg(feature = "peers")]
mod peers;
mod process;
mod result;
mod round;
mod statistics;
mod summing_up;
mod tally;
mod target;
mod worker;

use std::path::PathBuf;
use std::pin::pin;
use std::time::{Duration, SystemTime};

use tokio::select;

pub use self::case::{CASES, Case, Load, Trouble};
pub use self::certificates::Certificates;
pub use self::contender::Contender;
pub use self::figures::{Figures, Times};
pub use self::metric::Metric;
pub use self::result::{BenchRecord, CaseResult, LeftOut, LoadKind, Ratio, RoundResult, Run, Summary};
pub use self::statistics::{Spread, jain};
pub use self::target::{Beside, Bound, Judged, TARGETS, Target};

use self::client::Setup;
use self::labs::{Found, Labs};
use self::round::Round;
use crate::lab::{Lab, LabError, ServerBinary, TlsFiles};
use crate::run::{Machine, Stop, Stops};

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct BenchOptions {
    /// The cases, in order.
    pub cases: Vec<Case>,
    /// How often, 1 at least.
    pub rounds: usize,
    /// How long the measured part of a round takes where the case does not stretch it.
    pub time: Duration,
    /// The server program of all nodes.
    pub server: ServerBinary,
    /// The lockstorm executable that becomes the keeper; none: this program.
    pub keeper: Option<PathBuf>,
    /// Of nodes that speak TLS, signed by an authority that this process trusts, as [`Certificates::trusted`] makes them; or
    /// why there are none, for cases that need them.
    pub tls: Result<TlsFiles, String>,
}

impl BenchOptions {
    /// About how long it will take.
    #[must_use]
    pub fn estimate(&self) -> Duration {
        // Starting, warming up, draining and counting what is left.
        let around = Duration::from_millis(700);
        let rounds = u32::try_from(self.rounds).unwrap_or(u32::MAX);
        self.cases
            .iter()
            .map(|case| {
                let baseline = if case.trouble == Trouble::None {
                    Duration::ZERO
                } else {
                    self.time
                };
                let one = case.measured(self.time) + baseline + around;
                one * u32::try_from(case.contenders().len()).unwrap_or(u32::MAX) * rounds
            })
            .sum()
    }
}

/// Why a bench produced nothing.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A host did not start, or could not be broken or restored.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// A node does not answer.
    #[error("a node does not answer: {0}")]
    Node(#[from] redis::RedisError),
    /// This process has no runtime, or can't listen for signals.
    #[error("cannot start: {0}")]
    Io(#[from] std::io::Error),
}

/// What happens while it runs.
#[derive(Debug)]
pub enum Step<'a> {
    /// A round of a case begins.
    Round {
        /// The case.
        case: &'a Case,
        /// Counted from 1.
        round: usize,
        /// Of so many.
        rounds: usize,
    },
    /// A contender begins its run.
    Begins(Contender),
    /// It has ended.
    Ended(&'a Case, &'a Run),
    /// A case can't be measured here, and why.
    LeftOut(&'a Case, &'a str),
}

/// Runs all cases. The first SIGINT, SIGTERM, SIGHUP or SIGQUIT ends it with what was measured so far.
///
/// # Errors
/// When the lab fails. Nothing of it is left then.
pub fn bench(
    options: &BenchOptions,
    mut show: impl FnMut(Step<'_>),
) -> Result<(BenchRecord, Option<Stop>), BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // Before anything starts, so that no signal finds it unprotected.
        let mut stops = Stops::listen()?;
        let mut stopped = pin!(stops.next());
        let mut record = BenchRecord::new(options);
        let mut labs = Labs::new(options);
        let ran = select! {
            ran = cases(options, &mut labs, &mut record, &mut show) => ran.map(|()| None),
            stop = &mut stopped => Ok(Some(stop)),
        };
        labs.down().await;
        let stop = ran?;
        Ok((record.end(options, stop.is_some()), stop))
    })
}

async fn cases(
    options: &BenchOptions,
    labs: &mut Labs<'_>,
    record: &mut BenchRecord,
    show: &mut impl FnMut(Step<'_>),
) -> Result<(), BenchError> {
    for case in &options.cases {
        let lab = match labs.of(case).await? {
            Found::Lab { lab, new } => {
                if new {
                    record.nodes.extend(lab.settings());
                }
                lab
            }
            Found::None(why) => {
                show(Step::LeftOut(case, &why));
                record.leave_out(case, why);
                continue;
            }
        };
        let setup = setup(case, lab);
        let mut contenders = case.contenders();
        record.begin(case, options.time, &setup);
        for round in 1..=options.rounds {
            show(Step::Round {
                case,
                round,
                rounds: options.rounds,
            });
            record.begin_round();
            for &contender in &contenders {
                show(Step::Begins(contender));
                let round = Round {
                    lab,
                    case,
                    contender,
                    setup: &setup,
                    time: options.time,
                };
                let run = round.run().await?;
                show(Step::Ended(case, &run));
                record.add(run);
            }
            contenders.rotate_left(1);
        }
    }
    Ok(())
}

fn setup(case: &Case, lab: &Lab) -> Setup {
    Setup {
        nodes: lab.nodes(),
        tls_ports: lab.tls_ports().filter(|_| case.tls),
        ttl: case.ttl,
        waits: case.has_one_key(),
        renew: (case.load == Load::Renewal).then(|| case.ttl / 3),
        seed: 42,
    }
}

impl BenchRecord {
    fn new(options: &BenchOptions) -> Self {
        Self {
            format: Self::FORMAT,
            lockstorm: env!("CARGO_PKG_VERSION").to_owned(),
            peers: cfg!(feature = "peers"),
            started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            machine: Machine::this(),
            cpu_model: process::cpu_model(),
            nodes: Vec::new(),
            time_s: options.time.as_secs_f64(),
            warm_up_ms: round::WARM_UP.as_secs_f64() * 1e3,
            orphans_after_ms: round::ORPHANS_AFTER.as_secs_f64() * 1e3,
            rounds: options.rounds,
            interrupted: false,
            cases: Vec::new(),
            left_out: Vec::new(),
            targets: Vec::new(),
        }
    }

    fn end(mut self, options: &BenchOptions, interrupted: bool) -> Self {
        self.interrupted = interrupted;
        self.sum_up(&options.cases);
        self
    }
}
