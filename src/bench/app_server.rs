//! One app server of a contender: a thread with a runtime, a client and its tasks.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::board::{Board, RoundStage, Seat};
use super::case::{Case, Load, Trouble};
use super::client::{Client, Setup};
use super::links::Ways;
use super::tally::{Phase, Recorder, Tally};
use super::worker::Worker;

/// How long tasks may take to end by themselves. It is longer than three tries on nodes that hang take with the redis
/// crate's timeouts.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(4);

/// The number of cycles without any load that are averaged.
const ALONE_CYCLES: u32 = 100;

/// What an app server is made from.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub case: Case,
    pub setup: Setup,
    /// Its number, from 0.
    pub index: usize,
    /// Threads of its runtime; 0 means a current-thread runtime.
    pub workers: usize,
    pub board: Arc<Board>,
    pub stage: watch::Receiver<RoundStage>,
}

/// What cycles without any load take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Alone {
    /// The mean time of an acquire.
    pub acquire: Duration,
    /// The mean bytes of a cycle on that link, and in that direction, where they are the most.
    pub link_bytes: Option<f64>,
}

/// A client that is connected.
pub(super) struct Ready {
    /// Measured only in cases where tasks share a key, or nodes are behind links.
    pub alone: Option<Alone>,
    /// Returns the number of attempts so far.
    pub attempts: Option<Box<dyn Fn() -> u64 + Send + Sync>>,
}

/// What an app server counted.
#[derive(Debug)]
pub(super) struct Counts {
    /// Indexed by phase.
    pub tallies: [Tally; Phase::ALL],
    /// The cycles of each task in the measured phase.
    pub cycles: Vec<u64>,
    /// How long after a node's return a lock had the votes of all nodes again.
    pub back_in_use: Option<Duration>,
}

/// A running app server.
pub(super) struct AppServer {
    pub ready: oneshot::Receiver<Result<Ready, String>>,
    pub counts: oneshot::Receiver<Counts>,
    pub thread: JoinHandle<()>,
}

/// Starts an app server.
pub(super) fn start<C: Client>(plan: Plan) -> io::Result<AppServer> {
    let runtime = runtime(plan.workers)?;
    let (say_ready, ready) = oneshot::channel();
    let (say_counts, counts) = oneshot::channel();
    let thread = thread::Builder::new()
        .name(format!("bench-{}", plan.index + 1))
        .spawn(move || {
            runtime.block_on(serve::<C>(plan, say_ready, say_counts));
            // Whatever a client left running in the background ends here.
        })?;
    Ok(AppServer { ready, counts, thread })
}

fn runtime(workers: usize) -> io::Result<Runtime> {
    if workers == 0 {
        return Builder::new_current_thread().enable_all().build();
    }
    #[cfg(feature = "peers")]
    return super::peers::runtime(workers);
    #[cfg(not(feature = "peers"))]
    Err(io::Error::other("only peers run on several threads"))
}

