//! The task that keeps a connection to one node: it connects, lets the connection work until it breaks, and connects again.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::address::NodeAddress;
use super::backoff::Backoff;
use super::census::Seat;
use super::connection::{Connection, Left};
use super::greeting::{self, Greeted};
use super::options::NodeOptions;
use super::place::Place;
use super::queue::Queue;
use crate::cause::Cause;
use crate::clock;

/// Marks the node as ended when its task ends, also when the runtime is dropped.
struct EndOnDrop<'a>(&'a Queue);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// How to connect to the node where it is now.
struct Door<'a> {
    address: &'a Result<NodeAddress, Cause>,
    must_be_master: bool,
    identify: bool,
    options: &'a NodeOptions,
}

impl Door<'_> {
    async fn greet(&self) -> Result<Greeted, Cause> {
        let address = self.address.as_ref().map_err(Cause::clone)?;
        greeting::greet(address, self.must_be_master, self.identify, self.options).await
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
    // A connection that takes the place of one on which the node was silent, and those that are kept for their deletes.
    let (mut spare, mut silent) = (None, Vec::new());
    let mut address = place.address();
    loop {
        if spare.is_none() {
            address = place.address();
        }
        if awaited && address.is_err() && place.stay(sleep(wait)).await.is_none() {
            continue;
        }
        let door = Door {
            address: &address,
            must_be_master,
            identify: seat.is_some(),
            options: &options,
        };
        let greeted = match spare.take() {
            Some(greeted) => Some(Ok(greeted)),
            None if awaited => place.stay(await_connection(&node, wait, door.greet())).await,
            None => place.stay(door.greet()).await,
        };
        let Some(greeted) = greeted else {
            // There was no connection yet that could break, and the old ones lead to another place.
            silent.clear();
            continue;
        };
        awaited = false;
        let (mut left, mut cause) = (Left::default(), Cause::Refused);
        match greeted {
            Ok(greeted) => {
                let _seated = seat.as_ref().map(|seat| seat.connected(greeted.server_id));
                node.connected();
                let server = greeted.stream.server();
                let old = mem::take(&mut silent);
                let mut connection = Connection::new(greeted.stream, server, greeted.native, old, &options);
                let begun = Instant::now();
                let driven = async {
                    tokio::select! {
                        biased;
                        driven = connection.drive(&node) => Ok(driven),
                        greeted = replace(&node, &door) => Err(greeted),
                    }
                };
                let mut moved = false;
                match place.stay(driven).await {
                    Some(Ok(Ok(()))) => return,
                    Some(Ok(Err(error))) => {
                        connection.blame(&node);
                        if error.kind() == io::ErrorKind::ReadOnlyFilesystem {
                            cause = Cause::ReadOnly;
                        }
                        // One that breaks again and again is not worth a wait.
                        awaited = begun.elapsed() > options.reconnect_backoff;
                    }
                    Some(Err(greeted)) => (awaited, spare) = (true, Some(greeted)),
                    // To those who asked, the connection broke.
                    None => (awaited, moved) = (true, true),
                }
                (left, silent) = connection.end(spare.is_some());
                if moved {
                    silent.clear();
                }
            }
            Err(failed) => cause = failed,
        }
        node.disconnected(left.written, left.unwritten, &cause, awaited);
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

/// Waits until the node has been silent for `give_up`, and then for another connection on which it answers.
async fn replace(node: &Queue, door: &Door<'_>) -> Greeted {
    let give_up = door.options.give_up;
    loop {
        let since = node.suspect_since();
        match since.map(|since| clock::now() - since) {
            Some(silent) if silent < give_up => sleep(give_up.saturating_sub(silent)).await,
            Some(_) => {
                // Meanwhile it may have answered on the old one.
                if let Ok(greeted) = door.greet().await
                    && node.suspect_since() == since
                {
                    return greeted;
                }
                sleep(give_up).await;
            }
            None => sleep(give_up / 4).await,
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
