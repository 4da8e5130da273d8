//! One duration on each line, or in one column of a table; the csv crate knows quotes and separators.

use std::time::Duration;

use ::csv::{ReaderBuilder, StringRecord};

use super::holds_read::HoldsOptions;
use super::length;
use super::lines::{LONGEST, Lines};
use super::unit::{TimeUnit, UnitBy, words};

/// Words of a column's name that say that it has the holds.
const HOLDS: [&str; 4] = ["hold", "holds", "duration", "durations"];

/// Words of a column's name that say that a row has a figure of many holds, a limit, an instant or a number, and not one hold. So do
/// those of [percentiles](is_percentile).
#[rustfmt::skip]
const NO_HOLDS: [&str; 53] = [
    "mean", "avg", "average", "median", "quantile", "percentile", "min", "minimum", "max", "maximum", "std", "stdev", "stddev", "sd",
    "sigma", "variance", "var", "count", "counts", "number", "num", "total", "sum", "rate", "bucket", "buckets", "bin", "timeout",
    "timeouts", "limit", "limits", "ttl", "deadline", "budget", "threshold", "target", "lease", "expiry", "slo", "sla", "start", "started",
    "begin", "ended", "until", "since", "at", "timestamp", "id", "index", "seq", "rank", "name",
];
/// Columns beside the values that say how often each of them came.
const FREQUENCIES: [&str; 8] = [
    "count",
    "counts",
    "frequency",
    "freq",
    "occurrences",
    "weight",
    "cumulative",
    "n",
];
/// What spreadsheets have in the row of a figure of all others.
const ALL_ROWS: [&str; 13] = [
    "total",
    "totals",
    "total:",
    "grand total",
    "sum",
    "sum:",
    "average",
    "average:",
    "avg",
    "mean",
    "median",
    "aggregated",
    "stddev",
];

/// Tables of other tools that have no column of durations: by which columns they are known, what they are and what to do.
const OTHERS: [(&[&str], &str); 4] = [
    (
        &["metric_name", "metric_value"],
        "is k6's CSV, with all metrics in one column; take the values of one out of it first: awk -F, '$1 == \"http_req_duration\" { print \
         $3 }' FILE > holds.csv, with --unit ms",
    ),
    (
        &["Request Count", "Median Response Time"],
        "is Locust's statistics, which have percentiles and no durations; write down the duration of each request, one on each line",
    ),
    (
        &["User Count", "Total Request Count"],
        "is Locust's history, which has percentiles and no durations; write down the duration of each request, one on each line",
    ),
    (
        &["Value", "Percentile", "TotalCount"],
        "is a table of percentiles; give them as HdrHistogram prints them, with blanks instead of commas",
    ),
];

/// The values of a column.
pub(super) struct Values {
    /// The column's name; `None` if it has none.
    pub column: Option<String>,
    /// The unit of its numbers; `None` if each value has its own.
    pub unit: Option<(TimeUnit, UnitBy)>,
    pub seconds: Vec<f64>,
    /// How many rows of failed samples were left out; `None` if no column says which samples failed.
    pub failed: Option<u64>,
    /// The unit in seconds to which they must have been cut off, since there are zeros among them.
    pub cut_to: Option<f64>,
}

/// The column of the holds.
struct Column {
    name: Option<String>,
    index: usize,
    /// How many cells each line has.
    cells: usize,
    unit: Option<(TimeUnit, UnitBy)>,
    /// The column that says whether a sample succeeded, as `JMeter` has it.
    success: Option<usize>,
}

