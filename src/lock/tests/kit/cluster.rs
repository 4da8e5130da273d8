//! A cluster of three masters with a replica each, all with one password.

use redis::{Cmd, FromRedisValue, Value, cmd};

use super::sentinel::{PASSWORD, data_server, replicated};
use super::server::RedisServer;
use super::turn::Turn;
use super::turn::beside;
use super::waiting::eventually;

/// Three masters, and a replica of each.
pub struct Clustered {
    /// At first the masters are the first three, and their replicas follow in the same order.
    pub servers: Vec<RedisServer>,
    _turn: Turn,
}

fn cluster(words: &[&str]) -> Cmd {
    let mut command = cmd("CLUSTER");
    command.arg(words);
    command
}

impl Clustered {
    /// A replica takes over when its master has been silent for a second.
    pub fn start() -> Self {
        let turn = beside();
        let config =
            data_server() + "cluster-enabled yes\ncluster-node-timeout 1000\ncluster-replica-validity-factor 0\n";
        let start = |_| RedisServer::configured(PASSWORD, &config, &[]);
        let clustered = Self {
            servers: (0..6).map(start).collect(),
            _turn: turn,
        };
        let servers = &clustered.servers;
        for (index, server) in servers.iter().enumerate() {
            server.query::<()>(&cluster(&["SET-CONFIG-EPOCH", &(index + 1).to_string()]));
        }
        for (index, bounds) in [(0, 5460), (5461, 10_922), (10_923, 16_383)].into_iter().enumerate() {
            let (first, last) = (bounds.0.to_string(), bounds.1.to_string());
            servers[index].query::<()>(&cluster(&["ADDSLOTSRANGE", &first, &last]));
        }
        for server in &servers[1..] {
            servers[0].query::<()>(&cluster(&["MEET", "127.0.0.1", &server.port().to_string()]));
        }
        eventually("all know all", || {
            let know_all = |server: &RedisServer| {
                let nodes: String = server.query(&cluster(&["NODES"]));
                nodes.lines().count() == 6 && !nodes.contains("handshake")
            };
            servers.iter().all(know_all)
        });
        for (master, replica) in servers[3..].iter().enumerate() {
            replica.query::<()>(&cluster(&["REPLICATE", &clustered.id(master)]));
        }
        eventually("the cluster is complete", || {
            let complete = |server: &RedisServer| {
                server.query::<String>(&cluster(&["INFO"])).contains("cluster_state:ok")
                    && server.query::<String>(&cluster(&["NODES"])).matches("slave").count() == 3
            };
            servers.iter().all(complete)
        });
        (0..3).for_each(|master| clustered.replicated(master));
        clustered
    }

    /// The URLs of all nodes.
    pub fn urls(&self) -> Vec<String> {
        self.servers.iter().map(RedisServer::url).collect()
    }

    /// The id of a node.
    pub fn id(&self, index: usize) -> String {
        self.servers[index].query(&cluster(&["MYID"]))
    }

    /// Waits until a replica has what this master has written.
    pub fn replicated(&self, master: usize) {
        replicated(&self.servers[master], &self.key_at(master), 1);
    }

    /// The slot of a key, by a server's word.
    pub fn slot(&self, key: &str) -> u16 {
        let up = self
            .servers
            .iter()
            .find_map(|server| server.try_query(&cluster(&["KEYSLOT", key])).ok());
        up.expect("a server answers")
    }

    /// A key of a slot that was at first that of this master.
    pub fn key_at(&self, master: usize) -> String {
        let keys = (0..).map(|number| format!("key:{number}"));
        let is_there = |key: &String| usize::from(self.slot(key) / 5461).min(2) == master;
        keys.into_iter().find(is_there).expect("one of many")
    }

    /// Runs a `CLUSTER` command on a server.
    pub fn order<T: FromRedisValue>(&self, server: usize, words: &[&str]) -> T {
        self.servers[server].query(&cluster(words))
    }

    /// Waits until this server is the master of a slot by the word of the others that answer.
    pub fn until_owner(&self, slot: u16, master: usize) {
        let port = self.servers[master].port();
        eventually("the slot has its master", || {
            let owner = |server: &RedisServer| {
                let ranges: Value = server.try_query(&cluster(&["SLOTS"])).ok()?;
                owner_of(&ranges, slot)
            };
            self.servers.iter().filter_map(owner).all(|owner| owner == port)
                && owner(&self.servers[master]) == Some(port)
        });
    }

    /// The number of keys of each server.
    pub fn keys(&self, servers: &[usize]) -> Vec<usize> {
        servers.iter().map(|&server| self.servers[server].keys()).collect()
    }

    /// How often these servers answered that a key is elsewhere.
    pub fn moved(&self, servers: &[usize]) -> usize {
        let errors = |&server: &usize| {
            let errors: String = self.servers[server].query(cmd("INFO").arg("errorstats"));
            let count = |line: &str| {
                line.strip_prefix("errorstat_MOVED:count=")?
                    .trim()
                    .parse::<usize>()
                    .ok()
            };
            errors.lines().find_map(count).unwrap_or(0)
        };
        servers.iter().map(errors).sum()
    }
}

fn owner_of(ranges: &Value, slot: u16) -> Option<u16> {
    let Value::Array(ranges) = ranges else {
        return None;
    };
    ranges.iter().find_map(|range| {
        let Value::Array(range) = range else { return None };
        let [Value::Int(first), Value::Int(last), Value::Array(master), ..] = &range[..] else {
            return None;
        };
        let Value::Int(port) = master.get(1)? else {
            return None;
        };
        (*first..=*last)
            .contains(&i64::from(slot))
            .then(|| u16::try_from(*port).ok())?
    })
}
