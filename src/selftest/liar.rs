//! A server that lies: what a client sends goes on to a real node, but for its `SET … NX`.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, copy};
use tokio::net::{TcpListener, TcpStream};

/// Starts a liar before this node, on the present runtime; returns where it listens. It answers OK to every `SET … NX`, or else forgets
/// the key of every tenth.
///
/// # Errors
/// It can't listen.
pub(crate) async fn lie(node: SocketAddr, answers_ok: bool) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        let sets = Arc::new(AtomicU64::new(0));
        while let Ok((client, _)) = listener.accept().await {
            let sets = Arc::clone(&sets);
            // Whoever closes ends it for both.
            tokio::spawn(async move { between(client, node, answers_ok, &sets).await });
        }
    });
    Ok(address)
}

async fn between(client: TcpStream, node: SocketAddr, answers_ok: bool, sets: &AtomicU64) -> io::Result<()> {
    let server = TcpStream::connect(node).await?;
    for stream in [&client, &server] {
        stream.set_nodelay(true)?;
    }
    let (from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let (mut commands, mut answers) = (
        BufReader::new(from_client),
        Box::pin(copy(&mut from_server, &mut to_client)),
    );
    loop {
        // The answers go on while a command is awaited; one that is read in part is never given up.
        let mut command = Box::pin(command(&mut commands));
        let mut parts = tokio::select! {
            parts = &mut command => parts?,
            _ = &mut answers => return Ok(()),
        };
        drop(command);
        let is_set = parts.len() == 6 && parts[0] == b"SET" && parts[5] == b"NX";
        if is_set && answers_ok {
            parts.pop();
        } else if is_set && sets.fetch_add(1, Ordering::Relaxed) % 10 == 9 {
            parts[4] = b"1".to_vec();
        }
        let mut out = format!("*{}\r\n", parts.len()).into_bytes();
        for part in parts {
            out.extend(format!("${}\r\n", part.len()).into_bytes());
            out.extend(part);
            out.extend(b"\r\n");
        }
        to_server.write_all(&out).await?;
    }
}

/// The next command: an array of texts.
async fn command(from: &mut (impl AsyncBufReadExt + Unpin)) -> io::Result<Vec<Vec<u8>>> {
    let mut parts = Vec::new();
    for _ in 0..number(from).await? {
        let mut part = vec![0; number(from).await?];
        from.read_exact(&mut part).await?;
        from.read_exact(&mut [0; 2]).await?;
        parts.push(part);
    }
    Ok(parts)
}

/// The number in a line like `*6` or `$3`.
async fn number(from: &mut (impl AsyncBufReadExt + Unpin)) -> io::Result<usize> {
    let mut line = String::new();
    from.read_line(&mut line).await?;
    let number = line.get(1..).and_then(|number| number.trim_end().parse().ok());
    number.ok_or(io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use lockstorm_kit::{RedisServer, beside, runtime};

    use super::*;

    /// Sets so many keys so often through a liar; returns how often it said OK, and how many keys the node has then.
    fn set(answers_ok: bool, keys: usize, times: usize) -> (usize, usize) {
        let node = RedisServer::start();
        runtime().block_on(async {
            let liar = lie(node.addr(), answers_ok).await.unwrap();
            let client = redis::Client::open(format!("redis://{liar}")).unwrap();
            let mut connection = client.get_multiplexed_async_connection().await.unwrap();
            let mut ok = 0;
            for key in (0..keys).cycle().take(keys * times) {
                let mut set = redis::cmd("SET");
                set.arg(key).arg("value").arg(&["PX", "60000", "NX"]);
                let answer: Option<String> = set.query_async(&mut connection).await.unwrap();
                ok += usize::from(answer.is_some());
            }
            // What is to be forgotten lives for a millisecond.
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            let mut left = 0;
            for key in 0..keys {
                left += redis::cmd("EXISTS")
                    .arg(key)
                    .query_async::<usize>(&mut connection)
                    .await
                    .unwrap();
            }
            (ok, left)
        })
    }

    #[test]
    fn a_liar_says_ok_to_all_or_forgets_every_tenth_and_is_true_otherwise() {
        let _lab = beside();
        assert_eq!(set(true, 20, 2), (40, 20));
        assert_eq!(set(false, 30, 1), (30, 27));
        // The first two rounds have 18 sets: the tenth is refused, and so there is nothing to be forgotten.
        assert_eq!(set(false, 9, 2), (9, 9));
    }
}
