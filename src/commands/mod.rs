//! The commands, a file each.

pub mod bench;
pub mod colour;
pub mod console;
pub mod docs;
pub mod doctor;
pub mod elsewhere;
pub mod lab;
pub mod plan;
pub mod recipes;
pub mod run;
pub mod scenarios;
pub mod server;
pub mod sweep;
pub mod usage;

use std::env;
use std::io::{self, ErrorKind, IsTerminal};
use std::process::ExitCode;

use lockstorm::console::ascii;
use lockstorm::needs::{self, Machine};
use lockstorm::output::{stderr, stdout};
use lockstorm::run::{Stop, stop_at_once};
use lockstorm::scenario::{Overrides, Scenario, ScenarioErrors, Source, parse};

use crate::cli::Changes;
use crate::failure::{Failure, tell};

/// The URL of the database of all scenarios, as `--set database.url=URL` would give it.
const DATABASE: &str = "LOCKSTORM_DATABASE";

/// Prints to standard output, as long as somebody reads it. A reader that has seen enough (`| head`) is not an error.
fn print(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    // If both go to the same place, earlier messages must come out first.
    let _ = stderr().settle();
    stdout().write(text);
    match stdout().settle() {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::error(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints text for people, in ASCII only if that is asked for or the terminal can show nothing else.
fn print_for_people(mut text: String, ascii: bool) -> Result<(), Failure> {
    let ascii = ascii || io::stdout().is_terminal() && ascii::wanted();
    // If nobody reads standard error, this is the only place left to say so.
    if let Err(error) = stderr().settle()
        && error.kind() == ErrorKind::TimedOut
    {
        text += &format!("\nstandard error was given up: {error}\n");
    }
    print(if ascii { ascii::text(&text) } else { text })
}

/// The columns and lines for a plot; `None` if nobody looks.
fn plot_room() -> Option<(u16, u16)> {
    let stdout = io::stdout();
    let size = stdout
        .is_terminal()
        .then(|| rustix::termios::tcgetwinsize(&stdout).ok())??;
    // Some terminals report no size.
    (size.ws_col >= 40).then(|| (size.ws_col.min(120), (size.ws_row * 2 / 3).clamp(14, 26)))
}

/// Reads and validates a scenario, the changes of the command line included.
fn load(spec: &str, changes: &Changes) -> Result<Scenario, ScenarioErrors> {
    parse(&Source::open(spec)?, &overrides(changes))
}

/// Compares the scenario's needs with this machine: warnings, or a line for each reason why it can't run here.
fn room(scenario: &Scenario) -> Result<Vec<String>, String> {
    let room = needs::compare(&needs::of(scenario), &Machine::look());
    if room.refusals.is_empty() {
        Ok(room.warnings)
    } else {
        Err(room.refusals.join("\n"))
    }
}

fn overrides(changes: &Changes) -> Overrides {
    let set = |key: &str| changes.set.iter().any(|set| set.starts_with(key));
    // What the command line says is more than what the environment says.
    let database = env::var(DATABASE)
        .ok()
        .filter(|url| !url.is_empty() && !set("database.url="));
    let database = database.map(|url| format!("database.url={url}"));
    Overrides {
        set: database.into_iter().chain(changes.set.iter().cloned()).collect(),
        seed: changes.seed,
        duration: changes.duration,
    }
}

/// The exit code of a process that a signal ended, as in a shell.
fn signalled(stop: Stop) -> ExitCode {
    ExitCode::from(stop.exit_code())
}

/// The same for a run whose summary may not have been `printed`: the way it ended is more important than that nobody read
/// it.
fn signalled_with(stop: Stop, printed: Result<(), Failure>) -> ExitCode {
    if let Err(failure) = printed {
        failure.report();
    }
    signalled(stop)
}

/// The run and its lab are over, so from now on a signal ends the wait for a slow reader at once.
fn nothing_left_but_to_print() {
    if let Err(error) = stop_at_once() {
        tell(&format!("cannot listen for signals: {error}"));
    }
}
