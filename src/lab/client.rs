//! Lockstorm's end of the keeper.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::directory::processes;
use crate::emit;
use crate::error::LabError;
use crate::keeper;
use crate::protocol::{Ending, Event, Ground, News, NodeOrder, Request, Start, Watch};
use crate::server::containers::Containers;
use crate::server::state::HostState;
use lockstorm_data::model::{Condition, Fault, How};

/// How long the keeper may take to start, or to start a process.
const KEEPER_TIMEOUT: Duration = Duration::from_secs(20);

/// What the keeper has reported so far.
#[derive(Debug)]
pub(super) struct Board {
    /// What the keeper has made, while it is there.
    ground: Option<Ground>,
    /// Its last message, if it is gone.
    gone: Option<String>,
    slots: Vec<Slot>,
}

/// One process that the keeper starts, and starts again.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    /// How often it was started, successfully or not.
    starts: u64,
    /// The id of its process on this machine, while it runs.
    pub pid: Option<u32>,
    /// The process id that it says of itself: in a container it is another one.
    pub inside: Option<u32>,
    /// Where it was told to listen when it was started last, if nobody could know that before.
    pub at: Option<SocketAddr>,
    /// Its state.
    pub state: HostState,
    /// Whether it was taken out of its network.
    pub cut: bool,
    /// Why the last request failed.
    pub error: Option<String>,
    /// Why keys can't be removed from it at the end, if it is not ours and that is so.
    pub lacks: Option<String>,
    /// Why keys were left on it at the end, if that is so; known once the keeper is gone.
    pub keys_left: Option<String>,
}

/// A running keeper. Dropping or closing this ends the keeper, and with it every process and the run directory.
#[derive(Debug)]
pub(super) struct Client {
    stdin: Mutex<Option<ChildStdin>>,
    board: Arc<watch::Sender<Board>>,
    pid: Pid,
}

