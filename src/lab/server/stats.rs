//! Statistics of the nodes, which are read over separate connections.

use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::server::sessions;
use lockstorm_lock::{NodeAddress, Reply, Session, SessionError};

/// How long a node may take to report its statistics, connecting included.
pub(crate) const STATS_TIMEOUT: Duration = Duration::from_millis(200);

/// What a node reports about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeStats {
    /// Commands a second, as the node counts them (a moving average).
    pub ops_per_sec: u64,
    /// Keys in all its databases.
    pub keys: u64,
    /// Memory in use by its allocator, in bytes.
    pub used_memory: u64,
    /// The round trip of a PING.
    pub ping: Duration,
}

/// What deletes all keys, and what no lock of this program sends.
pub(crate) const FLUSHES: [&str; 3] = ["flushall", "flushdb", "swapdb"];

/// The connection over which one node is asked, made when it is needed.
#[derive(Default)]
pub(crate) struct Admin(Option<Session>);

impl std::fmt::Debug for Admin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Admin").field(&self.0.is_some()).finish()
    }
}

impl Admin {
    /// Asks the node for its role; `None` if it does not answer in time.
    pub(crate) async fn role(&mut self, address: &NodeAddress) -> Option<Reply> {
        self.with(address, async |session| session.order(&["ROLE"]).await).await
    }

    /// Asks the node; `None` if it does not answer in time, or does not say.
    pub(crate) async fn ask(&mut self, address: &NodeAddress) -> Option<NodeStats> {
        self.with(address, ask).await?
    }

    /// How often the node has run a command that deletes all keys; `None` if it does not answer in time, or does not say. The commands of
    /// scripts are counted, too, and those that a master passes on.
    pub(crate) async fn flushes(&mut self, address: &NodeAddress) -> Option<u64> {
        let info = self.with(address, async |session| session.ask(&["INFO", "commandstats"]).await);
        match info.await? {
            Reply::Text(info) => Some(calls(&info, &FLUSHES)),
            _ => None,
        }
    }

    /// Asks this over the connection, which is put back after an answer: after any error the next question connects again.
    async fn with<T>(
        &mut self,
        address: &NodeAddress,
        ask: impl AsyncFnOnce(&mut Session) -> Result<T, SessionError>,
    ) -> Option<T> {
        let answer = timeout(STATS_TIMEOUT, async {
            let mut session = match self.0.take() {
                Some(session) => session,
                None => sessions::open(address, STATS_TIMEOUT).await?,
            };
            let answer = ask(&mut session).await?;
            self.0 = Some(session);
            Ok::<_, SessionError>(answer)
        });
        answer.await.ok()?.ok()
    }
}

async fn ask(session: &mut Session) -> Result<Option<NodeStats>, SessionError> {
    let start = Instant::now();
    session.ask(&["PING"]).await?;
    let ping = start.elapsed();
    let Reply::Text(info) = session.ask(&["INFO"]).await? else {
        return Ok(None);
    };
    Ok(Some(NodeStats {
        ops_per_sec: field(&info, "instantaneous_ops_per_sec"),
        keys: keys(&info),
        used_memory: field(&info, "used_memory"),
        ping,
    }))
}

/// The number after `name:` in INFO; 0 if there is none.
fn field(info: &str, name: &str) -> u64 {
    info.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .and_then(|value| value.trim().parse().ok())
        .unwrap_or(0)
}

/// How often these commands were run, by lines such as `cmdstat_flushall:calls=1,usec=37,…`.
fn calls(info: &str, commands: &[&str]) -> u64 {
    let calls = |line: &str| {
        let (command, stats) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let calls = stats.split(',').next()?.parse::<u64>().ok()?;
        commands.contains(&command).then_some(calls)
    };
    info.lines().filter_map(calls).sum()
}

/// The sum of keys over all lines such as `db0:keys=12,expires=3,avg_ttl=0`.
fn keys(info: &str) -> u64 {
    info.lines()
        .filter(|line| line.starts_with("db"))
        .filter_map(|line| line.split_once(":keys=")?.1.split(',').next()?.parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_is_read() {
        let info = "# Memory\r\nused_memory_human:1.00M\r\nused_memory:1048576\r\n# Stats\r\ninstantaneous_ops_per_sec:1980\r\n\
                    # Keyspace\r\ndb0:keys=12,expires=3,avg_ttl=0\r\ndb5:keys=2,expires=0,avg_ttl=0,subexpiry=0\r\n";
        assert_eq!(field(info, "used_memory"), 1_048_576);
        assert_eq!(field(info, "instantaneous_ops_per_sec"), 1980);
        assert_eq!(field(info, "no_such_field"), 0);
        assert_eq!(keys(info), 14);
        assert_eq!(keys(""), 0);
        let info = "# Commandstats\r\ncmdstat_set:calls=9,usec=1\r\ncmdstat_flushall:calls=2,usec=7\r\ncmdstat_flushdb:calls=1,usec=1\r\n\
                    cmdstat_flushall2:calls=70,usec=7\r\n";
        assert_eq!((calls(info, &FLUSHES), calls("", &FLUSHES)), (3, 0));
    }
}
