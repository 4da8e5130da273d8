//! `lockstorm compare`.

use std::process::ExitCode;

use lockstorm::report::{Runs, comparison_markdown, held_text, render_comparison};
use lockstorm_plan::compare::Comparison;
use lockstorm_run::Record;

use super::print::{columns, print, print_result};
use super::{baseline, records};
use crate::cli::{CompareArgs, Look};
use crate::exit_code;
use crate::failure::Failure;

/// Compares two groups, two arms, or a group with a baseline.
pub fn compare(args: &CompareArgs, look: Look) -> Result<ExitCode, Failure> {
    let runs = records::read(&args.records).map_err(Failure::usage)?;
    let (comparison, sides) = match (&args.arms, &args.against[..], &args.baseline) {
        (Some(arms), ..) => {
            let runs = Runs::of(runs).map_err(Failure::usage)?;
            let comparison = Comparison::of_arms(runs.all(), arms.each_ref().map(String::as_str));
            (comparison.map_err(Failure::usage)?, None)
        }
        (_, [], Some(dir)) if !dir.exists() => return baseline::keep(runs, dir),
        (_, [], Some(dir)) => {
            let before = records::read(std::slice::from_ref(dir)).map_err(Failure::usage)?;
            groups(["the baseline", "now"], [before, runs], args.force)?
        }
        (_, [], None) => {
            let why = "there is nothing to compare with: name other records after --, two arms by --arms, or a baseline by --baseline";
            return Err(Failure::usage(why));
        }
        (_, against, _) => {
            let against = records::read(against).map_err(Failure::usage)?;
            groups(["A", "B"], [runs, against], args.force)?
        }
    };
    let text = |paint| {
        let [one, other] = comparison.sides.each_ref().map(String::as_str);
        let held = sides
            .as_ref()
            .map(|[a, b]| held_text([(one, a), (other, b)], columns(), paint) + "\n");
        held.unwrap_or_default() + &render_comparison(&comparison, args.verbose, columns(), paint)
    };
    let printed = if args.markdown {
        print(comparison_markdown(&comparison, args.verbose))?
    } else {
        print_result(args.json, &comparison, text, look)?
    };
    Ok(match () {
        () if args.baseline.is_some() && comparison.is_worse() => ExitCode::from(exit_code::REGRESSION),
        // A gate that can't see anything is not open.
        () if args.baseline.is_some() && comparison.misses_something() => ExitCode::from(exit_code::INCONCLUSIVE),
        () if comparison.is_empty() || comparison.is_of_the_machine() => ExitCode::from(exit_code::INCONCLUSIVE),
        () => printed,
    })
}

/// What was compared, and the groups, if it was groups.
type WithGroups = (Comparison, Option<[Runs; 2]>);

fn groups(names: [&str; 2], runs: [Vec<(String, Record)>; 2], force: bool) -> Result<WithGroups, Failure> {
    records::distinct(runs.iter().flatten()).map_err(Failure::usage)?;
    let [a, b] = runs.map(|runs| Runs::of(runs).map_err(Failure::usage));
    let (a, b) = (a?, b?);
    let comparison = Comparison::of_groups(names, [a.all(), b.all()]);
    if !force && !comparison.unlike.is_empty() {
        return Err(Failure::usage(format!(
            "{} and {} are not alike, so a difference would say nothing: {}; --force compares them all the same",
            names[0],
            names[1],
            comparison.unlike.join("; ")
        )));
    }
    Ok((comparison, Some([a, b])))
}
