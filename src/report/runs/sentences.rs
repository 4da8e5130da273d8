//! What runs have shown, in sentences.

use super::group::Runs;
use super::verdicts::name;
use crate::report::columns::Arm;
use crate::report::figures::small;
use crate::report::paint::Tone;
use crate::report::story::{conclusion, counted, is_control, lesson, order, tally};
use lockstorm_data::metrics::units::counted as number;
use lockstorm_data::model::{CheckResult, printable};
use lockstorm_judge::Outcome;
use lockstorm_plan::compare::{Compared, Comparison};
use lockstorm_run::Record;

/// What the runs have shown, in a sentence or two.
pub(super) fn sentences(runs: &Runs) -> Vec<(Tone, String)> {
    let (scenario, all) = (runs.scenario(), runs.all());
    let mut said = Vec::new();
    if let [only] = all {
        said.extend(conclusion(scenario, &Arm::all_of_record(only), &only.events).map(|said| (Tone::Plain, said)));
    } else {
        let of = all.len();
        let arms = order(scenario)
            .into_iter()
            .filter(|index| !is_control(scenario, *index));
        let (mut held, mut failed, mut open) = (Vec::new(), Vec::new(), Vec::new());
        for arm in arms {
            let (mut safe, mut unsafe_in) = (0, 0);
            for outcome in runs.arm(arm).iter().map(|arm| arm.judged.outcome) {
                safe += usize::from(outcome == Outcome::Held);
                unsafe_in += usize::from(outcome.is_broken());
            }
            let name = name(scenario, arm);
            match (safe, unsafe_in) {
                (safe, 0) if safe == of => held.push(name),
                (safe, 0) => open.push(format!("{name} in {} of {of}", of - safe)),
                (_, failures) => failed.push(format!("{name} in {failures} of {of}")),
            }
        }
        for (tone, head, names) in [
            (Tone::Good, format!("Held in all {of} runs"), held),
            (Tone::Bad, "Did not hold".to_owned(), failed),
            (Tone::Doubt, "Not shown".to_owned(), open),
        ] {
            if !names.is_empty() {
                said.push((tone, format!("{head}: {}", names.join(", "))));
            }
        }
    }
    let cut_short = all.iter().filter(|record| record.interrupted).count();
    if cut_short > 0 {
        let runs = number(cut_short as u64, "run was", "runs were");
        said.push((
            Tone::Doubt,
            format!("{runs} interrupted: what came later has not been put to the test"),
        ));
    }
    let results = |record: &Record| -> Vec<CheckResult> {
        let all = record.expectations.iter();
        all.map(|checked| checked.result).collect()
    };
    let lessons = all.iter().map(|record| lesson(scenario, results(record).into_iter()));
    let lesson = lessons.collect::<Option<Vec<_>>>().and_then(|all| all.first().copied());
    said.extend(lesson.map(|lesson| (Tone::Plain, printable(lesson))));
    said.extend(tally(all.iter().flat_map(results)));
    said
}

/// Whether the damage of the other locks is shown to be worse than that of the first one that held in all runs; `None` of one run, or if
/// no lock did.
pub(super) fn against_best(runs: &Runs) -> Option<String> {
    let (scenario, all) = (runs.scenario(), runs.all());
    let metric = counted(scenario).peak();
    let mut arms = order(scenario)
        .into_iter()
        .filter(|index| !is_control(scenario, *index));
    let held = |index: &usize| {
        let mut of_all = runs.arm(*index).into_iter();
        of_all.all(|arm| arm.judged.outcome == Outcome::Held)
    };
    let best = arms.find(held).filter(|_| all.len() > 1)?;
    let best = &scenario.arms[best].name;
    let (mut worse, mut open, mut most, mut takes) = (Vec::new(), Vec::new(), 0.0_f64, None);
    for index in order(scenario)
        .into_iter()
        .filter(|index| !is_control(scenario, *index))
    {
        let other = &scenario.arms[index].name;
        if other == best {
            continue;
        }
        let comparison = Comparison::of_arms(all, [best, other]).ok()?;
        let row = comparison.rows.iter().find(|row| row.figure == Compared::Run(metric))?;
        if row.is_worse() {
            worse.push(name(scenario, index));
            most = most.max(row.p.unwrap_or(1.0));
        } else {
            open.push(name(scenario, index));
            takes = Some(comparison.takes).filter(|_| comparison.is_blind());
        }
    }
    let title = Compared::Run(metric).title();
    let shown = format!(
        "Shown to be worse than {best} by {title}: {} (p ≤ {})",
        worse.join(", "),
        small(most)
    );
    let takes = takes.map_or_else(String::new, |takes| format!(" (it takes {takes} runs)"));
    let not_shown = format!("Not shown to be worse than {best}: {}{takes}", open.join(", "));
    let said = [(worse.is_empty(), shown), (open.is_empty(), not_shown)];
    let said: Vec<String> = said
        .into_iter()
        .filter(|(is_empty, _)| !is_empty)
        .map(|(_, words)| printable(&words) + ".")
        .collect();
    (!said.is_empty()).then(|| said.join(" "))
}
