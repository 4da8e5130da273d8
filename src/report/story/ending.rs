//! The end of a run: the verdict on each lock, and what happened.

use std::collections::BTreeMap;

use super::moments::{Moment, moments};
use super::verdict::order;
use crate::report::columns::{Arm, badge, judge, marked, sign, written};
use crate::report::paint::Tone;
use crate::report::table::{Cell, Contents, Head, Table};
use lockstorm_data::facts::{Event, EventKind};
use lockstorm_data::metrics::units::{count, micros, rounded};
use lockstorm_data::metrics::{Alarm, Evidence, Group, Metric, NO_OUTAGE};
use lockstorm_data::model::{CheckResult, printable};
use lockstorm_data::scenario::{Scenario, WorkloadSpec};
use lockstorm_judge::Outcome;

/// The most moments that an ending tells.
const MOMENTS: usize = 7;

/// The columns of the verdicts that stay however narrow the screen is: the lock, the verdict, what it cost.
const LEAST: usize = 3;

/// Figures that are no damage, and that a scenario may be about.
const PREDICTED: [Metric; 5] = [
    Metric::GaveUp,
    Metric::Missed,
    Metric::Aborted,
    Metric::AcquireMax,
    Metric::LostAtFailover,
];

/// The verdict on each lock, with what it cost by `first` and by the other damage that its workload knows, what else the scenario is about,
/// and why. What does not fit into `columns` is left out: first what else it is about, and then the cause.
pub(crate) fn verdicts(scenario: &Scenario, arms: &[Arm<'_>], first: Metric, columns: usize) -> Table {
    let is_predicted = |metric: &Metric| scenario.expect.iter().any(|expected| expected.metric == *metric);
    let mut predicted: Vec<Metric> = PREDICTED.into_iter().filter(is_predicted).collect();
    let mut shown = table(scenario, arms, first, &predicted);
    while shown.width() > columns && predicted.pop().is_some() {
        shown = table(scenario, arms, first, &predicted);
    }
    while shown.width() > columns && shown.head.len() > LEAST {
        shown.head.pop();
        shown.rows.iter_mut().for_each(|row| _ = row.pop());
    }
    shown
}

fn table(scenario: &Scenario, arms: &[Arm<'_>], first: Metric, predicted: &[Metric]) -> Table {
    let workload = &scenario.workload;
    let others = workload.about().display().verdicts.iter().copied();
    let others = others.filter(|metric| *metric != first);
    let others: Vec<Metric> = others.chain(predicted.iter().copied()).collect();
    let any = |is: fn(&Arm<'_>) -> bool| arms.iter().any(is);
    let has = [
        any(|arm| arm.nodes > 0),
        any(|arm| arm.figures.granted_by_old_master > 0),
        any(|arm| arm.figures.stuck.is_some_and(|stuck| stuck > 0)),
    ];
    let [has_nodes, has_old, has_stuck] = has;
    let order = order(scenario);
    let ends: Vec<[Cell; 2]> = order
        .iter()
        .map(|index| verdict(&arms[*index], &scenario.workload))
        .collect();
    // Words are aligned at the left.
    let [verdicts, causes] = [0, 1].map(|at| ends.iter().map(|end| end[at].text.chars().count()).max().unwrap_or(0));
    let verdict = Head::new(format!("{:<verdicts$}", "verdict")).of(Contents::Words);
    let mut head = vec![Head::new("lock"), verdict];
    head.extend([first].iter().chain(&others).map(|metric| Head::new(metric.title())));
    let shown = COLUMNS.iter().zip(has).filter(|(_, has)| *has);
    head.extend(shown.map(|((title, _), _)| Head::new(*title)));
    head.push(Head::new(format!("{:<causes$}", "why")).of(Contents::Sentences));
    // What was made up for later was lost all the same.
    let figure = |metric: Metric, arm: &Arm<'_>| {
        let worst = written(metric.peak(), arm);
        worst.map_or_else(Cell::none, |worst| marked(sign(judge(metric, arm)), worst, false))
    };
    let some = |n: Option<u64>| n.map_or_else(Cell::none, |n| Cell::plain(count(n)));
    let rows = order.iter().zip(ends).map(|(index, [end, cause])| {
        let arm = &arms[*index];
        let mut row = vec![Cell::plain(printable(arm.name))];
        row.push(Cell::new(end.tone, format!("{:<verdicts$}", end.text)));
        row.extend([first].iter().chain(&others).map(|metric| figure(*metric, arm)));
        row.extend(has_nodes.then(|| down_for(arm)));
        row.extend(has_old.then(|| some(arm.has(Group::Masters).then_some(arm.figures.granted_by_old_master))));
        row.extend(has_stuck.then(|| some(arm.figures.stuck)));
        row.push(Cell::new(cause.tone, format!("{:<causes$}", cause.text)));
        row
    });
    let rows = rows.collect();
    Table { head, rows }
}

/// What only some verdicts need, and what it means.
const COLUMNS: [(&str, &str); 3] = [
    (
        "down for",
        "the longest time in which a lock without a holder was refused",
    ),
    (
        "old master",
        "locks that a replaced master granted: others may hold them too",
    ),
    ("stuck", "locks that nobody could get at the end"),
];

/// What the columns of the verdicts mean that don't explain themselves.
pub(crate) fn legend(verdicts: &Table, arms: &[Arm<'_>], workload: &WorkloadSpec) -> String {
    let is_there = |title: &str| verdicts.head.iter().any(|head| head.title == title);
    let shown = COLUMNS.iter().filter(|(title, _)| is_there(title));
    let mut parts: Vec<String> = shown.map(|(title, means)| format!("{title}: {means}")).collect();
    let of_workload = workload.about().display().verdicts.iter();
    let explained = of_workload.clone().filter(|metric| is_there(metric.title()));
    let worst = |metric: &Metric| if metric.peak() == *metric { "" } else { "at worst, " };
    parts.extend(explained.map(|metric| format!("{}: {}{}", metric.title(), worst(metric), metric.in_short())));
    parts.extend(
        of_workload
            .filter(|metric| is_there(metric.title()))
            .filter_map(|metric| {
                let Alarm::Damage(Evidence { until, shows, .. }) = metric.row().alarm else {
                    return None;
                };
                let is_open = |arm: &Arm<'_>| judge(*metric, arm).is_open() && !shows(arm.figures);
                arms.iter()
                    .any(is_open)
                    .then(|| format!("? 0: nothing seen, but {} can't show until {until}", metric.title()))
            }),
    );
    parts.join(" · ")
}

/// Which locks held and which did not, in a sentence; `None` if nothing is known of any.
pub(crate) fn conclusion(scenario: &Scenario, arms: &[Arm<'_>], events: &[Event]) -> Option<String> {
    let outcome = |index: usize| arms[index].judged.outcome;
    let named = |wanted: fn(Outcome) -> bool| {
        let names = order(scenario).into_iter().filter(|index| wanted(outcome(*index)));
        names
            .map(|index| printable(arms[index].name))
            .collect::<Vec<_>>()
            .join(", ")
    };
    // Not every fault tests every lock.
    let mut held: Vec<(String, Vec<String>)> = Vec::new();
    for index in order(scenario)
        .into_iter()
        .filter(|index| outcome(*index) == Outcome::Held)
    {
        let (against, name) = (against(&arms[index], events), printable(arms[index].name));
        match held.iter_mut().find(|(faults, _)| *faults == against) {
            Some((_, names)) => names.push(name),
            None => held.push((against, vec![name])),
        }
    }
    let held = held
        .into_iter()
        .map(|(against, names)| (format!("held{against}"), names.join(", ")));
    // Of an arm in doubt that is said elsewhere.
    let not_shown = order(scenario)
        .into_iter()
        .filter(|index| outcome(*index) == Outcome::NotShown && !arms[*index].is_doubted());
    let not_shown: Vec<String> = not_shown.map(|index| printable(arms[index].name)).collect();
    let others = [
        ("not shown", not_shown.join(", ")),
        ("did not hold", named(Outcome::is_broken)),
    ];
    let untested = arms.iter().filter(|arm| arm.judged.is_untested);
    let untested: Vec<String> = untested.map(|arm| printable(arm.name)).collect();
    let said = held.chain(others.map(|(what, names)| (what.to_owned(), names)));
    let said = said.chain([("no fault tested".to_owned(), untested.join(", "))]);
    let said = said.filter(|(_, names)| !names.is_empty());
    let said: Vec<String> = said.map(|(what, names)| format!("{what}: {names}")).collect();
    let mut sentence = said.join(" · ");
    sentence.get_mut(..1)?.make_ascii_uppercase();
    Some(sentence)
}

/// The most faults that are named one by one.
const NAMED: usize = 4;

/// The faults that have tested the locks of an arm: ` against kill host 1, pause app server 2`; nothing if there are none.
fn against(arm: &Arm<'_>, events: &[Event]) -> String {
    let fault_of = |id: u64| {
        let event = events.iter().find(|event| event.id == id)?;
        match event.kind {
            // What the end of a fault brings about is the fault's.
            EventKind::Fault { ends: Some(fault), .. } => events.iter().find(|event| event.id == fault),
            _ => Some(event),
        }
    };
    let tested = arm.judged.tested_by.iter().filter_map(|id| fault_of(*id));
    let tested: BTreeMap<u64, &Event> = tested.map(|event| (event.id, event)).collect();
    let mut names: Vec<String> = Vec::new();
    for event in tested.values() {
        if let EventKind::Fault { action, target, .. } = &event.kind {
            let name = action.on(target);
            names.extend((!names.contains(&name)).then_some(name));
        }
    }
    match names.len() {
        0 if arm.judged.meets_no_fault => ", although no fault tested it".to_owned(),
        0 => String::new(),
        n if n > NAMED => format!(" against {n} kinds of fault"),
        _ => format!(" against {}", names.join(", ")),
    }
}

/// What to use: the scenario's lesson, if everything came as it predicts.
pub(crate) fn lesson(scenario: &Scenario, results: impl Iterator<Item = CheckResult>) -> Option<&str> {
    let lesson = scenario.lesson.as_deref()?;
    let held = results.filter(|result| *result == CheckResult::Held).count();
    // Of a run that was killed there are no results.
    (held > 0 && held == scenario.expect.len()).then_some(lesson)
}

/// The verdict on one arm, and its cause.
fn verdict(arm: &Arm<'_>, workload: &WorkloadSpec) -> [Cell; 2] {
    let cause = arm.judged.causes.first().map(|cause| cause.words(workload));
    let cell = marked(badge(arm.judged.outcome), arm.judged.word(workload).to_owned(), false);
    let tone = cell.tone;
    [cell, Cell::new(tone, cause.unwrap_or_default())]
}

/// How long the lock was unavailable at most.
fn down_for(arm: &Arm<'_>) -> Cell {
    let longest = arm.figures.longest_outage();
    match longest.lasted_us {
        _ if !arm.has(Group::Servers) || arm.figures.outages_known() == 0 => Cell::none(),
        0 => Cell::plain(NO_OUTAGE.to_owned()),
        us if longest.over => Cell::plain(micros(us)),
        us => Cell::new(Tone::Doubt, format!("{}…end", micros(us))),
    }
}

/// What happened, a line each: its time, and words.
pub(crate) fn happened(events: &[Event], arms: &[Arm<'_>], workload: &WorkloadSpec) -> Vec<(f64, Tone, String)> {
    let cost = workload.about().display().cost;
    let mut all = moments(events, arms, cost);
    // Warnings have a place of their own.
    all.retain(|moment| !moment.is_warning);
    // Of many, those that meant something are worth more, and most of all what faults meant.
    for is_worth in [
        |moment: &Moment| !moment.meant.is_empty(),
        |moment: &Moment| moment.letter.is_some(),
    ] {
        if all.len() > MOMENTS && all.iter().any(is_worth) {
            all.retain(is_worth);
        }
    }
    let more = all.len().saturating_sub(MOMENTS);
    let line = |moment: Moment| {
        let tone = if moment.is_bad { Tone::Bad } else { Tone::Plain };
        (moment.at, tone, moment.in_words())
    };
    let mut lines: Vec<_> = all.into_iter().take(MOMENTS).map(line).collect();
    if let Some((at, ..)) = lines.last().filter(|_| more > 0) {
        lines.push((*at, Tone::Plain, format!("… and {more} more: the events have them")));
    }
    if let Some((at, words)) = made_up(arms, cost).filter(|_| !lines.is_empty()) {
        lines.push((at, Tone::Plain, words));
    }
    lines
}

/// The damage of a stock that later sales compensated, and when the run ended: the moments count it, the final figure does not.
fn made_up(arms: &[Arm<'_>], cost: Metric) -> Option<(f64, String)> {
    let with_lock = arms
        .iter()
        .filter(|arm| arm.has(Group::Locks) && arm.has(Group::Inventory));
    let mut end = None;
    let parts = with_lock.filter_map(|arm| {
        let series = arm.series?;
        end = end.max(series.newest().map(|point| point.time + 1));
        let all: u64 = series.iter().filter_map(|point| point.of(cost)).sum();
        let over = all.saturating_sub(rounded(cost.peak().of(arm.figures)));
        (over > 0).then(|| format!("{} {} of {}", printable(arm.name), count(over), count(all)))
    });
    let parts: Vec<String> = parts.collect();
    let end = end.filter(|_| !parts.is_empty())?;
    Some((
        end as f64,
        format!(
            "in all, later sales made up for overwritten ones → {}",
            parts.join(", ")
        ),
    ))
}

/// How many predictions came true: `8 of 8 predictions of the scenario came true`.
pub(crate) fn tally(results: impl Iterator<Item = CheckResult>) -> Option<(Tone, String)> {
    let results: Vec<CheckResult> = results.collect();
    let number = |wanted| results.iter().filter(|result| **result == wanted).count();
    let (held, failed, open) = (
        number(CheckResult::Held),
        number(CheckResult::Failed),
        number(CheckResult::Inconclusive),
    );
    let tone = match (failed, open) {
        (0, 0) => Tone::Good,
        (0, _) => Tone::Doubt,
        _ => Tone::Bad,
    };
    let open = if open > 0 {
        format!(", {open} inconclusive")
    } else {
        String::new()
    };
    (!results.is_empty()).then(|| {
        (
            tone,
            format!(
                "{held} of {} predictions of the scenario came true{open}",
                results.len()
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::story::verdict::counted;
    use lockstorm_data::metrics::Figures;
    use lockstorm_data::scenario::{Overrides, Source, parse};

    #[test]
    fn what_to_use_is_told_only_if_everything_came_as_predicted() {
        let source = Source::open("failover").expect("it is built in");
        let mut scenario = parse(&source, &Overrides::default()).expect("it is valid");
        let told = |scenario: &Scenario, results: &[CheckResult]| lesson(scenario, results.iter().copied()).is_some();
        scenario.expect.truncate(2);
        let [held, failed, open] = [CheckResult::Held, CheckResult::Failed, CheckResult::Inconclusive];
        assert!(told(&scenario, &[held, held]));
        assert!(!told(&scenario, &[held, failed]) && !told(&scenario, &[held, open]));
        assert!(!told(&scenario, &[]), "a run that was killed has no results");
        scenario.expect.clear();
        assert!(!told(&scenario, &[]), "nothing was predicted");
    }

    #[test]
    fn what_a_scenario_is_about_has_a_column_where_there_is_room_and_gives_way_before_the_cause() {
        let heads = |name: &str, columns: usize| {
            let source = Source::open(name).expect("it is built in");
            let scenario = parse(&source, &Overrides::default()).expect("it is valid");
            let figures = Figures::default();
            let arms: Vec<Arm<'_>> = scenario.arms.iter().map(|_| Arm::of_figures(&figures)).collect();
            let heads = verdicts(&scenario, &arms, counted(&scenario), columns).head;
            heads
                .into_iter()
                .map(|head| head.title.trim().to_owned())
                .collect::<Vec<_>>()
        };
        let has = |heads: &[String], title: &str| heads.iter().any(|head| head == title);
        let of_payment: Vec<_> = (40..120).map(|columns| heads("payment", columns)).collect();
        let both = |gave_up, why| {
            let is_so = |heads: &&Vec<String>| has(heads, "gave up") == gave_up && has(heads, "why") == why;
            of_payment.iter().filter(is_so).count()
        };
        assert!(both(true, true) > 0 && both(false, true) > 0 && both(false, false) > 0);
        assert_eq!(both(true, false), 0, "{of_payment:?}");
        assert!(has(&heads("job-twice", 120), "missed"));
        assert!(!has(&heads("failover", 120), "gave up"), "nothing is predicted of it");
    }
}
