//! Answers the question that the arguments ask.

use std::process::ExitCode;

use super::super::colour;
use super::super::print::{plot_room, print, print_for_people};
use super::{replay, validate, virtually};
use crate::cli::{Color, PlanArgs, Unit};
use crate::failure::Failure;
use lockstorm::report::{Given, RecordFile, plan_csv, plan_page, render_plan};
use lockstorm_base::output::replace;
use lockstorm_plan::{
    FromRecord, Goal, Pauses, Plan, Question, Spread, TimeUnit, holds_of_file, holds_of_record, settings, ttls,
};

/// The most settings that are looked at.
const MOST: usize = 10_000;
/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// Answers the question that the arguments ask.
pub fn plan(args: PlanArgs, color: Color, ascii: bool) -> Result<ExitCode, Failure> {
    if let Some(table) = args.validate {
        return validate::validate(table, &args, color, ascii);
    }
    if let (Some(path), Some(times)) = (&args.record, args.virtually.replay) {
        return replay::replay(path, times, &args, color, ascii);
    }
    let (json, csv, virtually) = (args.json, args.csv, args.virtually.clone());
    let (ttl, renewals, page) = (args.ttl.clone(), args.renew.clone(), args.output.clone());
    let (question, given) = question(args)?;
    let ttl = if ttl.is_empty() {
        ttls(&question, &renewals)
    } else {
        ttl
    };
    let settings = settings(&ttl, &renewals);
    if settings.is_empty() {
        return Err(Failure::usage(
            "no renewal interval is shorter than its TTL; name longer TTLs or shorter intervals",
        ));
    }
    if settings.len() > MOST {
        return Err(Failure::usage(format!(
            "{} settings are too many to look at; name at most {MOST}, TTLs times intervals",
            settings.len()
        )));
    }
    let mut plan = Plan::of(question, &settings);
    let stopped = match virtually.simulate {
        Some(extent) => virtually::play(&mut plan, extent, &virtually)?,
        None => None,
    };
    if let Some(path) = &page {
        let page = plan_page(&plan, &given).map_err(Failure::error)?;
        let cannot = |error| Failure::error(format!("cannot write {}: {error}", path.display()));
        replace(path, |file| file.write_all(page.as_bytes())).map_err(cannot)?;
    }
    if json {
        let json = serde_json::to_string_pretty(&plan).map_err(Failure::error)?;
        print(json + "\n")?;
    } else if csv {
        print(plan_csv(&plan))?;
    } else {
        print_for_people(render_plan(&plan, &given, colour::paint(color), plot_room()), ascii)?;
    }
    Ok(match (stopped, plan.choice.best()) {
        (Some(code), _) => code,
        (None, Some(_)) => ExitCode::SUCCESS,
        (None, None) => ExitCode::from(3),
    })
}

/// The question, and where its parts come from.
pub(super) fn question(args: PlanArgs) -> Result<(Question, Given), Failure> {
    let record = args.record.as_deref().map(|path| -> Result<FromRecord, Failure> {
        let read = RecordFile::read(path).map_err(Failure::usage)?;
        holds_of_record(&read, args.arm.as_deref())
            .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
    });
    let record = record.transpose()?;
    let unit = args.unit.map(|unit| match unit {
        Unit::Us => TimeUnit::Micros,
        Unit::Ms => TimeUnit::Millis,
        Unit::S => TimeUnit::Seconds,
    });
    let from_file = args.hold_from.as_deref().map(|path| holds_of_file(path, unit));
    let from_file = from_file.transpose().map_err(Failure::usage)?;
    let hold = from_file
        .or_else(|| record.as_ref().map(|record| record.hold.clone()))
        .or(args.hold)
        .ok_or_else(|| {
            Failure::usage(
                "how long does a section take? Give a record, --hold-from FILE, or --hold, for example --hold lognormal:20ms,0.6",
            )
        })?;
    let given = Given {
        record: record.as_ref().map(|record| record.arm.clone()),
        round_trip: args.rtt.is_some(),
        pauses: args.pause.is_some(),
        rate: args.rate.is_some(),
    };
    let (mut round_trip, mut pauses, mut rate) = (args.rtt, args.pause, args.rate);
    if let Some(record) = record {
        round_trip = round_trip.or(record.round_trip);
        pauses = pauses.or(record.pauses);
        rate = rate.or(Some(record.per_second));
    }
    let usual = |text: &str, read: fn(&str) -> Result<Spread, String>| read(text).map_err(Failure::error);
    let round_trip = round_trip.map_or_else(|| usual("same-az", lockstorm_plan::network), Ok)?;
    let pauses: Pauses = pauses.map_or_else(
        || lockstorm_plan::pauses("1/h,lognormal:100ms,1").map_err(Failure::error),
        Ok,
    )?;
    let mut question = Question::new(hold, round_trip, usize::from(args.nodes));
    question.pauses = pauses;
    question.per_second = rate.unwrap_or(1.0);
    question.contended = args.contended;
    question.crashes_per_second = args.crash_rate;
    question.sections = args.sections;
    question.goal = Goal {
        overlaps_per_day: args.risk * DAY,
        takeover: args.takeover.map(|most| most.as_secs_f64()),
    };
    Ok((question, given))
}
