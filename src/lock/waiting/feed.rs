//! The subscriber connection to one node, which delivers releases and other app servers' announcements. It is separate from
//! the connection for locks, which must not carry anything else; and a node takes no other commands from subscribers.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::channels::Channels;
use crate::cause::Cause;
use crate::node::backoff::Backoff;
use crate::node::greeting::{self, GREETING_LIMIT, SessionError};
use crate::node::options::NodeOptions;
use crate::node::place::Place;
use crate::node::reply::{Malformed, Reply};
use crate::node::wire::{self, CHANNEL_PREFIX};
use crate::nodes::Nodes;

/// How often to look for channels that nobody uses any more.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Keys to subscribe to, sent by callers that begin to wait for them.
type Keys = mpsc::UnboundedReceiver<Arc<[u8]>>;

/// The subscriptions on one node, until this is dropped.
#[derive(Debug)]
pub(crate) struct Feed {
    /// Sends new keys to the task.
    keys: mpsc::UnboundedSender<Arc<[u8]>>,
    task: JoinHandle<()>,
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Feed {
    /// Begins to connect to the node, whose messages go to the channels.
    pub(crate) fn open(channels: &Arc<Channels>, node: usize, nodes: &Nodes) -> Self {
        let (sender, keys) = mpsc::unbounded_channel();
        let (place, options) = nodes.place(node);
        let feed = run(Arc::downgrade(channels), node, place, options, keys);
        Self {
            keys: sender,
            task: nodes.spawn(feed),
        }
    }

    /// Subscribes to the channel of this key too.
    pub(crate) fn subscribe(&self, key: &Arc<[u8]>) {
        // This fails only if the task has ended with the runtime.
        let _ = self.keys.send(Arc::clone(key));
    }
}

/// Maintains a connection to the node, wherever it is, until it is aborted.
async fn run(channels: Weak<Channels>, node: usize, mut place: Place, options: NodeOptions, mut keys: Keys) {
    let mut backoff = Backoff::new(options.reconnect_backoff);
    loop {
        // Nothing must pile up here while the node is down. A new connection subscribes to all keys that are in use at that
        // time.
        if let Some(channels) = channels.upgrade() {
            channels.sweep();
        }
        while keys.try_recv().is_ok() {}
        let address = place.address();
        let connection = async {
            let address = address?;
            let entered = greeting::enter(&address, &options, &[], GREETING_LIMIT).await;
            let (stream, _) = entered.map_err(SessionError::cause)?;
            let mut subscriber = Subscriber {
                channels: channels.clone(),
                node,
                stream,
                input: Vec::new(),
                limit: GREETING_LIMIT + 2 * options.longest_key,
                subscribed: HashSet::new(),
            };
            // The error does not matter: waiters ask again from time to time.
            subscriber.drive(&mut keys).await.map_err(|_| Cause::Refused)
        };
        let stayed = place.stay(connection).await;
        if let Some(channels) = channels.upgrade() {
            channels.on_disconnected(node);
        }
        if let Some(Err(cause)) = stayed {
            // It matters not whether the node moves during the pause: then the pause is over.
            let _ = place.stay(sleep(backoff.after(&cause))).await;
        }
    }
}

/// One established connection.
struct Subscriber<S> {
    channels: Weak<Channels>,
    node: usize,
    stream: S,
    /// Bytes that are not parsed yet.
    input: Vec<u8>,
    /// The most of them.
    limit: usize,
    subscribed: HashSet<Arc<[u8]>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Subscriber<S> {
    async fn drive(&mut self, keys: &mut Keys) -> io::Result<()> {
        let mut sweep = interval(SWEEP_INTERVAL);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.subscribe(self.wanted()).await?;
        loop {
            tokio::select! {
                read = self.stream.read_buf(&mut self.input) => {
                    if read? == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                    self.hand_out()?;
                }
                Some(key) = keys.recv() => self.subscribe(vec![key]).await?,
                _ = sweep.tick() => self.sweep().await?,
            }
        }
    }

    fn wanted(&self) -> Vec<Arc<[u8]>> {
        self.channels
            .upgrade()
            .map_or_else(Vec::new, |channels| channels.keys())
    }

    async fn subscribe(&mut self, keys: Vec<Arc<[u8]>>) -> io::Result<()> {
        if !keys.is_empty() {
            self.stream.write_all(&wire::subscription("SUBSCRIBE", &keys)).await?;
            self.stream.flush().await?;
            self.subscribed.extend(keys);
        }
        Ok(())
    }

    /// Unsubscribes from channels that nobody uses any more.
    async fn sweep(&mut self) -> io::Result<()> {
        if let Some(channels) = self.channels.upgrade() {
            channels.sweep();
        }
        let wanted: HashSet<_> = self.wanted().into_iter().collect();
        let left: Vec<_> = self.subscribed.difference(&wanted).map(Arc::clone).collect();
        if !left.is_empty() {
            self.stream.write_all(&wire::subscription("UNSUBSCRIBE", &left)).await?;
            self.stream.flush().await?;
            self.subscribed.retain(|key| wanted.contains(key));
        }
        Ok(())
    }

    /// Hands the messages that are there to their channels.
    fn hand_out(&mut self) -> io::Result<()> {
        let mut done = 0;
        while let Some((reply, length)) =
            Reply::parse(&self.input[done..]).map_err(|Malformed| io::ErrorKind::InvalidData)?
        {
            done += length;
            let Reply::Array(parts) = reply else {
                // An error: the user may not subscribe.
                continue;
            };
            let [Reply::Text(kind), channel, content] = &parts[..] else {
                continue;
            };
            let channel = channel
                .bytes()
                .and_then(|channel| channel.strip_prefix(CHANNEL_PREFIX.as_bytes()));
            let channel = channel.and_then(|key| self.channels.upgrade()?.get(key));
            match (channel, kind.as_str(), content) {
                (Some(channel), "message", Reply::Text(message)) => channel.on_message(self.node, message),
                (Some(channel), "subscribe", _) => channel.on_subscribed(self.node, true),
                _ => {}
            }
        }
        self.input.drain(..done);
        if self.input.len() > self.limit {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(())
    }
}
