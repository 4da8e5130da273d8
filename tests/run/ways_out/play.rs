//! Plays a cell: brings a lockstorm into its state, ends it in its way, and checks what is left.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use lockstorm::report::RecordFile;
use nix::sys::signal::{Signal, kill};

use super::TEST_TIMEOUT;
use super::cell::{Cell, Database, Form, State, Way};
use super::database;
use super::place::Place;
use super::process::{self, Process};
use crate::live::living;

/// The pause between two signals or keys, so that they arrive as two.
const APART: Duration = Duration::from_millis(300);
/// How long the keeper may take to remove what is left.
const AFTERMATH: Duration = Duration::from_secs(15);

/// The result of a cell.
pub struct Played {
    pub cell: Cell,
    /// What is wrong; empty if all is well.
    pub faults: Vec<String>,
    /// The time from the way out to the end.
    pub took: Duration,
    /// The end of lockstorm's output.
    pub said: String,
}

/// Plays a cell. Whatever goes wrong is a fault of the cell, and the next cell can be played.
pub fn play(cell: Cell, postgres: Option<&str>) -> Played {
    let place = Place::new(cell, postgres);
    let process = Process::start(
        cell.form,
        &Place::arguments(cell),
        place.path(),
        &place.labs(),
        cell.way.by_nohup(),
    );
    let mut play = Play {
        cell,
        place,
        process,
        postgres: postgres.filter(|_| cell.database == Database::Postgres),
        runs: Vec::new(),
        locked: None,
        faults: Vec::new(),
    };
    let took = play.all();
    let said = tail(&play.process);
    Played {
        cell,
        faults: play.faults,
        took,
        said,
    }
}

struct Play<'a> {
    cell: Cell,
    // Dropped before its place is removed.
    process: Process,
    place: Place,
    postgres: Option<&'a str>,
    runs: Vec<PathBuf>,
    locked: Option<database::Locked>,
    faults: Vec<String>,
}

