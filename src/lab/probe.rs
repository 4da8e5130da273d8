//! Checks whether a node answers, and whether it is the one that was started.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::stats;
use lockstorm_data::model::Finding;
use lockstorm_lock::NodeAddress;

/// How long one answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
/// A PING that is not answered for so long is one to a server that stands still.
const SILENCE: Duration = Duration::from_millis(200);
/// Nobody is at an address whose kernel does not answer so long, on a network within this machine.
const UNREACHED: Duration = Duration::from_millis(100);
/// The pause between two checks.
const PAUSE: Duration = Duration::from_millis(5);
/// How many bytes are read of an answer.
const MOST: usize = 64 * 1024;

/// Waits until process `pid` answers PING. After `limit`, returns what came instead.
pub(super) async fn answers(address: &NodeAddress, pid: u32, limit: Duration) -> Result<(), String> {
    let end = Instant::now() + limit;
    loop {
        let why = match timeout(ANSWER_TIMEOUT, ask(address)).await {
            Ok(Ok(answer)) => match judge(&answer, address.credentials().is_some(), pid) {
                Ok(()) => return Ok(()),
                Err(why) => why,
            },
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {ANSWER_TIMEOUT:?}"),
        };
        if Instant::now() >= end {
            return Err(why);
        }
        sleep(PAUSE).await;
    }
}

/// The id of the process that answers there now as one of our nodes.
pub(super) async fn who(address: &NodeAddress) -> Option<u32> {
    process_id(&timeout(ANSWER_TIMEOUT, ask(address)).await.ok()?.ok()?)
}

/// How long a PING and its reply take at this address: the median of `count`, one after the other over a connection of
/// their own. `None` if one takes longer than `limit`, or the node does not answer.
pub(super) async fn round_trip(address: &NodeAddress, count: usize, limit: Duration) -> Option<Duration> {
    let mut session = stats::open(address, limit).await.ok()?;
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        session.ask(&["PING"]).await.ok()?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    times.get(count / 2).copied()
}

/// Waits until nobody accepts connections, and returns what comes instead; an error after `limit`.
pub(super) async fn refuses(address: SocketAddr, limit: Duration) -> Result<Finding, String> {
    let port = address.port();
    // An address of its own ends with its owner: nobody is left who could refuse. While the owner is there, even frozen, its
    // kernel answers at once.
    let (patience, own) = match address.ip().is_loopback() {
        true => (ANSWER_TIMEOUT, false),
        false => (UNREACHED, true),
    };
    let end = Instant::now() + limit;
    loop {
        let error = timeout(patience, TcpStream::connect(address))
            .await
            .map(|connected| connected.map(drop));
        match error {
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return Ok(Finding::PortRefuses { port });
            }
            Err(_) if own => return Ok(Finding::Unreachable { port }),
            Ok(Err(error)) if is_unreachable(&error) => return Ok(Finding::Unreachable { port }),
            _ => {}
        }
        if Instant::now() >= end {
            return Err(format!("{address} still accepts connections"));
        }
        sleep(PAUSE).await;
    }
}

/// Whether there is no way to the address.
fn is_unreachable(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable
    )
}

/// Waits until a PING is not answered for a while, and returns since when, and for how long; an error after `limit`.
pub(super) async fn silent(address: &NodeAddress, limit: Duration) -> Result<(std::time::Instant, Finding), String> {
    let end = Instant::now() + limit;
    loop {
        let start = Instant::now();
        if timeout(SILENCE, ask(address)).await.is_err() {
            let for_us = start.elapsed().as_micros().try_into().unwrap_or(u64::MAX);
            return Ok((start.into_std(), Finding::Silence { for_us }));
        }
        if Instant::now() >= end {
            return Err("it still answers PING".to_owned());
        }
        sleep(PAUSE).await;
    }
}

