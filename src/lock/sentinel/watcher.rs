//! Asks one Sentinel.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};

use super::heard::Heard;
use super::opinions::Opinion;
use super::question::{self, REPLIES};
use crate::cause::Cause;
use crate::node::address::NodeAddress;
use crate::node::greeting::{self, Failed};
use crate::node::options::NodeOptions;

/// How often a Sentinel is asked, if it has no news before.
const INTERVAL: Duration = Duration::from_secs(1);

/// Asks one Sentinel.
pub(super) struct Watcher {
    /// The Sentinel's position among all of them.
    index: usize,
    sentinel: NodeAddress,
    /// What it is asked, packed.
    question: Vec<u8>,
    options: NodeOptions,
}

impl Watcher {
    /// Asks this Sentinel for the master of this name.
    pub(super) fn new(index: usize, sentinel: NodeAddress, master: &str, options: NodeOptions) -> Self {
        Self {
            index,
            sentinel,
            question: question::question(master),
            options,
        }
    }

    /// Asks the Sentinel for ever.
    pub(super) async fn run(&self, heard: &Heard) {
        loop {
            let Err(failed) = self.talk(heard).await;
            let opinion = match failed.cause() {
                cause @ (Cause::NoPermission(_) | Cause::Tls(_)) => Opinion::Refused(cause),
                _ => Opinion::Silent,
            };
            heard.hear(self.index, opinion);
            sleep(self.options.reconnect_backoff).await;
        }
    }

    /// Connects to the Sentinel and asks it until a connection breaks, or until it does not answer in the time that an attempt
    /// to connect may take.
    async fn talk(&self, heard: &Heard) -> Result<Infallible, Failed> {
        // A subscriber may ask nothing, so news come on a connection of their own.
        let (mut news, _) = greeting::enter(&self.sentinel, &self.options, &[]).await?;
        news.write_all(&question::subscription()).await?;
        news.flush().await?;
        let (mut stream, _) = greeting::enter(&self.sentinel, &self.options, &[]).await?;
        let mut unread = [0; 1 << 10];
        loop {
            let asked = async {
                stream.write_all(&self.question).await?;
                stream.flush().await?;
                greeting::read(&mut stream, &mut Vec::new(), REPLIES).await
            };
            let replies = timeout(self.options.connect_timeout, asked).await;
            let replies = replies.map_err(io::Error::from)??;
            heard.hear(self.index, question::opinion(replies));
            tokio::select! {
                // Whatever is new, what it means for our master is asked. Without the permission to subscribe there is no news.
                read = news.read(&mut unread) => {
                    if read? == 0 {
                        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                    }
                }
                () = sleep(INTERVAL) => {}
            }
        }
    }
}
