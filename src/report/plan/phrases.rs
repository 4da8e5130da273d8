//! What a plan says, for the text and for the page: what was asked, a table, the recommendation, where its figures come from.

use std::time::Duration;

use strum::IntoEnumIterator;

use crate::report::figures::{DAY, at_least, pace, pace_of, percent, percents, small, time};
use crate::report::paint::Tone;
use crate::report::table::{Cell, Column, Table};
use lockstorm_data::metrics::units::{count, counted, rounded};
use lockstorm_data::model::printable;
use lockstorm_plan::{
    Basis, Chance, Choice, ClientTimeouts, FromRecord, HoldsPart, HoldsRead, LEAST_PAUSE, Plan, Question, Renewal,
    Risk, Row, Shortfall, Simulated, Spread, UnitBy, Why, Wish,
};

/// What is extrapolated.
pub(super) const EXTRAPOLATED: &str =
    "~ extrapolated: beyond what the measured values can show (three of them), by a fitted log-normal tail";

/// What a takeover is in virtual time.
pub(super) const TAKEOVERS: &str = "takeovers: from the death of a holder until somebody got its lock; where few ask for it, that is how long nobody asked";

/// So few buckets blur the figures.
const FEW_BUCKETS: usize = 100;
/// Sections beyond a timeout matter if they are more than this part.
const RARE: f64 = 0.01;

/// Which parts of the question were given; the others are assumed or come from the record.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Given {
    /// The record, if there is one.
    pub record: Option<FromRecord>,
    /// The file of the measurement, if there is one: it has round trips and nodes.
    pub measured: Option<String>,
    /// Whether it has stalls, too.
    pub stalls: bool,
    /// `--nodes`.
    pub nodes: bool,
    /// `--rtt`.
    pub round_trip: bool,
    /// `--pause`.
    pub pauses: bool,
    /// `--rate`.
    pub rate: bool,
    /// `--contended`.
    pub contended: bool,
    /// `--crash-rate`.
    pub crashes: bool,
    /// `--risk`.
    pub risk: Option<Risk>,
}

fn spread(spread: &Spread) -> String {
    match spread {
        Spread::Constant(always) => time(*always),
        Spread::Uniform { least, most } => format!("{} to {}, each equally likely", time(*least), time(*most)),
        Spread::LogNormal { median, sigma } => format!("log-normal, median {}, sigma {sigma}", time(*median)),
        Spread::Measured(measured) => {
            let rounded = measured.rounded_to().map_or(String::new(), |unit| {
                let unit = time(unit);
                format!("; rounded to {unit}, so each counts as up to {unit} longer: measure more finely")
            });
            // Of many it does not matter.
            let buckets = measured.buckets().filter(|buckets| *buckets < FEW_BUCKETS);
            let even = buckets.map_or(String::new(), |buckets| {
                format!("; in {buckets} buckets, within which they are taken as even: finer ones say more")
            });
            format!(
                "{} measured: median {}, p99 {}{rounded}{even}",
                counted(measured.count(), "value", "values"),
                time(spread.quantile(0.5)),
                time(spread.quantile(0.99))
            )
        }
    }
}

