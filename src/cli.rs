//! The command line: structs and their help, nothing else.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use lockstorm::bench::CASES;
use lockstorm::lab::NodeName;
use lockstorm::scenario::builtin;

/// A terminal chaos lab and benchmark suite for distributed locks on Redis.
///
/// Starts a trio of Redis hosts, lets swarms of workers fill a cache or sell stock under several lock strategies side by
/// side, breaks hosts and app servers on a keypress or on a schedule, and shows how each strategy fared.
///
/// Without a command it opens the console on SCENARIO. If standard input or output is not a terminal, it runs headless
/// instead, as `lockstorm run` does.
#[derive(Debug, Parser)]
#[command(
    name = "lockstorm",
    version,
    max_term_width = 110,
    subcommand_precedence_over_arg = true,
    override_usage = "lockstorm [OPTIONS] [SCENARIO]\n       lockstorm <COMMAND>",
    after_help = "Try `lockstorm single-vs-redlock`, or `lockstorm --help` for examples and exit codes.",
    after_long_help = "\
Examples:
  lockstorm                             choose a scenario in the console
  lockstorm single-vs-redlock           open the console on a built-in scenario
  lockstorm my.toml --set swarm.rate=200/s
  lockstorm run stampede --record out.json
  lockstorm scenarios show flash-sale > my.toml

Exit codes:
  0    all expectations held
  1    an error: no server found, a node did not start, the record could not be written
  2    wrong usage or a bad scenario; nothing was started
  3    `run`: an expectation of the scenario failed (the console shows it and exits with 0)
  5    `run`: inconclusive, since the cause of an expectation did not occur or the run lost something it needs
  129  the terminal has gone (SIGHUP); everything was cleaned up (under nohup SIGHUP stays ignored)
  130  interrupted by SIGINT (Ctrl-C), with the summary of what ran
  131  ended by SIGQUIT (Ctrl-\\), with the summary of what ran
  143  ended by SIGTERM, with the summary of what ran"
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub console: ConsoleArgs,
    /// When to use colour, in printed text and in the console.
    ///
    /// `auto` uses colour on a terminal, unless the environment variable `NO_COLOR` is set. Whatever colour says, a mark or a
    /// word says too.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,
    /// Limit all output to ASCII.
    ///
    /// This is the default on a terminal whose locale (`LC_ALL`, `LC_CTYPE`, LANG) names a charset other than UTF-8, and on the
    /// Linux console (TERM=linux).
    #[arg(long, global = true)]
    pub ascii: bool,
    /// Append a log to FILE: failed requests, clean-ups that failed. For bug reports.
    #[arg(long, global = true, value_name = "FILE")]
    pub log: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ConsoleArgs {
    /// A built-in scenario (`lockstorm scenarios` lists them) or a file. If left out, the console lets you choose, and a
    /// headless run plays single-vs-redlock.
    #[arg(value_parser = Known(scenarios), hide_possible_values = true)]
    pub scenario: Option<String>,
    #[command(flatten)]
    pub changes: Changes,
    #[command(flatten)]
    pub server: Server,
    /// The colour theme of the console [default: dark].
    #[arg(long, value_enum, value_name = "THEME")]
    pub theme: Option<Theme>,
}

/// What the command line changes in a scenario.
#[derive(Debug, Args)]
pub struct Changes {
    /// Change one key of the scenario; may be repeated.
    ///
    /// KEY is a dotted path with an arm's name or a fault's number: `--set arm.redlock.ttl=500ms`,
    /// `--set swarm.rate=200/s`, `--set fault.1.at=3s`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// The seed of every random choice.
    #[arg(long, value_name = "N", value_parser = seed, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// The length of the measured part, for example 30s or 1m30s.
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    pub duration: Option<Duration>,
}

