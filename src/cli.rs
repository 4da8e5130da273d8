//! The command line: structs and their help, nothing else.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum, value_parser};
use clap_complete::Shell;
use lockstorm::console::ThemeName;
use lockstorm::report::Checker;
use lockstorm_bench::CASES;
use lockstorm_data::scenario::{Persistence, Renew, Words, builtin};
use lockstorm_lab::NodeName;
use lockstorm_plan::sweep::Axis;
use lockstorm_plan::{ClockJumps, Extent, MAX_SECONDS, NodeCrashes, Outages, Pauses, Renewal, Risk, Spread};

use crate::deeds::DeedArgs;
use crate::exit_code;
use crate::glossary::words;

const EXAMPLES: &str = "\
Examples:
  lockstorm                             choose a scenario in the console
  lockstorm failover                    open the console on a built-in scenario
  lockstorm my.toml --set swarm.workers=8
  lockstorm run stampede --record out.json
  lockstorm scenarios show flash-sale > my.toml
  lockstorm view demo                   a recorded run, which needs no redis-server
  lockstorm lab up                      keep three hosts for a program of your own";

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
    after_help = "Try `lockstorm failover`, or `lockstorm --help` for examples and exit codes.",
    after_long_help = format!("{EXAMPLES}\n\n{}", exit_code::list())
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub console: ConsoleArgs,
    #[command(flatten)]
    pub look: Look,
    /// Append a log to FILE: failed requests, clean-ups that failed. For bug reports.
    #[arg(long, global = true, value_name = "FILE")]
    pub log: Option<PathBuf>,
}

/// How text looks.
#[derive(Debug, Clone, Copy, Args)]
pub struct Look {
    /// When to use colour, in printed text and in the console.
    ///
    /// `auto` uses colour on a terminal, unless the environment variable `NO_COLOR` is set. Whatever colour says, a mark or a
    /// word says too.
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,
    /// Limit all text for people to ASCII.
    ///
    /// This is the default if the locale (`LC_ALL`, `LC_CTYPE`, LANG) is one whose charset is not UTF-8, like C, and on the Linux
    /// console (TERM=linux). Files, JSON, CSV and scenarios stay as they are.
    #[arg(long, global = true)]
    pub ascii: bool,
}

#[derive(Debug, Args)]
pub struct ConsoleArgs {
    /// A built-in scenario (`lockstorm scenarios` lists them) or a file. If left out, the console lets you choose, and a
    /// headless run plays failover.
    #[arg(value_parser = Known(scenarios), hide_possible_values = true)]
    pub scenario: Option<String>,
    #[command(flatten)]
    pub play: Play,
    #[command(flatten)]
    pub screen: Screen,
    /// Start at once, without the page that says what is going to happen. A headless run has none.
    #[arg(long)]
    pub no_briefing: bool,
    /// Hold the schedule from the start: each fault waits for Enter, and `g` lets the schedule go on.
    #[arg(long)]
    pub step: bool,
}

/// How the console looks, and who keeps what it shows.
#[derive(Debug, Args)]
pub struct Screen {
    /// The colour theme of the console [default: dark].
    #[arg(long, value_enum, value_name = "THEME")]
    pub theme: Option<ThemeName>,
    /// Record what the console shows to FILE, as asciinema plays it (asciicast 3), with a marker at each caption, fault and first damage. An
    /// existing file is replaced at once.
    #[arg(long, value_name = "FILE")]
    pub cast: Option<PathBuf>,
}

/// How a scenario is played.
#[derive(Debug, Args)]
pub struct Play {
    #[command(flatten)]
    pub changes: Changes,
    #[command(flatten)]
    pub nodes: Nodes,
    /// Send load to the servers that `lab.nodes` names, even on other machines, without asking.
    #[arg(long)]
    pub yes: bool,
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
    /// Add an arm whose lock is another program's, which speaks lockstorm-client/1 (docs/clients.md).
    ///
    /// It is called "client", has the times of the scenario's redlock, or of its last lock on nodes, and can be changed like any arm:
    /// `--set arm.client.hosts=1`.
    #[arg(long, value_name = "COMMAND", value_parser = program)]
    pub client: Option<Program>,
    /// The seed of every random choice.
    #[arg(long, value_name = "N", value_parser = seed, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// The length of the measured part, for example 30s or 1m30s.
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    pub duration: Option<Duration>,
}

/// A program with its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program(pub Vec<String>);

/// Splits a command as a shell does; nothing else of a shell is done with it.
fn program(text: &str) -> Result<Program, String> {
    match shlex::split(text) {
        Some(words) if !words.is_empty() => Ok(Program(words)),
        Some(_) => Err("is empty; name a program and its arguments: 'python3 mine.py'".to_owned()),
        None => Err("has a quote that does not end".to_owned()),
    }
}

#[derive(Debug, Args)]
pub struct Server {
    /// The redis-server or valkey-server to start, 6.2 or newer. If left out, the first one on PATH.
    #[arg(long, value_name = "PATH")]
    pub server_bin: Option<PathBuf>,
}

