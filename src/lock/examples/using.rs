//! Work that runs only under its locks: it is stopped when the lock is lost, and the lock is released whatever becomes of it.
//!
//! `cargo run --example using -- redis://127.0.0.1:6379 [more nodes]`

use std::env;
use std::error::Error;
use std::time::Duration;

use lockstorm_lock::{NodeOptions, Nodes, NotDone, Redlock};
use tokio::time::sleep;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let urls: Vec<String> = env::args().skip(1).collect();
    let redlock = Redlock::builder(Nodes::open(&urls, NodeOptions::new())?)
        .renew_every(Duration::from_secs(3))
        .build()?;
    let work = async |guard: &lockstorm_lock::Guard| {
        // A step that takes longer than the rest asks for more time.
        guard.extend_to(Duration::from_secs(60)).await?;
        sleep(Duration::from_millis(200)).await;
        Ok::<_, lockstorm_lock::NotExtended>(42)
    };
    match redlock.using("example:report", work).await {
        Ok(done) => println!("the report has {} pages", done?),
        Err(NotDone::Refused(refusal)) => println!("not begun: {refusal}"),
        Err(lost) => println!("not to be relied on: {lost}"),
    }
    // Both accounts or none, in an order that is the same for all.
    let both = redlock.acquire_all(&["example:account:7", "example:account:3"]).await?;
    println!("{} accounts are locked", both.len());
    both.release().await;
    // What was released in the background gets its time.
    redlock.nodes().shutdown(Duration::from_secs(1)).await;
    Ok(())
}
