use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::answer::Status;
use super::background::{ARGUMENT, KEEP, Report};
use super::error::KeptError;
use super::lab_order::LabOrder;
use super::socket;
use crate::emit;
use lockstorm_base::{Stop, Stops};

/// What became of a start.
#[derive(Debug)]
pub enum Launched {
    /// The lab is up, and kept in the background.
    Ready(Box<Status>),
    /// A signal came before. Nothing is left.
    Stopped(Stop),
}

/// Starts a lab and leaves it to a process in the background, which is `program`: lockstorm. Says meanwhile what it waits for.
///
/// # Errors
/// There is no lab. Nothing is left of it.
pub fn launch(order: &LabOrder, program: &Path, tell: impl FnMut(&str)) -> Result<Launched, KeptError> {
    socket::runtime()?.block_on(follow(order, program, tell))
}

async fn follow(order: &LabOrder, program: &Path, mut tell: impl FnMut(&str)) -> Result<Launched, KeptError> {
    // Before anything is started, so that no signal leaves it behind.
    let mut stops = Stops::listen().map_err(|error| KeptError::system("listen for signals", error))?;
    let start = |error: io::Error| KeptError::system(format!("start {}", program.display()), error);
    let mut child = Command::new(program)
        .arg(ARGUMENT)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // Not inherited: a pipeline that this process writes to must end with it.
        .stderr(Stdio::null())
        .spawn()
        .map_err(start)?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    // Both are piped.
    let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else {
        return Err(start(io::ErrorKind::BrokenPipe.into()));
    };
    let mut reports = listen(child, stdout);
    let line = emit::line(order).map_err(start)?;
    stdin.write_all(&line).map_err(start)?;
    loop {
        let said = tokio::select! {
            said = reports.recv() => said,
            stop = stops.next() => {
                drop(stdin);
                // It takes down what there is, and ends. A second signal stops only the wait for that.
                tokio::select! {
                    () = async { while reports.recv().await.is_some() {} } => {}
                    _ = stops.next() => {}
                }
                return Ok(Launched::Stopped(stop));
            }
        };
        match said {
            Some(Ok(Report::Waits(what))) => tell(&what),
            Some(Ok(Report::Ready(status))) => {
                stdin.write_all(format!("{KEEP}\n").as_bytes()).map_err(start)?;
                return Ok(Launched::Ready(status));
            }
            Some(Ok(Report::Failed { usage: true, message })) => return Err(KeptError::Impossible(message)),
            Some(Ok(Report::Failed { message, .. })) => return Err(KeptError::Failed(message)),
            Some(Err(how)) => return Err(KeptError::Ended(how)),
            None => return Err(KeptError::Ended("it says nothing more".to_owned())),
        }
    }
}

/// Passes on what it reports, and then how it has ended.
fn listen(mut child: Child, stdout: ChildStdout) -> UnboundedReceiver<Result<Report, String>> {
    let (tell, reports) = unbounded_channel();
    // A thread, which ends with this process if the other one lives on.
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // Anything else is not from lockstorm; its end tells more.
            if let Ok(report) = serde_json::from_str(&line)
                && tell.send(Ok(report)).is_err()
            {
                return;
            }
        }
        let how = child
            .wait()
            .map_or_else(|error| error.to_string(), |status| status.to_string());
        // If nobody listens, the lab has been given up.
        let _ = tell.send(Err(how));
    });
    reports
}