/// The values of the column with the holds. The first line may name the columns: it is the one that `options` name, the only one with a
/// word like "hold" in its name, or the only one. The unit is that of the column's name (`hold_ms`), of each value (`12ms`), or the
/// given one. Of numbers that are all whole a 0 is less than one of the unit. Where a column `success` says that a sample failed, it is no hold.
pub(super) fn read(lines: &mut Lines<'_>, options: &HoldsOptions) -> Result<Values, String> {
    if options.metric.is_some() {
        return Err("is no Prometheus text, so it has no metrics; name a column with --column".to_owned());
    }
    let (separator, mut is_separator_line) = separator(lines)?;
    let text = lines.rewind()?;
    let mut rows = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(separator)
        .trim(::csv::Trim::All)
        .from_reader(text);
    let (mut row, mut column, mut seconds) = (StringRecord::new(), None, Vec::new());
    let (mut zero, mut are_whole, mut failed) = (None, true, 0);
    while rows
        .read_record(&mut row)
        .map_err(|error| format!("cannot be read: {error}"))?
    {
        // An empty line is no row; one of blanks is a row of one empty cell.
        if row.iter().all(str::is_empty) || std::mem::take(&mut is_separator_line) {
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
                let (is_head, first) = Column::of_first(&row, options).map_err(at)?;
                let first = &*column.insert(first);
                if is_head {
                    continue;
                }
                first
            }
        };
        let cell = column.cell(&row).map_err(at)?;
        let success = column.success.and_then(|success| row.get(success));
        if success.is_some_and(|success| ["false", "no", "0"].contains(&success.to_lowercase().as_str())) {
            failed += 1;
            continue;
        }
        if cell.parse() == Ok(0_u64) {
            zero.get_or_insert(number);
            seconds.push(0.0);
        } else {
            are_whole &= cell.parse::<u64>().is_ok();
            seconds.push(column.value(cell).map_err(at)?);
        }
    }
    let Some(Column {
        name, unit, success, ..
    }) = column
    else {
        return Err("is empty; write one duration on each line".to_owned());
    };
    let cut_to = match (zero, unit) {
        (None, _) => None,
        (Some(_), Some((unit, _))) if are_whole => Some(unit.seconds()),
        (Some(number), _) => {
            let why = length::check("0", 0.0).err().unwrap_or_default();
            return Err(format!("line {number}: {why}"));
        }
    };
    Ok(Values {
        column: name,
        unit,
        seconds,
        failed: success.map(|_| failed),
        cut_to,
    })
}

/// What stands between the cells: a first line like `sep=;` says it, as spreadsheets write it, or shows it. The second is whether there is
/// such a line, which is no row.
fn separator(lines: &mut Lines<'_>) -> Result<(u8, bool), String> {
    lines.rewind()?;
    while let Some((_, line)) = lines.next()? {
        let line = line.trim();
        if let Some([separator]) = line.strip_prefix("sep=").map(str::as_bytes) {
            return Ok((*separator, true));
        }
        if !line.is_empty() {
            let shown = b";\t".iter().find(|byte| line.as_bytes().contains(byte));
            return Ok((*shown.unwrap_or(&b','), false));
        }
    }
    Ok((b',', false))
}

/// The word of a name that says that its column has no single holds. At the end `min` is a unit.
fn no_holds(name: &str) -> Option<String> {
    let mut words = words(name);
    if words.last().is_some_and(|word| word == "min") {
        words.pop();
    }
    words
        .into_iter()
        .find(|word| NO_HOLDS.contains(&word.as_str()) || is_percentile(word))
}

/// `p99`, `99th`, or one of the usual numbers.
fn is_percentile(word: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    word.strip_prefix('p').is_some_and(is_number)
        || word.strip_suffix("th").is_some_and(is_number)
        || ["50", "75", "90", "95", "99", "999"].contains(&word)
}

