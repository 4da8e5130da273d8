//! A comparison: what is worse, what is better, what could not be told apart, and by how much.

use std::collections::BTreeMap;

use super::figures::small;
use super::markdown::{folded, plain, tabled};
use super::paint::{Paint, Tone};
use super::table::{Cell, Contents, Head, Table};
use super::wrap::fold;
use lockstorm_data::metrics::units::count;
use lockstorm_data::model::{CheckResult, printable};
use lockstorm_plan::compare::{Comparison, NoValue, Row, Sign, Spread, Unit};

/// The comparison in lines of at most `columns`; with `all` figures, not only those that it is about.
pub fn render_comparison(comparison: &Comparison, all: bool, columns: usize, paint: Paint) -> String {
    let said = said(comparison);
    let mut text = String::new();
    for (tone, line) in &said {
        text += &format!("{}\n", paint.apply(*tone, &fold("", line, columns)));
    }
    let table = if all { table(comparison, all) } else { brief(comparison) };
    if !table.rows.is_empty() {
        let parts = table
            .split(columns)
            .into_iter()
            .map(|part| format!("\n{}", part.render(paint)));
        text += &parts.collect::<String>();
    }
    for (title, lines) in notes(comparison) {
        text += &format!("\n{}\n", paint.apply(Tone::Strong, title));
        for line in lines {
            text += &format!("{}\n", fold("  ", &line, columns));
        }
    }
    text
}

/// The comparison as Markdown for a pull request.
pub fn comparison_markdown(comparison: &Comparison, all: bool) -> String {
    let mut parts: Vec<String> = said(comparison)
        .iter()
        .map(|(_, line)| format!("**{}**", plain(line)))
        .collect();
    let table = if all { table(comparison, all) } else { brief(comparison) };
    if !table.rows.is_empty() {
        parts.push(tabled(&table));
    }
    for (title, lines) in notes(comparison) {
        let lines: Vec<String> = lines.iter().map(|line| format!("- {}", plain(line))).collect();
        parts.push(folded(title, &lines.join("\n")));
    }
    parts.join("\n\n") + "\n"
}

/// What the comparison shows, in sentences.
pub(super) fn said(comparison: &Comparison) -> Vec<(Tone, String)> {
    let [a, b] = &comparison.sides;
    let primary = || comparison.rows.iter().filter(|row| row.is_primary);
    let mut all = Vec::new();
    for (tone, word) in [
        (Tone::Bad, "✖ worse"),
        (Tone::Good, "✔ better"),
        (Tone::Doubt, "? other"),
    ] {
        let rows = primary().filter(|row| match tone {
            Tone::Bad => row.is_worse(),
            Tone::Good => row.is_better(),
            _ => row.is_of_the_machine(),
        });
        all.extend(rows.map(|row| {
            let arm = if comparison.is_of_arms {
                String::new()
            } else {
                format!("{}, ", row.arm)
            };
            let title = row.figure.title();
            (
                tone,
                format!(
                    "{word} with {b} than with {a}: {arm}{title}{}",
                    evidence(comparison, row)
                ),
            )
        }));
    }
    if primary().any(Row::is_of_the_machine) {
        all.push((Tone::Doubt, of_the_machine(comparison)));
    }
    if all.is_empty() {
        let open = primary().any(|row| row.is_open() || row.is_of_one_run());
        let any = primary().any(Row::is_same);
        let [ours, theirs] = comparison.values;
        all.push(match (open, any) {
            (true, _) if comparison.is_blind() => (
                Tone::Doubt,
                format!(
                    "? too few to show anything, whatever they are: {theirs} against {ours}; it takes {} of each (--repeat {})",
                    comparison.takes, comparison.takes
                ),
            ),
            (false, false) if comparison.unit == Unit::Parts => (
                Tone::Doubt,
                format!("? one run of this length can't tell {b} from {a}: play a longer one, or several (--repeat 8)"),
            ),
            (true, _) => (
                Tone::Doubt,
                format!("? {b} is not shown to be worse or better than {a}"),
            ),
            (false, true) => (
                Tone::Plain,
                format!("= {b} and {a} are the same in all that is compared"),
            ),
            (false, false) => (
                Tone::Doubt,
                format!("? {b} and {a} have no figure in common that counts"),
            ),
        });
    }
    // If nothing can be said at all, that is said above.
    all.extend((!comparison.is_blind()).then(|| mute(comparison)).flatten());
    if primary().any(Row::is_of_one_run) {
        let why = "a side has one run, which is evidence within these runs only: the next ones may be the other way round; play each \
                   eight times (--repeat 8)";
        all.push((Tone::Doubt, why.to_owned()));
    }
    all.into_iter().map(|(tone, line)| (tone, printable(&line))).collect()
}

