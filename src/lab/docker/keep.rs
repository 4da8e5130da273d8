//! The servers of a lab as containers: the same requests and events as for processes, by a Docker engine.
//!
//! What became of a container is what the engine reports, also if somebody else has ended or frozen it.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use futures_util::{Stream, StreamExt};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::runtime::Builder;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use super::changes::Change;
use super::claim::Claim;
use super::container::place_of;
use super::endpoints::Endpoints;
use super::engine::Engine;
use super::labels::Labels;
use super::removal::remove_all;
use super::supply::{Had, Supply};
use crate::directory::run_dir::RunDir;
use crate::emit::{emit, tell};
use crate::protocol::{Ending, Event, Ground, News, NodeOrder, Request};
use crate::server::containers::Containers;

/// A server in a container of its own is its first process.
const INSIDE: u32 = 1;
/// The exit code of a container whose process was ended by SIGKILL.
const KILLED: i32 = 128 + 9;

/// How long the engine may take for the last lines that a container printed.
const LAST_LINES: Duration = Duration::from_secs(1);
/// How long orders that are under way at the end may take.
const LAST_ORDERS: Duration = Duration::from_secs(10);

/// The servers of a lab.
struct Servers {
    supply: Arc<Supply>,
    all: BTreeMap<usize, Server>,
    /// Orders are carried out side by side.
    orders: JoinSet<Done>,
}

/// A server that was to be started at least once.
#[derive(Default)]
struct Server {
    /// Which node of the lab it is.
    place: String,
    had: Option<Had>,
    /// The networks that it has left.
    left: Option<Endpoints>,
    /// How it has ended since the last order to start it, if it has.
    ended: Option<Ending>,
    /// Copies what it prints.
    log: Option<JoinHandle<()>>,
}

/// What became of an order.
enum Done {
    Started(Had, Result<(u32, Option<SocketAddr>), String>),
    /// What it does is reported as a change.
    Obeyed,
    /// It has left its networks, which are these, or is in them again.
    Moved(usize, Option<Endpoints>, News),
    /// Nothing but this.
    News(usize, News),
}

/// Keeps the containers of the lab in this directory until stdin ends, then removes them and their network. If the engine does not
/// let them be removed, the directory stays: the next start finds it, and tries again.
pub(crate) fn keep(containers: &Containers, directory: RunDir) -> io::Result<()> {
    let run_dir = directory.path();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let ended: io::Result<_> = runtime.block_on(async {
        let engine = Engine::connect().await.map_err(io::Error::other)?;
        let (result, closed) = match Supply::open(&engine, containers, run_dir).await {
            Ok((supply, mut claim)) => {
                let supply = Arc::new(supply);
                let result = serve(&engine, &supply, &mut claim, run_dir).await;
                (result, supply.close().await)
            }
            Err(error) => {
                let removed = remove_all(&engine, &Labels::of_run(run_dir)).await;
                (Err(io::Error::other(error)), removed.map(drop))
            }
        };
        Ok((result, closed.map_err(io::Error::other)))
    });
    // A read of stdin may still be under way; it must not hold up the end.
    runtime.shutdown_background();
    let (result, closed) = ended?;
    if closed.is_err() {
        directory.leave();
    }
    result.and(closed)
}

async fn serve(engine: &Engine, supply: &Arc<Supply>, claim: &mut Claim, run_dir: &Path) -> io::Result<()> {
    // Before anything is started, so that nothing is missed.
    let changes = std::pin::pin!(engine.changes(&supply.changing()));
    emit(&Event::Ready(Ground {
        dir: run_dir.to_owned(),
        addresses: supply.addresses(),
    }))?;
    let mut servers = Servers {
        supply: Arc::clone(supply),
        all: BTreeMap::new(),
        orders: JoinSet::new(),
    };
    let result = tokio::select! {
        result = servers.serve(changes) => result,
        // Others take the lab for a leftover from now on.
        how = claim.is_lost() => Err(io::Error::other(format!(
            "the container that says that the lab is alive has ended: {how}"
        ))),
    };
    // A container that is just being made would otherwise be made after the others are removed.
    let _ = timeout(LAST_ORDERS, async {
        while servers.orders.join_next().await.is_some() {}
    })
    .await;
    result
}

impl Servers {
    /// Does what is asked and tells what happens, until stdin ends.
    async fn serve(
        &mut self,
        mut changes: Pin<&mut impl Stream<Item = Result<(String, Change), String>>>,
    ) -> io::Result<()> {
        let mut requests = BufReader::new(tokio::io::stdin()).lines();
        let lost = |why: &str| io::Error::other(format!("the Docker engine does not report any more{why}"));
        loop {
            tokio::select! {
                // A line of which only a part has come is kept for the next look.
                request = requests.next_line() => match request? {
                    Some(request) => self.obey(serde_json::from_str(&request)?)?,
                    None => return Ok(()),
                },
                change = changes.next() => match change {
                    Some(change) => self.note(change.map_err(|error| lost(&format!(": {error}")))?)?,
                    None => return Err(lost("")),
                },
                Some(done) = self.orders.join_next() => self.tell(done.map_err(io::Error::other)?)?,
            }
        }
    }

