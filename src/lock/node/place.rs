//! Where a node is found: at an address that never changes, or at one that its owner may change.

use tokio::sync::watch;

use super::address::NodeAddress;

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
}

impl Place {
    /// The place that the sender of these addresses names.
    pub(crate) fn following(newest: watch::Receiver<NodeAddress>) -> Self {
        let used = newest.borrow().clone();
        Self::Followed { newest, used }
    }

    /// The address to connect to now.
    pub(crate) fn address(&mut self) -> NodeAddress {
        match self {
            Self::Fixed(address) => address.clone(),
            Self::Followed { newest, used } => {
                used.clone_from(&newest.borrow_and_update());
                used.clone()
            }
        }
    }

    /// Does `work` at the last [`address`](Self::address), and drops it as soon as the node is at another one; the result is
    /// then `None`. At a fixed address nothing but the work is polled.
    pub(crate) async fn stay<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let Self::Followed { newest, used } = self else {
            return Some(work.await);
        };
        tokio::select! {
            biased;
            () = moved(newest, used) => None,
            done = work => Some(done),
        }
    }
}

/// Waits until the newest address is another one than `used`. Without a sender that never happens.
async fn moved(newest: &mut watch::Receiver<NodeAddress>, used: &NodeAddress) {
    while newest.changed().await.is_ok() {
        if !newest.borrow_and_update().is_equal(used) {
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
        assert_eq!(place.address().port(), 7000);
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
        assert_eq!(place.address().port(), 2);
        sender.send_replace(address("redis://host:3"));
        assert_eq!(place.stay(pending::<()>()).await, None);
        assert_eq!(place.address().port(), 3);
        // There and back again is no change.
        sender.send_replace(address("redis://host:4"));
        sender.send_replace(address("redis://host:3"));
        assert_eq!(place.stay(yield_now()).await, Some(()));
    }

    #[tokio::test]
    async fn without_a_sender_and_at_a_fixed_address_the_node_stays() {
        let (sender, newest) = watch::channel(address("redis://host:1"));
        let mut place = Place::following(newest);
        sender.send_replace(address("redis://host:2"));
        drop(sender);
        assert_eq!(place.address().port(), 2);
        assert_eq!(place.stay(yield_now()).await, Some(()));
        let mut fixed = Place::Fixed(address("redis://host:1"));
        assert_eq!((fixed.address().port(), fixed.stay(ready(7)).await), (1, Some(7)));
    }
}
