//! What commands print last, and how they end then.

use std::io::{self, ErrorKind, IsTerminal};
use std::process::ExitCode;

use lockstorm::console::ascii;
use lockstorm::report::{FileError, Paint, RecordFile, brief, render};
use lockstorm_base::output::{stderr, stdout};
use lockstorm_base::{Stop, stop_at_once};
use lockstorm_data::model::printable;
use lockstorm_run::Record;
use serde::Serialize;

use super::colour;
use crate::cli::Look;
use crate::failure::{Failure, tell};

/// Prints to standard output exactly this, as long as somebody reads it. A reader that has seen enough (`| head`) is not an error.
pub(super) fn print(text: impl AsRef<[u8]>) -> Result<ExitCode, Failure> {
    // If both go to the same place, earlier messages must come out first.
    let _ = stderr().settle();
    stdout().write(text);
    match stdout().settle() {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::error(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// The columns of a line where nothing says how wide it may be.
pub(super) const COLUMNS: u16 = 100;

/// The columns of a line.
pub(super) fn columns() -> usize {
    let (columns, _) = plot_room().unwrap_or((COLUMNS, 0));
    columns.max(40).into()
}

/// The summary of a record, whole if `verbose`; its lines are no wider than the terminal.
pub(super) fn summary(record: &Record, verbose: bool, paint: Paint) -> String {
    let brief = brief(record, columns().min(COLUMNS.into()), paint);
    if verbose {
        format!("{brief}\n{}", render(record, paint))
    } else {
        brief
    }
}

/// Prints a result: as JSON, or as the text that people read.
pub(super) fn print_result(
    as_json: bool,
    result: &impl Serialize,
    text: impl FnOnce(Paint) -> String,
    look: Look,
) -> Result<ExitCode, Failure> {
    if as_json {
        print(serde_json::to_string_pretty(result).map_err(Failure::error)? + "\n")
    } else {
        print_for_people(text(colour::paint(look)), look)
    }
}

/// Prints names, each with its title.
pub(super) fn print_titles<'a>(
    all: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    look: Look,
) -> Result<ExitCode, Failure> {
    let width = all.clone().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = all.map(|(name, title)| format!("{name:width$}  {title}\n"));
    print_for_people(lines.collect(), look)
}

/// Prints text for people, in ASCII only if that is asked for or the terminal can show nothing else.
pub(super) fn print_for_people(mut text: String, look: Look) -> Result<ExitCode, Failure> {
    let ascii = look.ascii || ascii::wanted(io::stdout().is_terminal());
    // If nobody reads standard error, this is the only place left to say so.
    if let Err(error) = stderr().settle()
        && error.kind() == ErrorKind::TimedOut
    {
        text += &format!("\nstandard error was given up: {error}\n");
    }
    let text = harmless(&text);
    print(if ascii { ascii::text(&text) } else { text })
}

/// The text without anything that a terminal would obey or hide, but for colours: a record may come from anybody.
fn harmless(text: &str) -> String {
    let is_colour = |part: &str| {
        part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';')
            .starts_with('m')
    };
    let line = |line: &str| {
        let parts: Vec<String> = line.split("\u{1b}[").map(printable).collect();
        let mut whole = parts[0].clone();
        for part in &parts[1..] {
            whole += if is_colour(part) { "\u{1b}[" } else { "\u{fffd}" };
            whole += part;
        }
        whole
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The columns and lines for a plot; `None` if nobody looks.
pub(super) fn plot_room() -> Option<(u16, u16)> {
    let stdout = io::stdout();
    let size = stdout
        .is_terminal()
        .then(|| rustix::termios::tcgetwinsize(&stdout).ok())??;
    // Some terminals report no size.
    (size.ws_col >= 40).then(|| (size.ws_col.min(120), (size.ws_row * 2 / 3).clamp(14, 26)))
}

/// The exit code of a process that a signal ended, as in a shell.
pub(super) fn signalled(stop: Stop) -> ExitCode {
    ExitCode::from(stop.exit_code())
}

/// The exit code of a run that a signal ended, or of what it has `printed`. It may not have printed its summary: the way it ended
/// is more important than that nobody read it.
pub(super) fn ended(stop: Option<Stop>, printed: Result<ExitCode, Failure>) -> Result<ExitCode, Failure> {
    let Some(stop) = stop else { return printed };
    if let Err(failure) = printed {
        failure.report();
    }
    Ok(signalled(stop))
}

/// The run and its lab are over, so from now on a signal ends the wait for a slow reader at once.
pub(super) fn nothing_left_but_to_print() {
    if let Err(error) = stop_at_once() {
        tell(&format!("cannot listen for signals: {error}"));
    }
}

/// Writes the record to its file, if there is one. A signal ends us only while we wait for a reader: no file is left half written.
pub(super) fn keep(file: Option<&RecordFile>, record: &impl Serialize) -> Result<(), FileError> {
    let write = || file.map_or(Ok(()), |file| file.write(record));
    if file.is_some_and(RecordFile::is_special) {
        nothing_left_but_to_print();
        return write();
    }
    let written = write();
    nothing_left_but_to_print();
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_colours_and_lines_and_nothing_else_to_obey() {
        let text = "\u{1b}[1;31m✖ 3\u{1b}[0m\tof \u{1b}]0;title\u{7}\n\u{1b}[2J\u{202e}a\u{1b}\n";
        let shown = "\u{1b}[1;31m✖ 3\u{1b}[0m of \u{fffd}]0;title\u{fffd}\n\u{fffd}2J\u{fffd}a\u{fffd}\n";
        assert_eq!(harmless(text), shown);
        assert_eq!(harmless(""), "");
    }
}
