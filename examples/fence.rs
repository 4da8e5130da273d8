//! A holder that is stopped for longer than its lock lives, and a store that refuses what it sends when it wakes up.
//!
//! `cargo run --example fence [redis://HOST:PORT ...]`; without URLs on three servers of its own. The counter's key stays on
//! the nodes for ever.

mod support;

use std::{process::ExitCode, time::Duration};

use lockstorm::lock::{Nodes, Redlock, fence::QuorumCounter};
use support::Outcome;

const KEY: &str = "example:stock";
const TOKENS: &str = "example:stock:tokens";
const PATIENCE: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    support::run(fence)
}

/// What the lock guards. It keeps the newest token that it was shown, and whose that was.
#[derive(Default)]
struct Store {
    newest: (u64, &'static str),
}

impl Store {
    /// Whether this holder may go on, because nobody newer has been here. Asked at the read and at the write, or else two
    /// that have both read would both write. A database does this as a condition of the statement itself.
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
    let redlock = builder.wait_up_to(PATIENCE).build();
    let mut store = Store::default();

    let _anns = redlock.acquire(KEY).await?;
    // Drawn under the lock: whoever holds it later has the higher number.
    let ann = counter.draw(TOKENS, PATIENCE).await?;
    println!(
        "ann holds the lock, draws token {ann}, reads: {}",
        store.admits(ann, "ann")
    );

    println!("ann is stopped for longer than the 300ms that her lock lives, and does not know it");
    let bobs = redlock.acquire(KEY).await?;
    let bob = counter.draw(TOKENS, PATIENCE).await?;
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
