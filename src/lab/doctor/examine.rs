//! Asks a server for its facts. It is changed in nothing but some keys, which are deleted, and expire soon even if we are killed.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::clock::{clock_of, since_epoch};
use super::facts::{Facts, Keys, Refused, Server, Trial, TtlSeen, Unreached, is_unknown_command};
use super::lock_use::LockUse;
use crate::running;
use crate::server::sessions;
use lockstorm_data::metrics::{Clock, ClockRate};
use lockstorm_lock::{
    Cause, NodeAddress, NodeOptions, Nodes, NotExtended, Redlock, Refusal, Reply, Session, SessionError,
};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// What a server says of itself that is there, but gives no answer of the kind that was asked for.
const ANOTHER_KIND: &str = "an answer of another kind";
/// How long a server has to say why it refuses a connection.
const HEARING: Duration = Duration::from_millis(200);
/// How many PINGs are measured.
const PINGS: usize = 50;
/// How often the clock is asked at once; the closest answer counts.
const CLOCK_ASKS: usize = 8;
/// How often it is asked after that, and the time between two of these, for its rate.
const RATE_ASKS: usize = 4;
const RATE_PAUSE: Duration = Duration::from_millis(100);
/// How long all that is asked again and again may take: servers that are far away are judged by fewer answers.
const MEASURING: Duration = Duration::from_secs(2);
/// How long the keys of the trial live at most.
pub const TRIAL_TTL: Duration = Duration::from_secs(10);
/// How many keys the trial sets besides its lock.
const TRIAL_KEYS: usize = 100;
/// How many parts of an examination are told when they are done.
pub const PARTS: u64 = 6;
/// How long the trial waits for a server: it asks whether it may, not how fast.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(3);
/// The commands without which no lock works: those that the engine sends, and those that its scripts call.
const NEEDED: [&str; 6] = ["SET", "GET", "PTTL", "PEXPIRE", "DEL", "EVAL"];
/// The settings that matter.
const SETTINGS: [&str; 4] = [
    "appendfsync",
    "min-replicas-to-write",
    "no-appendfsync-on-rewrite",
    // A KeyDB has it.
    "active-replica",
];

/// Everything that the checks need to know of a server. `done` is called for each of [`PARTS`] that is done, fewer times if the
/// server can't be asked.
pub async fn examine(address: &NodeAddress, lock_use: &LockUse, done: impl Fn()) -> Facts {
    let host = address.host();
    let server = match ask_all(address, lock_use, &done).await {
        Ok(server) => Ok(server),
        Err(error) => Err(unreached(error, hear(address).await.as_deref())),
    };
    Facts {
        name: address.to_string(),
        is_loopback: is_socket(address)
            || host == "localhost"
            || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()),
        uses_tls: address.uses_tls(),
        port: own_port(address),
        server,
    }
}

/// How long the server may take to accept a connection, and for each reply.
fn limit() -> Duration {
    NodeOptions::default().connect_timeout
}

/// What a server says to a connection before it is asked, which most do only to refuse it. `None`: it accepts none.
async fn hear(address: &NodeAddress) -> Option<String> {
    // The kernel accepts connections to a process that is stopped, too. One to a socket of this machine does not take long.
    if is_socket(address) {
        return Some(String::new());
    }
    let connect = TcpStream::connect((address.host(), address.port()));
    let mut stream = timeout(limit(), connect).await.ok()?.ok()?;
    let mut heard = [0; 256];
    let length = match timeout(HEARING, stream.read(&mut heard)).await {
        Ok(Ok(length)) => length,
        _ => 0,
    };
    Some(String::from_utf8_lossy(&heard[..length]).trim_end().to_owned())
}

/// Whether it is the path of a Unix socket.
fn is_socket(address: &NodeAddress) -> bool {
    address.host().contains('/')
}

/// The port of the address, unless the server may well name another one: over a socket or TLS, or behind a door of a lab's proxy.
fn own_port(address: &NodeAddress) -> Option<u16> {
    let is_known = is_socket(address) || address.uses_tls() || running::has_door(address.port());
    (!is_known).then(|| address.port())
}

