//! Messages for command lines that cannot be understood.

use std::env;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::ErrorKind;
use lockstorm::console::ascii;
use lockstorm_base::output::stderr;
use lockstorm_data::scenario::ScenarioErrors;

use super::colour;
use super::print::print;
use crate::cli::{Cli, Color, ConsoleArgs};
use crate::exit_code;
use crate::failure::Failure;

/// Prints the help or the version if they were asked for, and otherwise what is wrong and how to mend it.
pub fn explain(error: &clap::Error) -> ExitCode {
    // A mistyped command looks like a scenario followed by arguments that the console does not know.
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(first) = env::args().nth(1)
        && let Some(command) = near_command(&first)
    {
        return Failure::usage(format!(
            "\"{first}\" is not a command; did you mean `lockstorm {command}`?"
        ))
        .report();
    }
    if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let text = in_one_line(&error.render().to_string());
        // A URL in the wrong place may hold a password.
        let text = text
            .split_once("://")
            .map_or(text.clone(), |(before, _)| format!("{before}://… (`--help` explains)"));
        return Failure::usage(text).report();
    }
    let help = error.render();
    let code = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(exit_code::USAGE));
    if error.use_stderr() {
        stderr().write(help.to_string());
        return code;
    }
    let text = match colour::wanted(Color::Auto) {
        true => help.ansi().to_string(),
        false => help.to_string(),
    };
    let printed = print(match is_ascii(&io::stdout()) {
        true => ascii::text(&text),
        false => text,
    });
    printed.map_or_else(|failure| failure.report(), |_| code)
}

/// Whether an output gets ASCII only, before the command line is understood, or if it is not.
pub fn is_ascii(output: &impl IsTerminal) -> bool {
    env::args_os().any(|argument| argument == "--ascii") || ascii::wanted(output.is_terminal())
}

/// clap's message of several lines in one line, without its hint at `--help`, which every message gets.
fn in_one_line(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines = lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"));
    lines.collect::<Vec<_>>().join(" ").replace(" tip: ", "; ") + " (`--help` explains)"
}

/// Refuses the console's arguments in front of a command: they would be ignored silently.
pub fn no_console_arguments(args: &ConsoleArgs) -> Result<(), Failure> {
    let given = [
        (args.scenario.is_some(), "a SCENARIO"),
        (!args.play.changes.set.is_empty(), "--set"),
        (args.play.changes.seed.is_some(), "--seed"),
        (args.play.changes.duration.is_some(), "--duration"),
        (args.play.nodes.server.server_bin.is_some(), "--server-bin"),
        (args.play.nodes.etcd_bin.is_some(), "--etcd-bin"),
        (args.play.nodes.lab.is_some(), "--lab"),
        (args.play.nodes.image.is_some(), "--image"),
        (args.screen.theme.is_some(), "--theme"),
    ];
    match given.into_iter().find(|(given, _)| *given) {
        Some((_, name)) => Err(Failure::usage(format!(
            "{name} stands before the command; put it after the command, or leave it out"
        ))),
        None => Ok(()),
    }
}

/// What is wrong with a scenario. One that does not exist may be a mistyped command.
pub fn no_scenario(spec: &str, errors: &ScenarioErrors) -> Failure {
    match near_command(spec) {
        Some(command) if !Path::new(spec).exists() => {
            Failure::usage(format!("{errors}; or did you mean the command `lockstorm {command}`?"))
        }
        _ => Failure::usage(errors),
    }
}

/// The command that `word`, which is not a command, was probably meant to be.
fn near_command(word: &str) -> Option<String> {
    let furthest = word.chars().count().div_ceil(3);
    let all = Cli::command();
    let names = all.get_subcommands().map(clap::Command::get_name);
    let near = names.map(|name| (strsim::osa_distance(word, name), name));
    // A command is near to others, too.
    let near = near.min().filter(|(distance, _)| (1..=furthest).contains(distance))?;
    Some(near.1.to_owned())
}
