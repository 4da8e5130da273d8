//! What the commands do, a file each.

pub mod bench;
pub mod colour;
pub mod console;
pub mod docs;
pub mod lab;
pub mod run;
pub mod scenarios;
pub mod usage;

use std::io::{ErrorKind, IsTerminal, Write, stdout};
use std::process::ExitCode;

use lockstorm::console::ascii;
use lockstorm::needs::{self, Machine};
use lockstorm::run::Stop;
use lockstorm::scenario::{Overrides, Scenario, ScenarioErrors, Source, parse};

use crate::cli::Changes;
use crate::failure::Failure;

/// Prints to standard output. A reader that has seen enough (`| head`) is no error.
fn print(text: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut stdout = stdout().lock();
    match stdout.write_all(text.as_ref()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::error(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints what is made for people to read, in ASCII alone where that is asked for or the terminal shows nothing else.
fn print_for_people(text: String, ascii: bool) -> Result<(), Failure> {
    let ascii = ascii || stdout().is_terminal() && ascii::wanted();
    print(if ascii { ascii::text(&text) } else { text })
}

/// Reads and validates a scenario, the changes of the command line included.
fn load(spec: &str, changes: &Changes) -> Result<Scenario, ScenarioErrors> {
    parse(&Source::open(spec)?, &overrides(changes))
}

/// What this machine has room for: warnings, or why the scenario cannot run here, a line each.
fn room(scenario: &Scenario) -> Result<Vec<String>, String> {
    let room = needs::compare(&needs::of(scenario), &Machine::look());
    if room.refusals.is_empty() {
        Ok(room.warnings)
    } else {
        Err(room.refusals.join("\n"))
    }
}

fn overrides(changes: &Changes) -> Overrides {
    Overrides {
        set: changes.set.clone(),
        seed: changes.seed,
        duration: changes.duration,
    }
}

/// As shells number the end by a signal.
fn signalled(stop: Stop) -> ExitCode {
    ExitCode::from(match stop {
        Stop::Interrupt => 130,
        Stop::Terminate => 143,
    })
}