/// What was asked: a name and a value for each line.
pub(super) fn asked(question: &Question, given: &Given) -> Vec<(&'static str, String)> {
    let origin = |is_given: bool, is_measured: bool| match (is_given, &given.measured) {
        (true, _) => String::new(),
        (false, Some(file)) if is_measured => format!(" (measured: {file})"),
        _ if given.record.is_some() => " (from the record)".to_owned(),
        _ => " (assumed)".to_owned(),
    };
    let length = &question.pauses.length;
    let pauses = match question.pauses.per_second {
        none if none <= 0.0 => "none".to_owned(),
        _ if question.pauses.in_holds => format!(
            "timers were late by a median of {}, p99 {}, measured in each section",
            time(length.quantile(0.5)),
            time(length.quantile(0.99))
        ),
        often => format!("{} an hour and app server, {}", small(often * 3600.0), spread(length)),
    };
    let record = given.record.as_ref();
    let arm = record.map_or(String::new(), |record| format!(" (arm \"{}\")", record.arm));
    let is_known = given.nodes || given.measured.is_some() || record.is_some_and(|record| record.nodes.is_some());
    let of_nodes = match is_known {
        true => origin(given.nodes, true),
        false => " (assumed)".to_owned(),
    };
    let is_few = given.stalls && !given.pauses && matches!(question.pauses.length, Spread::LogNormal { .. });
    let few = if is_few { ", too few to tell their sigma" } else { "" };
    let assumed = |is_given: bool| if is_given { "" } else { " (assumed)" };
    let waited = match question.contended {
        all if all >= 1.0 => "somebody waits for every lock".to_owned(),
        part => format!("somebody waits for {} of the locks", percent(part)),
    };
    let mut lines = vec![("sections", spread(&question.hold) + &arm)];
    lines.extend(question.holds_read.as_ref().map(|read| ("read", holds_read(read))));
    lines.extend([
        ("load", often(question.per_second) + &origin(given.rate, false)),
        ("waiting", waited + assumed(given.contended)),
        (
            "round trip",
            spread(&question.round_trip) + &origin(given.round_trip, true),
        ),
        ("nodes", nodes(question.nodes) + &of_nodes),
        ("pauses", pauses + &origin(given.pauses, given.stalls) + few),
        (
            "crashes",
            crashes(question.crashes_per_second * DAY) + assumed(given.crashes),
        ),
    ]);
    if let Some(outages) = &question.outages {
        let outages = format!(
            "{}, each for {}",
            pace(outages.per_second * DAY),
            spread(&outages.length)
        );
        lines.push(("outages", outages));
    }
    lines.push(("goal", goal(question, given)));
    lines.extend(record.and_then(cut_short).map(|text| ("record", text)));
    lines
}

/// What was read of a file of holds, in one line.
pub fn holds_read(read: &HoldsRead) -> String {
    let part = match &read.part {
        HoldsPart::Column(Some(name)) => format!("column {name}"),
        HoldsPart::Column(None) => "its only column".to_owned(),
        HoldsPart::Metric { name, series, .. } => {
            format!("histogram {name}, {}", counted(*series as u64, "series", "series"))
        }
        HoldsPart::Percentiles => "percentiles".to_owned(),
    };
    let unit = read.unit.map_or_else(
        || "each value in a unit of its own".to_owned(),
        |(unit, by)| {
            let by = match by {
                UnitBy::Name => "by its name",
                UnitBy::Metadata => "by its line # UNIT",
                UnitBy::Option => "by --unit",
            };
            format!("in {unit} {by}")
        },
    );
    let above = read.above.map_or_else(String::new, |(above, bound)| {
        let are = if above == 1 { "lies" } else { "lie" };
        format!(
            "; {} of them {are} above the last bound, {}, and how far is unknown",
            count(above),
            time(bound)
        )
    });
    let differ = match read.part {
        HoldsPart::Metric {
            bounds_differ: true, ..
        } => "; the series have different bounds",
        _ => "",
    };
    let failed = read.failed.map_or_else(String::new, |failed| {
        format!("; {} of failed samples left out", counted(failed, "row", "rows"))
    });
    let values = counted(read.values, "value", "values");
    printable(&format!(
        "{}: {part}, {unit}, {values}{above}{differ}{failed}",
        read.file
    ))
}

/// What the values of a record lack since its run was over.
fn cut_short(record: &FromRecord) -> Option<String> {
    let cut_off = match record.cut_off {
        0 => String::new(),
        1 => "; 1 section was cut off then and is not in these values".to_owned(),
        some => format!(
            "; {} sections were cut off then and are not in these values",
            count(some)
        ),
    };
    // The load of a whole run ends, too, and what is under way then is cut off.
    let when = if record.interrupted {
        "the run was stopped before its end"
    } else {
        "the load ended as planned"
    };
    (record.interrupted || record.cut_off > 0).then(|| format!("{when}{cut_off}"))
}

/// The load, in words.
fn often(per_second: f64) -> String {
    match per_second * DAY {
        few if few < 1000.0 => pace_of(few, "one section", " sections"),
        _ => format!("{} sections a second", small(per_second)),
    }
}