/// What the nodes of a lab run as.
#[derive(Debug, Args)]
pub struct Nodes {
    #[command(flatten)]
    pub server: Server,
    /// The etcd for arms with `lock = "etcd"`, 3.4 or newer. If left out, the first one on PATH.
    #[arg(long, value_name = "PATH")]
    pub etcd_bin: Option<PathBuf>,
    /// What the nodes run as: `process` (of this machine), `docker` (new containers), or `compose` (those of a stack that is up).
    ///
    /// The Docker engine is the one at `DOCKER_HOST`, or at its usual socket. If more than one stack is up, name its Compose
    /// project: `compose:NAME`. [default: the environment variable `LOCKSTORM_LAB`, or process]
    #[arg(long, value_name = "LAB", value_parser = Known(labs).try_map(|word| lab(&word)), hide_possible_values = true)]
    pub lab: Option<LabKind>,
    /// The image of the containers, with `--lab docker` [default: redis:7].
    ///
    /// Its redis-server or valkey-server is used, 6.2 or newer. It is pulled if it is not here.
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabKind {
    /// Processes of this machine.
    Process,
    /// New containers.
    Docker,
    /// The containers of a stack that is up: of this Compose project, or of the only one.
    Compose(Option<String>),
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(RunArgs),
    Scenarios(ScenariosArgs),
    Check(CheckArgs),
    Explain(ExplainArgs),
    Plan(Box<PlanArgs>),
    Recipes(RecipesArgs),
    View(ViewArgs),
    Report(ReportArgs),
    Compare(CompareArgs),
    Record(RecordArgs),
    Judge(JudgeArgs),
    Sweep(SweepArgs),
    Bench(BenchArgs),
    Selftest(SelfTestArgs),
    Grade(GradeArgs),
    Client(ClientArgs),
    Lab(LabArgs),
    Doctor(DoctorArgs),
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
  lockstorm run my.toml --set duration=20s --set swarm.workers=8
  lockstorm run failover --repeat 8 --over ttl=4s,8s -o ttl.html
  lockstorm run flash-sale --json --quiet | jq '.arms[] | [.name, .figures.orders, .figures.oversold]'

Exit codes: 0 all expectations held, 1 error, 2 usage or bad input, 3 an expectation failed, 5 inconclusive, \
129, 130, 131 and 143 ended by SIGHUP, SIGINT, SIGQUIT and SIGTERM.

The record is one JSON file: the scenario as run, seed, versions, machine, node settings, timeouts, every event, and in \
`arms[]` the figures of each arm, in total and second by second. Names that end in _us are whole microseconds. \
`lockstorm record schema` describes its fields.")]
pub struct RunArgs {
    /// A built-in scenario (`lockstorm scenarios` lists them) or a file.
    #[arg(value_parser = Known(scenarios), hide_possible_values = true)]
    pub scenario: String,
    #[command(flatten)]
    pub play: Play,
    /// Write everything the run produced to FILE, as JSON. An existing file is replaced when the run has ended. Until then FILE.journal has what was measured so far; it stays if the run is killed, and is read like a record.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Write every operation on a lock to FILE while the run goes on, one JSON object a line, for `lockstorm record` and other judges of
    /// histories. An existing file is replaced at once.
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// Play it so often, with consecutive seeds, and tell what all of them show.
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1000), allow_hyphen_values = true,
        conflicts_with_all = ["record", "history", "json"])]
    pub repeat: Option<u16>,
    /// Play it with each of these values of a key, A B B A, and compare; two keys make a grid. KEY as in `lockstorm sweep`.
    #[arg(long, value_name = "KEY=VALUE,…", conflicts_with_all = ["record", "history", "json"])]
    pub over: Vec<Axis>,
    /// Where --repeat and --over keep the record of each run [default: NAME.runs]. The same command goes on from what is there.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["record", "history"])]
    pub records: Option<PathBuf>,
    /// Write a report of what was shown to FILE, in the form that its ending says: .html, .md, .txt, .csv. An existing file is replaced.
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Let the arms take turns of this length, in whole seconds, A B B A: for clean latencies without faults, in a closed loop.
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    pub interleave: Option<Duration>,
    /// Print the record to standard output instead of the summary.
    #[arg(long)]
    pub json: bool,
    /// Print all tables, sentences and predictions, too.
    #[arg(long, short)]
    pub verbose: bool,
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

/// Say what a figure, a scenario, a fault or another word means.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm explain                  all words
  lockstorm explain lost_updates
  lockstorm explain quorum")]
