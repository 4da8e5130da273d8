//! What was measured of servers over some time, as text.

use std::path::Path;
use std::time::Duration;

use indicatif::ProgressBar;

use super::figures::{small, time};
use super::paint::{Paint, Tone};
use super::progress;
use super::table::{Cell, Column, Table};
use lockstorm_data::metrics::units::{count, counted, micros};
use lockstorm_data::metrics::{MeasuredNode, Measurement, Quantiles};

/// How far the measuring of so many servers has got, on standard error; hidden if that is no terminal, or it is to be quiet.
pub fn measuring_bar(servers: usize, long: Duration, quiet: bool) -> ProgressBar {
    let look = "measuring {prefix} {bar:24} {elapsed} of {msg}, Ctrl-C keeps what there is";
    let bar = match quiet {
        true => None,
        false => progress::bar(long.as_secs(), look),
    };
    let Some(bar) = bar else { return ProgressBar::hidden() };
    bar.enable_steady_tick(Duration::from_secs(1));
    bar.with_prefix(counted(servers as u64, "server", "servers"))
        .with_message(humantime::format_duration(long).to_string())
}

/// Microseconds as tenths of milliseconds, none of which is a negative zero.
fn tenths(micros: i64) -> f64 {
    (micros as f64 / 100.0).round() / 10.0 + 0.0
}

/// A quantile of the round trips, if there were any.
fn took(node: &MeasuredNode, quantile: fn(&Quantiles) -> u64) -> Cell {
    match node.answers {
        0 => Cell::none(),
        _ => Cell::plain(micros(quantile(&node.round_trips_us.quantiles))),
    }
}

/// A row for each server, the stalls, and what to do with the file.
pub fn render_measurement(measured: &Measurement, path: &Path, paint: Paint) -> String {
    let columns: [Column<MeasuredNode>; 10] = [
        ("server", |node| Cell::plain(&node.node)),
        ("answers", |node| Cell::plain(count(node.answers))),
        ("failed", |node| match node.failures {
            0 => Cell::none(),
            some => Cell::new(Tone::Bad, count(some)),
        }),
        ("p50", |node| took(node, |all| all.p50)),
        ("p99", |node| took(node, |all| all.p99)),
        ("p99.9", |node| took(node, |all| all.p999)),
        ("longest", |node| took(node, |all| all.max)),
        ("silent for", |node| Cell::plain(micros(node.longest_silence_us))),
        ("clock ahead", |node| {
            node.clock.map_or_else(Cell::none, |clock| {
                let [least, most] = [clock.least, clock.most].map(|clock| tenths(clock.ahead_us));
                let within = tenths(clock.least.within_us.max(clock.most.within_us));
                Cell::plain(format!("{least:.1} to {most:.1} ms ± {within:.1}"))
            })
        }),
        ("drift", |node| {
            let drift = node.clock.and_then(|clock| clock.drift_ppm.zip(clock.drift_within_ppm));
            drift.map_or_else(Cell::none, |(ppm, within)| {
                Cell::plain(format!("{:.0} ppm ± {within:.0}", ppm.round() + 0.0))
            })
        }),
    ];
    let stopped = match measured.seconds < measured.asked_seconds {
        true => format!(" of {}: it was interrupted", time(measured.asked_seconds)),
        false => String::new(),
    };
    let stalls = measured.stalls_us.quantiles;
    let stalled = match stalls.count {
        0 => "none".to_owned(),
        some => format!(
            "{}, {} an hour, median {}, longest {}",
            count(some),
            small(some as f64 / measured.seconds * 3600.0),
            micros(stalls.p50),
            micros(stalls.max)
        ),
    };
    let failures = measured
        .nodes
        .iter()
        .filter_map(|node| Some(format!("{}: {}\n", node.node, node.last_failure.as_ref()?)));
    let clock = measured.clock_fault().map(|fault| {
        let mark = paint.apply(Tone::Bad, "✖");
        format!("\n{mark} Not fit for locks: {fault}, so no TTL holds there. Repair it, and measure again.\n")
    });
    let next = match (clock, measured.is_silent()) {
        (Some(clock), _) => clock,
        (None, true) => String::new(),
        (None, false) => format!(
            "\nnext: lockstorm plan --from {} --hold-from holds.csv\n",
            path.display()
        ),
    };
    format!(
        "measured for {}{stopped} · {} commands a second on each server\n\n{}{}\nstalls of this process above {}: {stalled}\n{next}",
        time(measured.seconds),
        measured.commands_per_second,
        Table::of(&columns, &measured.nodes).render(paint),
        failures.collect::<String>(),
        time(Measurement::STALL.as_secs_f64()),
    )
}
