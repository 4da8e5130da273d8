//! `lockstorm judge`: the locks of another program, by what it reports of them.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use lockstorm::report::{EventsJudged, RecordFile, events_page, render_events};
use lockstorm_base::{Stops, input, output};
use lockstorm_data::facts::Caveat;
use lockstorm_data::history::{Event, Reported};
use lockstorm_data::model::{CheckResult, printable};
use lockstorm_lab::kept::Logged;
use lockstorm_run::oracle::reported::JudgedEvents;
use lockstorm_run::{Record, needs};
use tokio::net::UnixListener;
use tokio::time::{sleep, timeout};

use super::print::print_result;
use super::report::write;
use super::server::wait_for;
use crate::cli::{JudgeArgs, Look};
use crate::exit_code;
use crate::failure::{Failure, tell};

/// The largest log of a lab that is read, in MB.
const LARGEST: u64 = 64;
/// What stands before the path of a socket.
const SOCKET: &str = "unix:";
/// How long connections are still accepted that had been opened when the end came.
const LAST: Duration = Duration::from_millis(10);
/// The pause after a connection could not be accepted, because too many files are open.
const PAUSE: Duration = Duration::from_millis(100);
/// How many files may be open while it listens, if the hard limit allows it: each client has two.
const FILES: u64 = 65_536;

/// Reads all events, judges the holds that they make up, and prints what was found.
pub fn judge(args: &JudgeArgs, look: Look) -> Result<ExitCode, Failure> {
    let record = outputs(args)?;
    let faults = args.faults.as_deref().map(logged).transpose()?;
    let (events, is_whole) = match (args.events.as_str(), args.events.strip_prefix(SOCKET)) {
        ("-", _) => read(io::stdin().lock(), "standard input")?,
        (_, Some("")) => return Err(Failure::usage("unix: names no socket: write unix:PATH")),
        (_, Some(path)) => listen(Path::new(path))?,
        (file, None) => {
            let opened = input::open(Path::new(file)).map_err(|error| unreadable(file, error))?;
            read(BufReader::new(opened), file)?
        }
    };
    let reported = Reported::of(events, is_whole).map_err(|why| unreadable(&args.events, why))?;
    let judged = JudgedEvents::of(reported)
        .map_err(|error| Failure::error(format!("cannot judge what was reported: {error}")))?;
    let result = judged.result();
    let doubt = judged.doubt().filter(|_| result == CheckResult::Inconclusive);
    let told = EventsJudged::of(&judged);
    // What was found is told even if a file can't be written.
    let printed = print_result(args.json, &told, |paint| render_events(&told, paint), look);
    let history = args.history.as_deref().map_or(Ok(()), |path| {
        let written = output::replace(path, |file| file.write_all(judged.reported.history.as_bytes()));
        written.map_err(|error| Failure::error(format!("cannot write {}: {error}", path.display())))
    });
    let page = || events_page(&told, &args.events, doubt.as_ref());
    let page = args.out.as_deref().map_or(Ok(()), |out| write(out, &page()));
    let made = record.and_then(|file| Some((file, recorded(args, &judged, doubt.clone(), faults.as_deref())?)));
    let record = made.map_or(Ok(()), |(file, made)| file.write(&made).map_err(Failure::error));
    [printed.map(drop), history, page, record]
        .into_iter()
        .collect::<Result<(), _>>()?;
    if let Some(doubt) = doubt {
        tell(&format!("nothing was shown: {doubt}"));
    }
    Ok(exit_code::of(result).into())
}