#[derive(Debug, Args)]
pub struct Server {
    /// The redis-server or valkey-server to start, 6.2 or newer. If left out, the first one on PATH.
    #[arg(long, value_name = "PATH")]
    pub server_bin: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(RunArgs),
    Scenarios(ScenariosArgs),
    Check(CheckArgs),
    Bench(BenchArgs),
    Lab(LabArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Run a scenario without the console.
///
/// Progress goes to standard error: a bar on a terminal, otherwise a line every few seconds. The summary goes to standard
/// output: tables of the locks, the load and the results, a sentence for each arm, the faults, and the result of each
/// expectation. The first Ctrl-C ends the load and prints what ran until then; the second stops waiting for workers; the
/// third gives up the summary too.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm run single-vs-redlock
  lockstorm run stampede --duration 20s --seed 7 --record out.json
  lockstorm run my.toml --set arm.redlock.ttl=500ms --set swarm.rate=200/s
  lockstorm run flash-sale --json --quiet | jq '.arms[] | {name, orders, oversold}'

Exit codes: 0 all expectations held, 1 error, 2 usage or bad input, 3 an expectation failed, 5 inconclusive, \
129, 130, 131 and 143 ended by SIGHUP, SIGINT, SIGQUIT and SIGTERM.

The record is one JSON file: the scenario as run, seed, versions, machine, node settings, timeouts, every event, and in \
`arms[]` the figures of each arm, in total and second by second. Names that end in _us are microseconds, in _ms \
milliseconds. Every field is documented at the type `Record` of the library.")]
pub struct RunArgs {
    /// A built-in scenario (`lockstorm scenarios` lists them) or a file.
    #[arg(value_parser = Known(scenarios), hide_possible_values = true)]
    pub scenario: String,
    #[command(flatten)]
    pub changes: Changes,
    #[command(flatten)]
    pub server: Server,
    /// Write everything the run produced to FILE, as JSON. An existing file is replaced when the run has ended.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Print the record to standard output instead of the summary.
    #[arg(long)]
    pub json: bool,
    /// Show no progress; warnings and errors are still printed.
    #[arg(long, short)]
    pub quiet: bool,
}

/// List the built-in scenarios, or print one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm scenarios
  lockstorm scenarios show flash-sale
  lockstorm scenarios show quorum-loss > my.toml     a start for a scenario of your own")]
pub struct ScenariosArgs {
    #[command(subcommand)]
    pub command: Option<ScenariosCommand>,
}

#[derive(Debug, Subcommand)]
pub enum ScenariosCommand {
    /// Print the file of a built-in scenario.
    #[command(after_help = "\
Examples:
  lockstorm scenarios show flash-sale
  lockstorm scenarios show stampede > my.toml && lockstorm check my.toml")]
    Show {
        /// Its name.
        #[arg(value_parser = Known(scenarios), hide_possible_values = true)]
        name: String,
    },
}

/// Validate a scenario without running it.
///
/// Prints every error with its file, line, key and nearest correct spelling, and warns of settings with which the scenario
/// may not show what it is meant to show.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm check my.toml
  lockstorm check stampede --set arm.redlock.ttl=50ms

Exit codes: 0 the scenario is valid, 2 it is not.")]
pub struct CheckArgs {
    /// A file, or the name of a built-in scenario.
    #[arg(value_name = "FILE", value_parser = Known(scenarios), hide_possible_values = true)]
    pub scenario: String,
    #[command(flatten)]
    pub changes: Changes,
}

/// Measure the lock engine, beside its peers if they were built in.
///
/// Starts three nodes (five for a case that needs them). Each client runs alone, one after the other, in rounds whose order
/// rotates. Measures cycles a second, latency, processor time of client and servers, fairness and keys left behind: on
/// healthy nodes, with nodes paused, killed, hung and restarted, and over TLS (which needs the program openssl). Progress
/// goes to standard error; tables, and the targets that the run can judge, to standard output. Ctrl-C ends the bench and
/// prints what was measured until then.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm bench --list
  lockstorm bench --case own-64 --rounds 3
  lockstorm bench --case paused --case killed --time 500ms
  lockstorm bench --json bench.json
  cargo run --release --features peers -- bench      beside rslock and two clients on the redis crate

Exit codes: 0 measured, 1 error, 2 usage, 129, 130, 131 and 143 ended by SIGHUP, SIGINT, SIGQUIT and SIGTERM. A missed \
target does not change the exit code.

The JSON file has every figure of every round, the machine, and how each client was set up. Names that end in _us are \
microseconds, in _ms milliseconds, in _s seconds. Every field is documented at the type `BenchRecord` of the library.")]
pub struct BenchArgs {
    /// Measure only this case; may be repeated. If left out, all cases are measured.
    #[arg(long, value_name = "NAME", value_parser = Known(cases), hide_possible_values = true)]
    pub case: Vec<String>,
    /// List the cases.
    #[arg(long)]
    pub list: bool,
    /// The number of rounds of each case.
    #[arg(long, value_name = "N", default_value = "7", value_parser = rounds, allow_hyphen_values = true)]
    pub rounds: usize,
    /// The length of a round's measured part; some cases take a multiple of it.
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = time, allow_hyphen_values = true)]
    pub time: Duration,
    #[command(flatten)]
    pub server: Server,
    /// Write every figure to FILE, as JSON. An existing file is replaced when everything has been measured.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Show no progress; warnings and errors are still printed.
    #[arg(long, short)]
    pub quiet: bool,
}

