//! A holder is stopped for longer than its lock is valid, and the store refuses what it sends when it wakes up.
//!
//! `cargo run --example fence [redis://HOST:PORT ...]`; without URLs it starts three servers of its own. The counter's key
//! stays on the nodes for ever.

mod support;

use std::process::ExitCode;
use std::time::Duration;

use lockstorm_lock::fence::QuorumCounter;
use lockstorm_lock::{Nodes, Redlock};
use support::Outcome;

const KEY: &str = "example:stock";
const TOKENS: &str = "example:stock:tokens";
const TIMEOUT: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    support::run(fence)
}

/// The store that the lock guards. It keeps the newest token that it was shown, and the holder who showed it.
#[derive(Default)]
struct Store {
    newest: (u64, &'static str),
}

impl Store {
    /// Whether this holder may go on, because no newer holder has come before it. This is checked at the read and at the
    /// write: otherwise two holders that have both read would both write. A database does this as a condition of the
    /// statement itself.
    fn admits(&mut self, token: u64, holder: &'static str) -> bool {
        let admitted = token > self.newest.0 || self.newest == (token, holder);
        if admitted {
            self.newest = (token, holder);
        }
        admitted
    }
}

async fn fence(nodes: Nodes) -> Outcome {
    let counter = QuorumCounter::new(&nodes);
    let builder = Redlock::builder(nodes).ttl(Duration::from_millis(300));
    let redlock = builder.wait_up_to(TIMEOUT).build()?;
    let mut store = Store::default();

    let _anns = redlock.acquire(KEY).await?;
    // Drawn under the lock, so that a later holder has a higher number.
    let ann = counter.draw(TOKENS, TIMEOUT).await?;
    println!(
        "ann holds the lock, draws token {ann}, reads: {}",
        store.admits(ann, "ann")
    );

    println!("ann is stopped for longer than the 300ms that her lock lives, and does not know it");
    let bobs = redlock.acquire(KEY).await?;
    let bob = counter.draw(TOKENS, TIMEOUT).await?;
    println!(
        "bob holds the lock, draws token {bob}, reads: {}",
        store.admits(bob, "bob")
    );

    let late = store.admits(ann, "ann");
    println!("ann wakes up and writes with token {ann}: {late}");
    println!("bob writes with token {bob}: {}", store.admits(bob, "bob"));
    bobs.release().await;
    if late {
        return Err("the store let in somebody whose lock was lost".into());
    }

    println!(
        "limits: the counter goes back when nodes forget it, so let them sync an append-only file always and evict"
    );
    println!(
        "nothing; and a store that can't compare can't fence. A counter in the guarded row itself is the better one"
    );
    Ok(())
}
