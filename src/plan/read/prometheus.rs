//! A histogram in Prometheus' text format or that of `OpenMetrics`: `name_bucket{…,le="0.05"} 123`.
//!
//! The parsers on crates.io do not do: `prometheus-parse` cuts labels at each comma, brace and `=`, also inside their quotes, and passes
//! over lines that it can't read; `nom-openmetrics` knows no timestamps and no exemplars; `openmetrics-parser`, the best one, is under the
//! LGPL. So the grammar stands here, on `winnow`.

use std::collections::{BTreeMap, BTreeSet};

use winnow::Result as Parsed;
use winnow::ascii::{escaped, space0, space1};
use winnow::combinator::{alt, delimited, eof, opt, preceded, separated, separated_pair, terminated};
use winnow::error::ParserError;
use winnow::prelude::*;
use winnow::token::{one_of, rest, take_till, take_while};

use super::holds_read::{HoldsOptions, HoldsPart};
use super::length;
use super::lines::Lines;
use super::unit::{TimeUnit, UnitBy};
use lockstorm_data::metrics::units::rounded;

/// So many names of histograms are listed.
const LISTED: usize = 8;

/// What tells one series of a metric from the others: its labels but for `le`, sorted.
type Labels = Vec<(String, String)>;
/// Upper bounds in seconds, ascending, with the number of values that are not larger.
type Buckets = Vec<(f64, f64)>;

/// Whether the text is of this format: its first line that is no comment is a sample, or a comment before it says `TYPE`, `HELP` or
/// `UNIT`.
pub(super) fn is_one(lines: &mut Lines<'_>) -> Result<bool, String> {
    lines.rewind()?;
    while let Some((_, line)) = lines.next()? {
        match line.trim().strip_prefix('#').map(str::trim_start) {
            Some(comment) if ["TYPE ", "HELP ", "UNIT "].iter().any(|word| comment.starts_with(word)) => {
                return Ok(true);
            }
            None if !line.trim().is_empty() => return Ok(sample.parse(line.trim()).is_ok()),
            _ => {}
        }
    }
    Ok(false)
}

/// All series of one histogram together.
pub(super) struct Histogram {
    pub part: HoldsPart,
    pub unit: (TimeUnit, UnitBy),
    pub points: Buckets,
    pub n: f64,
    /// How many values are above the last point.
    pub above: u64,
}

/// Reads the only histogram, or the one that `options` name.
pub(super) fn read(lines: &mut Lines<'_>, options: &HoldsOptions) -> Result<Histogram, String> {
    if options.column.is_some() {
        return Err("is Prometheus text, which has no columns; name a histogram with --metric".to_owned());
    }
    let (name, metadata) = chosen(lines, options)?;
    let unit = TimeUnit::named(&name, metadata.as_deref(), options.unit)?
        .ok_or_else(|| format!("\"{name}\" does not say its unit; say --unit s if it is in seconds"))?;
    let series = all_series(lines, &name, unit.0)?;
    // Floats that are not negative are in the order of their bits.
    let bounds: BTreeSet<u64> = series.iter().flatten().map(|bucket| bucket.0.to_bits()).collect();
    let finite = bounds.into_iter().map(f64::from_bits).filter(|bound| bound.is_finite());
    let points: Buckets = finite
        .map(|bound| (bound, series.iter().map(|buckets| up_to(buckets, bound)).sum()))
        .collect();
    let Some((_, within)) = points.last() else {
        return Err("has no bucket with a finite bound".to_owned());
    };
    let n: f64 = series
        .iter()
        .filter_map(|buckets| buckets.last())
        .map(|last| last.1)
        .sum();
    Ok(Histogram {
        unit,
        above: rounded(n - within),
        part: HoldsPart::Metric {
            name,
            series: series.len(),
            bounds_differ: series.iter().any(|buckets| buckets.len() != points.len() + 1),
        },
        points,
        n,
    })
}

/// The histogram that is to be read, and the unit that the file's metadata say.
fn chosen(lines: &mut Lines<'_>, options: &HoldsOptions) -> Result<(String, Option<String>), String> {
    let (mut names, mut units) = (BTreeSet::new(), BTreeMap::new());
    lines.rewind()?;
    while let Some((number, line)) = lines.next()? {
        if let Some(comment) = line.trim().strip_prefix('#') {
            let mut words = comment.split_whitespace();
            if let (Some("UNIT"), Some(name), Some(unit)) = (words.next(), words.next(), words.next()) {
                units.insert(name.trim_matches('"').to_owned(), unit.to_owned());
            }
        } else if let Some(bucket) = Bucket::of_line(line, number)?
            && !names.contains(&bucket.metric)
        {
            names.insert(bucket.metric);
        }
    }
    let listed = || {
        let shown: Vec<&str> = names.iter().take(LISTED).map(String::as_str).collect();
        let more = names.len().saturating_sub(LISTED);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        format!("{}{more}", shown.join(", "))
    };
    let metric = match (&options.metric, names.len()) {
        (_, 0) => {
            return Err(
                "has no histogram, that is no lines like name_bucket{le=\"0.1\"} 5; quantiles of a summary can't be read back as \
                 durations"
                    .to_owned(),
            );
        }
        (Some(metric), _) => {
            let metric = metric.strip_suffix("_bucket").unwrap_or(metric);
            if !names.contains(metric) {
                return Err(format!("has no histogram \"{metric}\"; it has {}", listed()));
            }
            metric.to_owned()
        }
        (None, 1) => names.iter().next().cloned().unwrap_or_default(),
        (None, _) => {
            return Err(format!(
                "has several histograms ({}); say which one has the holds with --metric NAME",
                listed()
            ));
        }
    };
    let unit = units.remove(&metric);
    Ok((metric, unit))
}

