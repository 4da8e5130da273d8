//! A node answers nobody for a while, since it runs a long script.

use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::telling::{TIMEOUT, open, order};
use crate::findings::Found;
use crate::server::node::Node;
use crate::server::sessions::{self, words};
use lockstorm_data::metrics::in_micros;
use lockstorm_data::model::{Finding, Observer};
use lockstorm_lock::Session;

/// A script that counts. It can't look at the time: for scripts that stands still, from Redis 7.2 on.
const COUNT: &str = "for i = 1, tonumber(ARGV[1]) do end return 1";
/// How far it counts first, to see how long that takes.
const TRIAL: f64 = 250_000.0;
/// A trial that is shorter says little.
const LONG_ENOUGH: Duration = Duration::from_millis(4);
/// Without an answer for so long, or half the length if that is shorter, a node counts as stalled.
const SILENCE: Duration = Duration::from_millis(200);

/// Lets it stand still for about this long, and returns as soon as that is seen.
///
/// # Errors
/// It does not answer before, or answers all the time.
pub(super) async fn begin(node: &Node, length: Duration, found: &mut Found) -> Result<(), String> {
    let mut session = open(node).await?;
    let count = count_for(&mut session, length).await?;
    let mut asking = open(node).await?;
    let limit = length * 10 + TIMEOUT;
    let script: JoinHandle<Result<(), String>> = tokio::spawn({
        let address = node.access();
        async move {
            let opened = sessions::open(&address, limit).await;
            let mut session = opened.map_err(|error| words(&error))?;
            run(&mut session, count).await
        }
    });
    let silence = SILENCE.min(length / 2);
    while !script.is_finished() {
        let start = Instant::now();
        if timeout(silence, asking.ask(&["PING"])).await.is_err() {
            let for_us = in_micros(start.elapsed());
            found.add_since(start, Finding::Silence { for_us }, Observer::Ping);
            return Ok(());
        }
    }
    match script.await {
        Ok(Err(why)) => Err(why),
        _ => Err("it answered all the time".to_owned()),
    }
}

/// How far it counts in this time.
async fn count_for(session: &mut Session, length: Duration) -> Result<f64, String> {
    let mut count = TRIAL;
    loop {
        let start = Instant::now();
        run(session, count).await?;
        let took = start.elapsed();
        if took >= LONG_ENOUGH {
            return Ok(count * length.as_secs_f64() / took.as_secs_f64());
        }
        count *= 2.0;
    }
}

async fn run(session: &mut Session, count: f64) -> Result<(), String> {
    order(session, &["EVAL", COUNT, "0", &format!("{count:.0}")])
        .await
        .map(drop)
}