fn nodes(nodes: usize) -> String {
    let quorum = nodes / 2 + 1;
    match nodes {
        1 => "1 node".to_owned(),
        even if even % 2 == 0 => format!(
            "{even} nodes, {quorum} of which must answer: {} may fail, no more than of {}; take an odd number",
            even - quorum,
            even - 1
        ),
        odd => format!("{odd} nodes, {quorum} of which must answer: {} may fail", odd - quorum),
    }
}

fn goal(question: &Question, given: &Given) -> String {
    let most = pace_of(question.goal.overlaps_per_day, "one overlap", " overlaps");
    let risk = match given.risk {
        None => format!("at most {most} (assumed)"),
        Some(Risk::PerSecond(_)) => format!("at most {most}"),
        Some(Risk::OfSections(part)) => format!("at most {} of the sections overlap, {most}", percent(part)),
    };
    let takeover = question.goal.takeover;
    let takeover = takeover.map_or(String::new(), |most| {
        format!("; takeover within {}", exact(Duration::from_secs_f64(most)))
    });
    risk + &takeover
}

/// What can go wrong, but was left out.
pub(super) fn not_considered(plan: &Plan) -> Vec<&'static str> {
    let (question, mut all) = (&plan.question, Vec::new());
    let slow = |timeouts: &ClientTimeouts| question.round_trip.quantile_beyond(1e-3) > timeouts.node;
    if plan.timeouts.as_ref().is_some_and(slow) {
        all.push("answers that take longer than the node timeout, and hold up what is asked behind them: --simulate plays that");
    }
    if question.outages.is_none() {
        all.push("outages of the lock nodes, in which renewals fail: give yours with --outage 2/month,30s");
    }
    if question.outages.is_some() {
        all.push("that in an outage nobody gets a lock, and that a release which fails then leaves its lock until the TTL ends");
    }
    all.extend([
        "nodes that lose their memory or whose clocks jump: keep them away for the restart delay; --simulate with --node-crash and \
         --clock-jump plays both",
        "failovers: a replica that takes over may not know of a lock, whatever its TTL",
        "work that goes on after its lock is known to be lost: fence the writes",
    ]);
    all
}

/// The TTL of a row.
pub(super) fn ttl(row: &Row) -> String {
    exact(row.setting.ttl)
}

/// A time that a user may set or compare with others: nothing of it is rounded off, and from two minutes on it is not in seconds if
/// tenths of a larger unit do.
fn exact(length: Duration) -> String {
    const UNITS: [(u64, u64, &str); 3] = [(172_800, 86_400, "days"), (5400, 3600, "h"), (120, 60, "min")];
    let tenths = |(least, unit, name): &(u64, u64, &str)| {
        let is_whole = length.subsec_nanos() == 0 && (length.as_secs() * 10).is_multiple_of(*unit);
        (is_whole && length.as_secs() >= *least).then(|| format!("{} {name}", length.as_secs() as f64 / *unit as f64))
    };
    UNITS.iter().find_map(tenths).unwrap_or_else(|| {
        let us = length.as_micros() as f64;
        match us < 1e6 {
            true => format!("{} ms", us / 1e3),
            false => format!("{} s", us / 1e6),
        }
    })
}

/// A row of the plan, and whether it is recommended.
type Listed<'a> = (&'a Row, bool);

/// The columns that are always shown.
fn usual_columns<'a>() -> [Column<Listed<'a>>; 10] {
    [
        ("TTL", |(row, is_best)| match is_best {
            true => Cell::new(Tone::Strong, format!("▶ {}", ttl(row))),
            false => Cell::plain(format!("  {}", ttl(row))),
        }),
        ("renew", |(row, _)| Cell::plain(row.setting.renewal.to_string())),
        ("P(overrun)", |(row, _)| Cell::plain(chance(&row.overrun, percent))),
        ("overlaps", |(row, _)| Cell::plain(chance(&row.overlaps_per_day, pace))),
        ("takeover mean", |(row, _)| Cell::plain(time(row.takeover_mean))),
        ("worst", |(row, _)| Cell::plain(ttl(row))),
        ("app server may pause", |(row, _)| Cell::plain(time(row.pause_survived))),
        ("restart delay", |(row, _)| Cell::plain(at_least(row.restart_delay))),
        ("renewals/s", |(row, _)| match row.setting.interval() {
            Some(_) => Cell::plain(small(row.renewals_per_second)),
            None => Cell::none(),
        }),
        ("verdict", |(row, _)| {
            let tone = if row.is_fit() { Tone::Good } else { Tone::Bad };
            Cell::new(tone, verdict(row))
        }),
    ]
}

