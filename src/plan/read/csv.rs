//! One duration on each line, or in one column of a table; the csv crate knows quotes and separators.

use std::time::Duration;

use ::csv::{ReaderBuilder, StringRecord};

use super::lines::{LONGEST, Lines};
use super::unit::TimeUnit;

/// The longest time of a section, a year, in seconds.
const YEAR: f64 = 366.0 * 86_400.0;

/// The column of the holds.
struct Column {
    index: usize,
    /// How many cells each line has.
    cells: usize,
    unit: Option<TimeUnit>,
}

/// The values in seconds. The first line may name the columns; the one whose name begins with "hold" or "duration" counts, or the only one.
/// The unit is that of the column's name (`hold_ms`), of each value (`12ms`), or `unit`.
pub(super) fn read(lines: &mut Lines<'_>, unit: Option<TimeUnit>) -> Result<Vec<f64>, String> {
    let separator = separator(lines)?;
    let text = lines.rewind()?;
    let mut rows = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(separator)
        .trim(::csv::Trim::All)
        .from_reader(text);
    let (mut row, mut column, mut values) = (StringRecord::new(), None, Vec::new());
    while rows
        .read_record(&mut row)
        .map_err(|error| format!("cannot be read: {error}"))?
    {
        // An empty line is no row; one of blanks is a row of one empty cell.
        if row.iter().all(str::is_empty) {
            continue;
        }
        let number = row.position().map_or(0, ::csv::Position::line);
        let at = |why: String| format!("line {number}: {why}");
        if row.as_slice().len() as u64 > LONGEST << 10 {
            return Err(at(format!("is longer than {LONGEST} KiB; a quote is not closed")));
        }
        let column = match &column {
            Some(column) => column,
            None => {
                let (is_head, first) = Column::of_first(&row, unit).map_err(at)?;
                let first = &*column.insert(first);
                if is_head {
                    continue;
                }
                first
            }
        };
        values.push(column.value(&row).map_err(at)?);
    }
    if column.is_none() {
        return Err("is empty; write one duration on each line".to_owned());
    }
    Ok(values)
}

/// What stands between the cells: the first line that is not blank shows it.
fn separator(lines: &mut Lines<'_>) -> Result<u8, String> {
    lines.rewind()?;
    while let Some((_, line)) = lines.next()? {
        if !line.trim().is_empty() {
            return Ok(*b";\t"
                .iter()
                .find(|byte| line.as_bytes().contains(byte))
                .unwrap_or(&b','));
        }
    }
    Ok(b',')
}

impl Column {
    /// Whether this first row names the columns, and which one has the holds.
    fn of_first(row: &StringRecord, unit: Option<TimeUnit>) -> Result<(bool, Self), String> {
        let cells = row.len();
        let is_value = |cell: &str| cell.parse::<f64>().is_ok() || humantime::parse_duration(cell).is_ok();
        if row.iter().any(is_value) {
            return match cells {
                1 => Ok((false, Self { index: 0, cells, unit })),
                _ => Err(
                    "there are several columns and no names; put a line with names first, like \"id,hold_ms\", or \
                     write 12.5 for 12,5"
                        .to_owned(),
                ),
            };
        }
        let is_hold = |name: &str| {
            ["hold", "duration"]
                .iter()
                .any(|word| name.to_ascii_lowercase().starts_with(word))
        };
        let index = match row.iter().position(is_hold) {
            Some(index) => index,
            None if cells == 1 => 0,
            None => {
                let names: Vec<&str> = row.iter().collect();
                return Err(format!(
                    "none of the columns {} begins with \"hold\" or \"duration\"; rename the one with the holds",
                    names.join(", ")
                ));
            }
        };
        let unit = TimeUnit::named(&row[index], unit)?;
        Ok((true, Self { index, cells, unit }))
    }

    /// The value of a row in seconds.
    fn value(&self, row: &StringRecord) -> Result<f64, String> {
        if row.len() != self.cells {
            return Err(format!(
                "has another number of cells ({}) than the first line ({}); put a cell with a comma in quotes, and write 12.5 for 12,5",
                row.len(),
                self.cells
            ));
        }
        let cell = &row[self.index];
        if cell.contains('\n') {
            return Err("a cell goes on in the next line; a quote is not closed".to_owned());
        }
        let seconds = match (cell.parse::<f64>(), self.unit) {
            (Ok(number), Some(unit)) => number * unit.seconds(),
            (Ok(_), None) => {
                return Err(format!(
                    "{cell} has no unit; name the column like \"hold_ms\", or say --unit us, ms or s"
                ));
            }
            (Err(_), _) if cell.replacen(',', ".", 1).parse::<f64>().is_ok() => {
                return Err(format!("\"{cell}\" has a decimal comma; write a point"));
            }
            (Err(_), _) => humantime::parse_duration(cell)
                .as_ref()
                .map(Duration::as_secs_f64)
                .map_err(|_| format!("\"{cell}\" is not a duration; write it like 12ms, or as a number with --unit"))?,
        };
        check(cell, seconds)
    }
}

/// A section takes some time, and an end.
pub(super) fn check(cell: &str, seconds: f64) -> Result<f64, String> {
    if seconds > 0.0 && seconds.is_finite() {
        if seconds > YEAR {
            return Err(format!("{cell} is longer than a year; is the unit right?"));
        }
        return Ok(seconds);
    }
    Err(format!(
        "{cell} is not a time that a section can take; it must be above 0"
    ))
}
