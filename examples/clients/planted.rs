//! Lock clients that speak lockstorm-client/1, right ones and broken ones: what a grade must find.
//!
//! `lockstorm grade -- target/debug/examples/planted_client KIND`; the kinds are below.

use std::collections::HashMap;
use std::env;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};
use tokio::time::{Instant, sleep};

/// What is wrong with a client, or with none.
const KINDS: [&str; 12] = [
    // Right: `flock` on a file for each key, which dies with its process.
    "mutex",
    // Right: SET NX PX on one node, a token, compare-and-delete, renewal.
    "plain",
    // Takes the key of whoever has it.
    "no-nx",
    // Deletes the key, whoever has it, and does not renew.
    "plain-del",
    // Has no TTL, and forgets to release each tenth lock.
    "leaks",
    // Grants when the node can't be asked.
    "fail-open",
    // Says that it renews, and does not.
    "dead-renewal",
    // Never answers those who must wait.
    "hangs",
    // Releases, and does not say so.
    "mute",
    // Takes the milliseconds of the TTL for seconds, and asks for them in milliseconds; does not renew.
    "short",
    // Says that its locks are on three nodes, and asks one.
    "says-three",
    // Says that its locks are on all nodes, and each process asks another one.
    "own-node",
];

const EXTEND: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0";
const DELETE: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/// What is held of a lock: a file, or a key with its token.
enum Held {
    File(#[expect(dead_code, reason = "it is released when it is closed")] File),
    Key(String, String),
}

struct Client {
    kind: &'static str,
    url: String,
    ttl_ms: u64,
    renew: bool,
    connection: tokio::sync::Mutex<Option<MultiplexedConnection>>,
    held: Mutex<HashMap<u64, Held>>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted = env::args().nth(1).unwrap_or_default();
    let kind = KINDS.into_iter().find(|kind| *kind == wanted);
    let kind = kind.ok_or_else(|| format!("which kind? {}", KINDS.join(", ")))?;
    let mut lines = BufReader::new(stdin()).lines();
    let start: Value = serde_json::from_str(&lines.next_line().await?.unwrap_or_default())?;
    let all = start["nodes"].as_array().map_or(1, Vec::len).max(1);
    let node = if kind == "own-node" { process() % all } else { 0 };
    let client = Arc::new(Client {
        kind,
        url: start["nodes"][node].as_str().unwrap_or_default().to_owned(),
        ttl_ms: start["ttl_ms"].as_u64().unwrap_or(1_000),
        renew: start["renew"] == true,
        connection: tokio::sync::Mutex::default(),
        held: Mutex::default(),
    });
    let nodes = match kind {
        "says-three" => 3,
        "own-node" => all,
        _ => 1,
    };
    say(&json!({"op": "started", "name": kind, "version": "1", "language": "rust", "can": ["renew"], "nodes": nodes}));
    while let Some(line) = lines.next_line().await? {
        let order: Value = serde_json::from_str(&line)?;
        let client = Arc::clone(&client);
        tokio::spawn(async move {
            let id = order["id"].as_u64().unwrap_or_default();
            let is = match order["op"].as_str() {
                Some("acquire") => client.acquire(id, &order).await,
                Some("release") => client.release(order["of"].as_u64().unwrap_or_default()).await,
                _ => return,
            };
            if client.kind != "mute" || order["op"] != "release" {
                say(&json!({"id": id, "is": is}));
            }
        });
    }
    Ok(())
}

/// The number of this process among the clients of its arm, as its socket has it.
fn process() -> usize {
    let socket = env::var("LOCKSTORM_SOCKET").unwrap_or_default();
    let number = socket.trim_end_matches(".sock").rsplit('-').next();
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}

fn say(message: &Value) {
    let mut line = message.to_string();
    line.push('\n');
    // Without Lockstorm nobody needs an answer.
    let _ = std::io::stdout().write_all(line.as_bytes());
}

impl Client {
    /// The connection, made anew if it broke.
    async fn ask<T: redis::FromRedisValue>(&self, command: &redis::Cmd) -> redis::RedisResult<T> {
        let mut kept = self.connection.lock().await;
        let mut connection = match kept.clone() {
            Some(connection) => connection,
            None => {
                redis::Client::open(self.url.as_str())?
                    .get_multiplexed_async_connection()
                    .await?
            }
        };
        *kept = Some(connection.clone());
        drop(kept);
        let answer = command.query_async(&mut connection).await;
        if answer
            .as_ref()
            .is_err_and(|error: &redis::RedisError| error.is_io_error())
        {
            *self.connection.lock().await = None;
        }
        answer
    }