/// Of which figures nothing can be said, and why.
fn mute(comparison: &Comparison) -> Option<(Tone, String)> {
    let [_, b] = &comparison.sides;
    let figure = |row: &Row| {
        let why = match row.sides {
            [Some(one), Some(other)] => format!("{} runs against {} count", other.n, one.n),
            _ => format!("{b} has no value"),
        };
        format!("{} of {} ({why})", row.figure.title(), row.arm)
    };
    let figures: Vec<String> = comparison.mute_rows().map(figure).collect();
    (!figures.is_empty()).then(|| {
        let text = format!(
            "? nothing can be said of {}: it takes {} runs of each side that count",
            figures.join(", "),
            comparison.takes
        );
        (Tone::Doubt, text)
    })
}

/// Why times show nothing although they differ, and what to do.
fn of_the_machine(comparison: &Comparison) -> String {
    let signs = comparison.machine.iter().map(|differs| {
        let is = if differs.is_slower { "more" } else { "less" };
        let sign = match differs.sign {
            Sign::GeneratorLag => "lag of the load generator",
            Sign::ProcessorWait => "waiting for a processor",
            Sign::OtherPrograms => "processor time used by other programs",
            Sign::Stalls => "stalled sections",
        };
        format!("{is} {sign} (p = {})", small(differs.p))
    });
    let [a, b] = &comparison.sides;
    format!(
        "that may be the machine: with {b} it had {} than with {a}. Record both sides in turns, a run of one and a run of the other, and \
         compare again",
        signs.collect::<Vec<_>>().join(" and ")
    )
}

/// How a difference shows: in how many runs there was damage, or by how much, and how sure that is.
fn evidence(comparison: &Comparison, row: &Row) -> String {
    let against = |a: Spread, b: Spread| {
        let [a, b] = [a, b].map(|side| row.figure.write(side.median));
        format!(", {b} against {a}")
    };
    let mut text = match row.sides {
        [Some(a), Some(b)] if row.figure.is_damage() && comparison.unit != Unit::Parts => {
            let runs = |side: Spread| format!("{} of {}", side.above_zero, side.n);
            if a.above_zero * b.n == b.above_zero * a.n {
                against(a, b)
            } else {
                format!(", in {} runs against {}", runs(b), runs(a))
            }
        }
        // How long it was is not known, so neither is by how much exactly they differ.
        [Some(a), Some(b)] if [a, b].iter().any(|side| row.figure.is_below_limit(side.median)) => against(a, b),
        _ => format!(", {}", difference(row)),
    };
    if let Some(p) = row.p {
        text += &format!(" (p = {})", small(p));
    }
    text
}

/// The rows of a table: those of the figures that the comparison is about, or all.
fn rows(comparison: &Comparison, all: bool) -> Vec<&Row> {
    let is_nothing = |row: &Row| !row.has_values() || row.is_same() && is_zero(row);
    let worth = |row: &&Row| !is_nothing(row) && (row.is_primary || all);
    let mut rows: Vec<&Row> = comparison.rows.iter().filter(worth).collect();
    // What is shown to differ comes first.
    rows.sort_by_key(|row| !(row.is_primary && row.differs));
    rows
}

