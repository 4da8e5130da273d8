//! The progress of a headless run on standard error: a bar on a terminal, else a line every few seconds.

use std::collections::HashSet;
use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::metrics::units::{count, micros, rate};
use crate::metrics::{ArmView, Phase, Snapshot};
use crate::model::{Event, EventKind};
use crate::scenario::WorkloadSpec;

/// Between two lines where there is no bar.
const EVERY: Duration = Duration::from_secs(5);
/// The length of the bar in steps.
const STEPS: u64 = 1000;

/// Tells how far a run is. What happens to hosts and locks is told once, as it happens.
#[derive(Debug)]
pub struct Progress {
    out: Out,
    told: HashSet<u64>,
    damaged: HashSet<String>,
    phase: Option<Phase>,
    line: Option<Instant>,
}

#[derive(Debug)]
enum Out {
    Quiet,
    Lines,
    Bar(ProgressBar),
}

impl Progress {
    /// A bar if standard error is a terminal, else lines.
    #[must_use]
    pub fn new() -> Self {
        if !stderr().is_terminal() {
            return Self::to(Out::Lines);
        }
        let style = ProgressStyle::with_template("{prefix} {bar:24} {wide_msg}");
        // The template is a constant; were it wrong, the default style would do.
        let style = style
            .unwrap_or_else(|_| ProgressStyle::default_bar())
            .progress_chars("━╸─");
        Self::to(Out::Bar(ProgressBar::new(STEPS).with_style(style)))
    }

    /// Says nothing.
    #[must_use]
    pub fn quiet() -> Self {
        Self::to(Out::Quiet)
    }

    fn to(out: Out) -> Self {
        Self {
            out,
            told: HashSet::new(),
            damaged: HashSet::new(),
            phase: None,
            line: None,
        }
    }

    /// Shows the newest snapshot.
    pub fn show(&mut self, snapshot: &Snapshot) {
        if matches!(self.out, Out::Quiet) {
            return;
        }
        for event in snapshot.events.iter() {
            if worth_telling(event) && self.is_news(event) {
                self.say(&format!("{:>7.1} s  {}", event.at, event.text));
            }
        }
        if let Out::Bar(bar) = &self.out {
            bar.set_prefix(phase(snapshot));
            bar.set_position(position(snapshot));
            bar.set_message(arms(snapshot));
        } else {
            self.line(snapshot);
        }
    }

    fn line(&mut self, snapshot: &Snapshot) {
        let entered = self.phase.as_ref() != Some(&snapshot.phase);
        let due = self.line.is_none_or(|at| at.elapsed() >= EVERY);
        if entered {
            self.say(&phase(snapshot));
            self.phase = Some(snapshot.phase.clone());
        } else if due && snapshot.phase == Phase::Running {
            self.say(&format!("{} · {}", phase(snapshot), arms(snapshot)));
        } else {
            return;
        }
        self.line = Some(Instant::now());
    }

    /// Takes the bar away.
    pub fn end(self) {
        if let Out::Bar(bar) = self.out {
            bar.finish_and_clear();
        }
    }

    fn is_news(&mut self, event: &Event) -> bool {
        match &event.kind {
            // The first of an arm; the table has the sum.
            EventKind::Damage { arm } => self.damaged.insert(arm.clone()),
            _ => self.told.insert(event.id),
        }
    }

    fn say(&self, line: &str) {
        match &self.out {
            Out::Quiet => {}
            Out::Lines => eprintln!("lockstorm: {line}"),
            Out::Bar(bar) => bar.println(line),
        }
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

/// A fault is told when its effect is known.
const fn worth_telling(event: &Event) -> bool {
    match &event.kind {
        EventKind::Fault { effect_at, error, .. } => effect_at.is_some() || error.is_some(),
        EventKind::Damage { .. } | EventKind::Lock { .. } | EventKind::Warning => true,
        EventKind::Phase | EventKind::Knob => false,
    }
}

fn phase(snapshot: &Snapshot) -> String {
    match &snapshot.phase {
        Phase::SetUp(what) => format!("set-up: {what}"),
        Phase::WarmUp => format!("warm-up: {:.0} s to go", -snapshot.elapsed.min(0.0)),
        Phase::Running => format!(
            "{:.0} s of {:.0} s",
            snapshot.elapsed,
            snapshot.scenario.duration.as_secs_f64()
        ),
        Phase::Draining => "draining: the last requests end, the ledger is read".to_owned(),
        Phase::Finished { .. } => "finished".to_owned(),
        Phase::Failed(_) => "failed".to_owned(),
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)] // 0 to STEPS
fn position(snapshot: &Snapshot) -> u64 {
    let share = match (&snapshot.phase, snapshot.scenario.swarm.requests) {
        (Phase::SetUp(_) | Phase::WarmUp, _) => 0.0,
        (Phase::Running, Some(requests)) => {
            let slowest = snapshot.arms.iter().map(|arm| arm.figures.completed).min().unwrap_or(0);
            slowest as f64 / requests as f64
        }
        (Phase::Running, None) => snapshot.elapsed / snapshot.scenario.duration.as_secs_f64(),
        _ => 1.0,
    };
    (share.clamp(0.0, 1.0) * STEPS as f64) as u64
}

fn arms(snapshot: &Snapshot) -> String {
    let arms: Vec<_> = snapshot
        .arms
        .iter()
        .map(|arm| arm_in_short(arm, &snapshot.scenario.workload))
        .collect();
    arms.join(" · ")
}

fn arm_in_short(arm: &ArmView, workload: &WorkloadSpec) -> String {
    let figures = &arm.figures;
    let mut text = format!("{} {}/s", arm.name, rate(figures.throughput));
    if figures.acquire_us.count > 0 {
        text += &format!(" p99 {}", micros(figures.acquire_us.p99));
    }
    match workload {
        WorkloadSpec::Inventory(_) if figures.oversold > 0 => {
            text += &format!(" ✖ {} oversold", count(figures.oversold));
        }
        WorkloadSpec::Inventory(_) if figures.lost_updates > 0 => {
            text += &format!(" ✖ {} lost updates", count(figures.lost_updates));
        }
        WorkloadSpec::CacheFill { .. } if figures.db_hits_per_expiry.expiries > 0 => {
            text += &format!(" {:.1} db hits/expiry", figures.db_hits_per_expiry.mean);
        }
        _ => {}
    }
    text
}
