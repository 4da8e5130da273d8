//! Several tasks wait in line for one lock.
//!
//! `cargo run --example queue [redis://HOST:PORT ...]`; without URLs it starts three servers of its own.

mod support;

use std::process::ExitCode;
use std::time::Duration;

use lockstorm_lock::{Nodes, Redlock, Refusal};
use support::Outcome;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

const KEY: &str = "example:printer";
const TASKS: usize = 5;

fn main() -> ExitCode {
    support::run(queue)
}

async fn queue(nodes: Nodes) -> Outcome {
    // The clones of a lock share its connections, its waiting line and its gauges.
    let redlock = Redlock::builder(nodes.clone())
        .wait_up_to(Duration::from_secs(5))
        .build()?;
    let gauges = redlock.gauges();

    let mut tasks = JoinSet::new();
    for task in 1..=TASKS {
        tasks.spawn(print(redlock.clone(), task));
    }
    sleep(Duration::from_millis(30)).await;
    println!(
        "after 30ms: {} holds the lock, {} wait",
        gauges.holding(),
        gauges.waiting()
    );
    while let Some(printed) = tasks.join_next().await {
        printed??;
    }
    println!(
        "{} attempts were made for {TASKS} locks: waiters are woken and do not keep asking",
        gauges.attempts()
    );

    // A wait is bounded, and the refusal at its end says why.
    let guard = redlock.acquire(KEY).await?;
    let hurried = Redlock::builder(nodes).wait_up_to(Duration::from_millis(50)).build()?;
    if let Err(refusal) = hurried.acquire(KEY).await {
        println!("given up after 50ms: {refusal}");
    }
    guard.release().await;
    Ok(())
}

/// Holds the lock for 50 ms.
async fn print(redlock: Redlock, task: usize) -> Result<(), Refusal> {
    let start = Instant::now();
    let guard = redlock.acquire(KEY).await?;
    let (waited, attempts) = (start.elapsed(), guard.attempts());
    // If it waited, somebody else may have held the lock meanwhile: read again whatever was read before.
    println!(
        "task {task} waited {waited:.1?}, read anew: {}, attempts: {attempts}",
        guard.waited()
    );
    sleep(Duration::from_millis(50)).await;
    guard.release().await;
    Ok(())
}