/// A row for each figure, in short: medians, and the interval of the difference.
pub(super) fn brief(comparison: &Comparison) -> Table {
    let [a, b] = &comparison.sides;
    let mut head = ["figure", &printable(a), &printable(b), "difference, 95 %", "verdict"].map(Head::new);
    head[4].contents = Contents::Words;
    let cells = |row: &&Row| {
        let median = |side: Option<Spread>| match side {
            Some(side) => Cell::plain(row.figure.write(side.median)),
            None => Cell::none(),
        };
        vec![
            Cell::plain(name(comparison, row)),
            median(row.sides[0]),
            median(row.sides[1]),
            interval(row).map_or_else(Cell::none, Cell::plain),
            verdict(row, comparison.unit),
        ]
    };
    Table {
        head: head.to_vec(),
        rows: rows(comparison, false).iter().map(cells).collect(),
    }
}

/// A row for each figure, with all that is known of it.
pub(super) fn table(comparison: &Comparison, all: bool) -> Table {
    let [a, b] = &comparison.sides;
    let mut head = vec![Head::new("figure"), Head::new("verdict").of(Contents::Words)];
    head.extend([a, b].map(|side| Head::new(printable(side))));
    head.extend(["difference", "95 % interval", "p"].map(Head::new));
    let cells = |row: &&Row| {
        let is_flat = row.is_same();
        let p = row.p.filter(|_| !is_flat && !row.is_of_one_run()).map(small);
        let or_none = |text: Option<String>| text.map_or_else(Cell::none, Cell::plain);
        vec![
            Cell::plain(name(comparison, row)),
            verdict(row, comparison.unit),
            side(row, row.sides[0]),
            side(row, row.sides[1]),
            or_none(row.difference.filter(|_| !is_flat).map(|_| difference(row))),
            or_none(interval(row)),
            or_none(p),
        ]
    };
    Table {
        head,
        rows: rows(comparison, all).iter().map(cells).collect(),
    }
}

fn name(comparison: &Comparison, row: &Row) -> String {
    let title = row.figure.title();
    if comparison.is_of_arms {
        title.to_owned()
    } else {
        printable(&format!("{}: {title}", row.arm))
    }
}

fn interval(row: &Row) -> Option<String> {
    let [low, high] = row.interval.filter(|_| !row.is_same())?;
    Some(format!("{} to {}", signed(row, low), signed(row, high)))
}

fn is_zero(row: &Row) -> bool {
    let is_zero = |side: &Option<Spread>| {
        side.is_some_and(|side| side.most.abs() < f64::MIN_POSITIVE && side.least.abs() < f64::MIN_POSITIVE)
    };
    row.sides.iter().all(is_zero)
}

/// Primary figures that a side does not have, each with its arms.
fn unknown(comparison: &Comparison) -> Vec<String> {
    let why: fn(&Row) -> String = match comparison.unit {
        Unit::Parts => |_| "the run is too short to be cut into eight parts that know little of each other".to_owned(),
        Unit::Runs | Unit::Pairs => |row: &Row| match row.no_value {
            Some(NoValue::LeftOut) | None => "a side has no run that counts".to_owned(),
            Some(NoValue::Turns) => "not known while arms take turns".to_owned(),
            Some(NoValue::Fewer(needed)) => {
                format!("a side has too few values in each run: {} are needed", count(needed))
            }
            Some(NoValue::NotMeasured) => "a side did not measure it".to_owned(),
        },
    };
    let mut arms: BTreeMap<(&str, String), Vec<&str>> = BTreeMap::new();
    for row in comparison.rows.iter().filter(|row| row.is_primary && !row.has_values()) {
        arms.entry((row.figure.title(), why(row))).or_default().push(&row.arm);
    }
    let told = arms
        .into_iter()
        .map(|((title, why), arms)| format!("{title} of {}: {why}", arms.join(", ")));
    told.collect()
}

