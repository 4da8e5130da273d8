//! Every way to end lockstorm is good in every state: it ends soon and with the documented exit code, its terminal is as
//! it was, and no process, directory or schema of it is left. Linux only, because it reads /proc.
//!
//! Ways and states make a table. A sample with every way and every state is tested with each change; `.ci/long ways-out`
//! plays all cells, a state at a time.
#![cfg(target_os = "linux")]

mod cell;
mod database;
mod place;
mod play;
mod process;
mod promise;
mod table;

use std::env;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use std::time::Duration;
use strum::VariantArray;

use cell::{Cell, Database, Form, State, Way};
use play::Played;

/// How long anything may take before a cell fails. What makes no progress is given up after ten seconds; this allows for
/// the slowest machine.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// Plays the cells, some at a time, and prints the table. Fails if one of them does.
fn hold(cells: &[Cell], at_once: usize, postgres: Option<&str>) {
    let _turn = lockstorm_kit::beside();
    let (next, played) = (AtomicUsize::new(0), Mutex::new(Vec::<Played>::new()));
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some(&cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let one = play::play(cell, postgres);
                    let word = if one.faults.is_empty() { "✔" } else { "✖" };
                    eprintln!("{word} {cell} {}", one.faults.join("; "));
                    played.lock().unwrap_or_else(PoisonError::into_inner).push(one);
                }
            });
        }
    });
    let played = played.into_inner().unwrap_or_else(PoisonError::into_inner);
    let bad = played.iter().filter(|one| !one.faults.is_empty()).count();
    println!("{}{}", table::render(&played), table::faults(&played));
    println!("{} of {} cells hold", played.len() - bad, played.len());
    if let Some(path) = env::var_os("LOCKSTORM_WAYS_OUT_KEEP") {
        table::keep(Path::new(&path), &played).expect("a writable place");
    }
    assert_eq!(played.len(), cells.len());
    assert_eq!(bad, 0, "cells of the table that do not hold; see above");
}

/// The cells that `LOCKSTORM_WAYS_OUT` selects: `FORM STATE`, for example `console load`; all cells without it. A third
/// word is the name of a way.
fn wanted(database: Database) -> Vec<Cell> {
    let asked = env::var("LOCKSTORM_WAYS_OUT").unwrap_or_default();
    let mut words = asked.splitn(3, ' ');
    let (form, state, way) = (words.next(), words.next(), words.next());
    let fits = |word: Option<&str>, name: &str| word.is_none_or(|word| word.is_empty() || word == "*" || word == name);
    let cells: Vec<Cell> = cell::all(database)
        .into_iter()
        .filter(|cell| {
            let name = format!("{:?}", cell.form).to_lowercase();
            fits(form, &name) && fits(state, cell.state.name()) && fits(way, cell.way.name())
        })
        .collect();
    assert!(!cells.is_empty(), "LOCKSTORM_WAYS_OUT=\"{asked}\" names no cell");
    cells
}

#[test]
fn a_sample_of_ways_out_is_good() {
    hold(&cell::sample(), 2, None);
}

#[test]
#[ignore = "takes half an hour: .ci/long ways-out"]
fn every_way_out_of_every_state_is_good_on_sqlite() {
    hold(&wanted(Database::Sqlite), 2, None);
}

#[test]
#[ignore = "needs PostgreSQL and half an hour: LOCKSTORM_TEST_POSTGRES=postgres://… .ci/long ways-out"]
fn every_way_out_of_every_state_is_good_on_postgresql() {
    let url = env::var("LOCKSTORM_TEST_POSTGRES").expect("LOCKSTORM_TEST_POSTGRES is set");
    hold(&wanted(Database::Postgres), 2, Some(&url));
}

#[test]
#[ignore = "shows what the parts of .ci/long ways-out have kept"]
fn the_tables_of_all_that_was_played() {
    let path = env::var_os("LOCKSTORM_WAYS_OUT_KEEP").expect("LOCKSTORM_WAYS_OUT_KEEP names a file");
    for database in [Database::Sqlite, Database::Postgres] {
        let tables = table::kept(Path::new(&path), &cell::all(database)).expect("something was kept");
        if !tables.is_empty() {
            println!("{database:?}\n\n{tables}");
        }
    }
}

#[test]
fn the_table_is_large_and_the_sample_has_every_way_and_every_state() {
    let all = cell::all(Database::Sqlite);
    assert!(all.len() >= 150, "{}", all.len());
    let sample = cell::sample();
    for cell in &sample {
        assert!(all.contains(cell), "{cell} is not a cell of the table");
    }
    for &way in Way::VARIANTS {
        assert!(sample.iter().any(|cell| cell.way == way), "{}", way.name());
    }
    for &state in State::VARIANTS {
        for form in Form::ALL {
            let possible = all.iter().any(|cell| cell.state == state && cell.form == form);
            let shown = sample.iter().any(|cell| cell.state == state);
            assert!(shown || !possible, "{}", state.name());
        }
    }
}
