//! All app servers of one contender, and the phases of their load.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::app_server::{self, Alone, AppServer, Counts, Plan, Ready};
use super::bare::Bare;
use super::board::{Board, Moment, RoundStage};
use super::case::{Case, Load};
use super::client::Setup;
use super::contender::Contender;
use super::engine::Engine;
use super::figures::Usage;
use super::nodes::Reading;
use super::process;
use super::tally::Phase;
use lockstorm_lab::Lab;

/// How long it may take to connect, or to acquire the locks that are held until the end of the load.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Running app servers. Dropping this ends them and waits until they have ended.
pub(super) struct Fleet {
    stage: watch::Sender<RoundStage>,
    board: Arc<Board>,
    servers: Vec<AppServer>,
    attempts: Vec<Box<dyn Fn() -> u64 + Send + Sync>>,
    /// Cycles without any load, if they were measured.
    pub alone: Option<Alone>,
}

/// The readings at one end of a phase.
pub(super) struct Mark {
    at: Instant,
    client_cpu: f64,
    nodes: Vec<Option<Reading>>,
    attempts: Option<u64>,
}

impl Fleet {
    /// Starts the app servers. Returns once their clients are connected; no load runs yet.
    ///
    /// # Errors
    /// The message of a client that could not connect.
    pub async fn start(contender: Contender, case: &Case, setup: &Setup) -> Result<Self, String> {
        let (stage, watch) = watch::channel(RoundStage::Connect);
        let mut fleet = Self {
            stage,
            board: Arc::new(Board::new()),
            servers: Vec::new(),
            attempts: Vec::new(),
            alone: None,
        };
        for index in 0..case.servers {
            let plan = Plan {
                case: *case,
                setup: Setup {
                    // Tasks use the seeds that follow this one.
                    seed: setup.seed + (index as u64) * 1_000_000,
                    ..setup.clone()
                },
                index,
                workers: contender.workers(),
                board: Arc::clone(&fleet.board),
                stage: watch.clone(),
            };
            let server = start_one(contender, plan).map_err(|error| error.to_string())?;
            fleet.servers.push(server);
        }
        for server in &mut fleet.servers {
            let ready = timeout(START_TIMEOUT, &mut server.ready)
                .await
                .map_err(|_| "it did not connect in time".to_owned())?;
            let Ready { alone, attempts } = ready.map_err(|_| "its app server ended".to_owned())??;
            fleet.alone = fleet.alone.or(alone);
            fleet.attempts.extend(attempts);
        }
        Ok(fleet)
    }

    /// Starts the load.
    ///
    /// # Errors
    /// Not all of the locks that are to be held could be acquired.
    pub async fn load(&self, case: &Case) -> Result<(), String> {
        self.stage.send_replace(RoundStage::Load);
        if case.load != Load::Renewal {
            return Ok(());
        }
        let end = Instant::now() + START_TIMEOUT;
        while self.board.holding.load(Relaxed) < case.all_tasks() {
            if Instant::now() > end {
                return Err(format!(
                    "only {} of {} locks were acquired",
                    self.board.holding.load(Relaxed),
                    case.all_tasks()
                ));
            }
            sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// Tells the app servers that a node came back at `at`.
    pub fn back(&self, at: Instant) {
        self.stage.send_replace(RoundStage::Back(at));
    }

    /// Begins a phase.
    pub async fn begin(&self, lab: &Lab, phase: Phase) -> Mark {
        let nodes = read_nodes(lab).await;
        self.board.set_moment(match phase {
            Phase::Baseline => Moment::Baseline,
            Phase::Measured => Moment::Measured,
        });
        Mark {
            attempts: self.attempts(),
            client_cpu: process::cpu_seconds(),
            at: Instant::now(),
            nodes,
        }
    }

    /// Ends the phase that began at `mark`.
    pub async fn end(&self, lab: &Lab, mark: Mark) -> Usage {
        self.board.set_moment(match self.board.moment() {
            Moment::Measured => Moment::After,
            Moment::Baseline | Moment::Between | Moment::After => Moment::Between,
        });
        let wall = mark.at.elapsed();
        let client_cpu = process::cpu_seconds() - mark.client_cpu;
        let attempts = self.attempts().zip(mark.attempts).map(|(after, before)| after - before);
        let nodes = read_nodes(lab).await.into_iter().zip(mark.nodes);
        Usage {
            wall,
            client_cpu,
            nodes: nodes
                .map(|(after, before)| Some(after?.since(before.as_ref(), wall)))
                .collect(),
            attempts,
        }
    }

    /// Ends the load, and returns the counts. The clients stay connected.
    ///
    /// # Errors
    /// An app server panicked.
    pub async fn stop(&mut self) -> Result<Vec<Counts>, String> {
        self.stage.send_replace(RoundStage::Stop);
        let mut counts = Vec::with_capacity(self.servers.len());
        for server in &mut self.servers {
            let counted = (&mut server.counts).await;
            counts.push(counted.map_err(|_| "an app server ended".to_owned())?);
        }
        Ok(counts)
    }

    /// How many of the held locks were lost by the end of the load.
    pub fn lost(&self) -> usize {
        self.board.lost.load(Relaxed)
    }

    fn attempts(&self) -> Option<u64> {
        (!self.attempts.is_empty()).then(|| self.attempts.iter().map(|read| read()).sum())
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.stage.send_replace(RoundStage::Close);
        for server in self.servers.drain(..) {
            // A panic of its thread was reported when its counts did not come.
            let _ = server.thread.join();
        }
    }
}

fn start_one(contender: Contender, plan: Plan) -> std::io::Result<AppServer> {
    match contender {
        Contender::Engine | Contender::EngineMt => app_server::start::<Engine>(plan),
        Contender::Bare => app_server::start::<Bare>(plan),
        #[cfg(feature = "peers")]
        Contender::Rslock | Contender::RslockMt => app_server::start::<super::peers::Rslock>(plan),
        #[cfg(feature = "peers")]
        Contender::Naive => app_server::start::<super::peers::Naive>(plan),
        #[cfg(feature = "peers")]
        Contender::Plain => app_server::start::<super::peers::Plain>(plan),
        #[cfg(not(feature = "peers"))]
        _ => Err(std::io::Error::other("this build has no peers")),
    }
}

/// What each node has counted so far; `None` for a node that is not up. The load goes on meanwhile, so each reading has
/// its own time.
async fn read_nodes(lab: &Lab) -> Vec<Option<Reading>> {
    let mut readings = Vec::new();
    for (host, address) in lab.lock_nodes() {
        let up = lab.state(host).is_up();
        readings.push(if up { Reading::of(&address).await.ok() } else { None });
    }
    readings
}
