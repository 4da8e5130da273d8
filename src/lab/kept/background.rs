//! The process in the background that keeps a lab. Whoever starts it writes the [`LabOrder`] to its stdin, a line of JSON, reads
//! from its stdout how it gets on (`Report`), and writes `keep` once the lab is ready. If stdin ends before that, nobody
//! wants the lab any more, and it is taken down.

use std::io::{self, BufRead};
use std::process::ExitCode;
use std::thread;

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::answer::Status;
use super::error::KeptError;
use super::lab_order::LabOrder;
use super::service::Service;
use super::socket;
use crate::emit::emit;
use lockstorm_base::Stops;

/// The hidden first argument that makes lockstorm this process.
pub const ARGUMENT: &str = "__kept";
/// The line after which it does not depend on its stdin any more.
pub(super) const KEEP: &str = "keep";

/// What it reports while it starts.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    /// What it waits for.
    Waits(String),
    /// The lab is up.
    Ready(Box<Status>),
    /// There is no lab.
    Failed {
        /// Whether what was asked for is impossible.
        usage: bool,
        /// Why there is none.
        message: String,
    },
}

/// Keeps a lab until it is taken down.
pub fn main() -> ExitCode {
    // A session of its own, so that a terminal's Ctrl-C or hang-up never reaches it. This fails only if the process leads a group
    // already, which means that somebody started it by hand.
    let _ = nix::unistd::setsid();
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&Report::Failed {
                usage: error.is_usage(),
                message: error.to_string(),
            });
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), KeptError> {
    let mut line = String::new();
    let read = io::stdin().read_line(&mut line);
    let order = read.and_then(|_| Ok(serde_json::from_str(&line)?));
    let order = order.map_err(|error| KeptError::system("read the order", error))?;
    socket::runtime()?.block_on(keep(order))
}

async fn keep(order: LabOrder) -> Result<(), KeptError> {
    let mut stops = Stops::listen().map_err(|error| KeptError::system("listen for signals", error))?;
    let mut wanted = wanted();
    let up = Service::up(order, |what| report(&Report::Waits(what.to_owned())));
    let service = tokio::select! {
        service = up => service?,
        // The keeper ends what has been started, a moment later.
        _ = &mut wanted => return Ok(()),
        _ = stops.next() => return Ok(()),
    };
    // Not before the lab is up, because TMPDIR may be relative.
    std::env::set_current_dir("/").map_err(|error| KeptError::system("leave the directory", error))?;
    report(&Report::Ready(Box::new(service.status().await)));
    let is_wanted = tokio::select! {
        wanted = wanted => wanted.unwrap_or(false),
        _ = stops.next() => false,
    };
    if is_wanted {
        service.serve(&mut stops).await;
    } else {
        service.down().await;
    }
    Ok(())
}

/// Whether the lab is wanted: it comes when the starter has said so, or has gone without a word.
fn wanted() -> oneshot::Receiver<bool> {
    let (tell, wanted) = oneshot::channel();
    // A thread, because nothing else can wait for a line and be left behind.
    thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        // If nobody waits for it, the process is about to end.
        let _ = tell.send(read.is_ok() && line.trim_end() == KEEP);
    });
    wanted
}

fn report(report: &Report) {
    // A starter that has gone is noticed at stdin.
    let _ = emit(report);
}
