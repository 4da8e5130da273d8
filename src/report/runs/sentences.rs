//! What runs have shown, in sentences.

use super::group::Runs;
use super::verdicts::{name, verdict};
use crate::report::columns::Arm;
use crate::report::paint::Tone;
use crate::report::story::{Verdict, conclusion, is_control, lesson, order, tally};
use lockstorm_data::metrics::units::counted as number;
use lockstorm_data::model::{CheckResult, printable};
use lockstorm_run::Record;

/// What the runs have shown, in a sentence or two.
pub(super) fn sentences(runs: &Runs) -> Vec<(Tone, String)> {
    let (scenario, all) = (runs.scenario(), runs.all());
    let mut said = Vec::new();
    if let [only] = all {
        said.extend(conclusion(scenario, &Arm::all_of_record(only)).map(|said| (Tone::Plain, said)));
    } else {
        let of = all.len();
        let arms = order(scenario)
            .into_iter()
            .filter(|index| !is_control(scenario, *index));
        let (mut held, mut failed, mut open) = (Vec::new(), Vec::new(), Vec::new());
        for arm in arms {
            let verdicts = all.iter().filter_map(|record| verdict(runs, record, arm));
            let (mut safe, mut unsafe_in) = (0, 0);
            for verdict in verdicts {
                match verdict {
                    Verdict::Safe => safe += 1,
                    Verdict::Unsafe | Verdict::Poor(_) => unsafe_in += 1,
                    Verdict::Control | Verdict::Unproven | Verdict::Inconclusive => {}
                }
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