/// Why a server could not be asked that says this to a new connection; `None`: it accepts none.
fn unreached(error: SessionError, heard: Option<&str>) -> Unreached {
    let kind = match error {
        SessionError::Denied(text) | SessionError::Answer(text) => return Unreached::Denied(text),
        SessionError::Tls(text) => return Unreached::Tls(text),
        SessionError::Io(ref io) => io.kind(),
        _ => return Unreached::Silent(sessions::words(&error)),
    };
    Unreached::Silent(match kind {
        ErrorKind::ConnectionRefused => "connection refused: nothing is listening there".to_owned(),
        ErrorKind::TimedOut if heard.is_some() => {
            return Unreached::Stalled(format!(
                "it accepts the connection, and does not reply within {:?}",
                limit()
            ));
        }
        ErrorKind::TimedOut => format!("no connection within {:?}", limit()),
        // A server that allows no more clients says so and closes at once, which may be seen before what it says.
        ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
            return match heard.and_then(|heard| heard.strip_prefix('-')) {
                Some(why) => Unreached::Denied(why.to_owned()),
                None => Unreached::Closed,
            };
        }
        _ => sessions::words(&error),
    })
}

async fn ask_all(address: &NodeAddress, lock_use: &LockUse, done: &impl Fn()) -> Result<Server, SessionError> {
    let options = NodeOptions::default();
    let mut session = Session::open(address, &options).await?;
    done();
    let info = info(&mut session).await?;
    let config = config(&mut session).await?;
    done();
    let round_trips = round_trips(&mut session).await?;
    done();
    let (clock, rate) = clock(&mut session).await?;
    done();
    let second = async {
        let mut second = Session::open(address, &options).await?;
        let run_id = run_id(&mut second).await?;
        Ok::<_, SessionError>((second, run_id))
    };
    let (second, is_open) = tokio::join!(second, is_open(address, &options, &lock_use.prefix));
    let (mut second, second_run_id) = second?;
    done();
    let may_lock = info.as_ref().is_ok_and(|info| {
        let is = |field: &str, value: &str| info.get(field).is_some_and(|said| said == value);
        // Others can't grant a lock, whatever the user may do.
        !is("role", "slave") && !is("cluster_enabled", "1") && !is("redis_mode", "sentinel")
    });
    let trial = match may_lock || info.is_err() {
        true => Some(trial(address, lock_use, &mut session, &mut second).await?),
        false => None,
    };
    done();
    Ok(Server {
        info,
        config,
        second_run_id,
        is_open,
        round_trips,
        clock,
        rate,
        trial,
    })
}

/// Which of the [`NEEDED`] commands the server does not know. Without arguments they do nothing.
async fn unknown_commands(session: &mut Session) -> Result<Vec<&'static str>, SessionError> {
    let commands = NEEDED.each_ref().map(std::slice::from_ref);
    let replies = session.ask_all(&commands).await?;
    let is_unknown = |reply: &Reply| matches!(reply, Reply::Error(why) if is_unknown_command(why));
    let unknown = NEEDED.into_iter().zip(replies).filter(|(_, reply)| is_unknown(reply));
    Ok(unknown.map(|(name, _)| name).collect())
}

/// Whether a client without a password may set or delete locks there; `None` if that can't be told.
async fn is_open(address: &NodeAddress, options: &NodeOptions, prefix: &str) -> Option<bool> {
    let scheme = if address.uses_tls() { "rediss" } else { "redis" };
    let (host, port) = (address.host(), address.port());
    let url = match host {
        path if is_socket(address) => format!("unix://{path}"),
        ip if ip.contains(':') => format!("{scheme}://[{ip}]:{port}"),
        host => format!("{scheme}://{host}:{port}"),
    };
    let anonymous = NodeAddress::parse(&url).ok()?;
    let mut session = Session::open(&anonymous, options).await.ok()?;
    // There is no such key, so neither changes anything.
    let key = trial_key(prefix);
    let ttl = TRIAL_TTL.as_millis().to_string();
    let commands: [&[&str]; 2] = [&["SET", &key, "doctor", "XX", "PX", &ttl], &["DEL", &key]];
    let replies = session.ask_all(&commands).await.ok()?;
    let is_allowed = |reply: &Reply| match reply {
        Reply::Error(why) if why.starts_with("NOAUTH") || why.starts_with("NOPERM") => Some(false),
        Reply::Error(why) if why.starts_with("ERR") => None,
        // Of its disk, its memory or its master it complains only to those who may run the command.
        _ => Some(true),
    };
    let allowed: Vec<Option<bool>> = replies.iter().map(is_allowed).collect();
    match allowed.contains(&Some(true)) {
        false if allowed.contains(&None) => None,
        is_open => Some(is_open),
    }
}

/// The name of a key that no other program has.
fn trial_key(prefix: &str) -> String {
    format!("{prefix}lockstorm-doctor-{:016x}", rand::random::<u64>())
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
        _ => Err(ANOTHER_KIND.to_owned()),
    })
}

