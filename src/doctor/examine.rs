//! Asks a server for its facts. It is changed in nothing but one key, which expires soon even if we are killed.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::facts::{Clock, Facts, Server};
use super::settings::Settings;
use crate::lock::{NodeAddress, NodeOptions, Nodes, Redlock, Reply, Session, SessionError, Wait};

/// How many PINGs are measured.
const PINGS: usize = 50;
/// How often the clock is asked; the closest answer counts.
const CLOCK_ASKS: usize = 8;
/// How long the lock of the trial lives at most.
const TRIAL_TTL: Duration = Duration::from_secs(2);
/// How long the trial waits for a server: it asks whether it may, not how fast.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(1);
/// The settings that matter.
const SETTINGS: [&str; 2] = ["appendfsync", "min-replicas-to-write"];

/// Everything that the checks need to know of a server.
pub async fn examine(address: &NodeAddress, settings: &Settings) -> Facts {
    let host = address.host();
    let server = ask_all(address, settings).await;
    Facts {
        name: address.to_string(),
        is_loopback: host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()),
        uses_tls: address.uses_tls(),
        server: server.map_err(|error| why(&error)),
    }
}

/// Why a server could not be asked, in words.
fn why(error: &SessionError) -> String {
    let SessionError::Io(io) = error else {
        return error.to_string();
    };
    match io.kind() {
        ErrorKind::ConnectionRefused => "connection refused: nobody listens there".to_owned(),
        ErrorKind::TimedOut => format!("no answer within {:?}", NodeOptions::default().connect_timeout),
        ErrorKind::InvalidData => "what answers there is not a Redis or Valkey".to_owned(),
        ErrorKind::UnexpectedEof => "it closes the connection".to_owned(),
        _ => io.to_string(),
    }
}

async fn ask_all(address: &NodeAddress, settings: &Settings) -> Result<Server, SessionError> {
    let options = NodeOptions::default();
    let mut session = Session::open(address, &options).await?;
    let info = info(&mut session).await?;
    let config = config(&mut session).await?;
    let round_trips = round_trips(&mut session).await?;
    let clock = clock(&mut session).await?;
    let mut second = Session::open(address, &options).await?;
    let second_run_id = self::info(&mut second)
        .await?
        .ok()
        .and_then(|mut info| info.remove("run_id"));
    let is_open = is_open(address, &options).await;
    let may_lock = info.as_ref().is_ok_and(|info| {
        let is = |field: &str, value: &str| info.get(field).is_some_and(|said| said == value);
        // Others can't grant a lock, whatever the user may do.
        !is("role", "slave") && !is("cluster_enabled", "1") && !is("redis_mode", "sentinel")
    });
    let lock = if may_lock || info.is_err() {
        Some(trial(address, settings, &mut session).await)
    } else {
        None
    };
    Ok(Server {
        info,
        config,
        second_run_id,
        is_open,
        round_trips,
        clock,
        lock,
    })
}

/// Whether somebody without a password may run commands there.
async fn is_open(address: &NodeAddress, options: &NodeOptions) -> bool {
    let scheme = if address.uses_tls() { "rediss" } else { "redis" };
    let host = match address.host() {
        ip if ip.contains(':') => format!("[{ip}]"),
        host => host.to_owned(),
    };
    let Ok(anonymous) = NodeAddress::parse(&format!("{scheme}://{host}:{}", address.port())) else {
        return false;
    };
    match Session::open(&anonymous, options).await {
        Ok(mut session) => matches!(session.ask(&["PING"]).await, Ok(Reply::Ok | Reply::Text(_))),
        Err(_) => false,
    }
}

/// The fields of `INFO`, or the server's error.
async fn info(session: &mut Session) -> Result<Result<BTreeMap<String, String>, String>, SessionError> {
    Ok(match session.ask(&["INFO"]).await? {
        Reply::Text(text) => Ok(text
            .lines()
            .filter_map(|line| line.trim_end().split_once(':'))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()),
        Reply::Error(error) => Err(error),
        _ => Err("an answer of another kind".to_owned()),
    })
}

async fn config(session: &mut Session) -> Result<Result<BTreeMap<String, String>, String>, SessionError> {
    let mut found = BTreeMap::new();
    for name in SETTINGS {
        match session.ask(&["CONFIG", "GET", name]).await? {
            Reply::Array(fields) => {
                let value = Reply::field(&fields, name).map(str::to_owned);
                found.extend(value.map(|value| (name.to_owned(), value)));
            }
            Reply::Error(error) => return Ok(Err(error)),
            _ => {}
        }
    }
    Ok(Ok(found))
}

/// How long PINGs took, shortest first; empty if it does not answer them.
async fn round_trips(session: &mut Session) -> Result<Vec<Duration>, SessionError> {
    let mut times = Vec::with_capacity(PINGS);
    for _ in 0..PINGS {
        let start = Instant::now();
        if let Reply::Error(_) = session.ask(&["PING"]).await? {
            return Ok(Vec::new());
        }
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(times)
}

/// The server's clock by the answer that took the shortest time.
async fn clock(session: &mut Session) -> Result<Option<Clock>, SessionError> {
    let mut best: Option<Clock> = None;
    for _ in 0..CLOCK_ASKS {
        let (before, start) = (SystemTime::now(), Instant::now());
        let Reply::Array(fields) = session.ask(&["TIME"]).await? else {
            return Ok(None);
        };
        let half = micros(start.elapsed() / 2);
        let ours = before.duration_since(UNIX_EPOCH).map_or(0, micros).saturating_add(half);
        let number = |field: Option<&Reply>| match field {
            Some(Reply::Text(text)) => text.parse::<i64>().ok(),
            _ => None,
        };
        let (Some(seconds), Some(rest)) = (number(fields.first()), number(fields.get(1))) else {
            return Ok(None);
        };
        let theirs = seconds.saturating_mul(1_000_000).saturating_add(rest);
        if best.is_none_or(|best| half < best.within_us) {
            best = Some(Clock {
                ahead_us: theirs.saturating_sub(ours),
                within_us: half,
            });
        }
    }
    Ok(best)
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

/// Acquires, extends and releases a lock by the engine itself, and sees that its key is gone.
async fn trial(address: &NodeAddress, settings: &Settings, session: &mut Session) -> Result<(), String> {
    let options = NodeOptions {
        node_timeout: TRIAL_TIMEOUT,
        ..NodeOptions::default()
    };
    let redlock = Redlock::builder(Nodes::connect(std::slice::from_ref(address), options))
        .ttl(TRIAL_TTL)
        .wait(Wait::FailFast, TRIAL_TIMEOUT)
        .build();
    let key = format!("{}lockstorm-doctor-{:016x}", settings.prefix, rand::random::<u64>());
    let guard = redlock.acquire(&key).await.map_err(|refusal| refusal.to_string())?;
    let extended = guard.extend().await;
    let released = guard.release().await;
    // Who may not delete by script may perhaps delete; otherwise the key is gone after its TTL.
    let _ = session.ask(&["DEL", &key]).await;
    extended.map_err(|error| error.to_string())?;
    match released.deleted {
        0 => Err("the lock could not be deleted".to_owned()),
        _ => Ok(()),
    }
}
