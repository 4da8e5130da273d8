use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use humantime::format_rfc3339_seconds;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::act::Actor;
use super::acted::Acted;
use super::answer::{Answer, Status};
use super::choice::Choice;
use super::error::KeptError;
use super::lab_order::LabOrder;
use super::logged::Log;
use super::request::{Deed, Request};
use super::urls::Urls;
use super::{socket, status};
use crate::directory::opened_run::OpenedRun;
use crate::lab::Lab;
use crate::options::LabOptions;
use lockstorm_base::{Stop, Stops};
use lockstorm_data::model::{Action, Target};

/// How often it looks whether the keeper is still there.
const LOOK: Duration = Duration::from_millis(250);
/// The pause after a connection could not be accepted, because too many files are open.
const PAUSE: Duration = Duration::from_millis(100);

/// A lab that is up, and the socket at which it can be asked.
#[derive(Debug)]
pub struct Service {
    kept: Arc<KeptLab>,
    listener: UnixListener,
}

/// What answers need.
#[derive(Debug)]
struct KeptLab {
    lab: Lab,
    run: OpenedRun,
    order: LabOrder,
    server: String,
    since: SystemTime,
    urls: Urls,
    log: Log,
}

/// Why a kept lab is down.
#[derive(Debug)]
pub enum End {
    /// Somebody asked for it.
    Asked,
    /// A signal came.
    Signal(Stop),
    /// Its keeper has gone, with its last message, and all hosts with it.
    KeeperGone(String),
    /// Somebody has removed its run directory, so that nobody can find it any more.
    Removed,
}

impl Service {
    /// Starts the lab, and listens. Says meanwhile what it waits for. It must be the caller's [`turn`](super::turn()), and there must be
    /// no kept lab yet.
    ///
    /// # Errors
    /// The lab did not start. Nothing is left of it then.
    pub async fn up(order: LabOrder, tell: impl Fn(&str) + Send + Sync) -> Result<Self, KeptError> {
        let binary = order.binary().await?;
        let server = binary.to_string();
        let options = LabOptions {
            // Programs keep the URLs that they were given.
            ports_stay: true,
            proxy: order.network,
            preload: order.preload,
            ..LabOptions::new(binary)?
        };
        let lab = Lab::up_telling(&order.spec(), options, tell).await?;
        match prepare(&lab) {
            Ok((run, listener, urls)) => Ok(Self {
                kept: Arc::new(KeptLab {
                    log: Log::of(run.path()),
                    lab,
                    run,
                    order,
                    server,
                    since: SystemTime::now(),
                    urls,
                }),
                listener,
            }),
            Err(error) => {
                lab.down().await;
                Err(error)
            }
        }
    }

    /// How the lab is.
    pub async fn status(&self) -> Status {
        self.kept.status().await
    }

    /// Takes the lab down. Returns when all processes are gone.
    pub async fn down(self) {
        self.kept.lab.down().await;
    }

    /// Answers until somebody asks for the end or a signal does, or the keeper is gone. Then the lab is taken down; this returns
    /// when all processes are gone.
    pub async fn serve(self, stops: &mut Stops) -> End {
        let (ask_for_end, mut end_asked) = mpsc::channel(1);
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut whom = None;
        let end = loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let (kept, ask_for_end) = (Arc::clone(&self.kept), ask_for_end.clone());
                        tokio::spawn(async move {
                            // Whoever asked may be gone; nobody else wants to know.
                            let _ = converse(&kept, stream, ask_for_end).await;
                        });
                    }
                    Err(_) => sleep(PAUSE).await,
                },
                Some(stream) = end_asked.recv() => {
                    whom = Some(stream);
                    break End::Asked;
                }
                stop = stops.next() => break End::Signal(stop),
                _ = look.tick() => match self.kept.lab.keeper_gone() {
                    Some(words) => break End::KeeperGone(words),
                    None if is_gone(self.kept.lab.dir()) => break End::Removed,
                    None => {}
                },
            }
        };
        self.kept.lab.down().await;
        if let Some(mut stream) = whom {
            // The lab is down whether or not somebody hears it.
            let _ = socket::send(&mut stream, &Answer::Down).await;
        }
        end
    }
}

/// Whether nothing is at this path.
fn is_gone(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Makes a lab the one that is kept, and whatever its users need.
fn prepare(lab: &Lab) -> Result<(OpenedRun, UnixListener, Urls), KeptError> {
    let cannot = |what: &'static str| move |error: io::Error| KeptError::system(format!("{what} of the lab"), error);
    let run = OpenedRun::open(lab.dir()).map_err(cannot("open the run directory"))?;
    let urls = Urls::of(lab, &run).map_err(cannot("write the URLs"))?;
    // Last, because whoever sees the socket expects the rest.
    let listener = socket::listen(&run).map_err(cannot("listen at the socket"))?;
    Ok((run, listener, urls))
}

/// Answers one request, or passes on that somebody asks for the end.
async fn converse(kept: &KeptLab, mut stream: UnixStream, end: mpsc::Sender<UnixStream>) -> io::Result<()> {
    let received = timeout(socket::LINE_TIMEOUT, socket::receive(&mut stream)).await?;
    let answer = match received {
        Ok(None) => return Ok(()),
        Ok(Some(Request::Down)) => {
            // If it is full, or nobody receives any more, the end has begun already; the connection closes with it.
            let _ = end.try_send(stream);
            return Ok(());
        }
        Ok(Some(Request::Status)) => Answer::Status(Box::new(kept.status().await)),
        Ok(Some(Request::Act { deed, on })) => kept.act(deed, &on).await.map_or_else(Answer::Refused, Answer::Acted),
        Ok(Some(Request::Log { after })) => Answer::Log(kept.log.after(after)),
        Err(error) => Answer::Refused(format!(
            "the process that keeps the lab does not know this request ({error}): if another version of lockstorm has \
             started it, use that one"
        )),
    };
    socket::send(&mut stream, &answer).await
}

impl KeptLab {
    async fn status(&self) -> Status {
        let id = self.run.path().file_name().unwrap_or_default().to_string_lossy();
        Status {
            lab: id.trim_start_matches("run-").to_owned(),
            directory: self.run.path().to_owned(),
            process: std::process::id(),
            since: format_rfc3339_seconds(self.since).to_string(),
            server: self.server.clone(),
            order: self.order.clone(),
            hosts: status::hosts(&self.lab).await,
            links: status::links(&self.lab),
            doubt: status::doubt(&self.lab),
            cache: self.lab.cache().to_string(),
            urls: self.urls.clone(),
        }
    }

    /// Acts on several hosts at once, or on a link.
    ///
    /// # Errors
    /// Why the lab can't do that.
    async fn act(&self, deed: Deed, on: &Choice) -> Result<Vec<Acted>, String> {
        let mut targets = on.of(self.order.hosts)?;
        match deed {
            Deed::Do { action, .. } => {
                targets.iter().try_for_each(|target| self.order.can(action, *target))?;
                if targets.len() > 1 && matches!(action, Action::Fault(fault) if fault.is_for_one()) {
                    return Err("only one host can have the master: name one".to_owned());
                }
            }
            Deed::Restore if *on == Choice::All => {
                targets.extend(self.lab.broken_links().into_iter().map(Target::Link));
            }
            Deed::Restore => {}
        }
        let actor = Actor {
            lab: &self.lab,
            persistence: self.order.persistence,
            log: &self.log,
        };
        let acting = targets.into_iter().map(|target| actor.act(deed, target));
        Ok(join_all(acting).await)
    }
}
