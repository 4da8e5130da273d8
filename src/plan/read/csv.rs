//! One duration on each line, or in one column of a table.

use std::time::Duration;

use super::lines::Lines;
use super::unit::TimeUnit;

/// The values in seconds. The first line may name the columns; the one whose name begins with "hold" counts, or the only one.
/// The unit is that of the column's name (`hold_ms`), of each value (`12ms`), or `unit`.
pub(super) fn read(lines: &mut Lines<'_>, unit: Option<TimeUnit>) -> Result<Vec<f64>, String> {
    lines.rewind()?;
    let mut table: Option<(usize, Option<TimeUnit>)> = None;
    let mut values = Vec::new();
    while let Some((number, line)) = lines.next()? {
        if line.trim().is_empty() {
            continue;
        }
        let (column, unit) = match table {
            Some(known) => known,
            None => {
                let head = head(line)?;
                let (column, named) = head.unwrap_or((0, None));
                table = Some((column, unit.or(named)));
                if head.is_some() {
                    continue;
                }
                (column, unit)
            }
        };
        let cell = cells(line).nth(column).unwrap_or_default();
        values.push(value(cell, unit).map_err(|why| format!("line {number}: {why}"))?);
    }
    if table.is_none() {
        return Err("is empty; write one duration on each line".to_owned());
    }
    Ok(values)
}

/// The column of the holds and its unit, if this first line with something in it names the columns.
fn head(line: &str) -> Result<Option<(usize, Option<TimeUnit>)>, String> {
    let names: Vec<&str> = cells(line).collect();
    let is_value = |cell: &&str| cell.parse::<f64>().is_ok() || humantime::parse_duration(cell).is_ok();
    if names.iter().any(is_value) {
        return match names.len() {
            1 => Ok(None),
            _ => Err(
                "line 1: there are several columns and no names; put a line with names first, like \"id,hold_ms\""
                    .to_owned(),
            ),
        };
    }
    let is_hold = |name: &&str| name.to_ascii_lowercase().starts_with("hold");
    match names.iter().position(is_hold) {
        None if names.len() > 1 => Err(format!(
            "line 1: none of the columns {} begins with \"hold\"; rename the one with the holds",
            names.join(", ")
        )),
        column => {
            let column = column.unwrap_or(0);
            Ok(Some((column, TimeUnit::of_name(names[column]))))
        }
    }
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.split([',', ';', '\t']).map(|cell| cell.trim().trim_matches('"'))
}

fn value(cell: &str, unit: Option<TimeUnit>) -> Result<f64, String> {
    let seconds = match (cell.parse::<f64>(), unit) {
        (Ok(number), Some(unit)) => number * unit.seconds(),
        (Ok(_), None) => {
            return Err(format!(
                "{cell} has no unit; name the column like \"hold_ms\", or say --unit us, ms or s"
            ));
        }
        (Err(_), _) => humantime::parse_duration(cell)
            .map_err(|_| format!("\"{cell}\" is not a duration; write it like 12ms, or as a number with --unit"))
            .as_ref()
            .map(Duration::as_secs_f64)
            .map_err(Clone::clone)?,
    };
    check(cell, seconds)
}

/// A section takes some time, and an end.
pub(super) fn check(cell: &str, seconds: f64) -> Result<f64, String> {
    if seconds > 0.0 && seconds.is_finite() {
        Ok(seconds)
    } else {
        Err(format!(
            "{cell} is not a time that a section can take; it must be above 0"
        ))
    }
}