/// Checks whether the files can be written that are asked for, and that none of them is another one, or one that is read. Returns the record's.
fn outputs(args: &JudgeArgs) -> Result<Option<RecordFile>, Failure> {
    let events = Path::new(&args.events);
    let mut taken: Vec<PathBuf> = [Some(events), args.faults.as_deref()]
        .into_iter()
        .flatten()
        .map(absolute)
        .collect();
    let read = taken.len();
    for path in args.history.iter().chain(&args.out).chain(&args.record) {
        RecordFile::check(path).map_err(Failure::usage)?;
        let place = absolute(path);
        match taken.iter().position(|other| *other == place) {
            Some(0) => {
                return Err(Failure::usage(format!(
                    "{} has the events: name another file",
                    path.display()
                )));
            }
            Some(one) if one < read => {
                return Err(Failure::usage(format!(
                    "{} has the faults: name another file",
                    path.display()
                )));
            }
            Some(_) => {
                return Err(Failure::usage(format!(
                    "{} is used twice; name another file",
                    path.display()
                )));
            }
            None => taken.push(place),
        }
    }
    args.record
        .as_deref()
        .map(RecordFile::check)
        .transpose()
        .map_err(Failure::usage)
}

/// Where a path leads, whether or not there is a file.
fn absolute(path: &Path) -> PathBuf {
    let beside = || {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(directory.join(path.file_name()?))
    };
    path.canonicalize()
        .ok()
        .or_else(beside)
        .unwrap_or_else(|| path.to_owned())
}

/// The record of what was judged, if its times are those of one clock.
fn recorded(
    args: &JudgeArgs,
    judged: &JudgedEvents,
    doubt: Option<Caveat>,
    faults: Option<&[Logged]>,
) -> Option<Record> {
    if !judged.reported.load.is_of_one_clock() {
        tell("no record is written: its events are more than a year apart, so they are not by one clock");
        return None;
    }
    // A record has no figures of tokens and fences.
    let twice = || {
        let found = judged.reported.handed_out.first();
        found.filter(|_| judged.reported.handed_out_twice() > 0).cloned()
    };
    let source = source(&args.events);
    let stem = Path::new(&source).file_stem().map(|stem| stem.to_string_lossy());
    let name = args.name.as_deref().or(stem.as_deref()).unwrap_or(&source);
    Some(Record::of_reported(
        [name, &source],
        judged,
        doubt.or_else(|| twice().map(|misuse| Caveat::Reported { misuse })),
        faults,
    ))
}

/// What `lockstorm lab log --json` told.
fn logged(path: &Path) -> Result<Vec<Logged>, Failure> {
    let cannot = |why: String| Failure::usage(format!("cannot read {}: {why}", path.display()));
    let file = input::open(path).map_err(|error| cannot(error.to_string()))?;
    let text = input::whole(&file, LARGEST).map_err(|error| cannot(error.to_string()))?;
    let lines = String::from_utf8_lossy(&text);
    let line = |(number, line): (usize, &str)| {
        let wrong = |error| {
            cannot(format!(
                "line {}: {error}; it is to be what `lockstorm lab log --json` prints",
                number + 1
            ))
        };
        serde_json::from_str(line).map_err(wrong)
    };
    let is_blank = |line: &str| line.trim().is_empty();
    let lines = lines.lines().enumerate();
    lines.filter(|(_, text)| !is_blank(text)).map(line).collect()
}

/// What a record calls the place that events came from.
fn source(events: &str) -> String {
    match events {
        "-" => "standard input".to_owned(),
        path => Path::new(path.strip_prefix(SOCKET).unwrap_or(path))
            .file_name()
            .map_or_else(|| path.to_owned(), |file| file.to_string_lossy().into_owned()),
    }
}

fn unreadable(what: &str, why: impl std::fmt::Display) -> Failure {
    Failure::usage(format!("cannot read {what}: {why}"))
}

/// All events, and whether the last line is whole: its end may be what a killed program could not write.
fn read(source: impl BufRead, what: &str) -> Result<(Vec<Event>, bool), Failure> {
    let (mut events, mut is_whole) = (Vec::new(), true);
    for event in Event::read(source, |field| ignored(what, field)) {
        match event {
            Ok(event) => events.push(event),
            Err(error) if error.is_cut => {
                tell(&format!("{what}: the last line was cut off, and is left out"));
                is_whole = false;
            }
            Err(error) => return Err(unreadable(what, error)),
        }
    }
    Ok((events, is_whole))
}