impl Client {
    /// Starts a keeper for this number of servers, processes or containers, and returns it with what it has made.
    pub(super) async fn start(
        program: &Path,
        servers: usize,
        containers: Option<&Containers>,
    ) -> Result<(Self, Ground), LabError> {
        let fail = |why: String| LabError::KeeperStart(format!("{}: {why}", program.display()));
        let kept = containers.map(serde_json::to_string).transpose();
        let mut child = Command::new(program)
            .arg(keeper::ARGUMENT)
            .args(kept.map_err(|error| fail(error.to_string()))?)
            .envs(authorities())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Not inherited: a pipeline that lockstorm writes to must end with lockstorm, not with the keeper.
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| fail(error.to_string()))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let never = Slot::new(down(How::Died("never started".to_owned()), Instant::now()));
        let board = Board {
            ground: None,
            gone: None,
            slots: vec![never; servers],
        };
        let client = Self {
            stdin: Mutex::new(stdin),
            board: Arc::new(watch::Sender::new(board)),
            // A process id is a positive `pid_t`; `Child` only shows it as u32.
            pid: Pid::from_raw(child.id().cast_signed()),
        };
        let board = Arc::clone(&client.board);
        // A thread and not a task: it keeps the states current and reaps the keeper even when the runtime is gone.
        thread::Builder::new()
            .name("lab-keeper".to_owned())
            .spawn(move || listen(child, stdout, &board))
            .map_err(|error| fail(error.to_string()))?;
        let ready = client.wait_for(KEEPER_TIMEOUT, |board| board.ground.clone());
        match ready.await {
            Ok(Some(ground)) => Ok((client, ground)),
            Ok(None) => {
                client.kill();
                client.close(KEEPER_TIMEOUT).await;
                Err(fail(format!("no answer within {KEEPER_TIMEOUT:?}")))
            }
            // What an engine says is clear by itself.
            Err(LabError::KeeperGone(why)) if containers.is_some() => Err(LabError::Other(why)),
            Err(LabError::KeeperGone(why)) => Err(fail(why)),
            Err(error) => Err(error),
        }
    }

    /// A slot for one more process.
    pub(super) fn another(&self) -> usize {
        let never = Slot::new(down(How::Died("never started".to_owned()), Instant::now()));
        let mut id = 0;
        self.board.send_modify(|board| {
            id = board.slots.len();
            board.slots.push(never);
        });
        id
    }

    /// Whether a process is dead, now and later.
    pub(super) fn life(&self, id: usize) -> Life {
        Life {
            board: self.board.subscribe(),
            id,
        }
    }

    /// The last known state of a process.
    pub(super) fn slot(&self, id: usize) -> Slot {
        self.board.borrow().slots[id].clone()
    }

    /// Whether somebody has stopped the keeper, as the kernel reports it (Linux only; elsewhere this returns false).
    pub(super) fn is_stopped(&self) -> bool {
        processes::stat(self.pid).is_some_and(|(state, _)| matches!(state, 'T' | 't'))
    }

    /// The last message of the keeper, if it is gone.
    pub(super) fn gone(&self) -> Option<String> {
        self.board.borrow().gone.clone()
    }

    /// Starts a server. Returns the process id that it says of itself, once it runs.
    pub(super) async fn start_server(&self, start: Start) -> Result<Result<u32, String>, LabError> {
        let started = |slot: &Slot| slot.inside.ok_or_else(|| slot.ending());
        let started = self.begin(start.id, &Request::Start(start), started).await?;
        Ok(started.unwrap_or_else(|| Err(format!("the keeper did not start it within {KEEPER_TIMEOUT:?}"))))
    }

    /// Starts a program of somebody else, which may end at any time. Returns once it was started.
    pub(super) async fn start_guest(&self, start: Start) -> Result<Result<(), String>, LabError> {
        let started = |slot: &Slot| slot.error.clone().map_or(Ok(()), Err);
        let started = self.begin(start.id, &Request::Start(start), started).await?;
        Ok(started.unwrap_or_else(|| Err(format!("the keeper did not start it within {KEEPER_TIMEOUT:?}"))))
    }

    /// Watches a server that is not ours from now on. Returns once it has answered.
    pub(super) async fn watch(&self, watch: Watch) -> Result<Result<(), String>, LabError> {
        let answered = |slot: &Slot| slot.error.clone().map_or(Ok(()), Err);
        let answered = self.begin(watch.id, &Request::Watch(watch), answered).await?;
        Ok(answered.unwrap_or_else(|| Err(format!("no answer within {KEEPER_TIMEOUT:?}"))))
    }

    /// Sends a request to begin with a server, and returns what that has come to once the keeper has told; `None` if it does not.
    async fn begin<T>(
        &self,
        id: usize,
        request: &Request,
        come_to: impl Fn(&Slot) -> T,
    ) -> Result<Option<T>, LabError> {
        let before = self.slot(id).starts;
        self.send(request)?;
        let begun = |slot: &Slot| (slot.starts > before).then(|| come_to(slot));
        self.wait_slot(id, KEEPER_TIMEOUT, begun).await
    }

    /// Gives an order, and returns at once.
    pub(super) fn order(&self, id: usize, order: NodeOrder) -> Result<(), LabError> {
        self.board.send_modify(|board| board.slots[id].error = None);
        self.send(&Request::Order { id, order })
    }

    /// Waits until `look` finds something in the reports about a process; `None` after `limit`.
    pub(super) async fn wait_slot<T>(
        &self,
        id: usize,
        limit: Duration,
        look: impl Fn(&Slot) -> Option<T>,
    ) -> Result<Option<T>, LabError> {
        self.wait_for(limit, |board| look(&board.slots[id])).await
    }

    /// Tells the keeper to end everything, and waits until it has. Returns false if that took longer than `limit`.
    pub(super) async fn close(&self, limit: Duration) -> bool {
        self.stdin.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut changes = self.board.subscribe();
        let ended = timeout(limit, async {
            while self.gone().is_none() && changes.changed().await.is_ok() {}
        });
        ended.await.is_ok()
    }

    /// Kills a keeper that does not end. The kernel then kills its processes (Linux).
    pub(super) fn kill(&self) {
        let board = self.board.borrow();
        // The keeper is not reaped before it is reported gone, so the id is still its own.
        if board.gone.is_none() {
            let _ = kill(self.pid, Signal::SIGKILL);
        }
    }

    fn send(&self, request: &Request) -> Result<(), LabError> {
        let gone = |why: String| LabError::KeeperGone(why);
        let line = emit::line(request).map_err(|error| gone(error.to_string()))?;
        let mut stdin = self.stdin.lock().unwrap_or_else(PoisonError::into_inner);
        let pipe = stdin
            .as_mut()
            .ok_or_else(|| gone("the lab was taken down".to_owned()))?;
        pipe.write_all(&line).map_err(|error| gone(error.to_string()))
    }

    async fn wait_for<T>(&self, limit: Duration, look: impl Fn(&Board) -> Option<T>) -> Result<Option<T>, LabError> {
        let mut changes = self.board.subscribe();
        let found = timeout(limit, async {
            loop {
                {
                    let board = changes.borrow_and_update();
                    if let Some(found) = look(&board) {
                        return Ok(found);
                    }
                    if let Some(why) = &board.gone {
                        return Err(LabError::KeeperGone(why.clone()));
                    }
                }
                if changes.changed().await.is_err() {
                    return Err(LabError::KeeperGone("it does not report any more".to_owned()));
                }
            }
        });
        found.await.map_or(Ok(None), |found| found.map(Some))
    }
}