/// A row for each setting.
pub(super) fn table(plan: &Plan) -> Table {
    let mut columns: Vec<Column<Listed<'_>, String>> = Vec::new();
    columns.extend(usual_columns().map(|(title, cell)| (title.to_owned(), cell)));
    if let Some(sections) = plan.question.sections {
        columns.insert(3, (format!("of {} (99 %)", count(sections)), predicted));
    }
    if plan.rows.iter().any(|row| row.simulated.is_some()) {
        columns.insert(3, ("simulated (95 %)".to_owned(), simulated));
    }
    let rows = plan.rows.iter().enumerate();
    let rows: Vec<Listed<'_>> = rows
        .map(|(place, row)| (row, plan.choice.best() == Some(place)))
        .collect();
    Table::of(&columns, &rows)
}

fn predicted((row, _): &Listed<'_>) -> Cell {
    match row.predicted.map(|predicted| predicted.interval) {
        None => Cell::none(),
        Some([low, high]) if low == high => Cell::plain(low.to_string()),
        Some([low, high]) => Cell::plain(format!("{} to {}", count(low), count(high))),
    }
}

fn simulated((row, _): &Listed<'_>) -> Cell {
    let Some(seen) = &row.simulated else {
        return Cell::none();
    };
    let (low, high) = seen.interval();
    let text = percents(low, high);
    match seen.violations {
        0 => Cell::plain(text),
        _ => Cell::new(Tone::Bad, format!("✖ a law of the lock was broken; {text}")),
    }
}

/// What was seen of a setting in virtual time; nothing if it was not played.
fn seen(row: &Row) -> Simulated {
    row.simulated.unwrap_or_default()
}

/// What the clients of each setting met in virtual time besides overruns; `None` if nothing was shared and nothing broke.
pub(super) fn clients_table(plan: &Plan) -> Option<Table> {
    let played = || plan.rows.iter().filter(|row| row.simulated.is_some());
    let met = |seen: Simulated| seen.overlaps + seen.takeovers.count > 0;
    let is_worth_it = played().any(|row| plan.clients || met(seen(row)));
    is_worth_it.then(|| Table::of(&CLIENTS, played()))
}

const CLIENTS: [Column<Row>; 9] = [
    ("virtual time", |row| Cell::plain(ttl(row))),
    ("renew", |row| Cell::plain(row.setting.renewal.to_string())),
    ("played", |row| Cell::plain(time(seen(row).seconds))),
    ("sections", |row| Cell::plain(count(seen(row).sections))),
    ("refused", |row| Cell::plain(count(seen(row).refused))),
    ("two holders", |row| match seen(row).overlaps {
        0 => Cell::plain("0"),
        some => Cell::new(Tone::Bad, count(some)),
    }),
    ("takeovers", |row| Cell::plain(count(seen(row).takeovers.count))),
    ("mean", |row| when_taken(row, seen(row).takeovers.mean())),
    ("worst", |row| when_taken(row, seen(row).takeovers.worst)),
];

fn when_taken(row: &Row, seconds: f64) -> Cell {
    match seen(row).takeovers.count {
        0 => Cell::none(),
        _ => Cell::plain(time(seconds)),
    }
}

/// The renewal intervals of the plan.
pub(super) fn renewals(plan: &Plan) -> Vec<Renewal> {
    let mut all: Vec<Renewal> = Vec::new();
    for row in &plan.rows {
        if !all.contains(&row.setting.renewal) {
            all.push(row.setting.renewal);
        }
    }
    all
}

/// How the curve of a renewal interval is called.
pub(super) fn curve_name(renewal: &Renewal) -> String {
    match renewal {
        Renewal::Off => "no renewal".to_owned(),
        renewal => format!("renewal {renewal}"),
    }
}

fn chance(chance: &Chance, write: fn(f64) -> String) -> String {
    let mark = if chance.is_extrapolated() { "~" } else { "" };
    format!("{mark}{}", write(chance.p))
}