async fn serve<C: Client>(
    plan: Plan,
    say_ready: oneshot::Sender<Result<Ready, String>>,
    say_counts: oneshot::Sender<Counts>,
) {
    let mut stage = plan.stage.clone();
    let connected = tokio::select! {
        connected = C::connect(&plan.setup) => connected,
        // The driver has given up.
        _ = stage.wait_for(|stage| *stage == RoundStage::Close) => return,
    };
    let client = match connected {
        Ok(client) => client,
        Err(error) => {
            // If nobody listens, the round was given up.
            let _ = say_ready.send(Err(error));
            return;
        }
    };
    let alone = if (plan.case.has_one_key() || plan.case.link.is_some()) && plan.index == 0 {
        alone(&client, plan.setup.ways.as_ref()).await
    } else {
        None
    };
    let ready = Ready {
        alone,
        attempts: client.attempts(),
    };
    let _ = say_ready.send(Ok(ready));
    // If the driver is gone, all stages are over.
    let _ = stage.wait_for(|stage| *stage >= RoundStage::Load).await;
    let recorder = Arc::new(Recorder::new(plan.workers));
    let seats: Vec<Arc<Seat>> = (0..plan.case.tasks).map(|_| Arc::default()).collect();
    let mut tasks = spawn(&plan, &client, &recorder, &seats);
    let prober = (plan.case.trouble == Trouble::Restarted)
        .then(|| tokio::spawn(back_in_use(client.clone(), plan.setup.nodes.len(), plan.stage.clone())));
    let _ = stage.wait_for(|stage| *stage >= RoundStage::Stop).await;
    let drained = async { while tasks.join_next().await.is_some() {} };
    tokio::select! {
        _ = timeout(DRAIN_TIMEOUT, drained) => {}
        _ = stage.wait_for(|stage| *stage == RoundStage::Close) => return,
    }
    let mut tallies = recorder.total();
    for waited in seats.iter().filter_map(|seat| seat.waits(&plan.board)) {
        tallies[Phase::Measured as usize].leave_unfinished(waited);
    }
    drop(tasks);
    let back_in_use = match prober {
        Some(prober) => prober.await.ok().flatten(),
        None => None,
    };
    let _ = say_counts.send(Counts {
        tallies,
        cycles: seats.iter().map(|seat| seat.cycles()).collect(),
        back_in_use,
    });
    // The client sends its remaining deletes now.
    let _ = stage.wait_for(|stage| *stage == RoundStage::Close).await;
}

fn spawn<C: Client>(plan: &Plan, client: &C, recorder: &Arc<Recorder>, seats: &[Arc<Seat>]) -> JoinSet<()> {
    let [hold, think] = plan.case.load.times();
    let mut tasks = JoinSet::new();
    for (task, seat) in seats.iter().enumerate() {
        let worker = Worker {
            client: client.clone(),
            key: if plan.case.has_one_key() {
                "bench:one".to_owned()
            } else {
                format!("bench:{}:{task}", plan.index)
            },
            hold,
            think,
            board: Arc::clone(&plan.board),
            seat: Arc::clone(seat),
            recorder: Arc::clone(recorder),
            stage: plan.stage.clone(),
            seed: plan.setup.seed + task as u64,
        };
        if plan.case.load == Load::Renewal {
            tasks.spawn(worker.hold());
        } else {
            tasks.spawn(worker.cycle());
        }
    }
    tasks
}

/// Cycles without any load; the nodes are behind the links that carry these bytes, if any.
async fn alone<C: Client>(client: &C, ways: Option<&Ways>) -> Option<Alone> {
    let mut sum = Duration::ZERO;
    let before = ways.map(Ways::carried);
    for _ in 0..ALONE_CYCLES {
        let start = Instant::now();
        let held = client.acquire("bench:alone").await.ok()?;
        sum += start.elapsed();
        client.release("bench:alone", held).await;
    }
    let link_bytes = ways.zip(before).and_then(|(ways, before)| {
        let after = ways.carried().into_iter().zip(before);
        after.map(|(after, before)| after - before).max()
    });
    Some(Alone {
        acquire: sum / ALONE_CYCLES,
        link_bytes: link_bytes.map(|bytes| bytes as f64 / f64::from(ALONE_CYCLES)),
    })
}

/// How long after a node's return a lock has the votes of all nodes again; `None` if the client does not report votes.
async fn back_in_use<C: Client>(client: C, nodes: usize, mut stage: watch::Receiver<RoundStage>) -> Option<Duration> {
    let returned = stage
        .wait_for(|stage| *stage > RoundStage::Load)
        .await
        .ok()
        .map(|stage| *stage);
    let Some(RoundStage::Back(returned)) = returned else {
        return None;
    };
    while *stage.borrow() < RoundStage::Stop {
        let held = client.acquire("bench:back").await.ok()?;
        // Votes beyond the quorum come a moment later.
        sleep(Duration::from_millis(2)).await;
        let (votes, elapsed) = (C::votes(&held), returned.elapsed());
        client.release("bench:back", held).await;
        if votes? >= nodes {
            return Some(elapsed);
        }
    }
    None
}
