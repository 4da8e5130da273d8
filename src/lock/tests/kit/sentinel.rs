//! A master, two replicas and three Sentinels, all with passwords.

use std::collections::HashMap;

use redis::cmd;

use super::server::RedisServer;
use super::turn::Turn;
use super::turn::beside;
use super::waiting::eventually;

/// The name of the master.
pub const NAME: &str = "watched";

/// The password of the data servers.
pub const PASSWORD: &str = "of-the-servers";

/// The password of the Sentinels.
pub const SENTINEL_PASSWORD: &str = "of-the-sentinels";

/// The configuration of a data server that replicates.
pub fn data_server() -> String {
    format!(
        "save \"\"\nmaxmemory-policy noeviction\nmasterauth {PASSWORD}\nrepl-diskless-sync-delay 0\n\
         repl-ping-replica-period 1\n"
    )
}

/// Waits until so many replicas have acknowledged what this server, a master, has written.
pub fn replicated(master: &RedisServer, key: &str, replicas: usize) {
    let mut connection = master.connection().expect("the master answers");
    eventually("the replicas have acknowledged a write", || {
        let mut pipe = redis::pipe();
        pipe.cmd("SET").arg(key).arg(1).ignore();
        pipe.cmd("WAIT").arg(replicas).arg(100);
        pipe.query::<(usize,)>(&mut connection)
            .is_ok_and(|(acknowledged,)| acknowledged >= replicas)
    });
    let _: usize = cmd("DEL").arg(key).query(&mut connection).expect("a master");
}

/// A master with two replicas, and three Sentinels that watch it.
pub struct Watched {
    /// At first the master is the first one.
    pub servers: Vec<RedisServer>,
    pub sentinels: Vec<RedisServer>,
    _turn: Turn,
}

impl Watched {
    /// The Sentinels fail over to a replica when the master has been silent for a second.
    pub fn start() -> Self {
        let mut watched = Self::unwatched();
        let master = watched.servers[0].port();
        let config = format!(
            "sentinel sentinel-pass {SENTINEL_PASSWORD}\n\
             sentinel monitor {NAME} 127.0.0.1 {master} 2\n\
             sentinel auth-pass {NAME} {PASSWORD}\n\
             sentinel down-after-milliseconds {NAME} 1000\n\
             sentinel failover-timeout {NAME} 5000\n\
             sentinel parallel-syncs {NAME} 2\n"
        );
        let start = |_| RedisServer::configured(SENTINEL_PASSWORD, &config, &["--sentinel"]);
        watched.sentinels = (0..3).map(start).collect();
        eventually("all Sentinels know each other and the replicas", || {
            watched.sentinels.iter().all(|sentinel| {
                let fields = fields_of(sentinel);
                fields["num-other-sentinels"] == "2" && fields["num-slaves"] == "2" && fields["flags"] == "master"
            })
        });
        watched
    }

    /// Without Sentinels.
    pub fn unwatched() -> Self {
        let turn = beside();
        let config = data_server();
        let master = RedisServer::configured(PASSWORD, &config, &[]);
        let config = format!("{config}replicaof 127.0.0.1 {}\n", master.port());
        let replica = |_| RedisServer::configured(PASSWORD, &config, &[]);
        let servers: Vec<_> = [master].into_iter().chain((0..2).map(replica)).collect();
        let watched = Self {
            servers,
            sentinels: Vec::new(),
            _turn: turn,
        };
        watched.replicated();
        watched
    }

    /// Waits until both replicas have acknowledged what the first server, a master, has written.
    pub fn replicated(&self) {
        replicated(&self.servers[0], "proof", 2);
    }

    /// The URLs of the Sentinels.
    pub fn urls(&self) -> Vec<String> {
        self.sentinels.iter().map(RedisServer::url).collect()
    }

    /// The index of the server that this Sentinel names as the master.
    pub fn master_by(&self, sentinel: usize) -> usize {
        let named: (String, u16) =
            self.sentinels[sentinel].query(cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(NAME));
        let at = self.servers.iter().position(|server| server.port() == named.1);
        at.expect("it is one of ours")
    }

    /// Orders a failover as soon as the Sentinel can do it.
    pub fn fail_over(&self, sentinel: usize) {
        eventually("a replica can be promoted", || {
            let ordered = self.sentinels[sentinel].try_query::<()>(cmd("SENTINEL").arg("FAILOVER").arg(NAME));
            ordered.is_ok()
        });
    }
}

fn fields_of(sentinel: &RedisServer) -> HashMap<String, String> {
    sentinel.query(cmd("SENTINEL").arg("MASTER").arg(NAME))
}
