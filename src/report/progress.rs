//! The progress of a headless run on standard error: a bar on a terminal, otherwise a line every few seconds.

use std::collections::HashSet;
use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::figures::moment;
use super::pen::Pen;
use lockstorm_base::output;
use lockstorm_data::facts::{Event, EventKind};
use lockstorm_data::metrics::figure;
use lockstorm_data::metrics::units::{micros, rate, rounded};
use lockstorm_data::metrics::{Alarm, Count, Figures, Metric};
use lockstorm_data::model::printable;
use lockstorm_data::scenario::WorkloadSpec;
use lockstorm_run::{ArmView, Phase, Snapshot};

/// The time between two lines where there is no bar.
const EVERY: Duration = Duration::from_secs(5);
/// The bar is not redrawn while more bytes than this wait for their reader.
const BEHIND: usize = 4096;
/// The length of the bar in steps.
const STEPS: u64 = 1000;

/// A bar of this length and look, if standard error is a terminal that can draw one.
pub(super) fn bar(length: u64, look: &str) -> Option<ProgressBar> {
    if !stderr().is_terminal() || is_dumb() {
        return None;
    }
    let style = ProgressStyle::with_template(look);
    // The looks are constants; if one were wrong, the default style would do.
    let style = style
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=>-");
    let target = ProgressDrawTarget::term_like(Box::new(Pen::default()));
    Some(ProgressBar::with_draw_target(Some(length), target).with_style(style))
}

/// Shows the progress of a run. Changes to hosts and locks are printed once, as they happen.
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
    /// Nothing if it is to be quiet, a bar if standard error is a terminal that can draw one, otherwise lines.
    pub fn new(quiet: bool) -> Self {
        let bar = || bar(STEPS, "{prefix} {bar:24} {wide_msg}");
        Self {
            out: if quiet {
                Out::Quiet
            } else {
                bar().map_or(Out::Lines, Out::Bar)
            },
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
            if worth_telling(event, &snapshot.phase) && self.is_news(event) {
                self.say(&format!("{:>7} s  {}", moment(event.came_true_at()), event.text()));
            }
        }
        if let Out::Bar(bar) = &self.out {
            if output::stderr().waiting() > BEHIND {
                return;
            }
            bar.set_prefix(phase(snapshot));
            bar.set_position(position(snapshot));
            bar.set_message(printable(&arms(snapshot)));
        } else {
            self.line(snapshot);
        }
    }

    fn line(&mut self, snapshot: &Snapshot) {
        if matches!(snapshot.phase, Phase::Finished { .. } | Phase::Failed(_)) {
            return;
        }
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

    /// Removes the bar.
    pub fn end(self) {
        if let Out::Bar(bar) = self.out {
            bar.finish_and_clear();
        }
    }

    fn is_news(&mut self, event: &Event) -> bool {
        match &event.kind {
            // Only the first of an arm; the table has the sum.
            EventKind::Damage { arm, .. } => self.damaged.insert(arm.clone()),
            _ => self.told.insert(event.id),
        }
    }

    fn say(&self, line: &str) {
        let line = &printable(line);
        match &self.out {
            Out::Quiet => {}
            // A run never waits or ends because nobody reads its progress.
            Out::Lines => output::stderr().write(format!("lockstorm: {line}\n")),
            Out::Bar(bar) => bar.println(line),
        }
    }
}

/// Whether the terminal can only print lines: `TERM=dumb`.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// A fault is printed when its effect is known. Warnings about the figures come with the summary.
const fn worth_telling(event: &Event, phase: &Phase) -> bool {
    match &event.kind {
        EventKind::Fault { effect_at, error, .. } => effect_at.is_some() || error.is_some(),
        EventKind::Damage { .. }
        | EventKind::Failover { .. }
        | EventKind::Demoted { .. }
        | EventKind::Leader { .. }
        | EventKind::Cluster { .. }
        | EventKind::DoubleHold { .. }
        | EventKind::Lock { .. }
        | EventKind::Caption { .. }
        | EventKind::Proxy { .. } => true,
        EventKind::Warning { .. } => !matches!(phase, Phase::Finished { .. } | Phase::Failed(_)),
        EventKind::Phase { .. } | EventKind::Knob { .. } => false,
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
        Phase::Draining => "draining".to_owned(),
        Phase::Finished { .. } => "finished".to_owned(),
        Phase::Failed(_) => "failed".to_owned(),
    }
}