fn verdict(row: &Row) -> String {
    if row.is_fit() {
        return match &row.lacks[..] {
            [] => "✔".to_owned(),
            lacks => format!(
                "✔ but {}",
                lacks.iter().map(|wish| word(*wish)).collect::<Vec<_>>().join(", ")
            ),
        };
    }
    let words: Vec<&str> = row
        .shortfalls
        .iter()
        .map(|shortfall| match shortfall {
            Shortfall::Risk => "overlaps",
            Shortfall::Unproven => "unproven",
            Shortfall::Takeover => "takeover",
            Shortfall::TwoHolders => "two holders",
            Shortfall::TooShort => "too short",
        })
        .collect();
    format!("✖ {}", words.join(", "))
}

/// What is behind a ✔ of a setting that lacks something.
const fn word(wish: Wish) -> &'static str {
    match wish {
        Wish::FailedRenewal => "renewal",
        Wish::Pause => "pause",
        Wish::Takeover => "takeover",
    }
}

/// What these words mean, if there are any in the table.
pub(super) fn what_is_lacking(plan: &Plan) -> Option<String> {
    let has = |wish: &Wish| plan.rows.iter().any(|row| row.is_fit() && row.lacks.contains(wish));
    let meaning = |wish: Wish| {
        let what = match wish {
            Wish::FailedRenewal => "lost when one renewal fails".to_owned(),
            Wish::Pause => format!("survives no pause of {}", time(plan.question.pause_with_room())),
            Wish::Takeover => "leaves less than a tenth of --takeover for the next attempt".to_owned(),
        };
        format!("{}: {what}", word(wish))
    };
    let all: Vec<String> = Wish::iter().filter(has).map(meaning).collect();
    (!all.is_empty()).then(|| format!("✔ but … achieves the goal, with little room. {}", all.join("; ")))
}

/// The recommendation: its mark, what that means, and a sentence.
pub(super) fn recommendation(plan: &Plan, given: &Given) -> (&'static str, Tone, String) {
    let assumed = match given.risk {
        None => " The goal is assumed: give yours, for example --risk 1/month.",
        Some(_) => "",
    };
    let goal = plan.question.goal;
    let named = |place: usize| name(&plan.rows[place]);
    match plan.choice {
        Choice::Best(place) => {
            let row = &plan.rows[place];
            let text = format!(
                "Use {}: {} of the sections outlast their lock, overlaps at this load: {}; after a crash the lock is free after {} on \
                 average and {} at most, and whoever waits asks again within another {}.{}{}{assumed}",
                named(place),
                none_or(&row.overrun, percent),
                none_or(&row.overlaps_per_day, pace),
                time(row.takeover_mean),
                ttl(row),
                time(row.asked_within),
                plan.why.as_ref().map_or(String::new(), |why| reason(plan, why)),
                caution(plan, row)
            );
            ("✔", Tone::Good, text)
        }
        Choice::TakeoverTooLong(place) => {
            // It is a sum of whole milliseconds but for what floats are off by.
            let longest_wait = Duration::from_millis(rounded(plan.rows[place].longest_wait() * 1e3));
            let text = format!(
                "No setting here meets both: {} is the shortest, to 1 ms, with so few overlaps, and others then wait up to {} after a \
                 crash. Allow --takeover {}, or make sections and pauses shorter, or fence the writes and allow more \
                 overlaps.{assumed}",
                named(place),
                exact(longest_wait),
                humantime::format_duration(longest_wait).to_string().replace(' ', "")
            );
            ("✖", Tone::Bad, text)
        }
        Choice::Unproven(place) => {
            let cure = match plan.rows[place].setting.interval() {
                None => "Measure more of them, renew the lock so that long sections do not matter",
                Some(_) => "Of a renewed lock that is the tail of the pauses: measure for longer, give them with --pause, raise --risk",
            };
            let text = format!(
                "Not proven: {} meets the goal only by the tail that was fitted to the measured values. {cure}, or fence the \
                 writes.{assumed}",
                named(place)
            );
            ("?", Tone::Doubt, text)
        }
        Choice::TwoHolders(place) => {
            let text = format!(
                "In virtual time locks had two holders with every setting that meets the goal: a node that had forgotten its keys came back \
                 before they had expired. {} would do if nodes stayed away for {}, or kept their keys.",
                named(place),
                time(plan.rows[place].restart_delay)
            );
            ("✖", Tone::Bad, text)
        }
        Choice::TooRisky(place) => {
            let row = &plan.rows[place];
            let text = format!(
                "No setting here meets the goal of {}; {} comes nearest with {}. Renew the lock, make sections or pauses shorter, \
                 allow more with --risk, or fence the writes: then a section that outlasts its lock does no harm.{assumed}",
                pace(goal.overlaps_per_day),
                named(place),
                chance(&row.overlaps_per_day, pace)
            );
            ("✖", Tone::Bad, text)
        }
        Choice::TooShort => (
            "✖",
            Tone::Bad,
            "Every TTL here is too short: the quorum answers when hardly anything is left of the validity. Name longer TTLs.".to_owned(),
        ),
    }
}