pub struct ExplainArgs {
    /// The word, as tables and scenarios write it.
    #[arg(value_parser = Known(words), hide_possible_values = true)]
    pub word: Option<String>,
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
    /// Print all keys of a scenario, with their values and defaults.
    #[command(after_help = "\
Examples:
  lockstorm scenarios keys
  lockstorm scenarios keys arm               those of [[arm]]")]
    Keys {
        /// The table whose keys are printed.
        section: Option<String>,
    },
    /// Print the JSON Schema of scenarios, by which editors complete and check them.
    #[command(after_help = "\
Example:
  lockstorm scenarios schema > scenario.schema.json
  and as the first line of my.toml, for editors with Taplo (Even Better TOML):
  #:schema ./scenario.schema.json")]
    Schema,
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

/// Choose a TTL and a renewal interval by risk, cost and takeover time.
///
/// For each setting: how often a section outlasts its lock, what renewals cost, how long others wait after a crash. Give what you know of the work inside the lock: a record of a run, measured holds, or figures. Everything that is not given
/// is assumed, and printed as assumed. No server is started, except with --validate. The last lines recommend a setting, name the formula behind each of
/// its figures, and show it as the settings of the usual clients.
///
/// SPREAD is a duration (20ms), lognormal:MEDIAN,SIGMA (lognormal:20ms,0.6), or uniform:LEAST..MOST (uniform:10min..25min,
/// uniform:..1.5s). RATE is a number with /s, /min, /h, /day, /week, /month (30 days) or /year.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm plan --hold lognormal:20ms,0.6 --rtt same-az --rate 200/s
  lockstorm plan --hold lognormal:180ms,0.8 --pause 2/h,uniform:..1.5s --risk 1/month
  lockstorm plan --hold uniform:10min..25min --rate 1/day --takeover 60s --outage 2/month,30s
  lockstorm plan --hold lognormal:2s,0.5 --rtt cross-az --pause 2/h,lognormal:300ms,1 --risk 0.01/day --takeover 30s
  lockstorm plan --hold-from holds.csv --unit ms --nodes 5 -o plan.html
  lockstorm run flash-sale --record out.json && lockstorm plan out.json --arm redlock
  lockstorm plan --hold lognormal:20ms,0.6 --ttl 30ms,50ms,80ms --renew off --simulate 1e6
  lockstorm plan --hold 50ms --ttl 100ms,200ms,500ms --renew off,ttl/3 --csv
  lockstorm plan --hold lognormal:20ms,0.6 --rate 100/s --ttl 250ms --simulate 7d --clients 1000
  lockstorm plan --hold 500ms --rate 60/s --ttl 2s --simulate 1h --clients 40 --keys 40 --node-crash 6/min,100ms
  lockstorm plan out.json --arm redlock --replay 100
  lockstorm plan --from m.json --hold-from holds.csv --scenario choice.toml && lockstorm run choice.toml
  lockstorm plan --validate quick

Exit codes: 0 a setting is recommended, or all cells agree; 1 error; 2 usage or bad input;
3 no setting meets --risk and --takeover, or a cell differs or is undecided; 129, 130, 131 and 143 ended by SIGHUP, SIGINT, SIGQUIT \
and SIGTERM, with what was played in virtual time.")]
pub struct PlanArgs {
    /// A record of `lockstorm run --record`: its holds, round trips and what the machine added to them.
    pub record: Option<PathBuf>,
    /// The arm of the record. If left out, the first one that held locks on lock nodes.
    #[arg(long, value_name = "NAME", requires = "record")]
    pub arm: Option<String>,
    /// How long a section takes.
    #[arg(long, value_name = "SPREAD", value_parser = lockstorm_plan::spread, allow_hyphen_values = true,
        conflicts_with_all = ["record", "hold_from"])]
    pub hold: Option<Spread>,
    /// Measured holds, a file of 512 MB at most: CSV, an HdrHistogram's percentiles (.hgrm), or the text of a Prometheus histogram.
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    pub hold_from: Option<PathBuf>,
    /// The unit of the numbers in that file, if it does not say it.
    #[arg(long, value_enum, value_name = "UNIT", requires = "hold_from")]
    pub unit: Option<Unit>,
    /// The column of that CSV file which has the holds, if not the only one with "hold" or "duration" in its name.
    #[arg(long, value_name = "NAME", requires = "hold_from")]
    pub column: Option<String>,
    /// The histogram of that Prometheus text which has the holds, if it has several.
    #[arg(long, value_name = "NAME", requires = "hold_from")]
    pub metric: Option<String>,
    /// What `lockstorm doctor --measure` has measured of your own servers: round trips, pauses, and how many nodes there are.
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// A round trip to one node: local, same-az, cross-az, cross-region, or a SPREAD [default: as measured, the record's, or same-az].
    #[arg(long, value_name = "NETWORK", value_parser = lockstorm_plan::network, allow_hyphen_values = true)]
    pub rtt: Option<Spread>,
    /// Pauses of an app server as RATE,SPREAD, or none [default: as measured, the record's, or 1/h,lognormal:100ms,1].
    #[arg(long, value_name = "RATE,SPREAD", value_parser = lockstorm_plan::pauses, allow_hyphen_values = true)]
    pub pause: Option<Pauses>,
    /// Times in which no quorum of the lock nodes can be reached, as RATE,SPREAD (2/month,30s): renewals then fail. They are not
    /// played in virtual time.
    #[arg(long, value_name = "RATE,SPREAD", value_parser = lockstorm_plan::outages, allow_hyphen_values = true,
        conflicts_with_all = ["simulate", "replay", "validate"])]
    pub outage: Option<Outages>,
    /// Lock nodes: 1 for a single lock, 3 or 5 for Redlock [default: as measured, those of the record's arm, or 3].
    #[arg(long, value_name = "N", value_parser = value_parser!(u8).range(1..=9))]
    pub nodes: Option<u8>,
    /// Sections of all app servers together, like 200/s or 3/min [default: the record's, or 1/s].
    #[arg(long, value_name = "RATE", value_parser = lockstorm_plan::happening, allow_hyphen_values = true)]
    pub rate: Option<f64>,
    /// The part of the sections for which somebody else waits, above 0 and up to 1 [default: 1]. A section that outlasts its lock does harm only then.
    #[arg(long, value_name = "PART", value_parser = part, allow_hyphen_values = true)]
    pub contended: Option<f64>,
    /// How often an app server crashes while it holds a lock [default: 1/day].
    #[arg(long, value_name = "RATE", value_parser = lockstorm_plan::per_second, allow_hyphen_values = true)]
    pub crash_rate: Option<f64>,
    /// The most sections that may overlap, as a rate (1/month, 1e-6/day) or as a part of all sections (0.1%, 1e-3)
    /// [default: 1e-6/day].
    #[arg(long, value_name = "RATE|PART", value_parser = lockstorm_plan::risk, allow_hyphen_values = true)]
    pub risk: Option<Risk>,
    /// The longest that others may wait after a holder's crash.
    #[arg(long, value_name = "DURATION", value_parser = takeover, allow_hyphen_values = true)]
    pub takeover: Option<Duration>,
    /// The TTLs to look at, with commas [default: for each renewal interval, steps of 1.67 or less around what the holds, pauses and
    /// takeovers need].
    #[arg(long, value_name = "TTL,…", value_delimiter = ',', value_parser = ttl, allow_hyphen_values = true)]
    pub ttl: Vec<Duration>,
    /// The renewal intervals to look at, with commas: off, ttl/2 to ttl/9, or a duration [default: off,ttl/2,ttl/3, and ttl/5 and
    /// ttl/9 too if none of these will do].
    #[arg(long, value_name = "INTERVAL,…", value_delimiter = ',', value_parser = renewal, allow_hyphen_values = true)]
    pub renew: Vec<Renewal>,
    /// Say how many of so many sections are expected to outlast their lock, with a 99 % prediction interval: to check a plan.
    #[arg(long, value_name = "N", value_parser = sections, allow_hyphen_values = true)]
    pub sections: Option<u64>,
    #[command(flatten)]
    pub virtually: VirtualArgs,
    /// Check the simulation instead: play sections on real nodes, play the same in virtual time from the holds and acquires that
    /// were measured, and compare. The whole table takes about seven minutes, the quick one has two cells.
    #[arg(long, value_enum, value_name = "TABLE", num_args = 0..=1, default_missing_value = "whole",
        conflicts_with_all = ["record", "hold", "hold_from", "from", "rtt", "pause", "nodes", "rate", "ttl", "renew", "sections",
            "simulate", "csv", "output", "scenario"])]
    pub validate: Option<ValidationTable>,
    #[command(flatten)]
    pub server: Server,
    /// Print the plan as JSON: every figure with its interval and what it rests on. Times are in microseconds.
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Write the plan to FILE as one HTML page that opens offline, besides what is printed. An existing file is replaced.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write a scenario to FILE that plays the recommended setting, or the only one that --ttl and --renew name, on real nodes, and
    /// expects what the plan predicts. An existing file is replaced.
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    /// Print the rows as CSV. Times are in seconds.
    #[arg(long)]
    pub csv: bool,
}

/// Find the shortest ways in which two clients come to hold one Redlock.
///
/// Plays schedules of faults in virtual time, by the lock engine's own protocol, with more and more faults until two clients are
/// in their sections for the same key at the same time: nodes that are away at the acquire, that forget, whose clocks jump, whose
/// messages are late, and clients that pause. Prints each of the shortest as steps, with the reason and what prevents it.
/// Nothing is started. Recipes that real nodes can be made to follow come with a scenario, and with a control in which one loss
/// fewer does no damage.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm recipes
  lockstorm recipes --nodes 5 --out recipes/
  lockstorm recipes --scenario 1 > recipe.toml && lockstorm run recipe.toml
  lockstorm recipes --scenario 1 --control > control.toml && lockstorm run control.toml
  lockstorm recipes --json | jq -r '.[] | .title'

Exit codes: 0 printed, 1 error (a file could not be written), 2 usage: another number of nodes, or a recipe that does not \
exist or has no scenario.

Every field of the JSON is documented at the type `Described` of the library.")]
pub struct RecipesArgs {
    /// Lock nodes: 3 or 5.
    #[arg(long, value_name = "N", default_value = "3", value_parser = three_or_five, allow_hyphen_values = true)]
    pub nodes: usize,
    /// Print the scenario file of recipe N, which plays it on real nodes.
    #[arg(long, value_name = "N", conflicts_with_all = ["json", "out"])]
    pub scenario: Option<usize>,
    /// With --scenario, print that of its control: the same with one loss fewer, or without the pause.
    #[arg(long, requires = "scenario")]
    pub control: bool,
    /// Write the scenario files of all recipes and their controls into DIR as recipe-NODES-N.toml. Existing files are replaced.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the recipes as JSON, with their scenario files.
    #[arg(long)]
    pub json: bool,
}

/// Show what a run has left: its summary, or how two came to hold one lock at once.
///
/// A double hold is shown as lanes: who held the lock, what its nodes lost, and who came in.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm record show failover.json
  lockstorm record show failover.json --arm single --double-hold 3
  lockstorm record show failover.json --arm single --double-hold 3 --out two-buyers.svg

