//! Servers that are not ours. The keeper only watches them, and removes the run's keys from them at the end: it is the one that
//! outlives the rest of Lockstorm.
//!
//! It has a thread of its own for that. The servers that are ours are children of the main thread, as they have to be.

use std::io;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::removal;
use super::witness::{Seen, Witness};
use crate::emit;
use crate::protocol::{News, Watch};
use lockstorm_lock::NodeAddress;

/// The pause between two looks at a server.
const PAUSE: Duration = Duration::from_millis(200);
/// How long a server may take to answer for the first time.
const FIRST: Duration = Duration::from_secs(5);
/// How long the removal of all keys may take. What is left then expires by itself.
pub(crate) const REMOVAL: Duration = Duration::from_secs(10);

/// The servers that are watched. Dropping this removes the run's keys from them.
#[derive(Default)]
pub(super) struct Watched {
    thread: Option<(UnboundedSender<Watch>, JoinHandle<()>)>,
}

impl Watched {
    /// Watches one more server.
    pub(super) fn add(&mut self, watch: Watch) -> io::Result<()> {
        let thread = match &mut self.thread {
            Some(thread) => thread,
            none => {
                let runtime = Builder::new_current_thread().enable_all().build()?;
                let (send, asked) = mpsc::unbounded_channel();
                let serve = move || {
                    runtime.block_on(serve(asked));
                    // A name may still be looked up.
                    runtime.shutdown_background();
                };
                none.insert((send, thread::Builder::new().name("watched".to_owned()).spawn(serve)?))
            }
        };
        thread.0.send(watch).map_err(io::Error::other)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some((asked, thread)) = self.thread.take() {
            drop(asked);
            let _ = thread.join();
        }
    }
}

/// Watches what is asked for until nobody asks any more, and then removes the keys.
async fn serve(mut asked: UnboundedReceiver<Watch>) {
    let (mut watching, mut servers) = (JoinSet::new(), Vec::new());
    while let Some(watch) = asked.recv().await {
        let address = match NodeAddress::parse(&watch.url) {
            Ok(address) => address,
            Err(error) => {
                tell(watch.id, News::NotStarted(error.to_string()));
                continue;
            }
        };
        watching.spawn(follow(watch.id, address.clone(), watch.prefix.clone()));
        servers.push((watch.id, address, watch.prefix));
    }
    watching.shutdown().await;
    let mut removing = JoinSet::new();
    for (id, address, prefix) in servers {
        removing.spawn(async move {
            let removed = timeout(REMOVAL, removal::remove(&address, &prefix)).await;
            if let Err(why) = removed.unwrap_or_else(|_| Err(format!("not done within {REMOVAL:?}"))) {
                tell(id, News::KeysLeft(why));
            }
        });
    }
    removing.join_all().await;
}

/// Tells each change of a server's state.
async fn follow(id: usize, address: NodeAddress, prefix: String) {
    let mut witness = Witness::new(address.clone());
    let patience = Instant::now() + FIRST;
    let mut before = witness.look().await;
    while matches!(before, Seen::Silent) && Instant::now() < patience {
        before = witness.look().await;
    }
    match &before {
        Seen::Up { .. } => {
            let lacks = removal::obstacle(&address, &prefix).await;
            tell(id, News::Reached { lacks });
        }
        Seen::Silent => return tell(id, News::NotStarted("it does not answer".to_owned())),
        Seen::Gone(why) => return tell(id, News::NotStarted(why.clone())),
    }
    loop {
        sleep(PAUSE).await;
        let now = witness.look().await;
        for news in changes(&before, &now) {
            tell(id, news);
        }
        // What is gone is gone until it answers: that its machine does not refuse any more changes nothing.
        if !matches!((&before, &now), (Seen::Gone(_), Seen::Silent)) {
            before = now;
        }
    }
}

/// What has happened between two looks.
fn changes(before: &Seen, now: &Seen) -> Vec<News> {
    let reached = || News::Reached { lacks: None };
    let gone = |why: &str| News::Gone(why.to_owned());
    match (before, now) {
        (Seen::Up { run_id: first }, Seen::Up { run_id: second }) if first != second => {
            vec![gone("started again"), reached()]
        }
        (Seen::Up { .. } | Seen::Silent, Seen::Gone(why)) => vec![gone(why)],
        (Seen::Gone(_), Seen::Up { .. }) => vec![reached()],
        (Seen::Up { .. }, Seen::Silent) => vec![News::Paused],
        (Seen::Silent, Seen::Up { .. }) => vec![News::Continued],
        (Seen::Up { .. }, Seen::Up { .. })
        | (Seen::Silent, Seen::Silent)
        | (Seen::Gone(_), Seen::Gone(_) | Seen::Silent) => Vec::new(),
    }
}

/// If nobody listens any more, there is nobody to tell.
fn tell(id: usize, news: News) {
    let _ = emit::tell(id, news);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_of_state_is_told_once() {
        let up = |run_id: &str| Seen::Up {
            run_id: Some(run_id.to_owned()),
        };
        let (lost, reached) = ("connection refused", || News::Reached { lacks: None });
        let (gone, is_gone) = (|| Seen::Gone(lost.to_owned()), |why: &str| News::Gone(why.to_owned()));
        assert!(changes(&up("a"), &up("a")).is_empty());
        assert_eq!(changes(&up("a"), &up("b")), [is_gone("started again"), reached()]);
        assert_eq!(changes(&up("a"), &gone()), [is_gone(lost)]);
        assert_eq!(changes(&gone(), &up("b")), [reached()]);
        assert_eq!(changes(&up("a"), &Seen::Silent), [News::Paused]);
        assert_eq!(changes(&Seen::Silent, &up("a")), [News::Continued]);
        assert_eq!(changes(&Seen::Silent, &gone()), [is_gone(lost)]);
        assert!(changes(&gone(), &Seen::Silent).is_empty() && changes(&gone(), &gone()).is_empty());
    }
}
