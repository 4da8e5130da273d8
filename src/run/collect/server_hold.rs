//! A hold of one of the app servers, as the judge of holds sees it.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::oracle::holds::Hold;
use crate::under_test::HeldLock;
use crate::workload::LiveHold;
use lockstorm_base::monotonic_ns;
use lockstorm_data::history::{Belief, BeliefSale, Holder};
use lockstorm_data::model::HostId;
use lockstorm_judge::law::VotedLock;

/// A hold of one of the app servers.
#[derive(Debug, Clone)]
pub(super) struct ServerHold {
    pub server: usize,
    /// Its number there.
    pub number: u64,
    pub key_hash: u64,
    pub hold: Arc<LiveHold>,
}

impl Hold for ServerHold {
    type Id = (usize, u64);

    fn id(&self) -> (usize, u64) {
        (self.server, self.number)
    }

    fn key_hash(&self) -> u64 {
        self.key_hash
    }

    fn key(&self) -> &str {
        self.hold.key()
    }

    fn counts(&self) -> bool {
        self.hold.measured
    }

    fn relied_until(&self) -> Option<i64> {
        // Who has no lock has no reason to rely on it.
        match self.hold.has_lock {
            true => self.hold.relied_until().map(monotonic_ns),
            false => Some(i64::MIN),
        }
    }

    fn is_stalled(&self) -> bool {
        self.hold.is_stalled()
    }
}

impl ServerHold {
    /// Whose it is.
    pub fn holder(&self) -> Holder {
        Holder {
            server: self.server,
            worker: self.hold.worker,
        }
    }

    /// Its votes, if its lock has any.
    pub fn voters(&self) -> Vec<SocketAddr> {
        self.hold.lock.as_ref().map_or_else(Vec::new, HeldLock::voters)
    }

    /// What is told of it: it lasted so long, in nanoseconds, and `origin` is second 0. `host` tells which host a server is on.
    pub fn told(
        &self,
        from: i64,
        until: Option<i64>,
        origin: i64,
        host: &impl Fn(SocketAddr) -> Option<HostId>,
    ) -> Belief {
        let micros = |at: i64| (at - origin).div_euclid(1000);
        let lock = self.hold.lock.as_ref();
        Belief {
            holder: self.holder(),
            name: None,
            token: lock.map_or_else(String::new, |lock| lock.token().to_owned()),
            asked_us: lock.map(|lock| micros(monotonic_ns(lock.asked()))),
            from_us: micros(from),
            until_us: until.map(micros),
            relied_until_us: self.hold.relied_until().map(|until| micros(monotonic_ns(until))),
            votes: self.voters().into_iter().filter_map(host).map(|host| host.0).collect(),
            nodes: lock.map_or(0, HeldLock::nodes),
            sale: self.hold.sold.get().map(|sold| BeliefSale {
                at_us: sold.at_us,
                left: sold.left,
            }),
        }
    }

    /// What `look` makes of its lock, for which these servers voted and which was held until then; `None` without votes.
    pub fn voted<T>(
        &self,
        voters: &[SocketAddr],
        until: Option<i64>,
        look: impl FnOnce(VotedLock<'_>) -> T,
    ) -> Option<T> {
        let lock = self.hold.lock.as_ref()?;
        Some(look(VotedLock {
            token: lock.token(),
            asked: monotonic_ns(lock.asked()),
            granted: monotonic_ns(lock.granted()),
            until,
            relied_until: self.hold.relied_until().map(monotonic_ns),
            voters,
            nodes: lock.nodes(),
            quorum: lock.quorum(),
        }))
    }
}
