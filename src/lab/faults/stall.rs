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

/// A script that counts until its thread has used so many seconds of a processor, so that it runs at least as long. It can't look at the
/// clock: for scripts that stands still, from Redis 7.2 on.
const COUNT: &str = "
local function used()
    local said = redis.call('INFO', 'cpu')
    local function of(name)
        return tonumber(string.match(said, name .. '_main_thread:([%d.]+)') or string.match(said, name .. ':([%d.]+)'))
    end
    return of('used_cpu_user') + of('used_cpu_sys')
end
local over = used() + tonumber(ARGV[1])
while used() < over do for i = 1, 20000 do end end
return 1";
/// Without an answer for so long, or half the length if that is shorter, a node counts as stalled.
const SILENCE: Duration = Duration::from_millis(200);

/// Lets it stand still for this long at least, and returns as soon as that is seen.
///
/// # Errors
/// It does not answer before, or answers all the time.
pub(super) async fn begin(node: &Node, length: Duration, found: &mut Found) -> Result<(), String> {
    let mut asking = open(node).await?;
    let limit = length * 10 + TIMEOUT;
    let script: JoinHandle<Result<(), String>> = tokio::spawn({
        let address = node.access();
        async move {
            let opened = sessions::open(&address, limit).await;
            let mut session = opened.map_err(|error| words(&error))?;
            let seconds = length.as_secs_f64().to_string();
            order(&mut session, &["EVAL", COUNT, "0", &seconds]).await.map(drop)
        }
    });
    let silence = SILENCE.min(length / 2);
    while !script.is_finished() {
        let start = Instant::now();
        if timeout(silence, asking.ask(&["ECHO", "1"])).await.is_err() {
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