Exit codes: 0 shown, 1 error, 2 the file can't be read, or has no such double hold.")]
pub struct ShowArgs {
    /// A record, or the journal of a run that was killed.
    pub record: PathBuf,
    /// Print all tables, sentences and predictions, too.
    #[arg(long, short, conflicts_with = "double_hold")]
    pub verbose: bool,
    /// Show the evidence of this double hold, by its number in its arm.
    #[arg(long, value_name = "N")]
    pub double_hold: Option<u64>,
    /// The arm; if only one has double holds, it need not be named.
    #[arg(long, value_name = "ARM", requires = "double_hold")]
    pub arm: Option<String>,
    /// Write a picture (SVG) to FILE instead of text.
    #[arg(short, long, value_name = "FILE", requires = "double_hold", conflicts_with = "json")]
    pub out: Option<PathBuf>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Play the record of a run in the console.
///
/// It is shown as it was while it ran: the same dashboard, charts, details and lanes, at any speed, forth and back. Keys go to the next
/// event and to the next double hold; `?` lists them. What a record has only in total is empty before its end. Nothing is started, and
/// no redis-server is needed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm view demo                              a recorded run that comes with the program
  lockstorm run failover --record out.json && lockstorm view out.json
  lockstorm view out.json --cast out.cast

Exit codes: 0 looked at, 1 error, 2 the file can't be read, or there is no terminal, 129, 130, 131 and 143 ended by SIGHUP, SIGINT, \
SIGQUIT and SIGTERM.")]
pub struct ViewArgs {
    /// A record, or the journal of a run that was killed; `demo` is a run of failover that comes with the program.
    pub record: PathBuf,
    #[command(flatten)]
    pub screen: Screen,
}

/// Write a page that shows what runs have proved.
///
/// It says which locks held, what it cost, why, and how sure that is. It is one file that opens offline, and is made of the records
/// alone, so that old ones can be shown anew. The same comes as text, as Markdown for a pull request, as a table of all figures, and as
/// pictures for slides.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm report out.json -o failover.html
  lockstorm report runs/ -o failover.html          all records of a directory
  lockstorm report runs/ --format markdown         for a pull request
  lockstorm report runs/ -o figures.csv            all figures, for pandas or R
  lockstorm report runs/ --format json | jq -r '.arms[] | [.name, .verdict, .figures.lost_updates] | @tsv'
  lockstorm report runs/ --format hgrm --arm redlock > redlock.hgrm
  lockstorm report runs/ --svg slides/ --size 1600x900

For porcupine, Knossos and Elle: `lockstorm record history`.

Exit codes: 0 written, 1 error, 2 a record can't be read, or they are of different scenarios.")]
pub struct ReportArgs {
    /// Records of one scenario, with any seeds and settings, or directories of them. The journal of a run that was killed is one too.
    #[arg(required = true, value_name = "RECORD")]
    pub records: Vec<PathBuf>,
    /// The file. An existing one is replaced. If left out, what is not a page goes to standard output.
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Its form [default: by the ending of FILE: .html, .txt, .md, .csv, .json, .hgrm; text without FILE].
    #[arg(long, value_enum)]
    pub format: Option<ReportFormat>,
    /// The arm of the times in hgrm; if only one was granted locks, it need not be named.
    #[arg(long, value_name = "ARM")]
    pub arm: Option<String>,
    /// Write each chart and the first double hold of each lock as a picture (SVG) into DIR. Their names are printed if nothing else is asked for.
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// The size of the pictures in pixels.
    #[arg(long, value_name = "WxH", requires = "svg", default_value = "1600x900", value_parser = picture_size)]
    pub size: (u32, u32),
}

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// A page, one file that opens offline.
    Html,
    /// Text for a terminal.
    Text,
    /// Markdown for a pull request.
    Markdown,
    /// A line for each figure of each arm of each run.
    Csv,
    /// An object for each run, on a line of its own.
    Json,
    /// How long it took an arm to get a lock, in milliseconds, as the percentiles of an HdrHistogram.
    Hgrm,
}

/// The size of a picture: 1600x900.
fn picture_size(text: &str) -> Result<(u32, u32), String> {
    let size = text
        .split_once('x')
        .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    size.filter(|(width, height)| (320..=10_000).contains(width) && (240..=10_000).contains(height))
        .ok_or_else(|| "is a width and a height in pixels, from 320x240 to 10000x10000: 1600x900".to_owned())
}

/// Say what differs between two groups of runs, or two arms, and how sure that is.
///
/// A run is one value: so it takes several of each to show anything, five for one figure and seven for sixteen. Records are of one
/// scenario in each group; A is what B is held against. Of two arms in a single run its parts are compared. A figure is called worse or
/// better if equals would differ so in one of a hundred comparisons at most, over all their primary figures: damage, double holds, the
/// longest time without the lock, and acquire p99 of each arm.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm compare 'ttl8_*.json' -- 'ttl4_*.json'
  lockstorm compare runs/ --arms single,redlock
  lockstorm compare runs/ --baseline main-runs   kept there at first, then compared
  lockstorm compare a/ --markdown -- b/ | gh pr comment --body-file -

Exit codes: 0 compared, or kept as the baseline; 1 error; 2 usage, or the groups are not alike; 4 with --baseline: something is shown \
to have become worse; 5 no figure counts on both sides, times differ but so does the machine, or with --baseline: there are too few runs to show anything.

Every field of the JSON is documented at the type `Comparison` of the library.")]
pub struct CompareArgs {
    /// Group A: records of one scenario, directories of them, or patterns.
    #[arg(required = true, value_name = "A")]
    pub records: Vec<PathBuf>,
    /// Group B, which is held against A.
    #[arg(last = true, value_name = "B", conflicts_with_all = ["arms", "baseline"])]
    pub against: Vec<PathBuf>,
    /// Compare two arms of the same runs instead: the second is held against the first.
    #[arg(long, value_name = "ARM,ARM", value_parser = two_arms, conflicts_with = "baseline")]
    pub arms: Option<[String; 2]>,
    /// Compare with the records in DIR. If there is no DIR, it is made, and keeps copies of these.
    #[arg(long, value_name = "DIR")]
    pub baseline: Option<PathBuf>,
    /// Compare groups that are not alike: other faults, another machine, version or server.
    #[arg(long)]
    pub force: bool,
    /// Print every figure, not only the primary ones and those that differ.
    #[arg(long, short)]
    pub verbose: bool,
    /// Print the comparison as Markdown, for a pull request.
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
    /// Print the comparison as JSON. Times are in microseconds.
    #[arg(long)]
    pub json: bool,
}