/// What the server calls itself, if it says so.
pub(super) async fn run_id(session: &mut Session) -> Result<Option<String>, SessionError> {
    let info = info(session).await?.ok();
    Ok(info.and_then(|mut info| info.remove("run_id")))
}

async fn config(session: &mut Session) -> Result<Result<BTreeMap<String, String>, String>, SessionError> {
    let mut found = BTreeMap::new();
    let commands = SETTINGS.map(|name| ["CONFIG", "GET", name]);
    let replies = session
        .ask_all(&commands.each_ref().map(|command| &command[..]))
        .await?;
    for (name, reply) in SETTINGS.into_iter().zip(replies) {
        match reply {
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

/// How long PINGs took, shortest first, or the server's error.
async fn round_trips(session: &mut Session) -> Result<Result<Vec<Duration>, String>, SessionError> {
    let mut times = Vec::with_capacity(PINGS);
    let begun = Instant::now();
    for _ in 0..PINGS {
        let start = Instant::now();
        if start.duration_since(begun) >= MEASURING {
            break;
        }
        if let Reply::Error(why) = session.ask(&["PING"]).await? {
            return Ok(Err(why));
        }
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(Ok(times))
}

/// The server's clock by the answer that took the shortest time, or why it does not tell the time; and its rate.
async fn clock(session: &mut Session) -> Result<(Result<Clock, String>, Option<ClockRate>), SessionError> {
    let mut compared: Vec<(f64, Clock)> = Vec::new();
    // Ours is read once: from then on the time that has passed counts, so that it does not jump.
    let (ours, begun) = (since_epoch(), Instant::now());
    for number in 0..CLOCK_ASKS + RATE_ASKS {
        if number >= CLOCK_ASKS {
            sleep(RATE_PAUSE).await;
        }
        let start = Instant::now();
        let asked = start.duration_since(begun);
        if asked >= MEASURING {
            break;
        }
        let reply = session.ask(&["TIME"]).await?;
        match (clock_of(&reply, ours + asked, start.elapsed()), reply) {
            (Some(clock), _) => compared.push((asked.as_secs_f64(), clock)),
            (None, Reply::Error(why)) => return Ok((Err(why), None)),
            (None, _) => return Ok((Err(ANOTHER_KIND.to_owned()), None)),
        }
    }
    let best = compared
        .iter()
        .map(|(_, clock)| *clock)
        .min_by_key(|clock| clock.within_us);
    Ok((best.ok_or_else(|| ANOTHER_KIND.to_owned()), ClockRate::of(&compared)))
}

/// Acquires, extends and releases a lock by the engine itself, and sees that its key is gone. Then it tries what locks can do
/// without; `last` is of no more use after that.
async fn trial(
    address: &NodeAddress,
    lock_use: &LockUse,
    session: &mut Session,
    last: &mut Session,
) -> Result<Trial, SessionError> {
    let key = trial_key(&lock_use.prefix);
    let names: Vec<String> = (0..TRIAL_KEYS).map(|number| format!("{key}-{number}")).collect();
    let (set, at) = (set_keys(session, &names).await?, Instant::now());
    let lock = try_lock(address, &key).await;
    let keys = match set {
        Ok(keys) => lost_keys(session, &names, at, keys).await?,
        Err(error) => Keys {
            error,
            ..Keys::default()
        },
    };
    // Who may not delete by a script may perhaps delete; otherwise the key is gone after its TTL.
    let all: Vec<&str> = ["DEL", &key]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .collect();
    let deleted = session.ask(&all).await?;
    let lock = match (lock, deleted) {
        (Err(Refused::Failed(_)), Reply::Error(why)) if why.starts_with("NOPERM") => Err(Refused::NotPermitted(why)),
        (lock, _) => lock,
    };
    let unknown = match lock {
        Ok(()) => Vec::new(),
        Err(_) => unknown_commands(last).await?,
    };
    let channel = format!("lockstorm:released:{key}");
    let dispensable: [&[&str]; 3] = [
        &["PTTL", &key],
        &["PUBLISH", &channel, "doctor"],
        // After this one the connection takes nothing else.
        &["SUBSCRIBE", &channel],
    ];
    let replies = last.ask_all(&dispensable).await?;
    let missing = dispensable
        .iter()
        .zip(replies)
        .filter_map(|(command, reply)| match reply {
            Reply::Error(why) => Some((command[0].to_owned(), why)),
            _ => None,
        })
        .collect();
    Ok(Trial {
        lock,
        unknown,
        missing,
        keys,
    })
}

/// Sets these keys as locks do, the first one twice, and asks at once how long that lives. Otherwise the server does not say that it
/// has set all of them, with its error, if there is one.
async fn set_keys(session: &mut Session, names: &[String]) -> Result<Result<Keys, Option<String>>, SessionError> {
    let ttl = TRIAL_TTL.as_millis().to_string();
    let first = names.iter().take(1);
    let set = names.iter().chain(first.clone());
    let set = set.map(|name| vec!["SET", name, "doctor", "NX", "PX", &ttl]);
    let commands: Vec<Vec<&str>> = set.chain(first.map(|name| vec!["PTTL", name])).collect();
    let commands: Vec<&[&str]> = commands.iter().map(Vec::as_slice).collect();
    let start = Instant::now();
    let mut replies = session.ask_all(&commands).await?;
    let within = millis(start.elapsed());
    let error = error_in(&replies);
    let ttl = match replies.pop() {
        Some(Reply::Int(said)) => Some(TtlSeen {
            set: millis(TRIAL_TTL),
            said,
            within,
        }),
        _ => None,
    };
    let second_refused = match replies.pop() {
        Some(Reply::Nil) => Some(true),
        Some(Reply::Error(_)) | None => None,
        Some(_) => Some(false),
    };
    let is_set = |reply: &Reply| !matches!(reply, Reply::Error(_) | Reply::Nil);
    Ok(match replies.iter().all(is_set) {
        true => Ok(Keys {
            second_refused,
            ttl,
            lost: None,
            error,
        }),
        false => Err(error),
    })
}

/// The first error among these replies.
fn error_in(replies: &[Reply]) -> Option<String> {
    replies.iter().find_map(|reply| match reply {
        Reply::Error(why) => Some(why.clone()),
        _ => None,
    })
}

/// These keys, with how many of them are gone, unless that can't be told, or they may have expired.
async fn lost_keys(session: &mut Session, names: &[String], set: Instant, keys: Keys) -> Result<Keys, SessionError> {
    let commands: Vec<[&str; 2]> = names.iter().map(|name| ["GET", name.as_str()]).collect();
    let commands: Vec<&[&str]> = commands.iter().map(|command| &command[..]).collect();
    let replies = session.ask_all(&commands).await?;
    let error = error_in(&replies);
    if set.elapsed() >= TRIAL_TTL || error.is_some() {
        let error = keys.error.or(error);
        return Ok(Keys { error, ..keys });
    }
    let lost = replies.iter().filter(|reply| matches!(reply, Reply::Nil)).count();
    Ok(Keys {
        lost: Some((names.len(), lost)),
        ..keys
    })
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

async fn try_lock(address: &NodeAddress, key: &str) -> Result<(), Refused> {
    let options = NodeOptions::new().node_timeout(TRIAL_TIMEOUT);
    let nodes = Nodes::connect(std::slice::from_ref(address), options);
    // A lock waits for a first connection no longer than a near server needs for it.
    nodes.ready(TRIAL_TIMEOUT).await;
    let redlock = Redlock::builder(nodes)
        .ttl(TRIAL_TTL)
        .timeout(TRIAL_TIMEOUT)
        .build()
        .map_err(|unusable| Refused::Failed(unusable.to_string()))?;
    let guard = redlock.acquire(key).await.map_err(|refusal| match &refusal {
        Refusal::NotPermitted { causes } | Refusal::NoQuorum { causes } | Refusal::Unknown { causes } => {
            refused(causes)
        }
        Refusal::Expired { .. } => Refused::Late,
        _ => Refused::Failed(refusal.to_string()),
    })?;
    let extended = guard.extend().await;
    let released = guard.release().await;
    extended.map_err(|error| match &error {
        NotExtended::NoQuorum { causes } => refused(causes),
        _ => Refused::Failed(error.to_string()),
    })?;
    match released.deleted {
        0 => Err(Refused::Failed("the lock could not be deleted".to_owned())),
        _ => Ok(()),
    }
}

/// What the only server said.
fn refused(causes: &[Option<Cause>]) -> Refused {
    let have = |is: fn(&Cause) -> bool| causes.iter().flatten().any(is);
    let words: Vec<String> = causes.iter().flatten().map(ToString::to_string).collect();
    match words.join(", ") {
        words if have(|cause| matches!(cause, Cause::NoPermission(_))) => Refused::NotPermitted(words),
        _ if have(|cause| matches!(cause, Cause::Timeout | Cause::Suspect | Cause::Overloaded)) => Refused::Late,
        words => Refused::Failed(words),
    }
}
