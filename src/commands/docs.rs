//! `lockstorm completions` and `lockstorm man`.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use super::print::print;
use crate::cli::{Cli, CompletionsArgs, ManArgs, scenarios};
use crate::failure::Failure;

/// Prints a completion script.
pub fn completions(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "lockstorm", &mut script);
    let script = String::from_utf8(script).map_err(Failure::error)?;
    print(with_scenarios(args.shell, script))
}

/// The script, made to offer the names of scenarios as well as files: bash falls back to files by itself, zsh would offer
/// only the names, and fish would not know them.
fn with_scenarios(shell: Shell, script: String) -> String {
    let names = scenarios().join(" ");
    match shell {
        Shell::Zsh => {
            let both = "_alternative 'scenarios:scenario:(NAMES)' 'files:file:_files'".replace("NAMES", &names);
            let main = "if [ \"$funcstack[1]\" = \"_lockstorm\" ]";
            script
                .replace(&format!(":({names})'"), ":_lockstorm_scenarios'")
                .replace(main, &format!("_lockstorm_scenarios() {{\n    {both}\n}}\n\n{main}"))
        }
        Shell::Fish => {
            let takes = ["needs_command", "using_subcommand run", "using_subcommand check"].map(|when| (when, ""));
            let shows = ("using_subcommand scenarios", "; and __fish_seen_subcommand_from show");
            let line = |(when, and): (&str, &str)| {
                let when = format!("__fish_lockstorm_{when}{and}");
                format!("complete -c lockstorm -n \"{when}\" -a \"{names}\" -d 'Scenario'\n")
            };
            script + &takes.into_iter().chain([shows]).map(line).collect::<String>()
        }
        _ => script,
    }
}

/// Prints a manual page.
pub fn man(args: &ManArgs) -> Result<ExitCode, Failure> {
    let mut root = Cli::command();
    // Gives the commands their full names and the global options.
    root.build();
    let mut command = &root;
    for name in &args.command {
        command = command.find_subcommand(name).ok_or_else(|| {
            let known: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
            Failure::usage(format!(
                "{} has no command \"{name}\"; it has: {}",
                command.get_name(),
                known.join(", ")
            ))
        })?;
    }
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(command.clone());
    man.render(&mut page).map_err(Failure::error)?;
    print(page)
}