/// Judge the locks of a program of your own, by what it reports of them.
///
/// EVENTS has a JSON object in each line: `event` (asked, refused, acquired, extended, entered, write, left, released or lost), `client`,
/// `key`, `t` in nanoseconds of a monotonic clock that all clients share, and if the lock has them `until` (the end of the validity, by
/// that clock), `token` and `fence`. A client has reason to rely on a lock from `acquired` to the earliest of `released`, `lost` and `until`.
/// A double hold: two had at once. A double use: two were inside (`entered` to `left`) at once. A late write, and a section that overran:
/// the client had no reason any more. A token that two clients had, and a fence that repeats or falls, are told. Locks are judged as
/// exclusive ones, not as shared ones or semaphores. Down for: the longest time until somebody got a lock in which clients that had `asked` waited and nobody held it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm judge events.jsonl -o found.html
  my-program | lockstorm judge -
  lockstorm judge events.jsonl --record before.json --name naive --faults lab.jsonl
  lockstorm judge unix:/tmp/judge.sock --history held.jsonl      until Ctrl-C

Exit codes: 0 nothing is broken, 1 error, 2 usage, or a line can't be read, 3 there are double holds, double uses, late writes, sections \
that overran, shared tokens or fences that don't rise, 5 nothing could be shown: there was no event, or no lock was held by two \
clients, or their clocks may differ, or holds have no end that met others.")]
pub struct JudgeArgs {
    /// A file, `-` for standard input, or unix:PATH: listen there, for any number of connections, until Ctrl-C or SIGTERM.
    #[arg(value_name = "EVENTS")]
    pub events: String,
    /// Write the holds to FILE, as a history for `lockstorm record judge` and `record history`. An existing file is replaced.
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// Write what was found as a page to this file, too, with the double holds drawn to scale.
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write an ordinary record to FILE, for `lockstorm report`, `compare`, `record show` and `view`. An existing file is replaced.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// What the record calls the program: runs with the same name are repeats of each other, with another one are compared. Left out: the
    /// name of the file of events.
    #[arg(long, value_name = "NAME", requires = "record")]
    pub name: Option<String>,
    /// What was done meanwhile to a kept lab, as `lockstorm lab log --json` prints it, for the record. The clock of the events must be
    /// that of the log, `CLOCK_MONOTONIC`.
    #[arg(long, value_name = "FILE", requires = "record")]
    pub faults: Option<PathBuf>,
    /// Print what was found as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Judge what runs have left, or hand it to other judges.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm record schema
  lockstorm record show failover.json --arm single --double-hold 3
  lockstorm run failover --history failover.jsonl
  lockstorm record judge failover.jsonl
  lockstorm record history failover.jsonl --to knossos --out knossos/")]
pub struct RecordArgs {
    #[command(subcommand)]
    pub command: RecordCommand,
}

#[derive(Debug, Subcommand)]
pub enum RecordCommand {
    Show(ShowArgs),
    /// Judge the locks of a history anew: how often two holders of one lock both had reason to rely on it, by arm.
    ///
    /// A double use counts whether or not they had: two were inside at once.
    #[command(after_help = "\
Example:
  lockstorm record judge failover.jsonl

Exit codes: 0 nothing is broken, 1 error, 2 the file can't be read, 3 there are double holds or double uses, or what `lockstorm judge` \
found besides in its events, 5 nothing could be shown: no lock was held for any time, or by two clients, or the times are more than a \
year apart, or what `lockstorm judge` was not sure of.")]
    Judge {
        /// A file that `lockstorm run --history` has written.
        history: PathBuf,
    },
    /// Write a history as the files of another checker: the operations on locks, or the sales.
    ///
    /// Their names are printed. A hold in which nobody could rely on the lock is left out.
    #[command(after_help = "\
Examples:
  lockstorm record history failover.jsonl --to porcupine --out porcupine/
  lockstorm record history failover.jsonl --to knossos --out knossos/
  lockstorm record history failover.jsonl --to elle --out elle/

Exit codes: 0 written, 1 error, 2 the file can't be read, or has nothing that this checker judges.")]
    History {
        /// A file that `lockstorm run --history` has written.
        history: PathBuf,
        /// The checker.
        #[arg(long, value_enum)]
        to: Checker,
        /// The directory of the files. Existing files are replaced.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Print the JSON Schema of records, with what each field means.
    #[command(after_help = "\
Examples:
  lockstorm record schema > record.schema.json
  lockstorm record schema | jq '.\"$defs\".Outage'")]
    Schema,
}

/// Which cells are played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ValidationTable {
    /// Single lock and Redlock, TTL 50 ms.
    Quick,
    /// Four TTLs, pauses with and without renewal, and crashes, for single lock and Redlock.
    Whole,
}

/// What is played in virtual time.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "In virtual time")]
pub struct VirtualArgs {
    /// Play so many sections of each setting, up to 1e9, or so much virtual time (7d), by the lock engine's own protocol. Ctrl-C
    /// keeps what was played.
    #[arg(long, value_name = "SECTIONS|TIME", value_parser = lockstorm_plan::extent, allow_hyphen_values = true)]
    pub simulate: Option<Extent>,
    /// Play the record's faults again, so many times, at the times at which they took effect, and compare the means with what the
    /// arm did on real nodes.
    #[arg(long, value_name = "TIMES", requires = "record", allow_hyphen_values = true,
        conflicts_with_all = ["simulate", "csv", "output", "scenario", "hold", "hold_from", "from", "rtt", "pause", "nodes", "rate", "ttl", "renew", "sections"],
        value_parser = value_parser!(u32).range(1..=10_000))]
    pub replay: Option<u32>,
    /// The seed.
    #[arg(long, value_name = "N", default_value = "42", value_parser = seed, allow_hyphen_values = true)]
    pub seed: u64,
    /// Clients, each an app server of its own, that do --rate sections a second together and crash as --crash-rate says. If left
    /// out, sections follow each other without a pause, each with a lock of its own, and no app server crashes.
    #[arg(long, value_name = "N", requires = "simulate", value_parser = value_parser!(u32).range(1..=10_000))]
    pub clients: Option<u32>,
    /// The locks that the clients share, one picked at random for each section. If left out, each client has its own.
    #[arg(long, value_name = "N", requires = "clients", value_parser = value_parser!(u32).range(1..=10_000))]
    pub keys: Option<u32>,
    /// What a client does when the lock is not free [default: queue].
    #[arg(long, value_enum, value_name = "HOW", requires = "clients")]
    pub wait: Option<VirtualWait>,
    /// Crashes of lock nodes: how often, of all together, and how long one stays away; it forgets its keys, or keeps them. 2/day,10s
    /// or 2/day,10s,keeps.
    #[arg(long, value_name = "RATE,SPREAD[,keeps]", requires = "clients", value_parser = lockstorm_plan::node_crashes)]
    pub node_crash: Option<NodeCrashes>,
    /// Jumps of the clocks of lock nodes: how often, of all together, and how far: forward, so that keys expire early, or back.
    /// 1/day,2s or 1/day,2s,back.
    #[arg(long, value_name = "RATE,SPREAD[,back]", requires = "clients", value_parser = lockstorm_plan::clock_jumps)]
    pub clock_jump: Option<ClockJumps>,
    /// The most by which clocks are fast or slow, in millionths, up to 5000.
    #[arg(long, value_name = "PPM", requires = "simulate", default_value = "0", value_parser = value_parser!(u32).range(0..=5000))]
    pub drift: u32,
}

