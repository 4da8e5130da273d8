use std::time::Duration;

use lockstorm_base::Stop;
use lockstorm_data::facts::Caveat;
use lockstorm_data::history::Removal;
use lockstorm_data::model::{CheckResult, TargetKind};
use lockstorm_run::{Ended, Record, RunOptions, headless};

use super::act::{ACTS, ALWAYS, Act};
use super::check::Checked;
use super::criterion::Seen;
use super::grades::{Grade, Grades};
use super::letter::Letter;
use super::reason::Reason;
use super::subject::Subject;

/// How many of the errors that the client has answered are told of an act.
const ERRORS: usize = 2;

/// Plays these acts, or all of them, and grades the subject, of whom a check has found this `wrong`. `progress` hears the title of each act
/// that begins. A signal ends it: then the result is of what was played until then.
///
/// # Errors
/// A run could not be played.
pub fn grade(
    subject: &Subject,
    wrong: Vec<Checked>,
    only: &[String],
    seed: u64,
    options: &RunOptions,
    mut progress: impl FnMut(&str),
) -> Result<(Grades, Option<Stop>), String> {
    let wanted: Vec<&Act> = ACTS
        .iter()
        .filter(|act| only.is_empty() || only.iter().any(|name| name == act.name))
        .collect();
    let (mut acts, mut pipe_us, mut stop): (Vec<Grade>, _, _) = (Vec::new(), None, None);
    for (index, act) in wanted.iter().enumerate() {
        if stop.is_some() {
            break;
        }
        if let Some(why) = act.not_for(subject) {
            acts.push(not_asked(act, why));
            continue;
        }
        progress(&format!("{}/{} {}: {}", index + 1, wanted.len(), act.name, act.title));
        let scenario = act.scenario(subject, seed).map_err(|errors| errors.to_string())?;
        let ended = headless(scenario, options.clone(), |_| ()).map_err(|error| format!("{}: {error}", act.name))?;
        let record = match ended {
            Ended::Finished(record, None) => record,
            Ended::Finished(_, Some(signal)) | Ended::Abandoned(signal) => {
                stop = Some(signal);
                continue;
            }
        };
        let took = record.arms.first().map(|arm| arm.figures.pipe_us);
        pipe_us = pipe_us.or(took.filter(|took| took.count > 0));
        let healthy = acts
            .iter()
            .find(|grade| grade.act == ACTS[0].name && grade.letter != Letter::Unknown);
        let grade = of(act, subject, &record, healthy);
        acts.push(grade);
    }
    let letters: Vec<Letter> = acts.iter().map(|act| act.letter).collect();
    // What is found stands, whatever else was not shown.
    let worst = letters.iter().copied().find(|letter| *letter == Letter::F);
    let mut grades = Grades {
        client: subject.to_string(),
        command: match subject {
            Subject::Client { command, .. } => command.clone(),
            Subject::Engine(_) => Vec::new(),
        },
        nodes: subject.nodes(),
        letter: worst.or(letters.into_iter().max()).unwrap_or(Letter::Unknown),
        complete: stop.is_none(),
        pipe_us,
        wrong,
        acts,
    };
    if grades.result(&[]) == CheckResult::Failed {
        grades.letter = Letter::F;
    }
    Ok((grades, stop))
}

/// What it got in this act.
fn of(act: &Act, subject: &Subject, record: &Record, healthy: Option<&Grade>) -> Grade {
    let (Some(arm), Some(spec)) = (record.arms.first(), record.scenario.arms.first()) else {
        return not_asked(act, Reason::NotPlayed);
    };
    let fault = record.scenario.faults.first();
    let lasts = fault.and_then(|fault| fault.lasts).unwrap_or_default();
    let is_its_own = fault.is_some_and(|fault| fault.targets.kind() == Some(TargetKind::Server));
    let seen = Seen {
        arm: spec,
        figures: &arm.figures,
        nodes: subject.nodes(),
        fault: lasts,
        still: if is_its_own { lasts } else { Duration::ZERO },
        healthy,
        removed_by: arm
            .evidence
            .iter()
            .find_map(|double| double.removed_by.as_ref().map(Removal::who)),
    };
    let asked = ALWAYS.iter().chain([&act.holders]).chain(act.asks);
    let mut why: Vec<Reason> = asked.filter_map(|criterion| criterion(&seen)).collect();
    // What was found stands, whatever else is in doubt, but nothing good is said; and of a client that has ended, or says nonsense, nothing
    // at all. One that leaves orders without an answer is found, too.
    let found = why.iter().any(|reason| reason.letter() == Letter::F);
    why.retain(|reason| !found || reason.letter() != Letter::Unknown);
    let caveats = record.inconclusive.iter();
    let caveats = caveats.filter(|caveat| !found || matches!(caveat, Caveat::Client { .. }));
    why.extend(caveats.cloned().map(Reason::Caveat));
    why.sort_by_key(|reason| std::cmp::Reverse(reason.letter()));
    if !why.is_empty() {
        // What the client itself says may explain it.
        let errors = record.warnings.iter();
        let errors = errors.filter(|caveat| matches!(caveat, Caveat::ClientError { .. }));
        why.extend(errors.take(ERRORS).cloned().map(Reason::Caveat));
    }
    Grade {
        act: act.name,
        title: act.title,
        letter: why.first().map_or(Letter::A, Reason::letter),
        why,
        acquired: arm.figures.outcomes.acquired,
        acquire_p99_us: arm.figures.acquire_us.p99,
    }
}

fn not_asked(act: &Act, why: Reason) -> Grade {
    Grade {
        act: act.name,
        title: act.title,
        letter: why.letter(),
        why: vec![why],
        acquired: 0,
        acquire_p99_us: 0,
    }
}
