//! Measures connections between hosts, by what passes over them.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::findings::Found;
use crate::network::source;
use crate::proxy::{Hindrance, OneWay};
use crate::server::node_name::NodeName;
use crate::server::sessions;
use lockstorm_data::metrics::in_micros;
use lockstorm_data::model::{Finding, Observer, ServerId};
use lockstorm_lock::{NodeAddress, Reply, Session, SessionError};

/// The channel of the messages that are measured.
const CHANNEL: &str = "lockstorm:link";

/// What is measured.
#[derive(Debug, Clone)]
pub(crate) enum What {
    /// How long a PING and its answer take over a connection of this caller, which is made as its own are.
    Ping {
        /// Whose address it comes from.
        caller: NodeName,
        callee: NodeName,
        /// Where the callee is reached.
        door: NodeAddress,
    },
    /// The same over one of this app server.
    Route {
        server: ServerId,
        callee: NodeName,
        /// Where it reaches the callee.
        door: NodeAddress,
    },
    /// How long what is published at a master takes to a replica.
    Message {
        master: (NodeName, NodeAddress),
        replica: (NodeName, NodeAddress),
    },
    /// How long all replicas of a master take to confirm that.
    Confirmation {
        master: (NodeName, NodeAddress),
        replicas: Vec<NodeName>,
    },
}

impl What {
    /// What the network does to it, by what it does to each path: a delay that it can't be faster than, and whether it is cut.
    pub(crate) fn state(&self, of_path: impl Fn(&OneWay) -> Hindrance) -> Hindrance {
        let both = |caller, server, callee| {
            let there = OneWay {
                caller,
                server,
                callee,
                is_back: false,
            };
            [there, there.opposite()].map(|path| of_path(&path))
        };
        let all = |parts: &[Hindrance]| Hindrance {
            delay: parts.iter().map(|part| part.delay).sum(),
            cut: parts.iter().any(|part| part.cut),
            ..Hindrance::default()
        };
        match self {
            Self::Ping { caller, callee, .. } => all(&both(Some(*caller), None, *callee)),
            Self::Route { server, callee, .. } => all(&both(None, Some(*server), *callee)),
            Self::Message { master, replica } => all(&both(Some(replica.0), None, master.0)[1..]),
            Self::Confirmation { master, replicas } => {
                let each: Vec<Hindrance> = replicas
                    .iter()
                    .map(|replica| all(&both(Some(*replica), None, master.0)))
                    .collect();
                Hindrance {
                    delay: each.iter().map(|one| one.delay).max().unwrap_or_default(),
                    cut: each.iter().any(|one| one.cut),
                    ..Hindrance::default()
                }
            }
        }
    }
}

/// A measurement that can be repeated over the same connections.
pub(crate) struct Gauge {
    what: What,
    /// To the one who is asked, or at whom something is published.
    asked: Session,
    /// From the one who hears of it, if that is another.
    heard: Option<Session>,
}

impl Gauge {
    /// Opens the connections that it needs.
    pub(crate) async fn open(what: What) -> Result<Self, SessionError> {
        let (asked, heard) = match &what {
            What::Ping { caller, door, .. } => (connect(door, source::of(*caller)).await?, None),
            What::Route { door, .. } => (sessions::open_as_lab(door, Duration::MAX).await?, None),
            What::Message { master, replica, .. } => {
                let mut heard = connect(&replica.1, None).await?;
                heard.order(&["SUBSCRIBE", CHANNEL]).await?;
                (connect(&master.1, None).await?, Some(heard))
            }
            What::Confirmation { master, .. } => (connect(&master.1, None).await?, None),
        };
        Ok(Self { what, asked, heard })
    }

    /// Measures once; `None` if nothing has come after `limit`.
    pub(crate) async fn measure(&mut self, limit: Duration) -> Result<Option<Duration>, SessionError> {
        let start = Instant::now();
        match timeout(limit, self.once(limit)).await {
            Ok(Ok(())) => Ok(Some(start.elapsed())),
            Ok(Err(error)) => Err(error),
            Err(_) => Ok(None),
        }
    }

    async fn once(&mut self, limit: Duration) -> Result<(), SessionError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Nobody takes a message of another measurement for this one's.
        let token = format!("m{}m", NEXT.fetch_add(1, Ordering::Relaxed));
        if let What::Ping { .. } | What::Route { .. } = &self.what {
            return self.asked.order(&["PING", &token]).await.map(drop);
        }
        self.asked.order(&["PUBLISH", CHANNEL, &token]).await?;
        if let Some(heard) = &mut self.heard {
            while heard.hear().await?.parts().last().and_then(Reply::text) != Some(&token) {}
        }
        if let What::Confirmation { replicas, .. } = &self.what {
            let (count, millis) = (replicas.len().to_string(), limit.as_millis().max(1).to_string());
            let confirmed = self.asked.order(&["WAIT", &count, &millis]).await?.number();
            if confirmed.unwrap_or(0) < replicas.len() {
                // Too few until the end of the limit.
                std::future::pending::<()>().await;
            }
        }
        Ok(())
    }

    /// What it measures.
    pub(crate) const fn what(&self) -> &What {
        &self.what
    }

    /// What was found since then: how long it took, or for how long nothing came.
    pub(crate) fn found(&self, since: Instant, took: Result<Duration, Duration>) -> Found {
        // Who is measured: "the Sentinel of host 1 to the replicated node of host 2".
        let (of, by) = match &self.what {
            What::Ping { caller, callee, .. } => (format!("{caller} to {callee}"), Observer::Ping),
            What::Route { server, callee, .. } => (format!("{server} to {callee}"), Observer::Ping),
            What::Message { replica, .. } => (replica.0.to_string(), Observer::Replica),
            What::Confirmation { master, .. } => (master.0.to_string(), Observer::Replica),
        };
        let finding = match (took.map(in_micros), &self.what) {
            (Ok(took_us), What::Ping { door, .. } | What::Route { door, .. }) => Finding::RoundTrip {
                port: door.port(),
                took_us,
            },
            (Ok(took_us), What::Message { .. }) => Finding::Arrives { took_us },
            (Ok(took_us), What::Confirmation { .. }) => Finding::Confirmed { took_us },
            (Err(silence), _) => Finding::Silence {
                for_us: in_micros(silence),
            },
        };
        let mut found = Found::on(of);
        found.add_since(since, finding, by);
        found
    }
}

/// A connection to a node, from this address if one is given. Whoever measures has limits of its own.
async fn connect(node: &NodeAddress, from: Option<Ipv4Addr>) -> Result<Session, SessionError> {
    sessions::open_from(from, node, Duration::MAX).await
}
