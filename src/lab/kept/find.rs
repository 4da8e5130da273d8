use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::answer::Answer;
use super::error::KeptError;
use super::request::{Deed, Request};
use super::socket;
use crate::directory::opened_run::OpenedRun;
use crate::running::Running;

/// How long an answer may take: a host is restarted within 20 s, or that failed.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);
/// How long an answer may take for which nothing has to be done but look.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a lab whose process is gone may take to end: its keeper does that, or has been stopped.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// The kept lab of this user, which can be asked.
#[derive(Debug)]
pub struct Kept {
    run: OpenedRun,
}

/// The kept lab of this user, if there is one. One whose process has just ended is waited for until its keeper has taken it down.
///
/// # Errors
/// The directory of all labs can't be used, or a lab does not end.
pub fn find() -> Result<Option<Kept>, KeptError> {
    let runtime = socket::runtime()?;
    let labs = Running::all().map_err(|error| KeptError::system("look for labs", error))?;
    for lab in labs {
        // It may end at any time.
        let Ok(run) = OpenedRun::open(lab.dir()) else { continue };
        if !socket::is_in(&run) {
            continue;
        }
        match runtime.block_on(socket::connect(&run)) {
            Ok(_) => return Ok(Some(Kept { run })),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                return Err(silent(&run, None, socket::LINE_TIMEOUT));
            }
            // Nobody listens there any more.
            Err(_) => wait_for_the_end(&lab)?,
        }
    }
    Ok(None)
}

fn wait_for_the_end(lab: &Running) -> Result<(), KeptError> {
    let end = Instant::now() + END_TIMEOUT;
    while lab.dir().exists() {
        if Instant::now() >= end {
            return Err(KeptError::Ended(format!(
                "its keeper has not removed {} within {END_TIMEOUT:?}, so somebody may have stopped it",
                lab.dir().display()
            )));
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

impl Kept {
    /// Its run directory.
    pub fn dir(&self) -> &Path {
        self.run.path()
    }

    /// Asks the process that keeps it, and waits for the answer. After [`Answer::Down`] that process has ended, too.
    ///
    /// # Errors
    /// There is no answer.
    pub fn ask(&self, request: &Request) -> Result<Answer, KeptError> {
        socket::runtime()?.block_on(self.ask_and_wait(request))
    }

    async fn ask_and_wait(&self, request: &Request) -> Result<Answer, KeptError> {
        let gone = |error: io::Error| KeptError::Ended(error.to_string());
        let limit = match request {
            Request::Status | Request::Log { .. } => STATUS_TIMEOUT,
            Request::Act {
                deed: Deed::Do { lasts: Some(lasts), .. },
                ..
            } => ANSWER_TIMEOUT.saturating_add(*lasts),
            Request::Act { .. } | Request::Down => ANSWER_TIMEOUT,
        };
        let mut stream = socket::connect(&self.run).await.map_err(gone)?;
        // As the kernel reports the other end.
        let process = stream.peer_cred().ok().and_then(|peer| peer.pid()?.try_into().ok());
        let asked = async {
            socket::send(&mut stream, request).await.map_err(gone)?;
            let answer = socket::receive::<Answer>(&mut stream)
                .await
                .map_err(|error| strange(&error))?;
            // It closes the connection once it has nothing more to do.
            let _ = socket::receive::<Answer>(&mut stream).await;
            Ok(answer)
        };
        match timeout(limit, asked).await {
            Ok(Ok(Some(answer))) => Ok(answer),
            // Somebody else has asked for the end at the same time.
            Ok(Ok(None)) if *request == Request::Down => Ok(Answer::Down),
            Ok(Ok(None)) => Err(KeptError::Ended("it has just been taken down".to_owned())),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(silent(&self.run, process, limit)),
        }
    }
}

fn strange(error: &io::Error) -> KeptError {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::Other => KeptError::Strange(error.to_string()),
        _ => KeptError::Ended(error.to_string()),
    }
}

fn silent(run: &OpenedRun, process: Option<u32>, within: Duration) -> KeptError {
    let (directory, named) = (run.path().display(), process.map_or_else(String::new, named));
    KeptError::Failed(format!(
        "the process that keeps the lab {directory} does not answer within {within:?}{named}; once that process ends, its keeper \
         takes the lab down"
    ))
}

fn named(process: u32) -> String {
    format!(": is process {process} stopped? `kill -CONT {process}` continues it, `kill -KILL {process}` ends it")
}
