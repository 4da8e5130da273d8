//! The servers of a lab as containers: the same requests and events as for processes, by a Docker engine.
//!
//! What became of a container is what the engine reports, also if somebody else has ended or frozen it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::StreamExt;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinHandle;

use super::protocol::{Ending, Event, Order, Request, Start};
use crate::lab::docker::{self, Change, Container, Engine, Labels, Life, Network, leftovers};

/// A server in a container of its own is its first process.
const INSIDE: u32 = 1;
/// The exit code of a container whose process was ended by SIGKILL.
const KILLED: i32 = 128 + 9;

/// What all containers of a lab have in common.
struct Common {
    engine: Engine,
    image: String,
    labels: Labels,
    network: Network,
    run_dir: PathBuf,
}

/// The containers of a lab.
struct Containers {
    common: Arc<Common>,
    servers: BTreeMap<usize, Server>,
    /// Orders are carried out side by side; this is where their results go.
    done: UnboundedSender<Done>,
}

/// A server that was to be started at least once.
#[derive(Default)]
struct Server {
    made: Option<Made>,
    /// How it has ended since the last order to start it, if it has.
    ended: Option<Ending>,
    /// Copies what it prints.
    log: Option<JoinHandle<()>>,
}

/// A container, and what it was made from.
#[derive(Clone)]
struct Made {
    start: Start,
    container: Container,
}

/// What became of an order.
enum Done {
    Started(Made, Result<u32, String>),
    Unmade(usize, String),
    Refused(usize, String),
    /// Everything that it has printed was copied, too.
    Ended(usize, Ending),
}

/// Keeps the containers of the lab in `run_dir` until stdin ends, then removes them and their network.
pub(super) fn keep(image: &str, run_dir: &Path) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        let labels = Labels::of_run(run_dir);
        let engine = Engine::connect().await.map_err(io::Error::other)?;
        leftovers::note(run_dir, &engine)?;
        let result = serve(&engine, image, &labels, run_dir).await;
        let removed = docker::remove_all(&engine, &labels).await.map_err(io::Error::other);
        result.and(removed.map(drop))
    });
    // A read of stdin may still be under way; it must not hold up the end.
    runtime.shutdown_background();
    result
}

async fn serve(engine: &Engine, image: &str, labels: &Labels, run_dir: &Path) -> io::Result<()> {
    // Before anything is started, so that nothing is missed.
    let mut changes = std::pin::pin!(engine.changes(labels));
    let name = run_dir.file_name().unwrap_or_default().to_string_lossy();
    let network = Network::create(engine, &format!("lockstorm-{name}"), labels).await;
    let network = network.map_err(io::Error::other)?;
    super::emit(&Event::Ready {
        dir: run_dir.to_owned(),
        first: Some(network.address(0)),
    })?;
    let (done, mut results) = mpsc::unbounded_channel();
    let common = Common {
        engine: engine.clone(),
        image: image.to_owned(),
        labels: labels.clone(),
        network,
        run_dir: run_dir.to_owned(),
    };
    let mut containers = Containers {
        common: Arc::new(common),
        servers: BTreeMap::new(),
        done,
    };
    let mut requests = requests();
    let lost = |why: &str| io::Error::other(format!("the Docker engine does not report any more{why}"));
    loop {
        tokio::select! {
            request = requests.recv() => match request {
                Some(request) => containers.obey(request?),
                None => return Ok(()),
            },
            change = changes.next() => match change {
                Some(change) => containers.note(change.map_err(|error| lost(&format!(": {error}")))?)?,
                None => return Err(lost("")),
            },
            Some(done) = results.recv() => containers.tell(done)?,
        }
    }
}

/// The requests that come on stdin, until it ends.
fn requests() -> UnboundedReceiver<io::Result<Request>> {
    let (send, receive) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        while let Some(line) = lines.next_line().await.transpose() {
            let request = line.and_then(|line: String| Ok(serde_json::from_str(&line)?));
            if send.send(request).is_err() {
                return;
            }
        }
    });
    receive
}

