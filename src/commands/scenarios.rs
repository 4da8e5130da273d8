//! `lockstorm scenarios` and `lockstorm check`.

use std::process::ExitCode;

use lockstorm_data::scenario::{ArmSpec, Fence, Key, Source, builtin, keys, meant, schema, tables, warnings};

use super::load::{load, room};
use super::print::{print, print_for_people, print_titles};
use crate::cli::{CheckArgs, Look, ScenariosArgs, ScenariosCommand};
use crate::failure::{Failure, warn};

/// Lists the built-in scenarios, prints one, or says which keys there are.
pub fn scenarios(args: &ScenariosArgs, look: Look) -> Result<ExitCode, Failure> {
    match &args.command {
        None => {
            let all = builtin::ALL.iter();
            print_titles(all.map(|scenario| (scenario.name, scenario.title())), look)
        }
        Some(ScenariosCommand::Show { name }) => print(show(name)?),
        Some(ScenariosCommand::Schema) => print(format!("{:#}\n", schema())),
        Some(ScenariosCommand::Keys { section }) => print_for_people(reference(section.as_deref())?, look),
    }
}

fn show(name: &str) -> Result<&'static str, Failure> {
    if let Some(scenario) = builtin::find(name) {
        return Ok(scenario.text);
    }
    // `open` explains what is wrong with the name and suggests a better one.
    match Source::open(name) {
        Err(error) => Err(Failure::usage(error)),
        Ok(_) => Err(Failure::usage(format!(
            "{name} is a file, not a built-in scenario; `cat` shows it"
        ))),
    }
}

/// The keys of a table, or all: a key with its form in a line, and what stands for it when it is left out; below it what it is.
fn reference(section: Option<&str>) -> Result<String, Failure> {
    let plain = |key: &Key| key.section.trim_matches(['[', ']']);
    let all: Vec<Key> = keys().collect();
    let wanted = section.map(|section| section.trim_matches(['[', ']']));
    if let Some(wanted) = wanted.filter(|wanted| !all.iter().any(|key| plain(key) == *wanted)) {
        let hint = meant(wanted, all.iter().map(plain));
        let tables: Vec<String> = tables().map(|table| plain(&table).to_owned()).collect();
        return Err(Failure::usage(format!(
            "a scenario has no table \"{wanted}\"{hint}; it has {}",
            tables.join(", ")
        )));
    }
    let mut text = String::new();
    for of_table in all.chunk_by(|one, next| one.section == next.section) {
        if wanted.is_some_and(|wanted| plain(&of_table[0]) != wanted) {
            continue;
        }
        if !of_table[0].section.is_empty() {
            text += &format!("\n{}\n", of_table[0].section);
        }
        for key in of_table {
            let left_out = match key.left_out {
                "" => String::new(),
                left_out => format!("   (left out: {left_out})"),
            };
            let lines = format!("{} = {}{left_out}\n    {}\n", key.names, key.form, key.what);
            text += &lines.replace('`', "");
        }
    }
    Ok(text.trim_start().to_owned())
}

/// Validates a scenario: prints its errors, or its warnings and a line that sums it up.
pub fn check(args: &CheckArgs, look: Look) -> Result<ExitCode, Failure> {
    let scenario = load(&args.scenario, &args.changes).map_err(Failure::usage)?;
    // A scenario is valid or not wherever it is checked, so what this machine has no room for is only a warning.
    let here = room(&scenario).unwrap_or_else(|refusals| refusals.lines().map(str::to_owned).collect());
    warn(warnings(&scenario).iter().chain(&here));
    let arms: Vec<_> = scenario.arms.iter().map(arm).collect();
    let summary = format!(
        "✔ {}: {} · {} · arms: {} · faults: {} · expectations: {}\n",
        scenario.name,
        scenario.title,
        humantime::format_duration(scenario.duration),
        arms.join(", "),
        scenario.faults.len(),
        scenario.expect.len(),
    );
    print_for_people(summary, look)
}

/// An arm's name, with its label if it has a fence.
fn arm(arm: &ArmSpec) -> String {
    match arm.fence {
        Fence::Off => arm.name.clone(),
        Fence::Write | Fence::ReadWrite => format!("{} ({})", arm.name, arm.label()),
    }
}
