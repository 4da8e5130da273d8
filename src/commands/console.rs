//! `lockstorm [SCENARIO]`: the console, or a headless run without a terminal.

use std::io::{IsTerminal, stdin, stdout};
use std::process::ExitCode;

use lockstorm::console::{self, ConsoleOptions, ThemeName};
use lockstorm::report::{is_dumb, render};
use lockstorm_data::scenario::builtin;
use lockstorm_lab::check_temp_dir;
use lockstorm_run::{RunOptions, start};

use super::load::{load, room};
use super::print::{nothing_left_but_to_print, print_for_people, signalled_with};
use super::{colour, consent, run, server, usage};
use crate::cli::{Color, ConsoleArgs, LabKind, RunArgs, Theme};
use crate::failure::{Failure, tell};

/// The scenario of a headless run that names none.
const DEFAULT: &str = "single-vs-redlock";
/// The scenario of a headless run that names none, in a stack with Sentinels: what its profile is for.
const DEFAULT_WITH_SENTINELS: &str = "failover";
/// The scenario of a headless run that names none, in a stack without Sentinels: what every stack can play.
const DEFAULT_IN_STACK: &str = "quorum-loss";

/// Opens the console. All mistakes in the request are reported before the terminal changes.
pub fn open(args: ConsoleArgs, color: Color, ascii: bool) -> Result<ExitCode, Failure> {
    let first = args.scenario.as_deref();
    let scenario = first.map(|spec| load(spec, &args.changes).map_err(|errors| usage::no_scenario(spec, &errors)));
    let scenario = scenario.transpose()?;
    // A terminal that can't move its cursor can't show the console.
    if !(stdin().is_terminal() && stdout().is_terminal()) || is_dumb() {
        return run::run(&headless(args)?, color, ascii);
    }
    check_temp_dir().map_err(Failure::usage)?;
    if let Some(scenario) = &scenario {
        for warning in scenario.exposed() {
            tell(&format!("warning: {warning}"));
        }
        room(scenario).map_err(Failure::usage)?;
        for doubt in consent::admit(scenario, &args.nodes, &args.consent)? {
            tell(&format!("warning: {doubt}"));
        }
    }
    let server = server::find(&args.nodes)?;
    let catalogue = builtin::ALL
        .iter()
        .map(|scenario| (scenario.name.to_owned(), scenario.title().to_owned()))
        .collect();
    let launch = |scenario| {
        start(
            scenario,
            RunOptions {
                server: Some(server.clone()),
                ..RunOptions::default()
            },
        )
    };
    let in_one_line = |text: String| text.replace('\n', "; ");
    let reload = |name: &str| {
        let scenario = load(name, &args.changes).map_err(|errors| in_one_line(errors.to_string()))?;
        room(&scenario).map_err(in_one_line)?;
        consent::admit_unasked(&scenario, &args.nodes, &args.consent)
            .map_err(|failure| in_one_line(failure.message().to_owned()))?;
        Ok(scenario)
    };
    let options = ConsoleOptions {
        theme: args.theme.map_or_else(ThemeName::default, theme),
        colours: colour::wanted(color),
        ascii: ascii || console::ascii::wanted(),
        ..ConsoleOptions::default()
    };
    let exit = console::open(scenario, catalogue, reload, launch, options).map_err(Failure::error)?;
    nothing_left_but_to_print();
    let printed = exit.record.as_ref().map_or(Ok(()), |record| {
        print_for_people(render(record, colour::paint(color)), ascii)
    });
    if let Some(stop) = exit.stop {
        return Ok(signalled_with(stop, printed));
    }
    printed?;
    exit.failure
        .map_or(Ok(ExitCode::SUCCESS), |failure| Err(Failure::error(failure)))
}

fn headless(args: ConsoleArgs) -> Result<RunArgs, Failure> {
    let scenario = match (args.scenario, server::kind(&args.nodes)?) {
        (Some(scenario), _) => scenario,
        (None, LabKind::Compose(project)) => match server::has_sentinels(project.as_deref())? {
            true => DEFAULT_WITH_SENTINELS.to_owned(),
            false => DEFAULT_IN_STACK.to_owned(),
        },
        (None, LabKind::Process | LabKind::Docker) => DEFAULT.to_owned(),
    };
    Ok(RunArgs {
        scenario,
        changes: args.changes,
        nodes: args.nodes,
        consent: args.consent,
        record: None,
        json: false,
        quiet: false,
    })
}

const fn theme(theme: Theme) -> ThemeName {
    match theme {
        Theme::Dark => ThemeName::Dark,
        Theme::Light => ThemeName::Light,
        Theme::HighContrast => ThemeName::HighContrast,
    }
}