/// What a client does when a lock is not free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum VirtualWait {
    /// It gives up at once.
    FailFast,
    /// It tries 20 times, 20 to 40 ms apart, for 5 s at most.
    Retry,
    /// It waits in line, for 5 s at most.
    Queue,
}

/// Play a scenario once for each value of a key, on real nodes, and compare.
///
/// Every setting is played with the same seed and the same faults. Each result is appended to a file as soon as it is there:
/// if the sweep is interrupted, the same command goes on where it was. The table shows for each setting and arm how many
/// sections outlasted their lock, what that damaged, how fast acquires were, and what renewals cost.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("what").required(true).multiple(true).args(["over", "find_max"]),
    after_help = "\
Examples:
  lockstorm sweep ttl-race --over ttl=30ms,50ms,80ms,120ms
  lockstorm sweep my.toml --over ttl=500ms,1s,2s --over renew=off,ttl/3 --repeat 3
  lockstorm sweep flash-sale --over arm.redlock.wait=fail-fast,queue --duration 10s
  lockstorm sweep my.toml --find-max rate --while \"acquire_p99 < 50ms\" --duration 10s
  lockstorm sweep ttl-race --over ttl=30ms,50ms --json | jq '.rows[] | [.arm, .cell.ttl, .overran / .sections]'

KEY is a dotted path as in --set. Without a dot it is a key of every arm with lock nodes (ttl, renew, node_timeout), or of the \
swarm (rate, workers, servers, think).

Exit codes: 0 all settings were played, 1 error, or another sweep is writing to the same file, 2 usage or bad input, 129, 130, \
131 and 143 ended by SIGHUP, SIGINT, SIGQUIT and SIGTERM. Damage does not change the exit code.

Every field of a row of the JSON is documented at the type `Tradeoff` of the library."
)]
pub struct SweepArgs {
    /// A built-in scenario (`lockstorm scenarios` lists them) or a file.
    #[arg(value_parser = Known(scenarios), hide_possible_values = true)]
    pub scenario: String,
    /// A key and its values; two keys make a grid.
    #[arg(long, value_name = "KEY=VALUE,…")]
    pub over: Vec<Axis>,
    /// Look for the largest value of KEY for which --while holds, beginning with its value in the scenario, or 50: a number, a rate,
    /// or a time, which is searched in whole milliseconds.
    #[arg(long, value_name = "KEY", requires = "condition", conflicts_with = "over")]
    pub find_max: Option<String>,
    /// The condition, for every arm with lock nodes (`acquire_p99 < 50ms`) or for one (`redlock.no_quorum == 0`).
    #[arg(
        long = "while",
        id = "condition",
        value_name = "CONDITION",
        requires = "find_max",
        conflicts_with = "over"
    )]
    pub condition: Option<String>,
    /// Play each setting so often, with consecutive seeds.
    #[arg(long, value_name = "N", default_value = "1", value_parser = value_parser!(u16).range(1..=1000),
        allow_hyphen_values = true)]
    pub repeat: u16,
    /// The file of the results [default: NAME.sweep.jsonl in the current directory].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Keep the record of each play in DIR, named after its setting and seed. DIR must be new or empty, unless the sweep goes on.
    #[arg(long, value_name = "DIR")]
    pub records: Option<PathBuf>,
    #[command(flatten)]
    pub play: Play,
    /// Print the table as JSON: a row for each setting and arm, what a search found, and the file of the results. Times are in
    /// microseconds.
    #[arg(long)]
    pub json: bool,
    /// Show no progress; warnings and errors are still printed.
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Unit {
    Ns,
    Us,
    Ms,
    S,
    Min,
    H,
    D,
}

/// Measure the lock engine, beside its peers if they were built in.
///
/// Starts three nodes (five for a case that needs them). Each client runs alone, one after the other, in rounds whose order
/// rotates. Measures cycles a second, latency, processor time of client and servers, fairness and keys left behind: on
/// healthy nodes, with nodes paused, killed, hung and restarted, over TLS (which needs the program openssl), and with more
/// tasks than slow links or this machine can serve. `bare` is no lock: it shows how fast any client could be here. Progress
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
microseconds, in _ns nanoseconds. Every field is documented at the type `BenchRecord` of the library.")]
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

/// Find out whether the oracles see at all: play broken locks that they must catch.
///
/// Each broken lock plays with the trigger that exposes it, on real nodes, and must be caught by the layer that it names: double holds,
/// double uses, lost updates, or refusals by the fence. With it play this program's own locks, which must break no law, and one mutex for
/// all app servers, of which nothing may be found. It takes less than a minute. Progress goes to standard error.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm selftest
  lockstorm selftest --only no-nx --only quorum-of-one
  lockstorm selftest --json --quiet | jq '.rows[] | {lock, found, verdict}'

Exit codes: 0 all were caught, and nothing was found of the right ones; 1 error; 2 usage; 3 one was missed, or there was a false \
alarm; 5 inconclusive; 129, 130, 131 and 143 ended by SIGHUP, SIGINT, SIGQUIT and SIGTERM, with what was played until then.")]
pub struct SelfTestArgs {
    /// Play only this broken lock; may be repeated. If left out, all are played.
    #[arg(long, value_name = "NAME", value_parser = Known(lockstorm_selftest::names), hide_possible_values = true)]
    pub only: Vec<String>,
    #[command(flatten)]
    pub server: Server,
    /// Print the table as JSON: a row for each lock.
    #[arg(long)]
    pub json: bool,
    /// Show no progress; warnings and errors are still printed.
    #[arg(long, short)]
    pub quiet: bool,
}

/// Grade a lock client in any language: short acts on fresh nodes, and a letter for each.
///
/// COMMAND is started once for each app server and speaks lockstorm-client/1 (docs/clients.md): it is asked to acquire, extend and release
/// locks, while nodes, app servers and the client itself are paused, killed and slowed down. It takes about two minutes. Progress goes to
/// standard error.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm grade -- python3 examples/clients/redis_py.py
  lockstorm grade -o grade.html -- ./my-client
  lockstorm grade --only failover --only overrun -- ./my-client
  lockstorm grade --engine redlock

