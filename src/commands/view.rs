//! `lockstorm view`.

use std::path::Path;
use std::process::ExitCode;

use lockstorm::console;
use lockstorm::report::{RecordFile, demo};

use super::print::{ended, nothing_left_but_to_print};
use super::screen;
use crate::cli::{Look, ViewArgs};
use crate::failure::Failure;

/// The word for the record of a run of failover that comes with the program.
const DEMO: &str = "demo";

/// Plays a record in the console.
pub fn view(args: &ViewArgs, look: Look) -> Result<ExitCode, Failure> {
    let is_demo = args.record == Path::new(DEMO);
    let record = match is_demo {
        true => demo().map_err(Failure::error),
        false => RecordFile::read(&args.record).map_err(Failure::usage),
    }?;
    if !screen::can_show() {
        let record = args.record.display();
        let instead = match is_demo {
            true => "`lockstorm run failover` plays the same scenario without one".to_owned(),
            false => format!(
                "without one `lockstorm record show {record}` prints its summary, and `lockstorm report {record} -o FILE` makes a page of it"
            ),
        };
        return Err(Failure::usage(format!("a record is played in a terminal: {instead}")));
    }
    let place = |path: &Path| path.canonicalize().ok();
    if let Some(cast) = args
        .screen
        .cast
        .as_deref()
        .filter(|cast| place(cast).is_some() && place(cast) == place(&args.record))
    {
        return Err(Failure::usage(format!(
            "{}: is used twice; name another file for the cast",
            cast.display()
        )));
    }
    let options = screen::options(&args.screen, look)?;
    let cast = options.cast.clone();
    let exit = console::view(record, options).map_err(Failure::error)?;
    nothing_left_but_to_print();
    screen::settle(cast)?;
    ended(exit.stop, Ok(ExitCode::SUCCESS))
}