/// Manage the labs on this machine.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  lockstorm lab down
  lockstorm lab cli 1"
)]
pub struct LabArgs {
    #[command(subcommand)]
    pub command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Remove what a crash left behind: processes and directories of labs that are no longer in use.
    ///
    /// Labs in use and other people's processes are not touched. Every start of a lab does the same.
    #[command(after_help = "\
Examples:
  lockstorm lab down")]
    Down,
    /// Open redis-cli, or valkey-cli, on a node of a running lab.
    ///
    /// The nodes require a password that only you can read; this command supplies it. Arguments after `--` are passed to
    /// redis-cli, whose exit code becomes that of this command.
    #[command(after_help = "\
Examples:
  lockstorm lab cli 1
  lockstorm lab cli cache -- INFO keyspace
  lockstorm lab cli 2 --lab 1a2b3c4d -- --latency")]
    Cli(CliArgs),
}

#[derive(Debug, Args)]
pub struct CliArgs {
    /// The number of the host, or `cache` for the cache node.
    #[arg(value_name = "HOST")]
    pub node: NodeName,
    /// The lab, if several are running. If left out, the one that was started last.
    #[arg(long, value_name = "ID")]
    pub lab: Option<String>,
    /// Arguments for redis-cli.
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<OsString>,
}

/// Print a script that completes lockstorm's arguments in your shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm completions bash > ~/.local/share/bash-completion/completions/lockstorm
  lockstorm completions zsh > ~/.zfunc/_lockstorm
  lockstorm completions fish > ~/.config/fish/completions/lockstorm.fish")]
pub struct CompletionsArgs {
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Print the manual page of lockstorm or of one of its commands.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm man > lockstorm.1
  lockstorm man run | man -l -")]
pub struct ManArgs {
    /// The command, for example `run` or `scenarios show`.
    pub command: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Theme {
    Dark,
    Light,
    HighContrast,
}

/// Any text; shell completion offers the names that this function lists. The code that looks a name up reports unknown ones.
#[derive(Clone)]
struct Known(fn() -> Vec<&'static str>);

impl TypedValueParser for Known {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}

/// The built-in scenarios.
pub fn scenarios() -> Vec<&'static str> {
    builtin::ALL.iter().map(|scenario| scenario.name).collect()
}

/// The cases of the bench.
fn cases() -> Vec<&'static str> {
    CASES.iter().map(|case| case.name).collect()
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "write a whole number, 0 or more".to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "write it with its unit, for example 30s, 500ms or 1m30s".to_owned())
}

fn rounds(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(rounds @ 1..=1000) => Ok(rounds),
        _ => Err("write a whole number from 1 to 1000".to_owned()),
    }
}

fn time(text: &str) -> Result<Duration, String> {
    let time = duration(text)?;
    if (Duration::from_millis(50)..=Duration::from_mins(1)).contains(&time) {
        Ok(time)
    } else {
        Err("it can be from 50ms to 1m".to_owned())
    }
}