    async fn acquire(self: &Arc<Self>, id: u64, order: &Value) -> &'static str {
        let key = order["key"].as_str().unwrap_or_default();
        let until = Instant::now() + Duration::from_millis(order["wait_ms"].as_u64().unwrap_or_default());
        loop {
            let came = self.attempt(key).await;
            match came {
                Ok(Some(held)) => {
                    if let Held::Key(key, token) = &held
                        && self.renew
                        && !["dead-renewal", "plain-del", "short"].contains(&self.kind)
                    {
                        tokio::spawn(Arc::clone(self).renew(id, key.clone(), token.clone()));
                    }
                    self.held
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .insert(id, held);
                    return "held";
                }
                Ok(None) if self.kind == "hangs" => std::future::pending().await,
                Ok(None) if Instant::now() >= until => return "busy",
                Err(_) if self.kind == "fail-open" => return "held",
                Err(_) => return "outage",
                Ok(None) => sleep(Duration::from_millis(20)).await,
            }
        }
    }

    async fn attempt(&self, key: &str) -> redis::RedisResult<Option<Held>> {
        if self.kind == "mutex" {
            return Ok(file(key).map(Held::File));
        }
        let token = format!("{:032x}", rand::random::<u128>());
        let mut set = redis::cmd("SET");
        set.arg(key).arg(&token);
        if self.kind != "no-nx" {
            set.arg("NX");
        }
        if self.kind != "leaks" {
            set.arg("PX").arg(match self.kind {
                "short" => self.ttl_ms / 1_000,
                _ => self.ttl_ms,
            });
        }
        let granted: Option<String> = self.ask(&set).await?;
        Ok(granted.map(|_| Held::Key(key.to_owned(), token)))
    }

    async fn renew(self: Arc<Self>, id: u64, key: String, token: String) {
        loop {
            sleep(Duration::from_millis(self.ttl_ms / 3)).await;
            if !self
                .held
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .contains_key(&id)
            {
                return;
            }
            let mut extend = redis::cmd("EVAL");
            extend.arg(EXTEND).arg(1).arg(&key).arg(&token).arg(self.ttl_ms);
            if self.ask::<u64>(&extend).await == Ok(0) {
                return say(&json!({"event": "lost", "of": id}));
            }
        }
    }

    async fn release(&self, of: u64) -> &'static str {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(&of);
        let Some(Held::Key(key, token)) = held else {
            return "released";
        };
        let mut delete = redis::cmd("EVAL");
        delete.arg(DELETE).arg(1).arg(&key).arg(token);
        if self.kind == "plain-del" {
            delete = redis::cmd("DEL");
            delete.arg(&key);
        }
        if self.kind == "leaks" && of.is_multiple_of(10) {
            return "released";
        }
        match self.ask::<u64>(&delete).await {
            Ok(0) => "lost",
            Ok(_) => "released",
            Err(_) => "unknown",
        }
    }
}

/// The file of a key, locked, if nobody else has it locked. It is in the directory of the lab, which is removed with it.
fn file(key: &str) -> Option<File> {
    let socket = PathBuf::from(env::var_os("LOCKSTORM_SOCKET")?);
    let name: String = key.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    let file = File::create(socket.with_file_name(format!("mutex-{name}"))).ok()?;
    file.try_lock().ok().map(|()| file)
}
