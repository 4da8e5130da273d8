//! `lockstorm view`.

use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use flate2::read::GzDecoder;
use lockstorm::console;
use lockstorm::report::RecordFile;
use lockstorm_run::Record;

use super::print::{ended, nothing_left_but_to_print};
use super::screen;
use crate::cli::{Look, ViewArgs};
use crate::failure::Failure;

/// The word for the record that comes with the program.
const DEMO: &str = "demo";

/// That record: a run of failover. `make demo` makes it anew.
static RECORDED: &[u8] = include_bytes!("demo.json.gz");

/// Plays a record in the console.
pub fn view(args: &ViewArgs, look: Look) -> Result<ExitCode, Failure> {
    let is_demo = args.record == Path::new(DEMO);
    let record = match is_demo {
        true => demo(),
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
    let options = screen::options(&args.screen, look)?;
    let cast = options.cast.clone();
    let exit = console::view(record, options).map_err(Failure::error)?;
    nothing_left_but_to_print();
    screen::settle(cast)?;
    ended(exit.stop, Ok(ExitCode::SUCCESS))
}

/// The record that comes with the program.
fn demo() -> Result<Record, Failure> {
    let broken = |why: String| Failure::error(format!("the recorded run of this program can't be read: {why}"));
    let mut text = Vec::new();
    let read = GzDecoder::new(RECORDED).read_to_end(&mut text);
    read.map_err(|error| broken(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| broken(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_run_is_of_this_format_and_shows_what_it_is_for() {
        let renew = "the format of records has changed: `make demo` records the run anew";
        let record = demo().unwrap_or_else(|failure| panic!("{renew}: {}", failure.message()));
        assert_eq!(record.format, Record::FORMAT, "{renew}");
        assert!(!record.interrupted && record.inconclusive.is_empty() && record.partial.is_empty());
        assert_eq!(record.scenario.name, "failover");
        let held_twice = |name: &str| {
            let arm = record.arms.iter().find(|arm| arm.name == name);
            arm.map(|arm| arm.figures.double_holds > 0 && !arm.evidence.is_empty())
        };
        for (name, is_broken) in [
            ("single", true),
            ("sentinel", true),
            ("sentinel wait 2", true),
            ("redlock", false),
        ] {
            assert_eq!(held_twice(name), Some(is_broken), "{name}");
        }
        assert!(RECORDED.len() < 200_000, "{} bytes", RECORDED.len());
    }
}