/// The buckets of each series of a metric. The last one of each has all its values.
fn all_series(lines: &mut Lines<'_>, metric: &str, unit: TimeUnit) -> Result<Vec<Buckets>, String> {
    let mut series: BTreeMap<Labels, Buckets> = BTreeMap::new();
    lines.rewind()?;
    while let Some((number, line)) = lines.next()? {
        let Some(bucket) = Bucket::of_line(line, number)?.filter(|bucket| bucket.metric == metric) else {
            continue;
        };
        let at = |why: String| format!("line {number}: {why}");
        let seconds = bucket.bound * unit.seconds();
        if seconds.is_finite() && seconds > 0.0 {
            length::check(&format!("le=\"{}\"", bucket.bound), seconds).map_err(at)?;
        }
        let buckets = series.entry(bucket.labels).or_default();
        if buckets.iter().any(|(bound, _)| bound.total_cmp(&seconds).is_eq()) {
            return Err(at(format!(
                "le=\"{}\" comes a second time with the same labels; give one scrape, or name them apart",
                bucket.bound
            )));
        }
        buckets.push((seconds, bucket.count));
    }
    let has_all_of =
        |whole: &Labels, part: &Labels| part.len() > whole.len() && whole.iter().all(|label| part.contains(label));
    let mut wholes = series
        .keys()
        .filter(|whole| series.keys().any(|part| has_all_of(whole, part)));
    if let Some(whole) = wholes.next() {
        let labels: Vec<String> = whole
            .iter()
            .map(|(name, value)| format!("{name}=\"{value}\""))
            .collect();
        return Err(format!(
            "has a series of {metric} with the labels {{{}}} that may be the sum of others, which have these and more; leave it or them \
             out, since values would count twice",
            labels.join(",")
        ));
    }
    let mut all: Vec<Buckets> = series.into_values().collect();
    for buckets in &mut all {
        buckets.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        if buckets.last().is_none_or(|last| last.0.is_finite()) {
            return Err(format!(
                "has a series of {metric} without le=\"+Inf\", so the number of all its holds is unknown"
            ));
        }
        if buckets.windows(2).any(|two| two[0].1 > two[1].1) {
            return Err("has counts that fall; buckets of a Prometheus histogram are cumulative".to_owned());
        }
    }
    Ok(all)
}

/// How many values of a series are not above a bound that it may not have itself: within a bucket they are taken as even, and of those
/// above its last finite bound none is.
fn up_to(buckets: &[(f64, f64)], bound: f64) -> f64 {
    let next = buckets.partition_point(|bucket| bucket.0 <= bound);
    let (from, below) = next.checked_sub(1).map_or((0.0, 0.0), |before| buckets[before]);
    match buckets.get(next) {
        Some(&(to, up_to)) if to.is_finite() => below + (up_to - below) * (bound - from) / (to - from),
        _ => below,
    }
}

/// A sample of a histogram.
struct Bucket {
    metric: String,
    labels: Labels,
    /// Infinite in the last one.
    bound: f64,
    count: f64,
}

impl Bucket {
    /// `None` if the line is a comment or a sample of something else.
    fn of_line(line: &str, number: usize) -> Result<Option<Self>, String> {
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            return Ok(None);
        }
        let at = |why: &str| format!("line {number}: {why}");
        let Ok(Sample {
            name,
            mut labels,
            value: count,
        }) = sample.parse(text)
        else {
            return Err(at(
                "is not a sample of Prometheus' text format, like name{label=\"value\"} 5",
            ));
        };
        let Some(metric) = name.strip_suffix("_bucket") else {
            return Ok(None);
        };
        let Some(place) = labels.iter().position(|(label, _)| label == "le") else {
            return Ok(None);
        };
        match labels.remove(place).1.parse::<f64>() {
            Ok(_) if count.is_finite() && count.fract() != 0.0 => Err(at(
                "a bucket's count is not whole; a rate or an extrapolated increase says nothing of how many were measured, so give the \
                 counters as they are scraped",
            )),
            Ok(bound) if bound >= 0.0 && count >= 0.0 && count.is_finite() => {
                labels.sort_unstable();
                Ok(Some(Self {
                    metric: metric.to_owned(),
                    labels,
                    bound,
                    count,
                }))
            }
            _ => Err(at("a bucket has a bound and a count, 0 or more")),
        }
    }
}