impl Play<'_> {
    fn all(&mut self) -> Duration {
        if let Err(why) = self.reach() {
            self.faults
                .push(format!("never came to be {}: {why}", self.cell.state.name()));
            return Duration::ZERO;
        }
        self.runs = self.place.runs();
        let begin = Instant::now();
        self.leave();
        let code = self.wait_for_the_end();
        let took = begin.elapsed();
        self.locked = None;
        match code {
            None => self
                .faults
                .push(format!("did not end within {} s", TEST_TIMEOUT.as_secs())),
            // A run whose machine stood still proves nothing, and says so by this code.
            Some(5) if self.process.said().contains("the run itself stood still") => {}
            Some(code) if !self.cell.codes().contains(&code) => {
                self.faults
                    .push(format!("exit code {code}, not {}", numbers(&self.cell.codes())));
            }
            Some(_) => {}
        }
        if code.is_none() {
            // If it must be killed now, what it leaves is not a fault of this cell.
            self.process.signal(Signal::SIGKILL);
            within(AFTERMATH, || self.place.left().is_empty());
            return took;
        }
        self.look_for_leftovers();
        self.look_at_the_outputs();
        if self.cell.has_a_summary() {
            self.look_at_the_record(code);
        }
        took
    }

    /// Waits until the condition holds; otherwise adds a fault.
    fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) -> Result<(), String> {
        let end = Instant::now() + TEST_TIMEOUT;
        while !is_so(self) {
            if let Some(code) = self.process.ended() {
                return Err(format!("ended with {code} before: {what}"));
            }
            if Instant::now() >= end {
                return Err(format!("not so: {what}"));
            }
            thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    fn says(&mut self, words: &'static str) -> Result<(), String> {
        self.until(words, |play| play.process.said().contains(words))
    }

    fn shown(&mut self, words: &'static str) -> Result<(), String> {
        self.until(words, |play| {
            play.process.screen().is_some_and(|screen| screen.contains(words))
        })
    }

    fn reach(&mut self) -> Result<(), String> {
        match self.cell.state {
            State::SetUp => self.until("a server that hangs", |play| play.place.is_held()),
            State::Closing => {
                let works = |play: &Self| play.process.threads().iter().any(|name| name.starts_with("app-server"));
                self.until("app servers", |play| works(play))?;
                self.until("no app servers any more", |play| !works(play))
            }
            State::DatabaseLocked => {
                self.reach_load()?;
                let run = self.place.runs().pop().ok_or("no run directory")?;
                let locked = database::lock(&run, self.postgres).map_err(|error| format!("not locked: {error}"))?;
                self.locked = Some(locked);
                Ok(())
            }
            state if self.cell.form == Form::Headless => match state {
                State::WarmUp => self.says("warm-up"),
                State::HostPaused => self.says("host 1 paused"),
                State::HostKilled => self.says("host 1 killed"),
                State::ServerPaused => self.says("app server 1 paused"),
                State::FullQueue => self.until("seconds of a load", |play| {
                    play.process.said().matches(" s of ").count() > 1
                }),
                State::Draining => self.says("draining"),
                _ => self.reach_load(),
            },
            State::Picker => self.shown("›"),
            State::WarmUp => self.shown("WARM-UP"),
            State::Draining => self.shown("DRAINING"),
            State::Finished => self.shown("FINISHED"),
            State::Failed => self.shown("the run failed"),
            state => {
                self.reach_load()?;
                let (keys, words) = match state {
                    State::HostPaused => ("1p", "‖ PAUSED"),
                    State::HostKilled => ("1k", "✖ DOWN"),
                    State::ServerPaused => ("s1p", "[1]‖ PAUSED"),
                    State::Dialog => ("?", "Break and restore"),
                    State::FullQueue => ("", "RUN 2 s"),
                    _ => ("", "RUN"),
                };
                self.process.press(keys);
                self.shown(words)
            }
        }
    }

    fn reach_load(&mut self) -> Result<(), String> {
        match self.cell.form {
            Form::Headless => self.says(" s of "),
            Form::Console => self.until("a run on hosts that are up", |play| {
                let screen = play.process.screen().unwrap_or_default();
                screen.contains("▶ RUN") && screen.matches("● UP").count() >= 3
            }),
        }
    }

    fn leave(&mut self) {
        match self.cell.way {
            Way::ItsEnd => {}
            Way::Quit => self.process.press("q"),
            Way::QuitTwice => self.keys("q", 2),
            Way::QuitThrice => self.keys("q", 3),
            Way::CtrlC => self.process.press("\u{3}"),
            Way::CtrlCTwice => self.keys("\u{3}", 2),
            Way::CtrlCThrice => self.keys("\u{3}", 3),
            Way::Interrupt => self.signals(Signal::SIGINT, 1),
            Way::InterruptTwice => self.signals(Signal::SIGINT, 2),
            Way::InterruptThrice => self.signals(Signal::SIGINT, 3),
            Way::Terminate => self.signals(Signal::SIGTERM, 1),
            Way::HangUp | Way::NohupHangUp => self.signals(Signal::SIGHUP, 1),
            Way::QuitSignal => self.signals(Signal::SIGQUIT, 1),
            Way::Kill => self.signals(Signal::SIGKILL, 1),
            Way::KillKeeper => self.kill_keeper(),
            Way::KillBoth => {
                // The keeper must not see that lockstorm ends.
                let keeper = process::keeper(&self.place.labs());
                if let Some(keeper) = keeper {
                    let _ = kill(keeper, Signal::SIGSTOP);
                }
                self.signals(Signal::SIGKILL, 1);
                if let Some(keeper) = keeper {
                    let _ = kill(keeper, Signal::SIGKILL);
                }
            }
            Way::TerminalClosed | Way::TerminalClosedNohup => self.process.close_terminal(),
            Way::StdoutClosed => self.process.close_stdout(),
            Way::StderrClosed => self.process.close_stderr(),
            Way::OutputsClosed => {
                self.process.close_stdout();
                self.process.close_stderr();
            }
        }
        if self.cell.way.lets_it_play() && self.cell.state == State::SetUp {
            self.place.go();
        }
        let over = matches!(self.cell.way, Way::ItsEnd | Way::KillKeeper) && self.cell.form == Form::Console;
        if over {
            let ends = ["FINISHED", "STOPPED", "FAILED", "the run failed"];
            let ended = self.until("the end of the run", |play| {
                let screen = play.process.screen().unwrap_or_default();
                ends.iter().any(|words| screen.contains(words))
            });
            if let Err(why) = ended {
                self.faults.push(why);
            }
            self.process.press("q");
        }
    }

    fn kill_keeper(&mut self) {
        match process::keeper(&self.place.labs()) {
            Some(keeper) => {
                let _ = kill(keeper, Signal::SIGKILL);
            }
            // It may have ended before.
            None if self.cell.state == State::Closing => {}
            None => self.faults.push("there is no keeper to kill".to_owned()),
        }
    }

    fn keys(&mut self, key: &str, times: usize) {
        for _ in 0..times {
            self.process.press(key);
            thread::sleep(APART);
        }
    }

    fn signals(&mut self, signal: Signal, times: usize) {
        for _ in 0..times {
            if self.process.ended().is_none() {
                self.process.signal(signal);
            }
            if times > 1 {
                thread::sleep(APART);
            }
        }
    }

    fn wait_for_the_end(&mut self) -> Option<i32> {
        let end = Instant::now() + TEST_TIMEOUT;
        while Instant::now() < end {
            if let Some(code) = self.process.ended() {
                return Some(code);
            }
            thread::sleep(Duration::from_millis(5));
        }
        None
    }

    fn look_for_leftovers(&mut self) {
        let labs = self.place.labs();
        if !within(AFTERMATH, || living(&labs).is_empty()) {
            let living = living(&labs);
            self.faults.push(format!("processes live on: {living:?}"));
            // Only processes of this cell have its directory.
            for pid in living {
                let _ = kill(nix::unistd::Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
        if self.cell.way == Way::KillBoth {
            self.lockstorm(&["lab", "down"]);
        }
        if !within(AFTERMATH, || self.place.left().is_empty()) {
            self.faults.push(format!("left: {}", self.place.left().join(" ")));
        }
        // If it was killed while it wrote a record, a part of that may stay.
        let strays = self.place.strays();
        if !strays.is_empty() && !matches!(self.cell.way, Way::Kill | Way::KillBoth) {
            self.faults
                .push(format!("files nobody asked for: {}", strays.join(" ")));
        }
        let Some(url) = self.postgres else { return };
        // A schema that another process had locked could not be dropped.
        if self.cell.way.is_abrupt() || self.cell.state == State::DatabaseLocked {
            self.lockstorm(&["run", "tiny.toml", "--quiet"]);
        }
        for run in self.runs.clone() {
            match database::schemas(url, &run) {
                Ok(left) if left.is_empty() => {}
                Ok(left) => self.faults.push(format!("schemas left: {}", left.join(" "))),
                Err(error) => self.faults.push(format!("PostgreSQL: {error}")),
            }
        }
    }

    /// Another lockstorm in the same place, which must end well.
    fn lockstorm(&mut self, arguments: &[&str]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockstorm"));
        command.args(arguments).current_dir(self.place.path());
        let output = command.env("TMPDIR", self.place.labs()).output();
        match output {
            Ok(output) if output.status.success() => {}
            Ok(output) => {
                let words = String::from_utf8_lossy(&output.stderr).into_owned();
                self.faults.push(format!("lockstorm {}: {words}", arguments.join(" ")));
            }
            Err(error) => self.faults.push(format!("lockstorm {}: {error}", arguments.join(" "))),
        }
    }

    fn look_at_the_outputs(&mut self) {
        if self.cell.way.leaves_a_terminal() {
            let process = &self.process;
            if !within(AFTERMATH, || process.terminal_faults().is_empty()) {
                self.faults
                    .extend(process.terminal_faults().into_iter().map(str::to_owned));
            }
        }
        let said = self.process.said();
        if said.contains("panicked") || said.contains("this is a bug") {
            self.faults.push("panicked".to_owned());
        }
    }

    /// The record of a headless run, and the summary if somebody can read it.
    fn look_at_the_record(&mut self, code: Option<i32>) {
        // A run that was ended in the set-up, or failed, has no record.
        let none = code == Some(1);
        let readable = !matches!(
            self.cell.way,
            Way::StdoutClosed | Way::OutputsClosed | Way::TerminalClosed | Way::TerminalClosedNohup
        );
        let summary = " · seed ";
        if readable && !none && !within(AFTERMATH, || self.process.said().contains(summary)) {
            self.faults.push("no summary".to_owned());
        }
        if self.cell.form == Form::Headless && !none {
            match RecordFile::read(&self.place.record()) {
                Ok(_) => {}
                Err(error) => self.faults.push(format!("no record: {error}")),
            }
        }
    }
}

fn within(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    loop {
        if is_so() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn numbers(codes: &[i32]) -> String {
    let codes: Vec<String> = codes.iter().map(ToString::to_string).collect();
    codes.join(" or ")
}

/// The end of its output, to find out what went wrong.
fn tail(process: &Process) -> String {
    let said = process.screen().unwrap_or_else(|| process.said());
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut text = String::new();
    for line in &lines[lines.len().saturating_sub(12)..] {
        let plain: String = line.chars().filter(|c| !c.is_control()).take(200).collect();
        let _ = writeln!(text, "    | {plain}");
    }
    text
}