    fn obey(&mut self, request: Request) -> io::Result<()> {
        let supply = Arc::clone(&self.supply);
        match request {
            // Not offered: the command line refuses it.
            Request::Watch(watch) => {
                let why = "containers are not offered beside servers that are not ours".to_owned();
                return tell(watch.id, News::NotStarted(why));
            }
            Request::Start(start) => {
                let server = self.all.entry(start.id).or_default();
                server.ended = None;
                server.place = place_of(&start.dir);
                let before = server.had.clone();
                self.orders.spawn(async move {
                    let id = start.id;
                    match supply.container(start, before).await {
                        Ok(had) => {
                            let started = supply.start(&had).await;
                            Done::Started(had, started)
                        }
                        Err(error) => Done::News(id, News::NotStarted(error)),
                    }
                });
            }
            Request::Order { id, order } => {
                let server = self.all.get(&id);
                let had = server.and_then(|server| server.had.clone());
                let left = server.and_then(|server| server.left.clone());
                self.orders.spawn(async move {
                    let result = match had {
                        Some(had) => carry_out(id, order, &supply, &had, left).await,
                        None => Err("it is not running".to_owned()),
                    };
                    result.unwrap_or_else(|error| Done::News(id, News::NotDone(error)))
                });
            }
        }
        Ok(())
    }

    fn tell(&mut self, done: Done) -> io::Result<()> {
        match done {
            Done::Started(had, result) => {
                let id = had.start.id;
                let server = self.all.entry(id).or_default();
                let news = match result {
                    Ok((pid, at)) => {
                        server.log = Some(copy_log(had.clone()));
                        let inside = INSIDE;
                        News::Started { pid, inside, at }
                    }
                    Err(error) => News::NotStarted(error),
                };
                server.had = Some(had);
                tell(id, news)?;
                // It may have ended before its start was reported.
                match server.ended {
                    Some(how) => self.end(id, how),
                    None => Ok(()),
                }
            }
            Done::Obeyed => Ok(()),
            Done::Moved(id, left, news) => {
                self.all.entry(id).or_default().left = left;
                tell(id, news)
            }
            Done::News(id, news) => tell(id, news),
        }
    }

    fn note(&mut self, (place, change): (String, Change)) -> io::Result<()> {
        let known = self.all.iter().find(|(_, server)| server.place == place);
        let Some(id) = known.map(|(&id, _)| id) else {
            // A stack may have nodes that this lab does not use.
            return Ok(());
        };
        match change {
            Change::Ended(code) => {
                let how = match code {
                    KILLED => Ending::Signal(KILLED - 128),
                    code => Ending::Code(code),
                };
                if let Some(server) = self.all.get_mut(&id) {
                    server.ended = Some(how);
                }
                self.end(id, how)
            }
            Change::Paused => tell(id, News::Paused),
            Change::Continued => tell(id, News::Continued),
        }
    }

    /// Tells that a server has ended, once its last words are in its log.
    fn end(&mut self, id: usize, how: Ending) -> io::Result<()> {
        let log = self.all.get_mut(&id).and_then(|server| server.log.take());
        let Some(mut log) = log else {
            return tell(id, News::Ended(how));
        };
        self.orders.spawn(async move {
            let _ = timeout(LAST_LINES, &mut log).await;
            Done::News(id, News::Ended(how))
        });
        Ok(())
    }
}

async fn carry_out(
    id: usize,
    order: NodeOrder,
    supply: &Supply,
    had: &Had,
    left: Option<Endpoints>,
) -> Result<Done, String> {
    let container = &had.container;
    match order {
        NodeOrder::Kill => container.signal("SIGKILL").await?,
        NodeOrder::ShutDown => container.signal("SIGTERM").await?,
        NodeOrder::Continue => container.thaw().await?,
        NodeOrder::Pause => {
            container.freeze().await?;
            if container.state().await?.paused != Some(true) {
                return Err("the engine can't freeze it".to_owned());
            }
        }
        NodeOrder::Leave => return Ok(Done::Moved(id, Some(supply.take_out(had).await?), News::Left)),
        NodeOrder::Rejoin => {
            let news = News::Rejoined(supply.put_back(had, left).await?);
            return Ok(Done::Moved(id, None, news));
        }
    }
    Ok(Done::Obeyed)
}

fn copy_log(had: Had) -> JoinHandle<()> {
    // Whole seconds; the first lines of this start may come again after those of the one before.
    let since = UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
    let since = i32::try_from(since).unwrap_or_default().saturating_sub(1);
    tokio::spawn(async move { had.container.copy_log(since, &had.start.log).await })
}
