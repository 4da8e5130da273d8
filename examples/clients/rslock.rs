//! The crate `rslock`: Redlock on all nodes that it is given. It has one error for a lock that is held and for missing nodes.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rslock::{Lock, LockError, LockManager};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

/// The longest pause between two tries.
const DELAY: Duration = Duration::from_millis(50);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut lines = BufReader::new(stdin()).lines();
    let start: Value = serde_json::from_str(&lines.next_line().await?.unwrap_or_default())?;
    let nodes: Vec<&str> = start["nodes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let (manager, began) = (LockManager::new(nodes), Instant::now());
    let ttl = Duration::from_millis(start["ttl_ms"].as_u64().unwrap_or(1_000));
    let held = Arc::<Mutex<HashMap<u64, Arc<Lock>>>>::default();
    let can = ["extend", "validity"];
    say(&json!({"op": "started", "name": "rslock", "version": "0.10.0", "language": "rust", "can": can}));
    while let Some(line) = lines.next_line().await? {
        let order: Value = serde_json::from_str(&line)?;
        let (mut manager, held) = (manager.clone(), Arc::clone(&held));
        tokio::spawn(async move {
            let until = |lock: &Lock| began.elapsed().as_nanos() + lock.validity_time as u128 * 1_000_000;
            let held = || held.lock().unwrap_or_else(PoisonError::into_inner);
            let (id, of) = (
                order["id"].as_u64().unwrap_or_default(),
                order["of"].as_u64().unwrap_or_default(),
            );
            let answer = match order["op"].as_str() {
                Some("acquire") => {
                    let wait = Duration::from_millis(order["wait_ms"].as_u64().unwrap_or_default());
                    let tries = 1 + 2 * wait.as_millis() / DELAY.as_millis();
                    manager.set_retry(u32::try_from(tries).unwrap_or(u32::MAX), DELAY);
                    match manager.lock(order["key"].as_str().unwrap_or_default(), ttl).await {
                        Ok(lock) => {
                            let until = until(&lock);
                            held().insert(id, Arc::new(lock));
                            json!({"id": id, "is": "held", "until": until})
                        }
                        Err(LockError::Unavailable) => json!({"id": id, "is": "busy"}),
                        Err(_) => json!({"id": id, "is": "outage"}),
                    }
                }
                Some("extend") => {
                    let lock = held().get(&of).cloned();
                    match lock {
                        Some(lock) => match manager.extend(&lock, ttl).await {
                            Ok(lock) => json!({"id": id, "is": "extended", "until": until(&lock)}),
                            Err(_) => json!({"id": id, "is": "lost"}),
                        },
                        None => json!({"id": id, "is": "lost"}),
                    }
                }
                Some("release") => {
                    let lock = held().remove(&of);
                    if let Some(lock) = lock {
                        manager.unlock(&lock).await;
                    }
                    json!({"id": id, "is": "released"})
                }
                Some("clock") => json!({"id": id, "t": began.elapsed().as_nanos()}),
                _ => return,
            };
            say(&answer);
        });
    }
    Ok(())
}

fn say(message: &Value) {
    // Without Lockstorm nobody needs an answer.
    let _ = std::io::stdout().write_all(format!("{message}\n").as_bytes());
}