impl Column {
    /// Whether this first row names the columns, and which one has the holds.
    fn of_first(row: &StringRecord, options: &HoldsOptions) -> Result<(bool, Self), String> {
        let cells = row.len();
        let is_value = |cell: &str| cell.parse::<f64>().is_ok() || humantime::parse_duration(cell).is_ok();
        if row.iter().any(is_value) {
            let unit = options.unit.map(|unit| (unit, UnitBy::Option));
            return match (cells, &options.column) {
                (1, None) => Ok((
                    false,
                    Self {
                        name: None,
                        index: 0,
                        cells,
                        unit,
                        success: None,
                    },
                )),
                (_, Some(column)) => Err(format!(
                    "there is no column \"{column}\", since the columns have no names; put a line with names first"
                )),
                _ => Err(
                    "there are several columns and no names; put a line with names first, like \"id,hold_ms\", and write numbers \
                     without commas"
                        .to_owned(),
                ),
            };
        }
        let names: Vec<&str> = row.iter().collect();
        if let Some((_, why)) = OTHERS
            .iter()
            .find(|(known_by, _)| known_by.iter().all(|name| names.contains(name)))
        {
            return Err((*why).to_owned());
        }
        let is_meant = |name: &str| match &options.column {
            Some(column) => name == column.trim(),
            None => cells == 1 || words(name).iter().any(|word| HOLDS.contains(&word.as_str())),
        };
        let meant: Vec<usize> = (0..cells).filter(|place| is_meant(names[*place])).collect();
        let index = match (&meant[..], &options.column) {
            ([only], _) => *only,
            ([], Some(column)) => {
                return Err(format!(
                    "there is no column \"{column}\"; there are {}",
                    names.join(", ")
                ));
            }
            ([], None) => {
                return Err(format!(
                    "none of the columns {} has \"hold\" or \"duration\" in its name; say which one has the holds with --column NAME",
                    names.join(", ")
                ));
            }
            (several, _) => {
                let several: Vec<&str> = several.iter().map(|place| names[*place]).collect();
                return Err(format!(
                    "several columns could have the holds: {}; say which one with --column NAME",
                    several.join(", ")
                ));
            }
        };
        let name = names[index];
        if options.column.is_none()
            && let Some(word) = no_holds(name)
        {
            return Err(format!(
                "\"{name}\" has \"{word}\" in its name, so its rows are no single holds; say with --column NAME which column has them, \
                 also if it is this one"
            ));
        }
        let is_frequency = |name: &&&str| FREQUENCIES.iter().any(|other| name.eq_ignore_ascii_case(other));
        if options.column.is_none()
            && let Some(frequency) = names.iter().find(is_frequency)
        {
            return Err(format!(
                "there is a column \"{frequency}\", so a row may stand for many holds; write one row for each, or name the column with \
                 --column if each row is one"
            ));
        }
        Ok((
            true,
            Self {
                name: Some(name.to_owned()),
                index,
                cells,
                unit: TimeUnit::named(name, None, options.unit)?,
                success: names.iter().position(|name| name.eq_ignore_ascii_case("success")),
            },
        ))
    }

    /// The cell of a row that has the hold.
    fn cell<'a>(&self, row: &'a StringRecord) -> Result<&'a str, String> {
        if row.len() != self.cells {
            return Err(format!(
                "has another number of cells ({}) than the first line ({}); put a cell with a comma in quotes, and write numbers without \
                 commas",
                row.len(),
                self.cells
            ));
        }
        let is_of_all = |cell: &&str| ALL_ROWS.iter().any(|word| cell.eq_ignore_ascii_case(word));
        if let Some(of_all) = row.iter().find(is_of_all) {
            return Err(format!(
                "\"{of_all}\" says that the row has a figure of other rows and no hold; take it out"
            ));
        }
        let cell = &row[self.index];
        if cell.contains('\n') {
            return Err("a cell goes on in the next line; a quote is not closed".to_owned());
        }
        Ok(cell)
    }

    /// The value of a cell in seconds.
    fn value(&self, cell: &str) -> Result<f64, String> {
        let seconds = match (cell.parse::<f64>(), self.unit) {
            (Ok(number), Some((unit, _))) => number * unit.seconds(),
            (Ok(_), None) => {
                return Err(format!(
                    "{cell} has no unit; name the column like \"hold_ms\", or say --unit ns, us, ms, s, min, h or d"
                ));
            }
            (Err(_), _)
                if cell.replace(',', ".").parse::<f64>().is_ok() || cell.replace(',', "").parse::<f64>().is_ok() =>
            {
                return Err(format!(
                    "\"{cell}\" has a comma, of which can't be told whether it separates thousands or decimals; write numbers without \
                     commas, decimals with a point"
                ));
            }
            (Err(_), unit) => {
                let own = humantime::parse_duration(cell)
                    .as_ref()
                    .map(Duration::as_secs_f64)
                    .map_err(|_| {
                        format!("\"{cell}\" is not a duration; write it like 12ms, or as a number with --unit")
                    })?;
                let ends_in = cell.trim_start_matches(|c: char| !c.is_alphabetic());
                match unit {
                    Some((unit, _)) if TimeUnit::of_word(ends_in) != Some(unit) => {
                        return Err(format!(
                            "\"{cell}\" has a unit of its own, and its column is in {unit}; leave one of them out"
                        ));
                    }
                    _ => own,
                }
            }
        };
        length::check(cell, seconds)
    }
}
