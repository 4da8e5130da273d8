//! What a plan says, for the text and for the page: what was asked, a table, the recommendation, where its figures come from.

use crate::report::figures::{percent, small, time};
use crate::report::paint::Tone;
use crate::report::table::{Cell, Column, Table};
use lockstorm_data::metrics::units::{count, counted};
use lockstorm_data::model::setting;
use lockstorm_plan::{Basis, Chance, Choice, Plan, Question, Renewal, Row, Shortfall, Simulated, Spread};

/// What is extrapolated.
pub(super) const EXTRAPOLATED: &str =
    "~ extrapolated: beyond what the measured values can show (three of them), by a fitted log-normal tail";

/// What a takeover is in virtual time.
pub(super) const TAKEOVERS: &str = "takeovers: from the death of a holder until somebody got its lock; where few ask for it, that is how long nobody asked";

/// Which parts of the question were given; the others are assumed or come from the record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given {
    /// The arm of the record, if there is one.
    pub record: Option<String>,
    /// `--rtt`.
    pub round_trip: bool,
    /// `--pause`.
    pub pauses: bool,
    /// `--rate`.
    pub rate: bool,
}

fn spread(spread: &Spread) -> String {
    match spread {
        Spread::Constant(always) => time(*always),
        Spread::LogNormal { median, sigma } => format!("log-normal, median {}, sigma {sigma}", time(*median)),
        Spread::Measured(measured) => format!(
            "{} measured: median {}, p99 {}",
            counted(measured.count(), "value", "values"),
            time(spread.quantile(0.5)),
            time(spread.quantile(0.99))
        ),
    }
}

/// What was asked: a name and a value for each line.
pub(super) fn asked(question: &Question, given: &Given) -> Vec<(&'static str, String)> {
    let origin = |is_given: bool| match (is_given, given.record.is_some()) {
        (true, _) => "",
        (false, true) => " (from the record)",
        (false, false) => " (assumed)",
    };
    let pauses = match question.pauses.per_second {
        none if none <= 0.0 => "none".to_owned(),
        often => format!(
            "{} an hour and app server, {}",
            small(often * 3600.0),
            spread(&question.pauses.length)
        ),
    };
    let arm = given.record.as_ref();
    let arm = arm.map_or(String::new(), |arm| format!(" (arm \"{arm}\")"));
    let load = format!("{} sections a second", small(question.per_second));
    let goal = question.goal;
    let takeover = goal.takeover;
    let takeover = takeover.map_or(String::new(), |most| format!(", takeover within {}", time(most)));
    let goal = format!("at most {} overlaps a day{takeover}", small(goal.overlaps_per_day));
    vec![
        ("sections", spread(&question.hold) + &arm),
        ("round trip", spread(&question.round_trip) + origin(given.round_trip)),
        ("pauses", pauses + origin(given.pauses)),
        ("load", load + origin(given.rate)),
        ("nodes", counted(question.nodes as u64, "node", "nodes")),
        ("goal", goal),
    ]
}

/// A row of the plan, and whether it is recommended.
type Listed<'a> = (&'a Row, bool);

