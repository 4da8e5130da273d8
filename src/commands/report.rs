//! `lockstorm report`.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use lockstorm::report::{Paint, RecordFile, Runs, Settings, runs_hgrm, runs_slides};
use lockstorm_base::output;

use super::colour;
use super::judge::judge;
use super::print::{COLUMNS, columns, print, print_for_people};
use super::records;
use crate::cli::{Look, ReportArgs, ReportFormat};
use crate::failure::Failure;

/// Writes the report, in the form that is asked for.
pub fn report(args: &ReportArgs, look: Look) -> Result<ExitCode, Failure> {
    let format = format(args).map_err(Failure::usage)?;
    if let Some(out) = &args.out {
        RecordFile::check(out).map_err(Failure::usage)?;
    }
    let place = args.out.as_ref().and_then(|out| out.canonicalize().ok());
    let mut files = records::files(&args.records).map_err(Failure::usage)?.into_iter();
    if let Some(path) = files.find(|path| place.is_some() && path.canonicalize().ok() == place) {
        let why = format!("{}: is used twice; name another file for the report", path.display());
        return Err(Failure::usage(why));
    }
    let named = records::read(&args.records).map_err(Failure::usage)?;
    let settings = Settings::of(named).map_err(Failure::usage)?;
    if let Some(directory) = &args.svg {
        let names = slides(settings.only().map_err(Failure::usage)?, args.size, directory)?;
        // Nothing else stands between the lines of a form that goes to standard output.
        if args.out.is_none() && args.format.is_none() {
            return print(names);
        }
    }
    match &args.out {
        Some(out) => write(out, &text(&settings, format, args.arm.as_deref())?).map(|()| ExitCode::SUCCESS),
        None if format == ReportFormat::Text => {
            let text = settings.text(false, columns(), colour::paint(look));
            print_for_people(text.map_err(Failure::usage)?, look)
        }
        None => print(text(&settings, format, args.arm.as_deref())?),
    }
}

/// Writes a report to a file, in the form that its ending says.
pub(super) fn write_report(settings: &Settings, out: &Path) -> Result<(), Failure> {
    write(out, &text(settings, by_ending(out), None)?)
}

fn text(settings: &Settings, format: ReportFormat, arm: Option<&str>) -> Result<String, Failure> {
    let text = match format {
        ReportFormat::Html => settings.page(),
        ReportFormat::Text => settings.text(false, COLUMNS.into(), Paint::Off),
        ReportFormat::Markdown => settings.markdown(),
        ReportFormat::Csv => settings.csv(),
        ReportFormat::Json => settings.json(|record| record.reported.is_none().then(|| judge([record]))),
        ReportFormat::Hgrm => settings.only().and_then(|runs| runs_hgrm(runs, arm)),
    };
    text.map_err(Failure::usage)
}

/// The form that the ending of this file says: a page, unless it is known.
pub(super) fn by_ending(out: &Path) -> ReportFormat {
    match out.extension().and_then(|ending| ending.to_str()) {
        Some("txt") => ReportFormat::Text,
        Some("md") => ReportFormat::Markdown,
        Some("csv") => ReportFormat::Csv,
        Some("json" | "jsonl") => ReportFormat::Json,
        Some("hgrm") => ReportFormat::Hgrm,
        _ => ReportFormat::Html,
    }
}

/// The form that is asked for: by its name, by the ending of the file, or a text where there is no file.
fn format(args: &ReportArgs) -> Result<ReportFormat, String> {
    let by_file = args.out.as_deref().map_or(ReportFormat::Text, by_ending);
    let format = args.format.unwrap_or(by_file);
    if format == ReportFormat::Html && args.out.is_none() {
        return Err("a page needs a file: say -o page.html".to_owned());
    }
    if args.arm.is_some() && format != ReportFormat::Hgrm {
        return Err("--arm chooses the arm of --format hgrm; the other forms have all arms".to_owned());
    }
    Ok(format)
}

/// Writes the pictures, and returns their names as lines.
fn slides(runs: &Runs, size: (u32, u32), directory: &Path) -> Result<String, Failure> {
    let pictures = runs_slides(runs, size).map_err(Failure::usage)?;
    fs::create_dir_all(directory)
        .map_err(|error| Failure::error(format!("cannot write {}: {error}", directory.display())))?;
    let mut names = String::new();
    for (name, picture) in pictures {
        let path = directory.join(name);
        write(&path, &picture)?;
        names += &format!("{}\n", path.display());
    }
    Ok(names)
}

/// Writes a file, which is replaced whole or not at all.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    output::replace(path, |file| file.write_all(text.as_bytes()))
        .map_err(|error| Failure::error(format!("cannot write {}: {error}", path.display())))
}
