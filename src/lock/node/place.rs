//! Where a node is found: at an address that never changes, at one that its owner may change, or where others say that the
//! master is.

use tokio::sync::watch;

use super::address::NodeAddress;
use crate::cause::Cause;

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Spot {
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// Where the master is, or why nobody knows.
pub(crate) type Named = Result<Spot, Cause>;

/// Where a node is found.
#[derive(Clone)]
pub(crate) enum Place {
    /// At this address, always.
    Fixed(NodeAddress),
    /// At the newest address that was sent.
    Followed {
        newest: watch::Receiver<NodeAddress>,
        /// The address that was used last.
        used: NodeAddress,
    },
    /// Where others say that the master is.
    Named {
        newest: watch::Receiver<Named>,
        /// What was used last.
        used: Named,
        /// User, password, database and TLS there.
        login: NodeAddress,
    },
}

impl Place {
    /// The place that the sender of these addresses names.
    pub(crate) fn following(newest: watch::Receiver<NodeAddress>) -> Self {
        let used = newest.borrow().clone();
        Self::Followed { newest, used }
    }

    /// The place of the master that others name; `login` has the user, password and database there, and whether it is TLS.
    pub(crate) fn named(newest: watch::Receiver<Named>, login: NodeAddress) -> Self {
        let used = newest.borrow().clone();
        Self::Named { newest, used, login }
    }

    /// The address to connect to now, or why there is none.
    pub(crate) fn address(&mut self) -> Result<NodeAddress, Cause> {
        match self {
            Self::Fixed(address) => Ok(address.clone()),
            Self::Followed { newest, used } => {
                used.clone_from(&newest.borrow_and_update());
                Ok(used.clone())
            }
            Self::Named { newest, used, login } => {
                used.clone_from(&newest.borrow_and_update());
                let Spot { host, port } = used.as_ref().map_err(Cause::clone)?;
                login.moved_to(host, *port).map_err(Cause::Tls)
            }
        }
    }

    /// Whether a node there that says that it is a replica is not the one.
    pub(crate) const fn must_be_master(&self) -> bool {
        matches!(self, Self::Named { .. })
    }

    /// Does `work` at the last [`address`](Self::address), and drops it as soon as the node is at another one; the result is
    /// then `None`. At a fixed address nothing but the work is polled.
    pub(crate) async fn stay<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        match self {
            Self::Fixed(_) => Some(work.await),
            Self::Followed { newest, used } => unless(moved(newest, |address| address.is_equal(used)), work).await,
            Self::Named { newest, used, .. } => unless(moved(newest, |named| named == used), work).await,
        }
    }
}

/// Does the work, and drops it as soon as the node has `moved`.
async fn unless<T>(moved: impl Future<Output = ()>, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = moved => None,
        done = work => Some(done),
    }
}

/// Waits until the newest place is not the one that is used. Without a sender that never happens.
async fn moved<T>(newest: &mut watch::Receiver<T>, is_used: impl Fn(&T) -> bool) {
    while newest.changed().await.is_ok() {
        if !is_used(&newest.borrow_and_update()) {
            return;
        }
    }
    std::future::pending::<()>().await;
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::task::yield_now;

    use super::*;

    fn address(url: &str) -> NodeAddress {
        NodeAddress::parse(url).unwrap()
    }

    /// Whether work at the present address is given up for each of these addresses, sent one after the other.
    async fn gives_up(addresses: &[&str]) -> bool {
        let (sender, newest) = watch::channel(address("redis://u:p@Host:7000/1"));
        let mut place = Place::following(newest);
        assert_eq!(place.address().unwrap().port(), 7000);
        let send = async {
            for url in addresses {
                yield_now().await;
                sender.send_replace(address(url));
            }
            for _ in 0..3 {
                yield_now().await;
            }
        };
        place.stay(send).await.is_none()
    }

    #[tokio::test]
    async fn only_another_address_ends_the_work_at_the_last_one() {
        let same = "redis://u:p@host:7000/1";
        assert!(!gives_up(&[]).await);
        assert!(!gives_up(&[same, same]).await);
        for other in [
            "redis://u:p@host:7001/1",
            "redis://u:p@other:7000/1",
            "redis://v:p@host:7000/1",
            "redis://u:q@host:7000/1",
            "redis://host:7000/1",
            "redis://u:p@host:7000/2",
        ] {
            assert!(gives_up(&[other]).await, "{other}");
            assert!(gives_up(&[same, other]).await, "{other}");
        }
        let addr = std::net::SocketAddr::from(([127, 0, 0, 1], 7000));
        let (any, ours) = (NodeAddress::from(addr), NodeAddress::from(addr).of_this_user());
        assert!(any.is_equal(&any) && !any.is_equal(&ours));
    }

    #[tokio::test]
    async fn a_change_before_the_work_begins_is_used_or_ends_it() {
        let (sender, newest) = watch::channel(address("redis://host:1"));
        let mut place = Place::following(newest);
        sender.send_replace(address("redis://host:2"));
        assert_eq!(place.address().unwrap().port(), 2);
        sender.send_replace(address("redis://host:3"));
        assert_eq!(place.stay(pending::<()>()).await, None);
        assert_eq!(place.address().unwrap().port(), 3);
        // There and back again is no change.
        sender.send_replace(address("redis://host:4"));
        sender.send_replace(address("redis://host:3"));
        assert_eq!(place.stay(yield_now()).await, Some(()));
    }

    #[tokio::test]
    async fn a_master_is_left_when_another_one_is_named_and_an_unknown_one_is_a_cause() {
        let spot = |port| Spot {
            host: "host".into(),
            port,
        };
        let (sender, newest) = watch::channel(Err(Cause::NoMaster));
        let mut place = Place::named(newest, address("redis://u:p@sentinel:1/3"));
        assert_eq!(place.address().unwrap_err(), Cause::NoMaster);
        let _ = sender.send_replace(Ok(spot(2)));
        assert_eq!(place.stay(pending::<()>()).await, None);
        assert!(place.address().unwrap().is_equal(&address("redis://u:p@host:2/3")));
        let _ = sender.send_replace(Ok(spot(2)));
        assert_eq!(place.stay(yield_now()).await, Some(()));
        assert!(place.must_be_master());
    }

    #[tokio::test]
    async fn without_a_sender_and_at_a_fixed_address_the_node_stays() {
        let (sender, newest) = watch::channel(address("redis://host:1"));
        let mut place = Place::following(newest);
        sender.send_replace(address("redis://host:2"));
        drop(sender);
        assert_eq!(place.address().unwrap().port(), 2);
        assert_eq!(place.stay(yield_now()).await, Some(()));
        let mut fixed = Place::Fixed(address("redis://host:1"));
        assert_eq!(
            (fixed.address().unwrap().port(), fixed.stay(ready(7)).await),
            (1, Some(7))
        );
    }
}
