//! What was played, as a table that a terminal can show: a row for each way, a column for each state.

use std::fmt::Write as _;

use super::cell::{Form, State, Way};
use super::play::Played;

/// The columns of a state.
const WIDTH: usize = 16;

/// A table for each form, and below it what is wrong in each cell that is marked.
pub fn render(played: &[Played]) -> String {
    let mut text = String::new();
    for form in Form::ALL {
        let of_form: Vec<&Played> = played.iter().filter(|one| one.cell.form == form).collect();
        let has = |state: &State| of_form.iter().any(|one| one.cell.state == *state);
        let states: Vec<State> = State::ALL.into_iter().filter(has).collect();
        // Six columns fit into a terminal of 120.
        for states in states.chunks(6) {
            part(&mut text, form, states, &of_form);
        }
    }
    for one in played.iter().filter(|one| !one.faults.is_empty()) {
        let _ = writeln!(text, "✖ {}: {}", one.cell, one.faults.join("; "));
        text += &one.said;
    }
    text
}

fn part(text: &mut String, form: Form, states: &[State], played: &[&Played]) {
    let _ = write!(text, "{:<17}", format!("{form:?}"));
    for state in states {
        let _ = write!(text, "{:<WIDTH$}", state.name());
    }
    text.push('\n');
    for way in Way::ALL {
        let of = |state: &State| {
            let here = |one: &&&Played| one.cell.state == *state && one.cell.way == way;
            played.iter().find(here).copied()
        };
        let row: Vec<Option<&Played>> = states.iter().map(of).collect();
        if row.iter().all(Option::is_none) {
            continue;
        }
        let _ = write!(text, "{:<17}", way.name());
        for one in row {
            let _ = write!(text, "{:<WIDTH$}", one.map_or_else(|| "–".to_owned(), in_short));
        }
        text.push('\n');
    }
    text.push('\n');
}

fn in_short(played: &Played) -> String {
    let seconds = played.took.as_secs_f64();
    if let [first, ..] = played.faults.as_slice() {
        let first: String = first.chars().take(WIDTH - 4).collect();
        return format!("✖ {first}");
    }
    format!("✔ {seconds:.1} s")
}