fn ignored(what: &str, field: &str) {
    tell(&format!(
        "{what}: \"{}\" is no field of an event, and is ignored",
        printable(field)
    ));
}

/// Listens at a socket for any number of clients until a signal comes, which is how it is meant to end. Returns whether all that came
/// could be read, too.
fn listen(path: &Path) -> Result<(Vec<Event>, bool), Failure> {
    let (events, all) = mpsc::channel();
    let gathered = wait_for(gather(path, &events))?;
    // The readers have senders of their own, and end with their connections.
    drop(events);
    gathered?;
    let (mut read, mut is_whole) = (Vec::new(), true);
    for event in all {
        match event {
            Some(event) => read.push(event),
            None => is_whole = false,
        }
    }
    Ok((read, is_whole))
}

/// Passes on what comes at the socket until a signal comes. What had arrived then is read to its end.
async fn gather(path: &Path, events: &mpsc::Sender<Option<Event>>) -> Result<(), Failure> {
    let cannot = |error| {
        let why = format!("cannot listen at {}: {error}", path.display());
        // Whose socket it was nobody can tell, so it is not ours to remove.
        let is_left = UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
            && fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket());
        Failure::usage(match is_left {
            true => format!("{why}; nobody listens there any more: remove it, or name another path"),
            false => format!("{why}; name a path at which nothing is"),
        })
    };
    let mut stops = Stops::listen().map_err(|error| Failure::error(format!("cannot listen for signals: {error}")))?;
    needs::raise_files(FILES);
    let listener = UnixListener::bind(path).map_err(cannot)?;
    let own = place(path);
    tell(&format!(
        "listening at {}: Ctrl-C ends it, and what came is judged",
        path.display()
    ));
    let (mut open, mut is_full) = (Vec::new(), false);
    let mut take = |stream: tokio::net::UnixStream| match follow(stream, events) {
        Ok(stream) => open.push(stream),
        Err(error) => {
            tell(&format!("a client's connection is closed unread: {error}"));
            // The receiver lives as long as there are senders.
            let _ = events.send(None);
        }
    };
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => take(stream),
                Err(error) => {
                    if !is_full {
                        tell(&format!("a client is not heard: {error}"));
                        let _ = events.send(None);
                    }
                    is_full = true;
                    sleep(PAUSE).await;
                }
            },
            _ = stops.next() => break,
        }
    }
    while let Ok(accepted) = timeout(LAST, listener.accept()).await {
        let Ok((stream, _)) = accepted else {
            // Whoever waits there has no room.
            let _ = events.send(None);
            break;
        };
        take(stream);
    }
    // It was bound here, unless somebody has put something else there.
    if own.is_some() && place(path) == own {
        let _ = fs::remove_file(path);
    }
    for stream in open {
        // What has arrived can still be read.
        let _ = stream.shutdown(Shutdown::Read);
    }
    Ok(())
}

/// Which file is at this path.
fn place(path: &Path) -> Option<(u64, u64)> {
    let file = fs::symlink_metadata(path).ok()?;
    Some((file.dev(), file.ino()))
}

/// Reads a connection on a thread of its own, until its end or a line that can't be read, for which there is a `None`; returns the connection.
fn follow(stream: tokio::net::UnixStream, events: &mpsc::Sender<Option<Event>>) -> io::Result<UnixStream> {
    let stream = stream.into_std()?;
    stream.set_nonblocking(false)?;
    let (source, events) = (stream.try_clone()?, events.clone());
    thread::Builder::new().spawn(move || {
        for event in Event::read(BufReader::new(&source), |field| ignored("a client", field)) {
            if let Err(error) = &event {
                match error.is_cut {
                    true => tell("a client's last line was cut off, and is left out"),
                    false => tell(&format!("a client's connection is closed: {error}")),
                }
                // It may have gone by itself.
                let _ = source.shutdown(Shutdown::Both);
            }
            let is_wrong = event.is_err();
            // The receiver lives as long as there are senders.
            if events.send(event.ok()).is_err() || is_wrong {
                return;
            }
        }
    })?;
    Ok(stream)
}
