//! Answers the question that the arguments ask.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicU64;

use super::super::print::{plot_room, print, print_result};
use super::progress::waited_for;
use super::{made, replay, validate, virtually};
use crate::cli::{Look, PlanArgs, Unit};
use crate::exit_code;
use crate::failure::{Failure, tell, warn};
use lockstorm::report::{Given, RecordFile, holds_read, plan_csv, plan_page, render_plan};
use lockstorm_base::output::replace;
use lockstorm_data::metrics::units;
use lockstorm_plan::{
    FromRecord, Goal, HoldsOptions, Outages, Plan, Question, Renewal, Risk, TimeUnit, holds_of_file, holds_of_record,
    measurement_of_file, scenario, settings,
};

/// The most settings that are looked at.
const MOST: usize = 10_000;
/// Lock nodes, if nobody says how many.
const NODES: usize = 3;
/// The renewal intervals that are looked at, if nobody says which.
const RENEWALS: [Renewal; 3] = [Renewal::Off, Renewal::Fraction(2), Renewal::Fraction(3)];
/// The ones that are looked at too, if none of these will do: they outlast longer outages.
const MORE_RENEWALS: [Renewal; 2] = [Renewal::Fraction(5), Renewal::Fraction(9)];
/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// Answers the question that the arguments ask.
pub fn plan(args: &PlanArgs, look: Look) -> Result<ExitCode, Failure> {
    if let Some(table) = args.validate {
        return validate::validate(table, args, look);
    }
    if let (Some(path), Some(times)) = (&args.record, args.virtually.replay) {
        return replay::replay(path, times, args, look);
    }
    outputs(args)?;
    let (question, given) = question(args)?;
    let (renewals, more) = match args.renew.is_empty() {
        true => (&RENEWALS[..], &MORE_RENEWALS[..]),
        false => (&args.renew[..], &[][..]),
    };
    let settings = settings(&args.ttl, renewals);
    if settings.len() > MOST {
        return Err(Failure::usage(format!(
            "{} settings are too many to look at; name at most {MOST}, TTLs times intervals",
            settings.len()
        )));
    }
    let looked_at = AtomicU64::new(0);
    let mut plan = waited_for(&looked_at, "settings", || match args.ttl.is_empty() {
        true => Plan::search(question, renewals, more, &looked_at),
        false => Plan::of(question, &settings),
    });
    if plan.rows.is_empty() {
        return Err(Failure::usage(
            "no renewal interval is shorter than its TTL; name longer TTLs or shorter intervals",
        ));
    }
    let stopped = match args.virtually.simulate {
        Some(extent) => virtually::play(&mut plan, extent, &args.virtually)?,
        None => None,
    };
    // What was played is shown even if a file can't be written.
    let written = files(&plan, &given, args);
    let text = |paint| render_plan(&plan, &given, paint, plot_room());
    let printed = match args.csv {
        true => {
            // The text has it and the JSON, too.
            if let Some(read) = &plan.question.holds_read {
                tell(&holds_read(read));
            }
            print(plan_csv(&plan))?
        }
        false => print_result(args.json, &plan, text, look)?,
    };
    Ok(match (stopped, plan.choice.best()) {
        (Some(code), _) => {
            if let Err(failure) = written {
                failure.report();
            }
            code
        }
        _ if written.is_err() => return written.map(|()| printed),
        (None, Some(_)) => printed,
        (None, None) => ExitCode::from(exit_code::NO),
    })
}

/// Writes the page and the scenario, if they were asked for.
fn files(plan: &Plan, given: &Given, args: &PlanArgs) -> Result<(), Failure> {
    if let Some(path) = &args.output {
        let command = made::command(env::args_os().skip(1));
        let page = plan_page(plan, given, &command, &made::when()).map_err(Failure::error)?;
        write(path, &page)?;
    }
    if let Some(path) = &args.scenario {
        let written = scenario(plan, args.virtually.seed).map_err(Failure::usage)?;
        write(path, &written.text)?;
        warn(written.warning);
    }
    Ok(())
}

