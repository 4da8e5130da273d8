//! Acquires a lock, shows what its guard knows, and distinguishes a lock that somebody else holds from nodes that are down.
//!
//! `cargo run --example acquire [redis://HOST:PORT ...]`; without URLs it starts three servers of its own.

mod support;

use std::process::ExitCode;
use std::time::Duration;

use lockstorm_lock::{NodeOptions, Nodes, Redlock, Refusal};
use support::Outcome;
use tokio::time::sleep;

const KEY: &str = "example:invoice:42";

fn main() -> ExitCode {
    support::run(acquire)
}

async fn acquire(nodes: Nodes) -> Outcome {
    let redlock = Redlock::builder(nodes).ttl(Duration::from_secs(5)).build()?;

    // One attempt, one round trip: it returns as soon as a majority has voted.
    let guard = redlock.try_acquire(KEY).await?;
    println!("acquired with {} of {} votes", guard.votes(), guard.nodes());
    println!("it can be relied on for {:.1?} of its TTL of 5s", guard.validity());
    sleep(Duration::from_millis(20)).await;
    println!("votes that come late count too: now {}", guard.votes());
    println!(
        "margin: {} of them may be forgotten before somebody else gets in",
        guard.margin()
    );

    // A second holder: here the same program, usually another one.
    match redlock.try_acquire(KEY).await {
        Err(Refusal::Contended) => println!("a second acquire is contended: come back later, or wait in line"),
        Err(outage) => return Err(outage.into()),
        Ok(_) => return Err("two hold the lock".into()),
    }

    let released = guard.release().await;
    println!("released: {} nodes have deleted the key so far", released.deleted);
    println!("a third acquire is granted: {}", redlock.try_acquire(KEY).await.is_ok());

    // Nobody listens there. That does not mean that the lock is taken: nobody can know, and nobody can get it.
    let nowhere = Nodes::open(
        &["redis://127.0.0.1:1", "redis://127.0.0.1:2", "redis://127.0.0.1:3"],
        NodeOptions::default(),
    )?;
    match Redlock::builder(nowhere).build()?.try_acquire(KEY).await {
        Err(Refusal::Contended) | Ok(_) => Err("somebody answers on port 1".into()),
        Err(outage) => {
            println!("without nodes it is an outage: {outage}");
            Ok(())
        }
    }
}