/// Why this setting of all that achieve the goal.
fn reason(plan: &Plan, why: &Why) -> String {
    if why.fits < 2 {
        return " No other setting here achieves the goal.".to_owned();
    }
    let with = |wishes: &[Wish]| {
        let word = |wish: &Wish| match wish {
            Wish::FailedRenewal => Some("a renewal may fail or there is none".to_owned()),
            Wish::Pause if why.pause <= LEAST_PAUSE => Some(format!(
                "a pause of {} is survived, which any machine may have",
                time(why.pause)
            )),
            Wish::Pause => Some(format!(
                "a pause of {} is survived, half again the longest",
                time(why.pause)
            )),
            Wish::Takeover => {
                let has_goal = plan.question.goal.takeover.is_some();
                has_goal.then(|| "a tenth of the takeover is left for the next attempt of who waits".to_owned())
            }
        };
        wishes.iter().filter_map(word).collect::<Vec<_>>().join(", and ")
    };
    let (has, lacks) = (with(&why.has), with(&why.lacks));
    let of = match has.is_empty() {
        true => "Of them".to_owned(),
        false => format!("Of those with which {has},"),
    };
    let is = if why.cheapest {
        "renews least"
    } else {
        "is the shortest, and of the shortest the one that renews least"
    };
    let lacks = match lacks.is_empty() {
        true => String::new(),
        false => format!(" With none of them {lacks}."),
    };
    format!(
        " {} settings here achieve the goal. {of} this one {is}.{lacks}",
        why.fits
    )
}

fn crashes(a_day: f64) -> String {
    match a_day {
        none if none <= 0.0 => "none".to_owned(),
        some => format!("{}, of an app server that holds a lock", pace(some)),
    }
}

/// A chance in a sentence.
fn none_or(chance: &Chance, write: fn(f64) -> String) -> String {
    match chance.p {
        none if none <= 0.0 && !chance.is_extrapolated() => "none".to_owned(),
        _ => self::chance(chance, write),
    }
}

/// What the recommendation leaves out.
fn caution(plan: &Plan, row: &Row) -> String {
    let mut text = String::new();
    if plan
        .timeouts
        .is_some_and(|timeouts| plan.question.hold.quantile_beyond(RARE) > timeouts.acquire)
    {
        text += " Sections may last longer than a client waits: a standby asks again whenever it has given up.";
    }
    if row.setting.interval().is_some() && plan.question.pauses.per_second <= 0.0 {
        let outages = plan.question.outages.as_ref().map_or("", |_| " and outages");
        text += &format!(
            " Only pauses{outages} make a renewed lock expire, and no pauses were assumed: name yours with --pause, or plan from a record."
        );
    }
    text
}

fn name(row: &Row) -> String {
    let ttl = ttl(row);
    let interval = match row.setting.renewal {
        Renewal::Off => return format!("TTL {ttl} without renewal"),
        Renewal::Every(interval) => interval,
        // Rounded up, it would be later than what was worked out.
        Renewal::Fraction(n) => {
            let millis = (row.setting.ttl / n).as_millis();
            Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
        }
    };
    format!("TTL {ttl} with a renewal every {}", exact(interval))
}

