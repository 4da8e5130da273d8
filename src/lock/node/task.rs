//! The task that keeps a connection to one node: it connects, lets the connection work until it breaks, and connects again.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::census::Seat;
use super::connection::Connection;
use super::greeting::{self, Greeted};
use super::job::Job;
use super::options::NodeOptions;
use super::place::Place;
use super::queue::Queue;
use super::replication::Replication;
use crate::cause::Cause;

/// How long commands wait for the first connection.
pub(crate) const FIRST_CONNECTION_WAIT: Duration = Duration::from_millis(40);

/// Marks the node as ended when its task ends, also when the runtime is dropped.
struct EndOnDrop<'a>(&'a Queue);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Maintains a connection to the node, wherever it is, until nobody uses it. With a `seat` among others it has no vote as long as
/// it is the same server as one of these.
pub(crate) async fn run(node: Arc<Queue>, mut place: Place, options: NodeOptions, seat: Option<Seat>) {
    let _end = EndOnDrop(&node);
    let must_be_master = place.must_be_master();
    let mut first = true;
    loop {
        let address = place.address();
        // Commands wait for the first address, but not for long.
        if first && address.is_err() && place.stay(sleep(FIRST_CONNECTION_WAIT)).await.is_none() {
            continue;
        }
        let greet = async {
            let address = address?;
            let greet = greeting::greet(&address, must_be_master, seat.is_some(), &options);
            match first {
                true => await_first(&node, greet).await,
                false => greet.await,
            }
        };
        let Some(greeted) = place.stay(greet).await else {
            // There was no connection yet that could break.
            continue;
        };
        first = false;
        let mut moved = false;
        let (mut written, mut unwritten, mut cause) = (VecDeque::new(), VecDeque::new(), Cause::Refused);
        match greeted {
            Ok(greeted) => {
                let _seated = seat.as_ref().map(|seat| seat.connected(greeted.server_id));
                node.connected();
                let server = greeted.stream.server();
                let mut connection = Connection::new(greeted.stream, server, greeted.native, &options);
                match place.stay(connection.drive(&node)).await {
                    Some(Ok(())) => return,
                    Some(Err(_)) => connection.blame(&node),
                    // To those who asked, the connection broke.
                    None => moved = true,
                }
                unwritten = connection.unwritten;
                unwritten.extend(connection.refused.into_iter().map(Job::Lock));
                let run = connection.replication.into_iter().flat_map(Replication::into_run);
                written = run.chain(connection.pipeline.into_written()).collect();
            }
            Err(failed) => cause = failed,
        }
        node.disconnected(written, unwritten, &cause);
        if node.is_abandoned() && !node.is_owing() {
            return;
        }
        if !moved {
            // It matters not whether the node moves during the pause: then the pause is over.
            let _ = place.stay(sleep(options.reconnect_backoff)).await;
        }
    }
}

/// Awaits the first connection. Commands wait for it, but not for long.
async fn await_first(node: &Queue, greet: impl Future<Output = Result<Greeted, Cause>>) -> Result<Greeted, Cause> {
    let mut greet = pin!(greet);
    match timeout(FIRST_CONNECTION_WAIT, &mut greet).await {
        Ok(greeted) => greeted,
        Err(_) => {
            node.suspect(&mut VecDeque::new());
            greet.await
        }
    }
}
