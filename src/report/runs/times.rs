//! What faults did to the time that locks take: for how long they could not be had, and how long it took to get one between faults.

use super::group::Runs;
use super::spread::range;
use crate::report::figures::moment;
use crate::report::paint::Tone;
use crate::report::story::order;
use crate::report::table::{Cell, Head, Table};
use lockstorm_data::facts::Event;
use lockstorm_data::metrics::units::{micros, rounded};
use lockstorm_data::metrics::{NotAHistogram, PhaseTimes, Time, histogram};
use lockstorm_data::model::printable;
use lockstorm_run::{ArmRecord, Record};

/// Fewer values than this beyond a percentile say nothing about it.
const BEYOND: f64 = 10.0;

/// What the columns mean.
pub(super) const MEANS: &str = "p50 · p99 · p99.9 of the locks that were granted until the next fault or its end; – where fewer than ten of them took \
     longer · unavailable: from the fault, or from when it made a master a replica, until a lock could be had again";

/// A row for each arm with lock nodes, and for each part of the runs between faults how long its lock was unavailable, and p50, p99
/// and p99.9 of the locks that were granted. In several runs together, of those whose faults came in the same order as in the first;
/// the number is that of these runs.
///
/// # Errors
/// A text is not a histogram: another program wrote the record.
pub(super) fn times(runs: &Runs) -> Result<Option<(Table, usize)>, NotAHistogram> {
    let first = runs.first();
    // Of a run that was killed there are no parts.
    let Some(parts) = with_nodes(first)
        .next()
        .map(|arm| &arm.phases)
        .filter(|parts| !parts.is_empty())
    else {
        return Ok(None);
    };
    let alike: Vec<&Record> = runs.all().iter().filter(|run| names(run) == names(first)).collect();
    let has_outage = |place: usize| {
        let mut arms = alike.iter().flat_map(|run| with_nodes(run));
        arms.any(|arm| outage(arm, place).is_some_and(|(us, _)| us > 0))
    };
    let mut head = vec!["lock".to_owned()];
    for (place, (part, name)) in parts.iter().zip(names(first)).enumerate() {
        // Faults that wait for something come at other times in other runs.
        let name = if alike.len() > 1 || part.events.is_empty() {
            name
        } else {
            let begun = first.events.iter().find(|event| part.events.first() == Some(&event.id));
            let at = begun.map_or(part.from, Event::came_true_at);
            format!("{} s, {name}", moment(at))
        };
        if has_outage(place) {
            head.extend([format!("{name}: unavailable"), "then".to_owned()]);
        } else {
            head.push(name);
        }
    }
    let mut rows = Vec::new();
    for index in order(runs.scenario()) {
        let Some(arm) = first.arms.get(index).filter(|arm| has_nodes(arm)) else {
            continue;
        };
        let arms: Vec<&ArmRecord> = alike.iter().filter_map(|run| run.arms.get(index)).collect();
        let mut row = vec![Cell::new(Tone::Strong, printable(&arm.name))];
        for place in 0..parts.len() {
            if has_outage(place) {
                row.push(unavailable(arms.iter().map(|arm| outage(arm, place))));
            }
            row.push(granted(&arms, place)?);
        }
        rows.push(row);
    }
    let head = head.into_iter().map(Head::new).collect();
    Ok(Some((Table { head, rows }, alike.len())))
}

const fn has_nodes(arm: &ArmRecord) -> bool {
    arm.node_timeout.is_some()
}

fn with_nodes(record: &Record) -> impl Iterator<Item = &ArmRecord> {
    record.arms.iter().filter(|arm| has_nodes(arm))
}

/// What each part between faults began with.
fn names(record: &Record) -> Vec<String> {
    let text = |id: &u64| {
        let event = record.events.iter().find(|event| event.id == *id)?;
        // What it meant, and how it was proved, stand elsewhere.
        Some(printable(&event.headline()))
    };
    let parts = with_nodes(record).next().map_or(&[][..], |arm| &arm.phases);
    let name = |part: &PhaseTimes| match part.events.as_slice() {
        [] if parts.len() == 1 => "in the whole run".to_owned(),
        [] => "before any fault".to_owned(),
        events => events.iter().filter_map(text).collect::<Vec<_>>().join(", "),
    };
    parts.iter().map(name).collect()
}

/// The longest time in microseconds for which an arm's lock was unavailable after what this part began with, and whether it was over.
fn outage(arm: &ArmRecord, place: usize) -> Option<(u64, bool)> {
    let of_part = arm.figures.outages.iter().filter(|outage| {
        let known = |event: u64| arm.phases.iter().position(|part| part.events.contains(&event));
        // Of a master that became a replica there is no part of its own.
        let since = || arm.phases.iter().rposition(|part| part.from <= outage.at);
        outage.event.and_then(known).or_else(since) == Some(place)
    });
    let longest = of_part.max_by_key(|outage| outage.lasted_us);
    longest.map(|outage| (outage.lasted_us, outage.over))
}

fn unavailable(runs: impl Iterator<Item = Option<(u64, bool)>>) -> Cell {
    let outages: Vec<(u64, bool)> = runs.flatten().collect();
    let values = outages.iter().map(|(us, over)| (*us as f64, !over));
    let Some(text) = range(values.collect(), |us| micros(rounded(us))) else {
        return Cell::none();
    };
    let is_open = outages.iter().any(|(_, over)| !over);
    Cell::new(if is_open { Tone::Doubt } else { Tone::Plain }, text)
}

fn granted(arms: &[&ArmRecord], place: usize) -> Result<Cell, NotAHistogram> {
    let mut granted = histogram();
    for part in arms.iter().filter_map(|arm| arm.phases.get(place)) {
        if let Some(text) = part.histograms.get(&Time::Acquired) {
            // The histogram resizes itself, so no value is out of range.
            let _ = granted.add(text.decode()?);
        }
    }
    if granted.is_empty() {
        return Ok(Cell::new(Tone::Doubt, "none granted"));
    }
    let at = |quantile: f64| match (1.0 - quantile) * granted.len() as f64 {
        beyond if beyond < BEYOND && quantile > 0.5 => "–".to_owned(),
        _ => micros(granted.value_at_quantile(quantile)),
    };
    Ok(Cell::plain([0.5, 0.99, 0.999].map(at).join(" · ")))
}
