//! `lockstorm grade` and `lockstorm client`: other people's clients under our faults.

use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

use lockstorm::report::{Paint, RecordFile, grades_markdown, grades_page, render_checked, render_grades};
use lockstorm_base::input;
use lockstorm_data::scenario::LockKind;
use lockstorm_grade::{Checked, Grades, Subject, check as play_check, grade as play, names};
use lockstorm_lab::{ServerBinary, check_temp_dir};
use lockstorm_run::client;

use super::print::{COLUMNS, columns, ended, print, print_result};
use super::report::{by_ending, write};
use super::server::{self, wait_for};
use crate::cli::{ClientArgs, ClientCommand, GradeArgs, GradedEngine, Look, ReportFormat};
use crate::exit_code;
use crate::failure::{Failure, tell};

/// The largest list of acts that may fail, in MB.
const LARGEST: u64 = 1;

/// Grades a client, or one of our own locks.
pub fn grade(args: &GradeArgs, look: Look) -> Result<ExitCode, Failure> {
    let known = args
        .known_failing
        .as_deref()
        .map(known_failing)
        .transpose()?
        .unwrap_or_default();
    if let Some(act) = args.only.iter().find(|act| !names().contains(&act.as_str())) {
        return Err(Failure::usage(no_act(act)));
    }
    if let Some(out) = &args.out {
        RecordFile::check(out).map_err(Failure::usage)?;
    }
    check_temp_dir().map_err(Failure::usage)?;
    let binary = ServerBinary::find(args.server.server_bin.as_deref()).map_err(Failure::error)?;
    let show = |title: &str| {
        if !args.quiet {
            tell(title);
        }
    };
    let (wrong, subject) = match args.engine {
        Some(GradedEngine::Single) => (Vec::new(), Subject::Engine(LockKind::Single)),
        Some(GradedEngine::Redlock) => (Vec::new(), Subject::Engine(LockKind::Redlock)),
        None => {
            show("checking the client");
            checked(&args.command, &binary)?
        }
    };
    let options = server::options(&binary);
    let seed = args.seed.unwrap_or(1);
    let played = play(&subject, wrong, &args.only, seed, &options, show);
    let (grades, stop) = played.map_err(Failure::error)?;
    if let Some(out) = &args.out {
        write(out, &grades_in(by_ending(out), &grades))?;
    }
    let printed = print_result(
        args.json,
        &grades,
        |paint| render_grades(&grades, columns(), paint),
        look,
    );
    ended(stop, printed.map(|_| exit_code::of(grades.result(&known)).into()))
}

/// The letters in the form that the ending of the file says.
fn grades_in(format: ReportFormat, grades: &Grades) -> String {
    match format {
        ReportFormat::Markdown => grades_markdown(grades),
        ReportFormat::Text => render_grades(grades, COLUMNS.into(), Paint::Off),
        ReportFormat::Html | ReportFormat::Csv | ReportFormat::Json | ReportFormat::Hgrm => grades_page(grades),
    }
}

/// What a check finds wrong with a client, and who it is.
fn checked(command: &[String], binary: &ServerBinary) -> Result<(Vec<Checked>, Subject), Failure> {
    let (checked, subject) = wait_for(play_check(command, binary))?.map_err(Failure::error)?;
    let wrong = checked.into_iter().filter(|done| done.right == Some(false));
    Ok((wrong.collect(), subject))
}

/// The acts that may fail: one on each line; what follows a # is for people.
fn known_failing(path: &Path) -> Result<Vec<String>, Failure> {
    let bad = |why: String| Failure::usage(format!("{}: {why}", path.display()));
    let read = fs::File::open(path).and_then(|file| input::whole(&file, LARGEST));
    let text = String::from_utf8(read.map_err(|why| bad(why.to_string()))?).map_err(|why| bad(why.to_string()))?;
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim());
    let acts: Vec<String> = lines.filter(|line| !line.is_empty()).map(str::to_owned).collect();
    match acts.iter().find(|act| !names().contains(&act.as_str())) {
        Some(act) => Err(bad(no_act(act))),
        None => Ok(acts),
    }
}

fn no_act(name: &str) -> String {
    format!("\"{name}\" is no act; they are: {}", names().join(", "))
}

/// Checks a client, or prints the schema of what is said.
pub fn client(args: &ClientArgs, look: Look) -> Result<ExitCode, Failure> {
    match &args.command {
        ClientCommand::Schema => {
            let schema = serde_json::to_string_pretty(&client::schema()).map_err(Failure::error)?;
            print(schema + "\n")
        }
        ClientCommand::Null => {
            let served = client::null(io::stdin().lock(), io::stdout().lock());
            served.map_err(|error| Failure::error(format!("an order can't be answered: {error}")))?;
            Ok(ExitCode::SUCCESS)
        }
        ClientCommand::Check(args) => {
            check_temp_dir().map_err(Failure::usage)?;
            let binary = ServerBinary::find(args.server.server_bin.as_deref()).map_err(Failure::error)?;
            let (checked, _) = wait_for(play_check(&args.command, &binary))?.map_err(Failure::error)?;
            print_result(
                args.json,
                &checked,
                |paint| render_checked(&checked, columns(), paint),
                look,
            )?;
            let is_wrong = |done: &Checked| done.right == Some(false);
            Ok(match checked.iter().any(is_wrong) {
                true => ExitCode::from(exit_code::NO),
                false => ExitCode::SUCCESS,
            })
        }
    }
}
