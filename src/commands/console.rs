//! `lockstorm [SCENARIO]`: the console, or a headless run without a terminal.

use std::process::ExitCode;

use lockstorm::console::{self, ConsoleOptions};
use lockstorm_data::metrics::Metric;
use lockstorm_data::scenario::{Scenario, WorkloadSpec, builtin};
use lockstorm_lab::check_temp_dir;
use lockstorm_run::{RunOptions, start};

use super::load::{load, room};
use super::print::{ended, nothing_left_but_to_print, print_for_people, summary};
use super::{colour, consent, run, screen, server, usage};
use crate::cli::{ConsoleArgs, LabKind, Look, RunArgs};
use crate::failure::{Failure, warn};

/// The scenario of a headless run that names none, where there can be Sentinels.
const DEFAULT: &str = "failover";
/// The scenario of a headless run that names none, in a stack without Sentinels: what every stack can play.
const DEFAULT_IN_STACK: &str = "quorum-loss";

/// Opens the console. All mistakes in the request are reported before the terminal changes.
pub fn open(args: ConsoleArgs, look: Look) -> Result<ExitCode, Failure> {
    let first = args.scenario.as_deref();
    let scenario = first.map(|spec| load(spec, &args.play.changes).map_err(|errors| usage::no_scenario(spec, &errors)));
    let scenario = scenario.transpose()?;
    if !screen::can_show() {
        if args.screen.cast.is_some() {
            let why = "--cast records the console, which needs a terminal; `lockstorm run SCENARIO --record FILE` keeps a run without one";
            return Err(Failure::usage(why.to_owned()));
        }
        if args.step {
            let why = "--step holds the schedule until somebody presses Enter, which needs the console: leave it out, or open a terminal";
            return Err(Failure::usage(why));
        }
        return run::run(headless(args)?, look);
    }
    check_temp_dir().map_err(Failure::usage)?;
    if let Some(scenario) = &scenario {
        warn(scenario.exposed());
        room(scenario).map_err(Failure::usage)?;
        warn(consent::admit(scenario, &args.play, consent::can_ask())?);
    }
    let server = server::find(&args.play.nodes)
        .map_err(|failure| failure.or_else("`lockstorm view demo` shows a recorded run without a server"))?;
    let catalogue = builtin::ALL
        .iter()
        .map(|scenario| (scenario.name.to_owned(), scenario.title().to_owned()))
        .collect();
    let held = args.step;
    let launch = |scenario| {
        start(
            if held { for_a_talk(scenario) } else { scenario },
            RunOptions {
                held,
                etcd: args.play.nodes.etcd_bin.clone(),
                ..server::options(&server)
            },
        )
    };
    let in_one_line = |text: String| text.replace('\n', "; ");
    let reload = |name: &str| {
        let scenario = load(name, &args.play.changes).map_err(|errors| in_one_line(errors.to_string()))?;
        room(&scenario).map_err(in_one_line)?;
        consent::admit(&scenario, &args.play, false).map_err(|failure| in_one_line(failure.message().to_owned()))?;
        Ok(scenario)
    };
    let options = ConsoleOptions {
        briefing: !args.no_briefing,
        ..screen::options(&args.screen, look)?
    };
    let cast = options.cast.clone();
    let exit = console::open(scenario, catalogue, reload, launch, options).map_err(Failure::error)?;
    nothing_left_but_to_print();
    screen::settle(cast)?;
    let printed = match &exit.record {
        Some(record) => print_for_people(summary(record, false, colour::paint(look)), look),
        None => Ok(ExitCode::SUCCESS),
    };
    let code = ended(exit.stop, printed)?;
    match exit.failure.filter(|_| exit.stop.is_none()) {
        Some(failure) => Err(Failure::error(failure)),
        None => Ok(code),
    }
}

/// A talk takes longer than a run, so stocks last ten times as long; what depends on their end can't be predicted then.
fn for_a_talk(mut scenario: Scenario) -> Scenario {
    if let WorkloadSpec::Inventory(spec) = &mut scenario.workload {
        spec.stock = spec.stock.saturating_mul(10);
        scenario.expect.retain(|expected| expected.metric != Metric::Oversold);
    }
    scenario
}

fn headless(args: ConsoleArgs) -> Result<RunArgs, Failure> {
    let scenario = match (args.scenario, server::kind(&args.play.nodes)?) {
        (Some(scenario), _) => scenario,
        (None, LabKind::Compose(project)) => match server::has_sentinels(project.as_deref())? {
            true => DEFAULT.to_owned(),
            false => DEFAULT_IN_STACK.to_owned(),
        },
        (None, LabKind::Process | LabKind::Docker) => DEFAULT.to_owned(),
    };
    Ok(RunArgs {
        scenario,
        play: args.play,
        record: None,
        history: None,
        repeat: None,
        over: Vec::new(),
        records: None,
        out: None,
        interleave: None,
        json: false,
        verbose: false,
        quiet: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::scenario::{Overrides, Source, parse};

    #[test]
    fn stocks_last_longer_in_a_talk_and_nothing_is_predicted_of_their_end() {
        let load = |name: &str| {
            parse(&Source::open(name).expect("it is built in"), &Overrides::default()).expect("it is valid")
        };
        let stock = |scenario: &Scenario| match &scenario.workload {
            WorkloadSpec::Inventory(spec) => Some((spec.stock, scenario.expect.len())),
            _ => None,
        };
        let failover = load("failover");
        let (units, predictions) = stock(&failover).expect("an inventory");
        assert_eq!(stock(&for_a_talk(failover)), Some((units * 10, predictions - 1)));
        let stampede = load("stampede");
        assert_eq!(for_a_talk(stampede.clone()), stampede);
    }
}
