//! The master that Sentinels name, as a node for locks.

use std::fmt;

use tokio::sync::watch;

use crate::node::address::{BadAddress, NodeAddress};
use crate::node::options::NodeOptions;
use crate::node::place::{Named, Place};
use crate::node::url::UrlPart;
use crate::nodes::Nodes;
use crate::sentinel::watcher;

/// Some Sentinels, and the master that they watch. Cheap to clone; clones share the connections to the Sentinels.
///
/// A lock on the master is a lock on a single node that may move: [`Lock::single`](crate::Lock::single) or
/// [`Redlock::builder`](crate::Redlock::builder) on [`master`](Self::master).
///
/// # What such a lock is worth
/// Redis and Valkey replicate behind the reply. A master that dies takes the locks with it that its replicas have not got yet,
/// and somebody else can get them from the new master at once. With [`NodeOptions::wait_replicas`] an acquire waits until
/// replicas have the key; only *all* of them are enough, since one that lacks it may become the master. A master that comes back empty empties its replicas too: it
/// needs its data on disk, or must stay away until a replica is the master. An old master that nobody has told goes on granting
/// locks to those who can't ask the Sentinels; `min-replicas-to-write` prevents most of that. A quorum of independent nodes has
/// none of these weaknesses.
///
/// # Example
/// ```no_run
/// use std::time::Duration;
/// use lockstorm_lock::{NodeOptions, Redlock, Sentinels};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let urls = ["redis://10.0.0.1:26379", "redis://10.0.0.2:26379", "redis://10.0.0.3:26379"];
/// let sentinels = Sentinels::open(&urls, "mymaster", NodeOptions::default())?.master_credentials(Some("locks"), "secret");
/// let lock = Redlock::builder(sentinels.master()).ttl(Duration::from_secs(5)).build()?;
/// let guard = lock.acquire("invoice:42").await?;
/// guard.release().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Sentinels {
    named: watch::Receiver<Named>,
    /// User, password, database and TLS for the master; its host and port are not used.
    login: NodeAddress,
    options: NodeOptions,
}

impl Sentinels {
    /// Starts to ask the Sentinels at these URLs for the master of this name, with one task each, and does not wait. The URLs
    /// are like those of [`Nodes::open`], with the user and password of the Sentinels, and without a database. Name the port,
    /// which for Sentinels is 26379 as a rule. If they are `rediss://`, the master is reached over [TLS](crate#tls) too.
    ///
    /// A Sentinel is asked when it is connected, when it tells that a master has moved, and once a second. Of what they
    /// say, the highest configuration epoch counts: a Sentinel that was stopped or cut off does not lead back to an old master.
    /// While none can be asked, the last master stays. The tasks end with the runtime, or once no clone, and no lock on the
    /// master, is left.
    ///
    /// `options` are for the connections to the Sentinels and to the master alike; a Sentinel may take the `connect_timeout`
    /// for an answer.
    ///
    /// # Errors
    /// If a URL is not an address; if it asks for TLS and the machine trusts no authorities, or if only some of them do; if it
    /// has a database; if a Sentinel is named twice; if there are no URLs.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn open<U: AsRef<str>>(urls: &[U], master_name: &str, options: NodeOptions) -> Result<Self, BadAddress> {
        let mut sentinels: Vec<NodeAddress> = Vec::new();
        for url in urls {
            let sentinel = NodeAddress::parse(url.as_ref())?;
            let why = if sentinels.iter().any(|other| other.is_same_node(&sentinel)) {
                "this Sentinel is named twice"
            } else if sentinels
                .first()
                .is_some_and(|first| first.uses_tls() != sentinel.uses_tls())
            {
                "some Sentinels are reached over TLS and others are not; the master is reached as they are"
            } else if sentinel.database() != 0 {
                "a Sentinel has no databases; Sentinels::master_database chooses that of the master"
            } else {
                sentinels.push(sentinel);
                continue;
            };
            return Err(BadAddress::new(url.as_ref(), UrlPart::Whole, why));
        }
        let Some(first) = sentinels.first() else {
            let why = "there is no address; the master is found by at least one Sentinel";
            return Err(BadAddress::new("(none)", UrlPart::Whole, why));
        };
        let login = first.with_credentials(None);
        Ok(Self::at(&sentinels, master_name, &login, options))
    }

    /// Starts to ask the Sentinels at these addresses for the master of this name, as [`open`](Self::open) does. `login` has the
    /// user, the password and the database of the master, and says whether it must be a [process of this
    /// user](NodeAddress::of_this_user); its host and port are not used. Without any address no master is ever named.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[must_use]
    pub fn at(sentinels: &[NodeAddress], master_name: &str, login: &NodeAddress, options: NodeOptions) -> Self {
        let options = options.bounded();
        Self {
            login: login.clone(),
            named: watcher::follow(sentinels.to_vec(), master_name, options),
            options,
        }
    }

    /// Sets the user and the password of the master. Without a user the password is that of the user `default`. If this is left
    /// out, the master asks for no password. Every server that may become the master must know them.
    #[must_use]
    pub fn master_credentials(self, user: Option<&str>, password: &str) -> Self {
        Self {
            login: self.login.with_credentials(Some((user, password))),
            ..self
        }
    }

    /// Sets the number of the master's database for locks; it is 0 if this is left out.
    #[must_use]
    pub fn master_database(self, database: u32) -> Self {
        Self {
            login: self.login.with_database(database),
            ..self
        }
    }

    /// The master as one node for locks, wherever it is; it has a connection of its own for each call. When it moves, the same
    /// happens as for [`Nodes::follow`].
    ///
    /// While no Sentinel has named a master, and while the node that they name says that it is a replica, it gives no vote,
    /// with the cause [`NoMaster`](crate::Cause::NoMaster). If Sentinels can't be asked because of the password, a permission
    /// or TLS, and none names a master, the cause is that.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[must_use]
    pub fn master(&self) -> Nodes {
        Nodes::start([Place::named(self.named.clone(), self.login.clone())], self.options)
    }
}

impl fmt::Debug for Sentinels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sentinels")
            .field("master", &*self.named.borrow())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_refusal_says_why_without_the_password() {
        let why = |urls: &[&str]| {
            let error = Sentinels::open(urls, "m", NodeOptions::default())
                .unwrap_err()
                .to_string();
            assert!(!error.contains("secret"), "{error}");
            error
        };
        assert!(why(&[]).contains("at least one Sentinel"));
        assert!(why(&["localhost"]).contains("redis://"));
        assert!(why(&["redis://a:1", "redis://:secret@A:1"]).contains("named twice"));
        assert!(why(&["redis://:secret@a:1/2"]).contains("no databases"));
        assert!(Sentinels::open(&["redis://a:1", "redis://a:2"], "m", NodeOptions::default()).is_ok());
    }
}
