//! The task that keeps a connection to one node: it connects, lets the connection work until it breaks, and connects again.

use std::collections::VecDeque;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::backoff::Backoff;
use super::census::Seat;
use super::connection::Connection;
use super::greeting::{self, Greeted};
use super::job::Job;
use super::options::NodeOptions;
use super::place::Place;
use super::queue::Queue;
use super::replication::Replication;
use crate::cause::Cause;

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
    let (wait, mut backoff) = (options.connection_wait(), Backoff::new(options.reconnect_backoff));
    // Commands wait for the first connection, and for the one after a connection that broke though all had been well: a node may
    // close those that are idle. But not for long.
    let mut awaited = true;
    loop {
        let address = place.address();
        if awaited && address.is_err() && place.stay(sleep(wait)).await.is_none() {
            continue;
        }
        let greet = async {
            let address = address?;
            let greet = greeting::greet(&address, must_be_master, seat.is_some(), &options);
            match awaited {
                true => await_connection(&node, wait, greet).await,
                false => greet.await,
            }
        };
        let Some(greeted) = place.stay(greet).await else {
            // There was no connection yet that could break.
            continue;
        };
        awaited = false;
        let (mut written, mut unwritten, mut cause) = (VecDeque::new(), VecDeque::new(), Cause::Refused);
        match greeted {
            Ok(greeted) => {
                let _seated = seat.as_ref().map(|seat| seat.connected(greeted.server_id));
                node.connected();
                let server = greeted.stream.server();
                let mut connection = Connection::new(greeted.stream, server, greeted.native, &options);
                let begun = Instant::now();
                match place.stay(connection.drive(&node)).await {
                    Some(Ok(())) => return,
                    Some(Err(error)) => {
                        connection.blame(&node);
                        if error.kind() == io::ErrorKind::ReadOnlyFilesystem {
                            cause = Cause::ReadOnly;
                        }
                        // One that breaks again and again is not worth a wait.
                        awaited = begun.elapsed() > options.reconnect_backoff;
                    }
                    // To those who asked, the connection broke.
                    None => awaited = true,
                }
                unwritten = connection.unwritten;
                unwritten.extend(connection.refused.into_iter().map(Job::Lock));
                let run = connection.replication.into_iter().flat_map(Replication::into_run);
                written = run.chain(connection.pipeline.into_written()).collect();
            }
            Err(failed) => cause = failed,
        }
        node.disconnected(written, unwritten, &cause, awaited);
        if node.is_abandoned() && !node.is_owing() {
            return;
        }
        let pause = backoff.after(&cause);
        if !awaited {
            // It matters not whether the node moves during the pause: then the pause is over.
            let _ = place.stay(sleep(pause)).await;
        }
    }
}

/// Awaits a connection. Commands wait for it, but not for longer than this.
async fn await_connection(
    node: &Queue,
    wait: Duration,
    greet: impl Future<Output = Result<Greeted, Cause>>,
) -> Result<Greeted, Cause> {
    let mut greet = pin!(greet);
    match timeout(wait, &mut greet).await {
        Ok(greeted) => greeted,
        Err(_) => {
            node.suspect(&mut VecDeque::new());
            greet.await
        }
    }
}
