//! A program without a runtime: the lock is renewed in the background while the program blocks.
//!
//! `cargo run --example blocking -- redis://127.0.0.1:6379 [more nodes]`

use std::error::Error;
use std::time::Duration;
use std::{env, thread};

use lockstorm_lock::blocking::Redlock;
use lockstorm_lock::{AcquireOptions, NodeOptions};

fn main() -> Result<(), Box<dyn Error>> {
    let urls: Vec<String> = env::args().skip(1).collect();
    let options = AcquireOptions::new()
        .ttl(Duration::from_secs(1))
        .renew_every(Duration::from_millis(300))
        .wait_up_to(Duration::from_secs(5));
    let redlock = Redlock::open(&urls, NodeOptions::new(), options)?;
    let guard = redlock.acquire("example:blocking")?;
    // For longer than the TTL.
    thread::sleep(Duration::from_secs(2));
    match guard.is_lost() {
        true => println!("the lock was lost meanwhile"),
        false => println!("still held, with {} of {} votes", guard.votes(), guard.nodes()),
    }
    guard.release();
    Ok(())
}