/// A line that is no comment. Its timestamp and its exemplar are left out: they are no counts.
struct Sample {
    name: String,
    labels: Labels,
    value: f64,
}

fn sample<'a>(line: &mut &'a str) -> Parsed<Sample> {
    // A name may stand in quotes as the first of the labels.
    enum Item {
        Name(String),
        Label((String, String)),
    }
    let name = opt(name.map(str::to_owned)).parse_next(line)?;
    let label_name = |input: &mut &'a str| alt((self::name.map(str::to_owned), quoted)).parse_next(input);
    let item = alt((
        separated_pair(label_name, (space0, '=', space0), quoted).map(Item::Label),
        quoted.map(Item::Name),
    ));
    let items = terminated(separated(0.., item, (space0, ',', space0)), opt((space0, ',')));
    let items: Option<Vec<Item>> = opt(delimited((space0, '{', space0), items, (space0, '}'))).parse_next(line)?;
    // Behind a brace there need not be a space.
    take_while(usize::from(items.is_none()).., [' ', '\t']).parse_next(line)?;
    let value = take_till(1.., [' ', '\t', '#'])
        .verify_map(|value: &str| value.parse().ok())
        .parse_next(line)?;
    let timestamp = take_while(1.., |c: char| c.is_ascii_digit() || "+-.eE".contains(c));
    (
        opt(preceded(space1, timestamp)),
        space0,
        alt((eof, preceded('#', rest))),
    )
        .parse_next(line)?;
    let (mut names, mut labels) = (Vec::from_iter(name), Vec::new());
    for item in items.into_iter().flatten() {
        match item {
            Item::Name(name) => names.push(name),
            Item::Label(label) => labels.push(label),
        }
    }
    match <[String; 1]>::try_from(names) {
        Ok([name]) => Ok(Sample { name, labels, value }),
        Err(_) => Err(ParserError::from_input(line)),
    }
}

fn name<'a>(input: &mut &'a str) -> Parsed<&'a str> {
    let first = one_of(|c: char| c.is_ascii_alphabetic() || "_:".contains(c));
    let others = take_while(0.., |c: char| c.is_ascii_alphanumeric() || "_:".contains(c));
    (first, others).take().parse_next(input)
}

/// A text in quotes, in which `\"`, `\\` and `\n` stand for a character each.
fn quoted(input: &mut &str) -> Parsed<String> {
    let escape = alt(('n'.value("\n"), '"'.value("\""), '\\'.value("\\")));
    delimited('"', escaped(take_till(1.., ['"', '\\']), '\\', escape), '"').parse_next(input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_in_all_their_forms() {
        for (line, name, labels, value) in [
            ("up 1", "up", "", 1.0),
            (
                "a_bucket{le=\"0.1\"} 5000 # {trace_id=\"t0\"} 0.067",
                "a_bucket",
                "le=0.1",
                5000.0,
            ),
            (
                "a_bucket{le=\"+Inf\"} 5 1.7e9 # {a=\"}\"} 4.4 1700000000.1",
                "a_bucket",
                "le=+Inf",
                5.0,
            ),
            ("a { x = \"1\" , role=\"b\", } 7 1700000000", "a", "x=1 role=b", 7.0),
            (
                r#"a{m="a\"} 9 # \\ \n,le=\"1\"",le="2"} 3"#,
                "a",
                "m=a\"} 9 # \\ \n,le=\"1\" le=2",
                3.0,
            ),
            (
                r#"{"lock.hold_bucket","pod name"="é",le="1"} 3"#,
                "lock.hold_bucket",
                "pod name=é le=1",
                3.0,
            ),
        ] {
            let sample = sample.parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
            let shown: Vec<String> = sample
                .labels
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            assert_eq!((sample.name.as_str(), shown.join(" ").as_str()), (name, labels));
            assert!((sample.value - value).abs() < 1e-9, "{line}");
        }
        for line in [
            "12 13",
            "hold_ms",
            "a{le=\"1\"",
            "a{le=1} 5",
            "a{le=\"1\"}",
            "a 1 2 3",
            "{le=\"1\"} 5",
            "a{\"b\"} 1",
            "hold,12",
        ] {
            assert!(sample.parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn values_of_a_series_count_up_to_bounds_that_others_have() {
        let buckets = [(1.0, 10.0), (5.0, 50.0), (f64::INFINITY, 60.0)];
        for (bound, count) in [(0.5, 5.0), (1.0, 10.0), (2.0, 20.0), (5.0, 50.0), (9.0, 50.0)] {
            assert!((up_to(&buckets, bound) - count).abs() < 1e-9, "{bound}");
        }
    }
}