/// The figures of the recommended setting: a name, a value, and the formula that it comes from.
pub(super) fn sources(plan: &Plan, row: &Row) -> Vec<(&'static str, String, String)> {
    let question = &plan.question;
    let basis = match row.overrun.basis {
        Basis::Assumed => "as good as what was assumed".to_owned(),
        Basis::Measured(n) => format!("from {}", counted(n, "measured value", "measured values")),
        Basis::Extrapolated(n) => format!(
            "by the log-normal tail fitted to {}",
            counted(n, "measured value", "measured values")
        ),
    };
    let interval = match row.overrun.basis {
        Basis::Assumed => String::new(),
        _ => format!(", 95 % interval {}", percents(row.overrun.low, row.overrun.high)),
    };
    let overrun = match row.setting.interval() {
        None => "P(hold > TTL − 1 % − 2 ms − elapsed), and of a pause within the section",
        Some(_) if question.outages.is_some() => {
            "P(a pause outlasts what the last renewal has left, or an outage all renewals that are left)"
        }
        Some(_) => "P(a pause in the section outlasts what the last renewal has left)",
    };
    let mut lines = vec![
        (
            "P(overrun)",
            format!("{}{interval}", percent(row.overrun.p)),
            format!("{overrun}; {basis}"),
        ),
        (
            "overlaps",
            pace(row.overlaps_per_day.p),
            format!(
                "P(overrun) × {} sections a day × {} contended = {} a day",
                small(question.per_second * DAY),
                percent(question.contended),
                small(row.overlaps_per_day.p)
            ),
        ),
        (
            "takeover",
            format!("{} mean, {} worst", time(row.takeover_mean), ttl(row)),
            match row.setting.interval() {
                None => "TTL − E[H²] / 2 E[H], and the TTL".to_owned(),
                Some(_) => "TTL − the mean time since the last renewal, and the TTL".to_owned(),
            },
        ),
        (
            "blocked a day",
            time(row.blocked_per_day),
            format!("{}, × the mean takeover", crashes(question.crashes_per_second * DAY)),
        ),
        (
            "pause",
            time(row.pause_survived),
            match row.setting.interval() {
                None => "of the app server that holds the lock: what a section of median length leaves of the validity"
                    .to_owned(),
                Some(_) => "of the app server that holds the lock, at any time: TTL − 1 % − 2 ms − interval".to_owned(),
            },
        ),
        (
            "restart delay",
            at_least(row.restart_delay),
            "TTL + 1 % + 2 ms: a node without persistence stays away until its votes have expired".to_owned(),
        ),
        (
            "unavailable",
            at_least(row.unavailable),
            "after a crash of a majority of such nodes: the restart delay".to_owned(),
        ),
    ];
    lines.extend(sources_of_commands(plan, row));
    lines
}

/// The figures of its renewals and of the timeouts: a name, a value, and the formula that it comes from.
fn sources_of_commands(plan: &Plan, row: &Row) -> Vec<(&'static str, String, String)> {
    let mut lines = Vec::new();
    if row.setting.interval().is_some() {
        lines.push((
            "renewals",
            format!("{} a second and node", small(row.renewals_per_second)),
            "sections a second × E[⌊hold / interval⌋]".to_owned(),
        ));
        lines.push((
            "failed renewals",
            format!("{:.0} in a row do no harm", row.renewals_may_fail),
            "⌈TTL / interval⌉ − 2".to_owned(),
        ));
    }
    if let Some(timeouts) = plan.timeouts {
        lines.push((
            "node timeout",
            time(timeouts.node),
            "2 × the round trip's p99.99, 5 ms and 1 % of the TTL at least, a quarter of the validity at most, in whole milliseconds"
                .to_owned(),
        ));
        lines.push((
            "retries",
            format!("after {} + 0–{}", time(timeouts.retry_delay), time(timeouts.retry_delay)),
            "a median section, a tenth of the TTL and half of what it leaves of --takeover at most, two round trips at least; how many outlast a crashed holder depends on the \
             client: see below"
                .to_owned(),
        ));
        lines.push((
            "acquire timeout",
            time(timeouts.acquire),
            "TTL + 1 % + 2 ms + the longest delay + 2 node timeouts: the last attempt comes after the end of a crashed holder's lock".to_owned(),
        ));
    }
    lines
}