/// The answers to AUTH (if there is a password), PING and INFO, as far as they are needed.
async fn ask(address: &NodeAddress) -> io::Result<String> {
    let mut stream = TcpStream::connect(address.to_string()).await?;
    address.check()?;
    // The password of a lab consists of letters and digits.
    let auth = address
        .credentials()
        .map(|(_, password)| format!("AUTH {password}\r\n"));
    let question = auth.unwrap_or_default() + "PING\r\nINFO server\r\n";
    stream.write_all(question.as_bytes()).await?;
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let n = stream.read(&mut buffer).await?;
        answer.extend_from_slice(&buffer[..n]);
        let text = String::from_utf8_lossy(&answer);
        if n == 0 || process_id(&text).is_some() || is_denied(&text) || answer.len() > MOST {
            return Ok(text.into_owned());
        }
    }
}

/// Whether the answer says that we are not let in.
fn is_denied(answer: &str) -> bool {
    ["-NOAUTH", "-WRONGPASS", "-ERR"]
        .iter()
        .any(|error| answer.starts_with(error))
        && answer.contains("\r\n")
}

/// Checks that this is the answer of that process, and that it is ready.
fn judge(answer: &str, auth: bool, pid: u32) -> Result<(), String> {
    let mut lines = answer.lines();
    let mut first = lines.next().unwrap_or_default();
    let mut asked = "PING";
    if auth && first == "+OK" {
        first = lines.next().unwrap_or_default();
    } else if auth {
        // A server with another password, or without one, is not the one that was started.
        asked = "AUTH";
    }
    match process_id(answer) {
        Some(id) if id != pid => Err(format!("process {id} answers instead of process {pid}")),
        Some(_) if asked == "PING" && first == "+PONG" => Ok(()),
        _ => {
            // A server that does not know AUTH repeats the password.
            let first = first.split("with args").next().unwrap_or_default();
            let clean: String = first.chars().filter(|c| !c.is_control()).take(60).collect();
            Err(format!("it answers {asked} with \"{clean}\""))
        }
    }
}

/// The number in the line `process_id:…`, once that line is complete.
fn process_id(answer: &str) -> Option<u32> {
    let (_, rest) = answer.split_once("\nprocess_id:")?;
    rest.split_once("\r\n")?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_process_that_is_ready_counts() {
        let answer = "+PONG\r\n$99\r\n# Server\r\nprocess_id:42\r\n";
        assert_eq!(judge(answer, false, 42), Ok(()));
        assert!(judge(answer, false, 43).is_err());
        assert!(judge("+PONG\r\n", false, 42).is_err());
        assert!(
            judge(
                "-LOADING Redis is loading the dataset in memory\r\n$9\r\nprocess_id:42\r\n",
                false,
                42
            )
            .is_err()
        );
        assert!(judge("HTTP/1.1 400 Bad Request\r\n", false, 42).is_err());
        assert!(judge("", false, 42).is_err());
    }

    #[test]
    fn a_server_that_refuses_the_password_does_not_count() {
        let ready = "+PONG\r\n$99\r\n# Server\r\nprocess_id:42\r\n";
        assert_eq!(judge(&format!("+OK\r\n{ready}"), true, 42), Ok(()));
        let none = "-ERR AUTH <password> called without any password configured\r\n";
        for answer in [&format!("{none}{ready}"), ready, "-WRONGPASS invalid\r\n-NOAUTH x\r\n"] {
            assert!(
                judge(answer, true, 42).unwrap_err().starts_with("it answers AUTH with"),
                "{answer}"
            );
        }
        let denied = "-NOAUTH Authentication required.\r\n";
        assert!(is_denied(denied) && is_denied(none) && !is_denied(ready));
        assert!(
            judge(denied, false, 42)
                .unwrap_err()
                .contains("it answers PING with \"-NOAUTH")
        );
    }

    #[test]
    fn a_number_is_read_only_when_its_line_is_complete() {
        assert_eq!(process_id("+PONG\r\nprocess_id:4"), None);
        assert_eq!(process_id("+PONG\r\nprocess_id:42\r\n"), Some(42));
    }
}
