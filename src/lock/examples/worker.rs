//! A worker that does a job under a lock, with renewal, and stops when the lock is lost. Start it twice.
//!
//! `cargo run --example worker -- redis://127.0.0.1:6379 [more nodes]`

use std::env;
use std::error::Error;
use std::time::Duration;

use lockstorm_lock::{NodeOptions, Nodes, Redlock, Refusal};
use tokio::time::sleep;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let urls: Vec<String> = env::args().skip(1).collect();
    let nodes = Nodes::open(&urls, NodeOptions::new())?;
    let redlock = Redlock::builder(nodes.clone())
        .ttl(Duration::from_secs(5))
        .renew_every(Duration::from_secs(2))
        .wait_up_to(Duration::from_secs(10))
        .build()?;
    for round in 1..=5 {
        match redlock.acquire("example:worker").await {
            Ok(guard) => {
                tokio::select! {
                    () = sleep(Duration::from_secs(1)) => println!("round {round}: done"),
                    // Somebody else may hold it from now on: stop.
                    () = guard.lost() => println!("round {round}: the lock was lost"),
                }
                guard.release().await;
            }
            Err(Refusal::Contended) => println!("round {round}: somebody else was at it all the time"),
            Err(outage) => println!("round {round}: {outage}"),
        }
    }
    // What was released in the background gets its time.
    nodes.shutdown(Duration::from_secs(1)).await;
    Ok(())
}
