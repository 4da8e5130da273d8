use std::path::Path;
use std::process::ExitCode;

use lockstorm::report::{RecordFile, ShownHold, lanes_svg, lanes_text};
use lockstorm_base::output;
use lockstorm_data::history::DoubleHold;
use lockstorm_data::metrics::units::{count, counted};
use lockstorm_run::{ArmRecord, Record};

use crate::cli::{Look, ShowArgs};
use crate::commands::print::{print_result, summary};
use crate::failure::Failure;

/// Shows what a run has left: its summary, or the evidence of one double hold.
pub(super) fn show(args: &ShowArgs, look: Look) -> Result<ExitCode, Failure> {
    let record = RecordFile::read(&args.record).map_err(Failure::usage)?;
    let Some(number) = args.double_hold else {
        return print_result(args.json, &record, |paint| summary(&record, args.verbose, paint), look);
    };
    let (arm, double) = find(&args.record, &record, args.arm.as_deref(), number).map_err(Failure::usage)?;
    let shown = ShownHold::of(&record, arm, double);
    let Some(path) = &args.out else {
        let text = |paint| lanes_text(&shown, paint);
        return print_result(args.json, double, text, look);
    };
    let picture = lanes_svg(&shown);
    output::replace(path, |file| file.write_all(picture.as_bytes()))
        .map_err(|error| Failure::error(format!("cannot write {}: {error}", path.display())))?;
    Ok(ExitCode::SUCCESS)
}

/// The double hold with this number, in the arm of this name or in the only one that has any.
fn find<'a>(
    path: &Path,
    record: &'a Record,
    arm: Option<&str>,
    number: u64,
) -> Result<(&'a ArmRecord, &'a DoubleHold), String> {
    let path = path.display();
    let with: Vec<&ArmRecord> = record.arms.iter().filter(|arm| !arm.evidence.is_empty()).collect();
    let names: Vec<String> = with.iter().map(|arm| format!("\"{}\"", arm.name)).collect();
    let names = names.join(", ");
    let arm = match (arm, &with[..]) {
        (_, []) => {
            let uses: u64 = record.arms.iter().map(|arm| arm.figures.double_uses).sum();
            let uses = match uses {
                0 => String::new(),
                uses => format!(
                    "; of its {} evidence is not kept",
                    counted(uses, "double use", "double uses")
                ),
            };
            return Err(format!("{path} has no evidence of a double hold{uses}"));
        }
        (None, [one]) => *one,
        (None, _) => {
            return Err(format!(
                "several arms of {path} have double holds: choose one with --arm: {names}"
            ));
        }
        (Some(name), with) => with.iter().find(|arm| arm.name == name).ok_or_else(|| {
            format!("{path} has no double hold of an arm \"{name}\": those that have some are {names}")
        })?,
    };
    let found = arm.evidence.iter().find(|double| double.number == number);
    let double = found.ok_or_else(|| {
        let numbers: Vec<String> = arm.evidence.iter().map(|double| double.number.to_string()).collect();
        format!(
            "{path} has no evidence of double hold {number} of \"{}\": of {} it has these: {}",
            arm.name,
            count(arm.figures.double_holds),
            numbers.join(", ")
        )
    })?;
    Ok((arm, double))
}
