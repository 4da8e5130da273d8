//! What was found of servers for locks, as text.

use std::time::Duration;

use indicatif::ProgressBar;

use super::paint::{Paint, Tone};
use super::progress;
use super::wrap::hanging;
use lockstorm_data::metrics::units::counted;
use lockstorm_data::model::CheckResult;
use lockstorm_lab::doctor::{Diagnosis, Finding, PARTS};

/// How often the time in the bar is drawn anew.
const TICK: Duration = Duration::from_secs(1);

/// How far the examination of this many servers has got, on standard error; hidden if that is no terminal, or it is to be quiet.
pub fn examination_bar(servers: usize, quiet: bool) -> ProgressBar {
    let look = "asking {prefix} {bar:24} {elapsed}";
    let bar = match quiet {
        true => None,
        false => progress::bar(PARTS * servers as u64, look),
    };
    let Some(bar) = bar else { return ProgressBar::hidden() };
    bar.enable_steady_tick(TICK);
    bar.with_prefix(counted(servers as u64, "server", "servers"))
}

/// The findings of each server and of the set, and the verdict.
pub fn render_diagnosis(diagnosis: &Diagnosis, paint: Paint) -> String {
    let mut text = String::new();
    let mut of: Option<&Option<String>> = None;
    let mut told = Vec::new();
    for finding in &diagnosis.findings {
        if of != Some(&finding.server) {
            let name = finding.server.as_deref().unwrap_or("all together");
            let gap = if of.is_some() { "\n" } else { "" };
            text += &format!("{gap}{}\n", paint.apply(Tone::Strong, name));
            of = Some(&finding.server);
        }
        // What three servers have in common is explained once.
        let again = told.contains(&(finding.check, &finding.cure));
        told.push((finding.check, &finding.cure));
        text += &one(finding, again, paint);
    }
    text + &format!("\n{}\n", verdict(diagnosis, paint))
}

fn one(finding: &Finding, again: bool, paint: Paint) -> String {
    let (mark, tone) = match finding.result {
        CheckResult::Held if finding.is_good() => ("✔", Tone::Good),
        CheckResult::Held => ("!", Tone::Doubt),
        CheckResult::Inconclusive => ("?", Tone::Doubt),
        CheckResult::Failed => ("✖", Tone::Bad),
    };
    let name = finding.check.to_string();
    let mut text = hanging(&format!("  {} {name:<12} ", paint.apply(tone, mark)), &finding.seen);
    if again && finding.cure.is_some() {
        text += "                 (see above)\n";
    } else if let Some(cure) = &finding.cure {
        text += &hanging("                 why: ", finding.check.why());
        text += &hanging("                 do:  ", cure);
    }
    text
}

fn verdict(diagnosis: &Diagnosis, paint: Paint) -> String {
    let [warnings, unknown, bad] = [CheckResult::Held, CheckResult::Inconclusive, CheckResult::Failed]
        .map(|result| diagnosis.count(result) as u64);
    let warned = match warnings {
        0 => String::new(),
        some => format!(", with {}", counted(some, "warning", "warnings")),
    };
    match diagnosis.result {
        CheckResult::Held => format!("{} Fit for locks{warned}.", paint.apply(Tone::Good, "✔")),
        CheckResult::Failed => format!(
            "{} Not fit for locks: {} to be changed first{warned}.",
            paint.apply(Tone::Bad, "✖"),
            counted(bad, "thing has", "things have")
        ),
        CheckResult::Inconclusive => format!(
            "{} It can't be told whether they are fit for locks: {} not be seen{warned}.",
            paint.apply(Tone::Doubt, "?"),
            counted(unknown, "thing could", "things could")
        ),
    }
}