/// Refuses outputs that can't be written, before anything is played, and those that would replace what is read.
fn outputs(args: &PlanArgs) -> Result<(), Failure> {
    let read = [&args.record, &args.from, &args.hold_from];
    let mut taken: Vec<PathBuf> = read
        .into_iter()
        .flatten()
        .filter_map(|path| path.canonicalize().ok())
        .collect();
    for path in [&args.output, &args.scenario].into_iter().flatten() {
        RecordFile::check(path).map_err(Failure::usage)?;
        let place = path.canonicalize().unwrap_or_else(|_| path.clone());
        if taken.contains(&place) {
            return Err(Failure::usage(format!(
                "{}: is used twice; name another file",
                path.display()
            )));
        }
        taken.push(place);
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let cannot = |error| Failure::error(format!("cannot write {}: {error}", path.display()));
    replace(path, |file| file.write_all(text.as_bytes())).map_err(cannot)
}

/// The question, and where its parts come from.
fn question(args: &PlanArgs) -> Result<(Question, Given), Failure> {
    let record = args.record.as_deref().map(|path| -> Result<FromRecord, Failure> {
        let read = RecordFile::read(path).map_err(Failure::usage)?;
        holds_of_record(&read, args.arm.as_deref())
            .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
    });
    let record = record.transpose()?;
    let options = HoldsOptions {
        unit: args.unit.map(|unit| match unit {
            Unit::Ns => TimeUnit::Nanos,
            Unit::Us => TimeUnit::Micros,
            Unit::Ms => TimeUnit::Millis,
            Unit::S => TimeUnit::Seconds,
            Unit::Min => TimeUnit::Minutes,
            Unit::H => TimeUnit::Hours,
            Unit::D => TimeUnit::Days,
        }),
        column: args.column.clone(),
        metric: args.metric.clone(),
    };
    let from_file = args.hold_from.as_deref().map(|path| holds_of_file(path, &options));
    let (from_file, holds_read) = from_file.transpose().map_err(Failure::usage)?.unzip();
    let hold = from_file
        .or_else(|| record.as_ref().map(|record| record.hold.clone()))
        .or_else(|| args.hold.clone())
        .ok_or_else(|| {
            Failure::usage(
                "how long does a section take? Give a record, --hold-from FILE, or --hold, for example --hold lognormal:20ms,0.6",
            )
        })?;
    let measured = args
        .from
        .as_deref()
        .map(measurement_of_file)
        .transpose()
        .map_err(Failure::usage)?;
    let stalls = measured.as_ref().and_then(|measured| measured.pauses.clone());
    let given = Given {
        measured: args.from.as_deref().map(|path| path.display().to_string()),
        stalls: stalls.is_some(),
        record: record.clone(),
        nodes: args.nodes.is_some(),
        round_trip: args.rtt.is_some(),
        pauses: args.pause.is_some(),
        rate: args.rate.is_some(),
        contended: args.contended.is_some(),
        crashes: args.crash_rate.is_some(),
        risk: args.risk,
    };
    let of_nodes = measured.as_ref().map(|measured| measured.round_trip.clone());
    let mut round_trip = args.rtt.clone().or(of_nodes);
    let (mut pauses, mut rate) = (args.pause.clone().or(stalls), args.rate);
    let of_arm = record.as_ref().and_then(|record| record.nodes);
    if let Some(record) = record {
        round_trip = round_trip.or(record.round_trip);
        pauses = pauses.or(record.pauses);
        rate = rate.or(Some(record.per_second));
    }
    let round_trip = round_trip.map_or_else(|| lockstorm_plan::network("same-az"), Ok);
    let round_trip = round_trip.map_err(Failure::error)?;
    let pauses = pauses.map_or_else(|| lockstorm_plan::pauses("1/h,lognormal:100ms,1"), Ok);
    let pauses = pauses.map_err(Failure::error)?;
    if pauses.never_end() {
        return Err(Failure::usage(format!(
            "--pause: such pauses fill {} seconds of each second (rate times mean length), so no app server ever works; name rarer \
             or shorter ones",
            units::rate(pauses.per_second * pauses.length.mean())
        )));
    }
    if args.outage.as_ref().is_some_and(Outages::never_end) {
        return Err(Failure::usage(
            "--outage: such outages fill all time (rate times mean length), so nobody ever gets a lock; name rarer or shorter ones",
        ));
    }
    let nodes = args.nodes.or(measured.as_ref().map(|measured| measured.nodes));
    let nodes = nodes.map(usize::from).or(of_arm).unwrap_or(NODES);
    let mut question = Question::new(hold, round_trip, nodes);
    question.holds_read = holds_read;
    question.pauses = pauses;
    question.per_second = rate.unwrap_or(1.0);
    question.outages.clone_from(&args.outage);
    question.contended = args.contended.unwrap_or(1.0);
    question.crashes_per_second = args.crash_rate.unwrap_or(1.0 / DAY);
    question.sections = args.sections;
    question.goal = Goal {
        overlaps_per_day: match args.risk {
            None => 1e-6,
            Some(Risk::PerSecond(often)) => often * DAY,
            Some(Risk::OfSections(part)) => part * question.per_second * DAY,
        },
        takeover: args.takeover.map(|most| most.as_secs_f64()),
    };
    let too_short = measured
        .filter(|_| args.pause.is_none())
        .and_then(|measured| measured.too_short(&question));
    warn(too_short);
    Ok((question, given))
}
