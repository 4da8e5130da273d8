//! Asks the nodes of a cluster who has the slots.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::router::Router;
use super::view::{self, QUESTION};
use crate::cause::Cause;
use crate::node::address::NodeAddress;
use crate::node::greeting::SessionError;
use crate::node::place::Spot;
use crate::node::session::Session;

/// How often a node is asked if all is well.
const INTERVAL: Duration = Duration::from_secs(1);

/// Starts to ask for the slots, and does not wait; the first to be asked are the nodes at `seeds`. The task ends with the
/// runtime, or once nobody uses the cluster and nothing is owed.
pub(crate) fn start(router: &Arc<Router>, seeds: Arc<[NodeAddress]>) {
    // Commands wait for the first answer, but not for long.
    let (waiting, wait) = (Arc::downgrade(router), router.options().connection_wait());
    tokio::spawn(async move {
        sleep(wait).await;
        if let Some(router) = waiting.upgrade() {
            router.on_all_silent(&Cause::NoMaster);
        }
    });
    tokio::spawn(run(Arc::clone(router), seeds));
}

/// Asks one node after the other: the same one as long as all is well.
async fn run(router: Arc<Router>, seeds: Arc<[NodeAddress]>) {
    let (mut turn, mut silent, mut why) = (0, 0, Cause::NoMaster);
    // Whether what the last one said was of any use. A node that is cut off from the others goes on to answer, with old news.
    let mut is_helpful = true;
    while !router.is_over() {
        let begun = Instant::now();
        let candidates = candidates(&router, &seeds, is_helpful && router.is_calm());
        if let Some(candidate) = candidates.get(turn % candidates.len().max(1)) {
            let (spot, address) = candidate;
            match talk(&router, spot, address).await {
                Ok(()) => {
                    (silent, why) = (0, Cause::NoMaster);
                    is_helpful = begun.elapsed() >= INTERVAL;
                }
                Err(cause) => {
                    router.on_silent(spot);
                    silent += 1;
                    if matches!(
                        cause,
                        Cause::NoPermission(_) | Cause::Tls(_) | Cause::Error(_) | Cause::NotReady(_)
                    ) {
                        why = cause;
                    }
                }
            }
        }
        turn += 1;
        if silent >= candidates.len() {
            router.on_all_silent(&why);
            (silent, why) = (0, Cause::NoMaster);
        }
        sleep_until(begun + router.options().reconnect_backoff).await;
    }
}

/// The nodes to ask, each once: if all is `calm`, one is enough. One that is known to be silent would only cost time; it is
/// asked if no other is left.
fn candidates(router: &Router, seeds: &[NodeAddress], calm: bool) -> Vec<(Spot, NodeAddress)> {
    let mut candidates = Vec::new();
    for spot in router.candidates(calm) {
        if let Ok(address) = router.address(&spot) {
            candidates.push((spot, address));
        }
    }
    if calm && !candidates.is_empty() {
        return candidates;
    }
    let mut silent = Vec::new();
    for seed in seeds {
        if candidates.iter().any(|(_, address)| address.is_same_node(seed)) {
            continue;
        }
        let spot = Spot {
            host: seed.host().to_owned(),
            port: seed.port(),
        };
        let list = if router.may_answer(&spot) {
            &mut candidates
        } else {
            &mut silent
        };
        list.push((spot, seed.clone()));
    }
    if candidates.is_empty() { silent } else { candidates }
}

/// Connects to a node and asks it, again and again while all is well. Returns when another node is to be asked.
async fn talk(router: &Router, spot: &Spot, address: &NodeAddress) -> Result<(), Cause> {
    let options = router.options();
    let entered = Session::asking(address, options, QUESTION).await;
    let (mut session, mut replies) = entered.map_err(SessionError::cause)?;
    loop {
        let view = view::read(replies, address.host())?;
        if view.ranges.is_empty() {
            // It belongs to no cluster yet, or not any more. The others may know better.
            return Err(Cause::NotReady("CLUSTERDOWN the node knows of no slots".into()));
        }
        router.learn(view, spot);
        if !router.is_calm() {
            // The masters are given the time to get well.
            let _ = timeout(options.reconnect_backoff, router.troubled()).await;
            return Ok(());
        }
        if timeout(INTERVAL, router.troubled()).await.is_ok() {
            return Ok(());
        }
        replies = session.ask_all(QUESTION).await.map_err(SessionError::cause)?;
    }
}