fn position(snapshot: &Snapshot) -> u64 {
    let share = match (&snapshot.phase, snapshot.scenario.swarm.requests) {
        (Phase::SetUp(_) | Phase::WarmUp, _) => 0.0,
        (Phase::Running, Some(requests)) => {
            let slowest = snapshot
                .arms
                .iter()
                .map(|arm| arm.figures.counts[Count::Completed])
                .min()
                .unwrap_or(0);
            slowest as f64 / requests as f64
        }
        (Phase::Running, None) => snapshot.elapsed / snapshot.scenario.duration.as_secs_f64(),
        _ => 1.0,
    };
    rounded((share.clamp(0.0, 1.0) * STEPS as f64).floor())
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
    // Buyers who find nothing left are quick: with them, rates of arms would not compare.
    let mut text = match figures.counts[Count::SoldOut] {
        0 => format!("{} {}/s", arm.name, rate(figures.throughput)),
        _ if !workload.about().sells() => format!("{} {}/s", arm.name, rate(figures.throughput)),
        _ => format!("{} {} sold/s", arm.name, rate(Metric::SoldPerSecond.of(figures))),
    };
    if figures.acquire_us.count > 0 {
        text += &format!(" p99 {}", micros(figures.acquire_us.p99));
    }
    text += &verdict(workload, figures).unwrap_or_default();
    text
}

/// The most important verdict with something to say: damage, or a figure that may be poor.
fn verdict(workload: &WorkloadSpec, figures: &Figures) -> Option<String> {
    let said = |metric: &Metric| {
        let mark = match metric.row().alarm {
            Alarm::Damage(_) if metric.is_proven(figures) => "✖ ",
            Alarm::Poor(_) if metric.is_known(figures) => "",
            _ => return None,
        };
        let value = figure(*metric, metric.of(figures));
        Some(format!(" {mark}{value} {}", metric.title()))
    };
    workload.about().display().verdicts.iter().find_map(said)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use lockstorm_data::metrics::{Entry, Quantiles, Series};
    use lockstorm_data::scenario::{Overrides, Source, parse};
    use lockstorm_run::{Knobs, Live, Outlasted};

    fn snapshot(name: &str, phase: Phase, elapsed: f64, figures: &Figures) -> Snapshot {
        let scenario = parse(&Source::open(name).unwrap(), &Overrides::default()).unwrap();
        let arms = scenario.arms.iter().map(|arm| ArmView {
            name: arm.name.clone(),
            figures: figures.clone(),
            series: Arc::new(Series::default()),
            recent_tenths: Arc::default(),
            last_locks: Vec::new(),
            double_holds: Vec::new(),
            votes: None,
            outlasted: Outlasted::default(),
            lacking: Vec::new(),
            done: false,
            live: Live::default(),
            first_error: None,
            later: Vec::new(),
        });
        Snapshot {
            number: 0,
            arms: arms.take(1).collect(),
            scenario: Arc::new(scenario),
            server: "redis-server 7.0.15".into(),
            phase,
            elapsed,
            hosts: Vec::new(),
            servers: Vec::new(),
            events: Arc::default(),
            knobs: Knobs {
                ttl: None,
                workers: 1,
                rate: None,
                hold: Duration::ZERO,
                turns: 0,
            },
            caption: None,
            act: None,
            next: None,
            held: false,
            ends_at: None,
            gives_up_in: None,
            caveats: Vec::new(),
            processor_wait: None,
            used_by_others: None,
            partial: Vec::new(),
        }
    }

    #[test]
    fn an_arm_in_short() {
        let mut figures = Figures {
            throughput: 398.4,
            ledger: [(Entry::Oversold, 1214)].into(),
            ..Figures::default()
        };
        let shown = |figures: &Figures, name| arms(&snapshot(name, Phase::Running, 1.0, figures));
        assert_eq!(shown(&figures, "flash-sale"), "none 398/s ✖ 1,214 oversold");
        figures.acquire_us = Quantiles {
            count: 1,
            p99: 61_000,
            ..Quantiles::default()
        };
        figures.ledger[Entry::Oversold] = Some(0);
        assert_eq!(shown(&figures, "flash-sale"), "none 398/s p99 61 ms");
        figures.db_hits_per_expiry.expiries = 2;
        figures.db_hits_per_expiry.mean = 86.2;
        assert_eq!(shown(&figures, "stampede"), "none 398/s p99 61 ms 86.2 db hits/expiry");
    }

    #[test]
    fn the_bar_follows_time_or_requests() {
        let figures = Figures {
            counts: [(Count::Completed, 400)].into(),
            ..Figures::default()
        };
        assert_eq!(
            position(&snapshot("flash-sale", Phase::Running, 1.0, &figures)),
            250,
            "400 of 1,600 requests"
        );
        assert_eq!(position(&snapshot("flash-sale", Phase::WarmUp, -1.0, &figures)), 0);
        let mut by_time = snapshot("stampede", Phase::Running, 0.0, &figures);
        by_time.elapsed = by_time.scenario.duration.as_secs_f64() / 2.0;
        assert_eq!(position(&by_time), 500);
        assert_eq!(position(&snapshot("stampede", Phase::Draining, 0.0, &figures)), STEPS);
    }
}
