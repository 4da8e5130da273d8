//! The results as tables that fit a terminal: a row for each way, a column for each state. A file collects the parts that
//! are played one after the other.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use strum::VariantArray;

use super::cell::{Cell, Form, State, Way};
use super::play::Played;

/// The columns of a state.
const WIDTH: usize = 16;
/// How many states fit into a terminal of 120 columns.
const STATES: usize = 6;

/// What a cell of the table shows.
struct Shown {
    cell: Cell,
    text: String,
}

/// The tables of these results.
pub fn render(played: &[Played]) -> String {
    let shown = |one: &Played| Shown {
        cell: one.cell,
        text: in_short(one),
    };
    tables(&played.iter().map(shown).collect::<Vec<_>>())
}

/// What is wrong in each marked cell.
pub fn faults(played: &[Played]) -> String {
    let mut text = String::new();
    for one in played.iter().filter(|one| !one.faults.is_empty()) {
        let _ = writeln!(text, "✖ {}: {}", one.cell, one.faults.join("; "));
        text += &one.said;
    }
    text
}

/// Adds results to a file.
pub fn keep(path: &Path, played: &[Played]) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    for one in played {
        writeln!(file, "{}\t{}", one.cell, in_short(one))?;
    }
    Ok(())
}

/// The tables of all results in a file; if a cell was played twice, the last result counts.
pub fn kept(path: &Path, all: &[Cell]) -> io::Result<String> {
    let text = fs::read_to_string(path)?;
    let shown = text.lines().rev().filter_map(|line| {
        let (name, text) = line.split_once('\t')?;
        let cell = *all.iter().find(|cell| cell.to_string() == name)?;
        let text = text.to_owned();
        Some(Shown { cell, text })
    });
    Ok(tables(&shown.collect::<Vec<_>>()))
}

fn tables(shown: &[Shown]) -> String {
    let mut text = String::new();
    for form in Form::ALL {
        let of_form: Vec<&Shown> = shown.iter().filter(|one| one.cell.form == form).collect();
        let has = |state: &State| of_form.iter().any(|one| one.cell.state == *state);
        let states: Vec<State> = State::VARIANTS.iter().copied().filter(has).collect();
        for states in states.chunks(STATES) {
            part(&mut text, form, states, &of_form);
        }
    }
    text
}

fn part(text: &mut String, form: Form, states: &[State], shown: &[&Shown]) {
    let _ = write!(text, "{:<17}", format!("{form:?}"));
    for state in states {
        let _ = write!(text, "{:<WIDTH$}", state.name());
    }
    text.push('\n');
    for &way in Way::VARIANTS {
        let of = |state: &State| {
            let here = |one: &&&Shown| one.cell.state == *state && one.cell.way == way;
            shown.iter().find(here).copied()
        };
        let row: Vec<Option<&Shown>> = states.iter().map(of).collect();
        if row.iter().all(Option::is_none) {
            continue;
        }
        let _ = write!(text, "{:<17}", way.name());
        for one in row {
            let _ = write!(text, "{:<WIDTH$}", one.map_or("–", |one| &one.text));
        }
        text.push('\n');
    }
    text.push('\n');
}

fn in_short(played: &Played) -> String {
    match played.faults.first() {
        None => format!("✔ {:.1} s", played.took.as_secs_f64()),
        Some(first) => format!("✖ {}", first.chars().take(WIDTH - 4).collect::<String>()),
    }
}
