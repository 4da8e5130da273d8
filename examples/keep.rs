//! Keeps a lock for work that takes longer than its TTL, and stops the work when the lock is lost.
//!
//! `cargo run --example keep [redis://HOST:PORT ...]`; without URLs it starts three servers of its own.

mod support;

use std::future::pending;
use std::process::ExitCode;
use std::time::Duration;

use lockstorm_lock::{Guard, Nodes, Redlock};
use support::Outcome;
use tokio::time::{Instant, sleep};

const KEY: &str = "example:report";

fn main() -> ExitCode {
    support::run(keep)
}

async fn keep(nodes: Nodes) -> Outcome {
    let redlock = Redlock::builder(nodes)
        // Short, so that others need not wait for long if this process dies ...
        .ttl(Duration::from_millis(500))
        // ... and extended as long as it lives. A third of the TTL or less leaves time for a second try if an extension
        // fails.
        .renew_every(Duration::from_millis(100))
        // But not for ever: work that hangs must not keep a lock.
        .lifetime(Duration::from_millis(1500))
        .build()?;

    println!("work of 1s under a lock of 500ms:");
    work(redlock.acquire(KEY).await?, sleep(Duration::from_secs(1))).await;
    println!("work that hangs:");
    work(redlock.acquire(KEY).await?, pending()).await;
    println!("the next one gets the lock: {}", redlock.acquire(KEY).await.is_ok());
    Ok(())
}

/// Does the work as long as the lock is held.
async fn work(guard: Guard, work: impl Future<Output = ()>) {
    let start = Instant::now();
    tokio::select! {
        () = work => {
            println!("  done after {:.1?}, and the lock was held all the time", start.elapsed());
            guard.release().await;
        }
        // The work's future is dropped at its current await. Work that does not await, or whose process is stopped, does not
        // notice the loss: only fencing helps then (see the example `fence`).
        () = guard.lost() => println!("  stopped after {:.1?}: the lock is over, somebody else may have it", start.elapsed()),
    }
}