Exit codes: 0 no act ended with an F, except those of --known-failing; 1 error; 2 usage; 3 an act ended with an F, or a check before \
them has proved that the lock is broken; 5 an act showed \
nothing; 129, 130, 131 and 143 ended by SIGHUP, SIGINT, SIGQUIT and SIGTERM, with what was played until then.")]
pub struct GradeArgs {
    /// The client's program and its arguments.
    #[arg(
        last = true,
        value_name = "COMMAND",
        required_unless_present = "engine",
        conflicts_with = "engine"
    )]
    pub command: Vec<String>,
    /// Grade one of this program's own locks.
    #[arg(long, value_name = "LOCK")]
    pub engine: Option<GradedEngine>,
    /// Play only this act; may be repeated. If left out, all are played.
    #[arg(long, value_name = "ACT", value_parser = Known(lockstorm_grade::names), hide_possible_values = true)]
    pub only: Vec<String>,
    /// The seed of every random choice.
    #[arg(long, value_name = "N", value_parser = seed, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// Write the result to this file, too: as a page, or as Markdown or text if its name ends in .md or .txt.
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// A file with the names of acts that may end with an F or show nothing, one on each line: for tests that are to fail once it gets worse.
    #[arg(long, value_name = "FILE")]
    pub known_failing: Option<PathBuf>,
    #[command(flatten)]
    pub server: Server,
    /// Print the letters as JSON, with their reasons.
    #[arg(long)]
    pub json: bool,
    /// Show no progress; warnings and errors are still printed.
    #[arg(long, short)]
    pub quiet: bool,
}

/// A lock of this program's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GradedEngine {
    /// On one node.
    Single,
    /// On three nodes.
    Redlock,
}

/// Help for whoever writes a client that speaks lockstorm-client/1.
#[derive(Debug, Args)]
pub struct ClientArgs {
    #[command(subcommand)]
    pub command: ClientCommand,
}

#[derive(Debug, Subcommand)]
pub enum ClientCommand {
    Check(ClientCheckArgs),
    /// Be a client that does nothing and grants everything: what is measured with it is the cost of the pipe.
    Null,
    /// Print the JSON Schema of what a client is told and says.
    Schema,
}

/// Talk with a client on three nodes, try every message, and explain what is wrong. Its locks are judged as exclusive ones.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm client check -- python3 examples/clients/redis_py.py
  lockstorm client schema | jq '.client.properties | keys'

Exit codes: 0 nothing is wrong; 1 error, for example: it did not start; 2 usage; 3 something is wrong.")]
pub struct ClientCheckArgs {
    /// The client's program and its arguments.
    #[arg(last = true, value_name = "COMMAND", required = true)]
    pub command: Vec<String>,
    #[command(flatten)]
    pub server: Server,
    /// Print what was tried as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Find out whether a set of servers is fit for locks.
#[derive(Debug, Args)]
#[command(long_about = doctor_about(), after_help = "\
Examples:
  lockstorm doctor redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3
  URLS='rediss://app:secret@a.example rediss://app:secret@b.example' lockstorm doctor --urls-env URLS
  lockstorm doctor redis://127.0.0.1:7001 --ttl 2s --node-timeout 20ms --json
  lockstorm doctor --urls-env URLS --for 10m --measure m.json && lockstorm plan --from m.json --hold-from holds.csv

Exit codes: 0 fit, also with warnings, or measured; 1 error; 2 usage; 3 something has to be changed first; 5 something could not be \
told; 129, 130, 131 and 143 the measuring was ended by SIGHUP, SIGINT, SIGQUIT and SIGTERM, and what was measured is kept")]
pub struct DoctorArgs {
    /// The servers, for example `redis://user:password@host:6379` (`rediss://` for TLS). Others can see what stands here while the
    /// program runs: see --urls-env.
    #[arg(value_name = "URL", required_unless_present = "urls_env")]
    pub urls: Vec<String>,
    /// Take the URLs from this environment variable, with spaces or commas between them.
    #[arg(long, value_name = "NAME", conflicts_with = "urls")]
    pub urls_env: Option<String>,
    /// The longest TTL of your locks.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration, allow_hyphen_values = true)]
    pub ttl: Duration,
    /// How long your locks wait for a server's reply.
    #[arg(long, value_name = "DURATION", default_value = "40ms", value_parser = duration, allow_hyphen_values = true)]
    pub node_timeout: Duration,
    /// What the keys of your locks begin with, if the servers' users may use no others.
    #[arg(long, value_name = "PREFIX", default_value = "")]
    pub prefix: String,
    /// Measure instead, and write it to FILE: round trips, silences and clocks of the servers, and stalls of this process, by ten
    /// TIME commands a second on each server. An existing file is replaced.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ttl", "node_timeout", "prefix"])]
    pub measure: Option<PathBuf>,
    /// For how long it is measured. Ctrl-C ends it sooner, and keeps what was measured.
    #[arg(long = "for", value_name = "DURATION", default_value = "10m", value_parser = duration, allow_hyphen_values = true,
        requires = "measure")]
    pub time: Duration,
    /// Print the findings, or what was measured, as JSON.
    #[arg(long)]
    pub json: bool,
    /// Show no progress; warnings and errors are still printed.
    #[arg(long, short)]
    pub quiet: bool,
}

fn doctor_about() -> String {
    format!(
        "Find out whether a set of servers is fit for locks.\n\n\
         Asks each server, and tries one lock and a hundred keys on it, which are deleted at once and expire after {} in any case. \
         Nothing else is changed. Prints what was found, why it matters, and what to do.",
        humantime::format_duration(lockstorm_lab::doctor::TRIAL_TTL)
    )
}