fn verdict(row: &Row, unit: Unit) -> Cell {
    let what = if unit == Unit::Pairs { "pairs" } else { "runs" };
    match (row.result, row.differs) {
        _ if !row.has_values() => Cell::none(),
        _ if row.is_of_one_run() => Cell::new(Tone::Doubt, "? one run"),
        (CheckResult::Failed, _) => Cell::new(Tone::Bad, "✖ worse"),
        (CheckResult::Held, true) => Cell::new(Tone::Good, "✔ better"),
        (CheckResult::Held, false) => Cell::plain("= same"),
        (CheckResult::Inconclusive, true) if row.is_primary => Cell::new(Tone::Doubt, "? the machine"),
        (CheckResult::Inconclusive, true) => Cell::plain("differs"),
        (CheckResult::Inconclusive, false) if !row.is_primary => Cell::none(),
        (CheckResult::Inconclusive, false) => {
            let needs = row.needs.map_or("open".to_owned(), |n| format!("needs {n} {what}"));
            Cell::new(Tone::Doubt, format!("? {needs}"))
        }
    }
}

/// The median with the range.
fn side(row: &Row, side: Option<Spread>) -> Cell {
    let Some(side) = side else { return Cell::none() };
    let [median, least, most] = [side.median, side.least, side.most].map(|value| row.figure.write(value));
    Cell::plain(match least == most {
        true => median,
        false => format!("{median} ({least} – {most})"),
    })
}

fn difference(row: &Row) -> String {
    let Some(by) = row.difference else {
        return "–".to_owned();
    };
    let base = row.sides[0].map_or(0.0, |side| side.median);
    let part = if base > 0.0 && row.figure.is_measured() {
        format!(", {:+.1} %", 100.0 * by / base).replace('-', "−")
    } else {
        String::new()
    };
    format!("{}{part}", signed(row, by))
}

fn signed(row: &Row, value: f64) -> String {
    let sign = if value > 0.0 {
        "+"
    } else if value < 0.0 {
        "−"
    } else {
        ""
    };
    format!("{sign}{}", row.figure.write(value.abs()))
}

/// What else must be known: in what the sides differ, what was left out, and how it was tested.
pub(super) fn notes(comparison: &Comparison) -> Vec<(&'static str, Vec<String>)> {
    let [a, b] = &comparison.sides;
    let tested = match comparison.unit {
        Unit::Runs => "one value is one run: Wilcoxon's rank sums, exact up to 40 values",
        Unit::Pairs => {
            "one value is a pair of runs with the same seed, or of arms in the same run: Wilcoxon's signed ranks, exact up to 40 pairs"
        }
        Unit::Parts => {
            "one value is a part of this one run: what is shown holds for this run; Wilcoxon's signed ranks, exact"
        }
    };
    let mut how = vec![
        match comparison.unit {
            Unit::Parts => "?: not distinguishable in this run; a longer one may tell, or several",
            Unit::Runs | Unit::Pairs => {
                "?: not distinguishable. So many runs would show a difference as large as this one in four of five comparisons; open: more \
                 than 200"
            }
        }
        .to_owned(),
        format!("{tested}. The difference is {b} less {a}: the median of all differences between two values"),
        "shown: p ≤ .01 over all primary figures together (Holm), for which their p is adjusted. That of other figures, which are exploratory, is \
         not: of a hundred that are the same one differs"
            .to_owned(),
    ];
    let others = comparison
        .rows
        .iter()
        .filter(|row| row.differs && !row.is_primary)
        .count();
    let mut left_out = comparison.left_out.clone();
    left_out.extend(unknown(comparison));
    if others > 0 {
        how.push(format!(
            "{others} other figures differ, which is exploratory: --verbose lists them, and all that is known of each"
        ));
    }
    let notes = [
        (
            "the same but for",
            comparison.settings.iter().map(ToString::to_string).collect(),
        ),
        (
            "! not alike, so a difference may come from that",
            comparison.unlike.clone(),
        ),
        ("left out", left_out),
        ("how", how),
    ];
    let printed =
        |(title, lines): (&'static str, Vec<String>)| (title, lines.iter().map(|line| printable(line)).collect());
    notes
        .into_iter()
        .filter(|(_, lines)| !lines.is_empty())
        .map(printed)
        .collect()
}
