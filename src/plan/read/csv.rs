//! One duration on each line, or in one column of a table.

use std::time::Duration;

use super::unit::TimeUnit;

/// The values in seconds. The first line may name the columns; the one whose name begins with "hold" counts, or the only one.
/// The unit is that of the column's name (`hold_ms`), of each value (`12ms`), or `unit`.
pub(super) fn read(text: &str, unit: Option<TimeUnit>) -> Result<Vec<f64>, String> {
    let mut lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .peekable();
    let Some((_, first)) = lines.peek() else {
        return Err("is empty; write one duration on each line".to_owned());
    };
    let cells = |line: &str| -> Vec<String> {
        line.split([',', ';', '\t'])
            .map(|cell| cell.trim().trim_matches('"').to_owned())
            .collect()
    };
    let head = cells(first);
    let is_head = head
        .iter()
        .all(|cell| cell.parse::<f64>().is_err() && humantime::parse_duration(cell).is_err());
    let (mut column, mut named) = (0, None);
    if is_head {
        column = match head
            .iter()
            .position(|name| name.to_ascii_lowercase().starts_with("hold"))
        {
            Some(column) => column,
            None if head.len() == 1 => 0,
            None => {
                return Err(format!(
                    "line 1: none of the columns {} begins with \"hold\"; rename the one with the holds",
                    head.join(", ")
                ));
            }
        };
        named = TimeUnit::of_name(&head[column]);
        lines.next();
    } else if head.len() > 1 {
        return Err(
            "line 1: there are several columns and no names; put a line with names first, like \"id,hold_ms\""
                .to_owned(),
        );
    }
    lines
        .map(|(index, line)| {
            let cells = cells(line);
            let cell = cells.get(column).map_or("", String::as_str);
            value(cell, unit.or(named)).map_err(|why| format!("line {}: {why}", index + 1))
        })
        .collect()
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