/// Keep a lab for a program of your own, break it, and manage the labs on this machine.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  lockstorm lab up
  lockstorm lab kill 1
  lockstorm lab restore 1
  lockstorm lab down
  lockstorm lab cli 1"
)]
pub struct LabArgs {
    #[command(subcommand)]
    pub command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub enum LabCommand {
    Up(UpArgs),
    Status(StatusArgs),
    #[command(flatten)]
    Act(DeedArgs),
    Play(LabPlayArgs),
    Log(LabLogArgs),
    Down(DownArgs),
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

/// Start a lab and keep it for a program of your own.
///
/// A process in the background keeps it until `lockstorm lab down`. The URLs of its nodes are printed without their password; a
/// file that only you can read has them with it. One lab can be kept at a time, beside any number of runs.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm lab up
  lockstorm lab up --hosts 5 --port 0 --persistence aof-always
  lockstorm lab up --replicated --no-password
  lockstorm lab up --foreground            in a container, or as a service

Exit codes: 0 the lab is up, or one that was ordered in the same way was already kept (with --foreground: it is down again, by \
`lab down` or a signal), 1 error, or a lab is kept that was ordered in another way, 2 usage, 129, 130, 131 and 143 ended by \
SIGHUP, SIGINT, SIGQUIT and SIGTERM while it started.")]
pub struct UpArgs {
    /// How many hosts, 1 to 9.
    #[arg(long, value_name = "N", default_value = "3", value_parser = value_parser!(u8).range(1..=9))]
    pub hosts: u8,
    /// The port of host 1. The other hosts, the cache node and then whatever else there is have the next ports. 0: any ports that
    /// are free.
    #[arg(long, value_name = "PORT", default_value = "7001")]
    pub port: u16,
    /// What a node keeps when it is killed and started again: none, rdb, aof-everysec or aof-always.
    #[arg(long, value_name = "HOW", default_value = "none", value_parser = persistence)]
    pub persistence: Persistence,
    /// Start a master, its replicas and their Sentinels on the hosts, too. It needs 3 hosts.
    #[arg(long)]
    pub replicated: bool,
    /// Start the servers with a library of ours (`LD_PRELOAD`), so that `lab clock` and `lab power-loss` work.
    #[arg(long)]
    pub preload: bool,
    /// Put a proxy in front of the nodes of the hosts, so that `lab lag`, `cut`, `refuse` and `slow-link` can break their network. The URLs are then those of
    /// the proxy, at any ports that are free.
    #[arg(long)]
    pub network: bool,
    /// Let everybody on this machine use the nodes, without a password.
    #[arg(long)]
    pub no_password: bool,
    /// Keep it in the foreground, until Ctrl-C or `lockstorm lab down`.
    #[arg(long)]
    pub foreground: bool,
    #[command(flatten)]
    pub nodes: Nodes,
}

/// Take the kept lab down, and remove what a crash left behind.
///
/// It returns when all processes of the lab are gone; one that is just being started is waited for. Of labs that crashed it removes
/// the processes, directories and containers; every start of a lab does that too, except for containers whose directory is gone.
/// Labs of runs and other people's processes are not touched.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm lab down

Exit codes: 0 nothing is left of the kept lab and of labs that crashed, 1 error, or it can't be told whether something is left, 2 \
usage.")]
pub struct DownArgs {
    /// Remove your containers on the Docker engine even if their lab may be alive, unless its directory can be seen from here.
    #[arg(long)]
    pub force: bool,
}

/// Show the kept lab: its hosts, how they are since when, and where.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm lab status
  lockstorm lab status --json | jq '.hosts[] | select(.up | not) | .host'

Exit codes: 0 a lab is kept, 1 error, 2 usage, 3 no lab is kept, 5 its keeper is stopped, so that nobody can tell how it is.")]
pub struct StatusArgs {
    /// Print it as JSON; `null` if no lab is kept.
    #[arg(long)]
    pub json: bool,
}

/// Play the faults of a scenario on the kept lab, for a program of your own that uses it.
///
/// Of a scenario only its faults are played, each at its time from now on, and told with its verified effect; its arms, load and
/// expectations are not. It ends when no fault is left to come or to be undone. What a fault without `for` has broken stays so. Ctrl-C
/// restores what was broken.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm lab play rolling-restart
  lockstorm lab play my.toml

Exit codes: 0 each fault had its effect, 1 error, or one failed, 2 usage, or this lab can't play it, 5 an effect was not verified in \
time, 129, 130, 131 and 143 ended by SIGHUP, SIGINT, SIGQUIT and SIGTERM.")]
pub struct LabPlayArgs {
    /// A built-in scenario (`lockstorm scenarios` lists them) or a file.
    #[arg(value_parser = Known(scenarios), hide_possible_values = true)]
    pub scenario: String,
    /// Change one key of the scenario; may be repeated: `--set fault.1.at=3s`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// Tell what was done to the kept lab: since when each fault is in effect, in microseconds of `CLOCK_MONOTONIC`.
///
/// That is one clock for all processes of a machine, so a program can put the times of its own events beside these.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lockstorm lab log
  lockstorm lab log --follow --json | jq -r 'select(.effect_us) | [.effect_us, .action, .target] | @tsv'

Exit codes: 0 told, or the lab that was followed is down, 1 error, or no lab is kept, 2 usage.")]
pub struct LabLogArgs {
    /// Go on until the lab is down, or Ctrl-C.
    #[arg(long)]
    pub follow: bool,
    /// Print a JSON object in each line.
    #[arg(long)]
    pub json: bool,
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

/// What the nodes of a lab can run as.
fn labs() -> Vec<&'static str> {
    vec!["process", "docker", "compose"]
}

/// Reads what the nodes of a lab run as.
pub fn lab(text: &str) -> Result<LabKind, String> {
    match text {
        "process" => Ok(LabKind::Process),
        "docker" => Ok(LabKind::Docker),
        "compose" => Ok(LabKind::Compose(None)),
        _ => match text.strip_prefix("compose:") {
            Some(project) if !project.is_empty() => Ok(LabKind::Compose(Some(project.to_owned()))),
            _ => Err("write process, docker, compose, or compose:PROJECT".to_owned()),
        },
    }
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

fn takeover(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("others always wait a little after a crash; write a time above 0".to_owned()),
        long if long.as_secs_f64() > MAX_SECONDS => Err("it is longer than a year; write a shorter time".to_owned()),
        most => Ok(most),
    }
}

fn two_arms(text: &str) -> Result<[String; 2], String> {
    match text.split(',').map(str::trim).collect::<Vec<_>>()[..] {
        [one, other] if one != other => Ok([one.to_owned(), other.to_owned()]),
        _ => Err("write the names of two arms with a comma between them".to_owned()),
    }
}

fn three_or_five(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(nodes @ (3 | 5)) => Ok(nodes),
        _ => Err(
            "write 3 or 5, the sizes that are searched; an even number survives no more than one node fewer".to_owned(),
        ),
    }
}

fn persistence(text: &str) -> Result<Persistence, String> {
    Persistence::of_word(text).ok_or_else(|| format!("write one of {}", Persistence::words().join(", ")))
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

fn ttl(text: &str) -> Result<Duration, String> {
    let ttl = duration(text.trim())?;
    match ttl.subsec_nanos().is_multiple_of(1_000_000) {
        true if (Duration::from_millis(1)..=Duration::from_hours(24 * 7)).contains(&ttl) => Ok(ttl),
        true => Err("a TTL can be from 1ms to 7days".to_owned()),
        false => Err("Redis counts TTLs in whole milliseconds".to_owned()),
    }
}

fn renewal(text: &str) -> Result<Renewal, String> {
    match text.trim() {
        "off" => Ok(Renewal::Off),
        text => match (Renew::part_of_ttl(text), humantime::parse_duration(text)) {
            (Some(part), _) => Ok(Renewal::Fraction(part)),
            (_, Ok(interval)) if interval >= Duration::from_millis(1) => Ok(Renewal::Every(interval)),
            _ => Err("write off, ttl/2 to ttl/9 or a duration of at least 1 ms".to_owned()),
        },
    }
}

fn sections(text: &str) -> Result<u64, String> {
    match lockstorm_plan::extent(text) {
        Ok(Extent::Sections(sections)) => Ok(sections),
        _ => Err("write a whole number from 1 to 1e9".to_owned()),
    }
}

fn part(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(part) if part > 0.0 && part <= 1.0 => Ok(part),
        _ => Err("write a number above 0 and up to 1: a lock that nobody waits for needs no TTL".to_owned()),
    }
}
