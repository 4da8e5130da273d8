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
use crate::protocol::{Event, Watch};
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
                let (id, error) = (watch.id, error.to_string());
                tell(&Event::NotStarted { id, error });
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
                tell(&Event::KeysLeft { id, why });
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
        Seen::Up { .. } => tell(&Event::Reached {
            id,
            lacks: removal::obstacle(&address, &prefix).await,
        }),
        Seen::Silent => {
            let error = "it does not answer".to_owned();
            return tell(&Event::NotStarted { id, error });
        }
        Seen::Gone(why) => {
            let error = why.clone();
            return tell(&Event::NotStarted { id, error });
        }
    }
    loop {
        sleep(PAUSE).await;
        let now = witness.look().await;
        for event in changes(id, &before, &now) {
            tell(&event);
        }
        // What is gone is gone until it answers: that its machine does not refuse any more changes nothing.
        if !matches!((&before, &now), (Seen::Gone(_), Seen::Silent)) {
            before = now;
        }
    }
}

/// What has happened between two looks.
fn changes(id: usize, before: &Seen, now: &Seen) -> Vec<Event> {
    let reached = || Event::Reached { id, lacks: None };
    let gone = |why: &str| Event::Gone {
        id,
        why: why.to_owned(),
    };
    match (before, now) {
        (Seen::Up { run_id: first }, Seen::Up { run_id: second }) if first != second => {
            vec![gone("started again"), reached()]
        }
        (Seen::Up { .. } | Seen::Silent, Seen::Gone(why)) => vec![gone(why)],
        (Seen::Gone(_), Seen::Up { .. }) => vec![reached()],
        (Seen::Up { .. }, Seen::Silent) => vec![Event::Paused { id }],
        (Seen::Silent, Seen::Up { .. }) => vec![Event::Continued { id }],
        (Seen::Up { .. }, Seen::Up { .. })
        | (Seen::Silent, Seen::Silent)
        | (Seen::Gone(_), Seen::Gone(_) | Seen::Silent) => Vec::new(),
    }
}

/// If nobody listens any more, there is nobody to tell.
fn tell(event: &Event) {
    let _ = crate::emit::emit(event);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_of_state_is_told_once() {
        let up = |run_id: &str| Seen::Up {
            run_id: Some(run_id.to_owned()),
        };
        let told = |before: &Seen, now: &Seen| -> Vec<String> {
            let word = |event: &Event| {
                serde_json::to_value(event).unwrap()["event"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            };
            changes(1, before, now).iter().map(word).collect()
        };
        let gone = || Seen::Gone("connection refused".to_owned());
        assert!(told(&up("a"), &up("a")).is_empty());
        assert_eq!(told(&up("a"), &up("b")), ["gone", "reached"]);
        assert_eq!(told(&up("a"), &gone()), ["gone"]);
        assert_eq!(told(&gone(), &up("b")), ["reached"]);
        assert_eq!(told(&up("a"), &Seen::Silent), ["paused"]);
        assert_eq!(told(&Seen::Silent, &up("a")), ["continued"]);
        assert_eq!(told(&Seen::Silent, &gone()), ["gone"]);
        assert!(told(&gone(), &Seen::Silent).is_empty() && told(&gone(), &gone()).is_empty());
    }
}