/// Tells whether a process is dead.
#[derive(Debug, Clone)]
pub(super) struct Life {
    board: watch::Receiver<Board>,
    id: usize,
}

impl Life {
    /// Waits until it is dead.
    pub(super) async fn ends(&mut self) {
        self.reaches(true).await;
    }

    /// Waits until it is not dead, although it may not answer yet.
    pub(super) async fn begins(&mut self) {
        self.reaches(false).await;
    }

    async fn reaches(&mut self, dead: bool) {
        let id = self.id;
        let is_so = |board: &Board| board.slots[id].state.conditions.has(Condition::Down) == dead;
        if self.board.wait_for(is_so).await.is_err() {
            // The lab is gone, and nothing changes any more.
            std::future::pending::<()>().await;
        }
    }
}

impl Slot {
    const fn new(state: HostState) -> Self {
        Self {
            starts: 0,
            pid: None,
            inside: None,
            at: None,
            state,
            cut: false,
            error: None,
            lacks: None,
            keys_left: None,
        }
    }

    fn end(&mut self, how: How) {
        (self.pid, self.inside) = (None, None);
        self.state = down(how, Instant::now());
    }

    fn ending(&self) -> String {
        self.error
            .clone()
            .or_else(|| self.state.ended())
            .unwrap_or_else(|| "ended".to_owned())
    }
}

/// Where the authorities for TLS are, if the environment says so: the keeper works in another directory.
fn authorities() -> Option<(&'static str, PathBuf)> {
    const FILE: &str = "SSL_CERT_FILE";
    let file = std::env::var_os(FILE)?;
    Some((FILE, std::path::absolute(file).ok()?))
}

/// Copies the keeper's reports to the board until it ends, then reaps it.
fn listen(mut child: Child, stdout: Option<ChildStdout>, board: &watch::Sender<Board>) {
    let mut last_words = None;
    for line in stdout.into_iter().flat_map(|stdout| BufReader::new(stdout).lines()) {
        let Ok(line) = line else { break };
        match serde_json::from_str(&line) {
            Ok(Event::Failed { error }) => last_words = Some(error),
            Ok(event) => board.send_modify(|board| board.note(event)),
            Err(_) => {
                last_words = Some("it does not answer like a keeper; is it lockstorm?".to_owned());
                let _ = child.kill();
                break;
            }
        }
    }
    let status = child.wait();
    let why = last_words.unwrap_or_else(|| status.map_or_else(|error| error.to_string(), |status| status.to_string()));
    board.send_modify(|board| board.end(why));
}

impl Board {
    fn note(&mut self, event: Event) {
        let (id, news) = match event {
            Event::Of { id, news } => (id, news),
            Event::Ready(ground) => return self.ground = Some(ground),
            Event::Failed { .. } => return,
        };
        let Some(slot) = self.slots.get_mut(id) else { return };
        let since = Instant::now();
        match news {
            News::Started { pid, inside, at } => {
                *slot = Slot {
                    starts: slot.starts + 1,
                    pid: Some(pid),
                    inside: Some(inside),
                    at,
                    ..Slot::new(HostState::up(since))
                };
            }
            News::Reached { lacks } => {
                slot.starts += 1;
                slot.lacks = lacks.or(slot.lacks.take());
                slot.state = HostState::up(since);
            }
            News::NotStarted(error) => {
                slot.starts += 1;
                slot.error = Some(error);
            }
            News::NotDone(error) => slot.error = Some(error),
            News::KeysLeft(why) => slot.keys_left = Some(why),
            News::Left => slot.cut = true,
            News::Rejoined(at) => (slot.cut, slot.at) = (false, at),
            News::Ended(how) => slot.end(how_it_ended(how)),
            News::Gone(why) => slot.end(How::Gone(why)),
            News::Paused => slot.state = HostState::only(Condition::Paused, None, since),
            News::Continued => slot.state = HostState::up(since),
        }
    }

    /// Notes that the keeper is gone, and its processes with it.
    fn end(&mut self, last_words: String) {
        for slot in &mut self.slots {
            if slot.pid.is_some() {
                slot.end(How::By(Fault::Kill));
            }
        }
        (self.ground, self.gone) = (None, Some(last_words));
    }
}

/// A SIGKILL looks the same as a crash of the machine, and a node ends with exit code 0 after SIGTERM or SHUTDOWN.
fn how_it_ended(how: Ending) -> How {
    match how {
        Ending::Signal(number) if number == Signal::SIGKILL as i32 => How::By(Fault::Kill),
        Ending::Code(0) => How::By(Fault::Shutdown),
        other => How::Died(other.to_string()),
    }
}

fn down(how: How, since: Instant) -> HostState {
    HostState::only(Condition::Down, Some(how), since)
}