/// The columns that are always shown.
fn usual_columns<'a>() -> [Column<Listed<'a>>; 10] {
    [
        ("TTL", |(row, is_best)| match is_best {
            true => Cell::new(Tone::Strong, format!("▶ {}", setting(row.setting.ttl))),
            false => Cell::plain(format!("  {}", setting(row.setting.ttl))),
        }),
        ("renew", |(row, _)| Cell::plain(row.setting.renewal.to_string())),
        ("P(overrun)", |(row, _)| Cell::plain(chance(&row.overrun, percent))),
        ("overlaps/day", |(row, _)| {
            Cell::plain(chance(&row.overlaps_per_day, small))
        }),
        ("takeover mean", |(row, _)| Cell::plain(time(row.takeover_mean))),
        ("worst", |(row, _)| Cell::plain(time(row.takeover_worst))),
        ("survives a pause of", |(row, _)| Cell::plain(time(row.pause_survived))),
        ("restart delay", |(row, _)| Cell::plain(time(row.restart_delay))),
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
    let text = format!("{} to {}", percent(low), percent(high));
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
    let met = |seen: Simulated| seen.refused + seen.overlaps + seen.takeovers.count > 0;
    let is_worth_it = played().any(|row| plan.clients || met(seen(row)));
    is_worth_it.then(|| Table::of(&CLIENTS, played()))
}

const CLIENTS: [Column<Row>; 9] = [
    ("virtual time", |row| Cell::plain(setting(row.setting.ttl))),
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

/// How often sections outlast their lock, as it is drawn: what is rarer is at the bottom.
pub(super) fn drawn_overrun(row: &Row) -> f64 {
    row.overrun.p.max(1e-12)
}

/// How long takeovers take, as it is drawn.
pub(super) fn drawn_takeover(row: &Row) -> f64 {
    row.takeover_mean.max(1e-4)
}

fn chance(chance: &Chance, write: fn(f64) -> String) -> String {
    let mark = if chance.is_extrapolated() { "~" } else { "" };
    format!("{mark}{}", write(chance.p))
}

fn verdict(row: &Row) -> String {
    if row.is_fit() {
        return "✔".to_owned();
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

/// The recommendation: its mark, what that means, and a sentence.
pub(super) fn recommendation(plan: &Plan) -> (&'static str, Tone, String) {
    let goal = plan.question.goal;
    let named = |place: usize| name(&plan.rows[place]);
    match plan.choice {
        Choice::Best(place) => {
            let row = &plan.rows[place];
            let text = format!(
                "Use {}: {} of the sections outlast their lock, {} overlaps a day at this load; after a crash others wait {} on \
                 average and {} at most.{}",
                named(place),
                none(chance(&row.overrun, percent)),
                none(chance(&row.overlaps_per_day, small)),
                time(row.takeover_mean),
                time(row.takeover_worst),
                caution(plan, row)
            );
            ("✔", Tone::Good, text)
        }
        Choice::TakeoverTooLong(place) => {
            let row = &plan.rows[place];
            let text = format!(
                "No setting meets both: {} is the shortest with so few overlaps, and others then wait up to {} after a crash. Allow \
                 --takeover {}, or make sections and pauses shorter, or fence the writes and allow more overlaps.",
                named(place),
                time(row.takeover_worst),
                humantime::format_duration(row.setting.ttl)
            );
            ("✖", Tone::Bad, text)
        }
        Choice::Unproven(place) => {
            let text = format!(
                "Not proven: {} meets the goal only by the tail that was fitted to the measured values. Measure more of them, renew \
                 the lock so that long sections do not matter, or fence the writes.",
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
                "No setting here meets {} overlaps a day; {} comes nearest with {}. Renew the lock, make sections or pauses shorter, \
                 allow more with --risk, or fence the writes: then a section that outlasts its lock does no harm.",
                small(goal.overlaps_per_day),
                named(place),
                chance(&row.overlaps_per_day, small)
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

fn crashes(a_day: f64) -> String {
    let number = small(a_day);
    format!(
        "{number} {} of holders",
        if number == "1" { "crash" } else { "crashes" }
    )
}

fn none(figure: String) -> String {
    if figure == "0" { "none".to_owned() } else { figure }
}

/// What the recommendation leaves out.
fn caution(plan: &Plan, row: &Row) -> &'static str {
    if row.setting.interval().is_some() && plan.question.pauses.per_second <= 0.0 {
        " Only pauses make a renewed lock expire, and none were assumed: name yours with --pause, or plan from a record."
    } else {
        ""
    }
}

fn name(row: &Row) -> String {
    let ttl = setting(row.setting.ttl);
    match row.setting.interval() {
        None => format!("TTL {ttl} without renewal"),
        Some(interval) => format!("TTL {ttl} with a renewal every {}", time(interval)),
    }
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
        _ => format!(
            ", 95 % interval {} to {}",
            percent(row.overrun.low),
            percent(row.overrun.high)
        ),
    };
    let overrun = match row.setting.interval() {
        None => "P(hold > TTL − 1 % − 2 ms − elapsed), and of a pause within the section",
        Some(_) => "P(a pause in the section outlasts what the last renewal has left)",
    };
    let mut lines = vec![
        (
            "P(overrun)",
            format!("{}{interval}", percent(row.overrun.p)),
            format!("{overrun}; {basis}"),
        ),
        (
            "overlaps a day",
            small(row.overlaps_per_day.p),
            format!(
                "P(overrun) × {} sections a day × {} contended",
                small(question.per_second * 86_400.0),
                percent(question.contended)
            ),
        ),
        (
            "takeover",
            format!("{} mean, {} worst", time(row.takeover_mean), time(row.takeover_worst)),
            match row.setting.interval() {
                None => "TTL − E[H²] / 2 E[H], and the TTL".to_owned(),
                Some(_) => "TTL − the mean time since the last renewal, and the TTL".to_owned(),
            },
        ),
        (
            "blocked a day",
            time(row.blocked_per_day),
            format!(
                "{} a day × the mean takeover",
                crashes(question.crashes_per_second * 86_400.0)
            ),
        ),
        (
            "pause survived",
            time(row.pause_survived),
            match row.setting.interval() {
                None => "what a median section leaves of the validity".to_owned(),
                Some(_) => "TTL − 1 % − 2 ms − interval".to_owned(),
            },
        ),
        (
            "restart delay",
            time(row.restart_delay),
            "TTL + 1 % + 2 ms: a node without persistence stays away until its votes have expired".to_owned(),
        ),
        (
            "unavailable",
            time(row.unavailable),
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
            "2 × the round trip's p99.99, 5 ms at least, a quarter of the validity at most".to_owned(),
        ));
        lines.push((
            "retries",
            format!(
                "{}, every {} + 0–{}",
                timeouts.retries,
                time(timeouts.retry_delay),
                time(timeouts.retry_delay)
            ),
            "TTL / (delay + half of the jitter + round trip): enough to outlast a crashed holder".to_owned(),
        ));
        lines.push((
            "acquire timeout",
            time(timeouts.acquire),
            "TTL + one more attempt".to_owned(),
        ));
    }
    lines
}
