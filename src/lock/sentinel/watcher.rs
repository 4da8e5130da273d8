//! Asks Sentinels where their master is, with a task for each of them.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::sync::watch;
use tokio::time::sleep;

use super::heard::Heard;
use super::opinions::Opinion;
use super::question;
use crate::cause::Cause;
use crate::node::address::NodeAddress;
use crate::node::backoff::Backoff;
use crate::node::greeting::{self, GREETING_LIMIT, SessionError};
use crate::node::options::NodeOptions;
use crate::node::place::Named;
use crate::node::session::Session;

/// How often a Sentinel is asked, if it has no news before.
const INTERVAL: Duration = Duration::from_secs(1);

/// Starts to ask the Sentinels, and does not wait. The tasks end with the runtime, or when all receivers are dropped.
pub(crate) fn follow(sentinels: Vec<NodeAddress>, master: &str, options: NodeOptions) -> watch::Receiver<Named> {
    let heard = Arc::new(Heard::new(sentinels.len()));
    let named = heard.named();
    for (index, sentinel) in sentinels.into_iter().enumerate() {
        let watcher = Watcher {
            index,
            sentinel,
            master: master.to_owned(),
            options,
            heard: Arc::clone(&heard),
        };
        tokio::spawn(async move {
            tokio::select! {
                () = watcher.heard.abandoned() => {}
                () = watcher.run() => {}
            }
        });
    }
    named
}

/// Asks one Sentinel.
struct Watcher {
    /// The Sentinel's position among all of them.
    index: usize,
    sentinel: NodeAddress,
    /// The name of the master.
    master: String,
    options: NodeOptions,
    heard: Arc<Heard>,
}

impl Watcher {
    /// Asks the Sentinel for ever.
    async fn run(&self) {
        let mut backoff = Backoff::new(self.options.reconnect_backoff);
        loop {
            let Err(failed) = self.talk().await;
            let cause = failed.cause();
            let pause = backoff.after(&cause);
            let opinion = match cause {
                Cause::NoPermission(_) | Cause::Tls(_) => Opinion::Refused(cause),
                _ => Opinion::Silent,
            };
            self.heard.hear(self.index, opinion);
            sleep(pause).await;
        }
    }

    /// Connects to the Sentinel and asks it until a connection breaks, or until it does not answer in the time that an attempt
    /// to connect may take.
    async fn talk(&self) -> Result<Infallible, SessionError> {
        // A subscriber may ask nothing, so news come on a connection of their own. Without the permission to subscribe there is
        // no news.
        let subscribe: &[&str] = &["SUBSCRIBE", "+switch-master"];
        let (mut news, _) = greeting::enter(&self.sentinel, &self.options, &[subscribe], GREETING_LIMIT).await?;
        let mut session = Session::open(&self.sentinel, &self.options).await?;
        let mut unread = [0; 1 << 10];
        loop {
            let opinion = question::ask(&mut session, &self.master).await?;
            self.heard.hear(self.index, opinion);
            tokio::select! {
                // Whatever is new, what it means for our master is asked.
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
