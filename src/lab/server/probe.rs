//! Checks whether a node answers, and whether it is the one that was started.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::server::sessions::{self, words};
use lockstorm_data::metrics::in_micros;
use lockstorm_data::model::Finding;
use lockstorm_lock::{NodeAddress, Reply, SessionError};

/// How long one answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// A PING that is not answered for so long is one to a server that stands still.
const SILENCE: Duration = Duration::from_millis(200);
/// Nobody is at an address whose kernel does not answer so long, on a network within this machine.
const UNREACHED: Duration = Duration::from_millis(100);
/// The pause between two checks.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until process `pid` answers PING. After `limit`, returns what came instead.
pub(crate) async fn answers(address: &NodeAddress, pid: u32, limit: Duration) -> Result<(), String> {
    let end = Instant::now() + limit;
    loop {
        let why = match timeout(ANSWER_TIMEOUT, ask(address)).await {
            Ok(answer) => match judge(answer, pid) {
                Ok(()) => return Ok(()),
                Err(why) => why,
            },
            Err(_) => format!("no answer within {ANSWER_TIMEOUT:?}"),
        };
        if Instant::now() >= end {
            return Err(why);
        }
        sleep(PAUSE).await;
    }
}

/// The id of the process that answers there now as one of our nodes.
pub(crate) async fn who(address: &NodeAddress) -> Option<u32> {
    timeout(ANSWER_TIMEOUT, ask(address)).await.ok()?.ok()?.process
}

/// How long a PING and its reply take at this address: the median of `count`, one after the other over a connection of
/// their own. `None` if one takes longer than `limit`, or the node does not answer.
pub(crate) async fn round_trip(address: &NodeAddress, count: usize, limit: Duration) -> Option<Duration> {
    let mut session = sessions::open_as_lab(address, limit).await.ok()?;
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        session.ask(&["PING"]).await.ok()?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    times.get(count / 2).copied()
}

/// How long so many bytes and their echo take at this address, over a connection of their own, or `limit` if they take longer; `None` if
/// there is no connection.
pub(crate) async fn transfer(address: &NodeAddress, bytes: u64, limit: Duration) -> Option<Duration> {
    let payload = "x".repeat(usize::try_from(bytes).ok()?);
    let echo = async {
        let mut session = sessions::open_as_lab(address, limit).await?;
        let start = Instant::now();
        session.ask(&["ECHO", &payload]).await?;
        Ok::<_, SessionError>(start.elapsed())
    };
    match timeout(limit, echo).await {
        Ok(Err(error)) if !sessions::is_late(&error) => None,
        Ok(Ok(took)) => Some(took),
        Ok(Err(_)) | Err(_) => Some(limit),
    }
}

/// Waits until nobody accepts connections, and returns what comes instead.
pub(crate) async fn refuses(address: SocketAddr) -> Finding {
    let port = address.port();
    // An address of its own ends with its owner: nobody is left who could refuse. While the owner is there, even frozen, its
    // kernel answers at once.
    let (patience, own) = match address.ip().is_loopback() {
        true => (ANSWER_TIMEOUT, false),
        false => (UNREACHED, true),
    };
    loop {
        let connected = timeout(patience, TcpStream::connect(address)).await;
        match connected.map(|connected| connected.map(drop)) {
            Ok(Err(error)) => match error.kind() {
                ErrorKind::ConnectionRefused => return Finding::PortRefuses { port },
                // There is no way to the address.
                ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => return Finding::Unreachable { port },
                _ => {}
            },
            Err(_) if own => return Finding::Unreachable { port },
            Ok(Ok(())) | Err(_) => {}
        }
        sleep(PAUSE).await;
    }
}

/// Waits until somebody accepts connections there.
pub(crate) async fn accepts(address: SocketAddr) {
    while TcpStream::connect(address).await.is_err() {
        sleep(PAUSE).await;
    }
}

/// Waits until a PING is not answered for a while, and returns since when, and for how long.
pub(crate) async fn silent(address: &NodeAddress) -> (std::time::Instant, Finding) {
    loop {
        let start = Instant::now();
        if timeout(SILENCE, ask(address)).await.is_err() {
            let for_us = in_micros(start.elapsed());
            return (start.into_std(), Finding::Silence { for_us });
        }
        sleep(PAUSE).await;
    }
}

/// What a node says of itself.
struct Answer {
    /// Its reply to PING.
    ping: Reply,
    /// The id of its process, if it says so.
    process: Option<u32>,
}

/// Asks over a connection of its own. Whoever calls this has a limit.
async fn ask(address: &NodeAddress) -> Result<Answer, SessionError> {
    let mut session = sessions::open(address, Duration::MAX).await?;
    let ping = session.ask(&["PING"]).await?;
    let info = session.ask(&["INFO", "server"]).await?;
    let mut lines = info.text().unwrap_or_default().lines();
    Ok(Answer {
        ping,
        process: lines.find_map(|line| line.strip_prefix("process_id:")?.parse().ok()),
    })
}

/// Checks that this is the answer of that process, and that it is ready.
fn judge(answer: Result<Answer, SessionError>, pid: u32) -> Result<(), String> {
    let Answer { ping, process } = answer.map_err(|error| match error {
        // A server with another password, or without one, is not the one that was started.
        SessionError::Denied(why) => format!("it answers AUTH with \"{why}\""),
        error => words(&error),
    })?;
    match (ping, process) {
        (_, Some(id)) if id != pid => Err(format!("process {id} answers instead of process {pid}")),
        (Reply::Text(pong), Some(_)) if pong == "PONG" => Ok(()),
        // It runs, and refuses even this, since it can't save.
        (Reply::Error(error), Some(_)) if error.starts_with("MISCONF ") => Ok(()),
        (Reply::Text(said) | Reply::Error(said), _) => {
            let clean: String = said.chars().filter(|c| !c.is_control()).take(60).collect();
            Err(format!("it answers PING with \"{clean}\""))
        }
        _ => Err("it does not answer PING with a text".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(ping: Reply, process: Option<u32>) -> Result<(), String> {
        judge(Ok(Answer { ping, process }), 42)
    }

    #[test]
    fn only_the_right_process_that_is_ready_counts() {
        let pong = || Reply::Text("PONG".to_owned());
        let loading = Reply::Error("LOADING Redis is loading the dataset in memory".to_owned());
        assert_eq!(judged(pong(), Some(42)), Ok(()));
        assert!(judged(pong(), Some(43)).unwrap_err().starts_with("process 43"));
        assert!(judged(pong(), None).is_err());
        assert!(judged(loading, Some(42)).unwrap_err().contains("\"LOADING Redis"));
        assert!(judged(Reply::Nil, Some(42)).is_err());
    }

    #[test]
    fn a_server_that_refuses_the_password_does_not_count() {
        let refused = SessionError::Denied("ERR invalid password".to_owned());
        let why = judge(Err(refused), 42).unwrap_err();
        assert_eq!(why, "it answers AUTH with \"ERR invalid password\"");
        let none = Reply::Error("NOAUTH Authentication required.".to_owned());
        assert!(judged(none, None).unwrap_err().contains("PING with \"NOAUTH"));
    }
}