impl Containers {
    fn obey(&mut self, request: Request) {
        let (common, done) = (Arc::clone(&self.common), self.done.clone());
        match request {
            Request::Start(start) => {
                let server = self.servers.entry(start.id).or_default();
                server.ended = None;
                let made = server.made.clone();
                tokio::spawn(async move {
                    let id = start.id;
                    let result = match common.made(start, made).await {
                        Ok(made) => {
                            let started = common.started(&made.container).await;
                            Done::Started(made, started)
                        }
                        Err(error) => Done::Unmade(id, error),
                    };
                    // If nobody listens any more, the lab is coming to its end.
                    let _ = done.send(result);
                });
            }
            Request::Order { id, order } => {
                let made = self.servers.get(&id).and_then(|server| server.made.clone());
                tokio::spawn(async move {
                    let result = match made {
                        Some(made) => common.carry_out(&made.container, order).await,
                        None => Err("it is not running".to_owned()),
                    };
                    if let Err(error) = result {
                        let _ = done.send(Done::Refused(id, error));
                    }
                });
            }
        }
    }

    fn tell(&mut self, done: Done) -> io::Result<()> {
        match done {
            Done::Started(made, result) => {
                let id = made.start.id;
                let server = self.servers.entry(id).or_default();
                let event = match result {
                    Ok(pid) => {
                        server.log = Some(self.common.copy_log(&made));
                        Event::Started {
                            id,
                            pid,
                            inside: INSIDE,
                        }
                    }
                    Err(error) => Event::NotStarted { id, error },
                };
                server.made = Some(made);
                super::emit(&event)?;
                // It may have ended before its start was reported.
                match server.ended {
                    Some(how) => self.end(id, how),
                    None => Ok(()),
                }
            }
            Done::Unmade(id, error) => super::emit(&Event::NotStarted { id, error }),
            Done::Refused(id, error) => super::emit(&Event::NotDone { id, error }),
            Done::Ended(id, how) => super::emit(&Event::Ended { id, how }),
        }
    }

    fn note(&mut self, (id, change): (usize, Change)) -> io::Result<()> {
        match change {
            Change::Ended(code) => {
                let how = match code {
                    KILLED => Ending::Signal(KILLED - 128),
                    code => Ending::Code(code),
                };
                if let Some(server) = self.servers.get_mut(&id) {
                    server.ended = Some(how);
                }
                self.end(id, how)
            }
            Change::Paused => super::emit(&Event::Paused { id }),
            Change::Continued => super::emit(&Event::Continued { id }),
        }
    }

    /// Tells that a server has ended, once its last words are in its log.
    fn end(&mut self, id: usize, how: Ending) -> io::Result<()> {
        let log = self.servers.get_mut(&id).and_then(|server| server.log.take());
        let Some(mut log) = log else {
            return super::emit(&Event::Ended { id, how });
        };
        let done = self.done.clone();
        tokio::spawn(async move {
            Container::last_lines(&mut log).await;
            let _ = done.send(Done::Ended(id, how));
        });
        Ok(())
    }
}

impl Common {
    /// The container for this server: the one that there is, if it was made from the same.
    async fn made(&self, start: Start, made: Option<Made>) -> Result<Made, String> {
        if let Some(made) = made {
            if made.start == start {
                return Ok(made);
            }
            made.container.remove(&self.engine).await?;
        }
        let life = Life {
            image: &self.image,
            program: &start.program.to_string_lossy(),
            args: &start.args,
            dir: &start.dir,
            run_dir: &self.run_dir,
            id: start.id,
        };
        let container = Container::create(&self.engine, &life, &self.network, &self.labels).await?;
        Ok(Made { start, container })
    }

    /// Starts a container, and returns the id of its process on the engine's machine.
    async fn started(&self, container: &Container) -> Result<u32, String> {
        container.start(&self.engine).await?;
        let state = container.state(&self.engine).await?;
        // One that has ended already is reported as ended.
        Ok(state.pid.and_then(|pid| u32::try_from(pid).ok()).unwrap_or_default())
    }

    async fn carry_out(&self, container: &Container, order: Order) -> Result<(), String> {
        match order {
            Order::Kill => container.signal(&self.engine, "SIGKILL").await,
            Order::ShutDown => container.signal(&self.engine, "SIGTERM").await,
            Order::Continue => container.thaw(&self.engine).await,
            Order::Pause => {
                container.freeze(&self.engine).await?;
                match container.state(&self.engine).await?.paused {
                    Some(true) => Ok(()),
                    _ => Err("the engine can't freeze it".to_owned()),
                }
            }
        }
    }

    fn copy_log(&self, made: &Made) -> JoinHandle<()> {
        let (engine, made) = (self.engine.clone(), made.clone());
        // Whole seconds; the first lines of this start may come again after those of the one before.
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        let since = i32::try_from(since).unwrap_or_default().saturating_sub(1);
        tokio::spawn(async move { made.container.copy_log(&engine, since, &made.start.log).await })
    }
}
