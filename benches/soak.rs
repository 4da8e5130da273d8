//! Whether a run of the console under full load stays as it is: memory, files and threads, read from outside in `/proc` (Linux).
//! `LOCKSTORM_SOAK=1500 cargo bench --bench soak` plays for so many seconds, and fails if it does not; `.ci/long soak` does that.

#[path = "support/saturated.rs"]
mod saturated;

use std::error::Error;
use std::fs;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use saturated::Saturated;

/// The most that memory may grow by once it has settled, in MB a minute.
const MOST_MB_A_MINUTE: f64 = 0.1;
/// Minutes until it has settled: the charts keep five minutes by tenths of a second.
const SETTLED: f64 = 5.0;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// One look at the process.
#[derive(Debug, Clone, Copy)]
struct Look {
    minute: f64,
    resident_mb: f64,
    files: usize,
    threads: usize,
}

fn main() -> Result<ExitCode> {
    let seconds = std::env::var("LOCKSTORM_SOAK").ok().and_then(|text| text.parse().ok());
    let Some(seconds) = seconds.filter(|_| cfg!(target_os = "linux")) else {
        println!("soak: skipped, it needs Linux and LOCKSTORM_SOAK=SECONDS, 1500 for instance");
        return Ok(ExitCode::SUCCESS);
    };
    let looks = play(Duration::from_secs(seconds))?;
    Ok(judge(&looks))
}

/// Plays, looking once a second.
fn play(length: Duration) -> Result<Vec<Look>> {
    let mut console = Saturated::start("24h")?;
    let (begin, mut looks) = (Instant::now(), Vec::new());
    while begin.elapsed() < length {
        thread::sleep(Duration::from_secs(1));
        if let Some(status) = console.ended()? {
            return Err(format!("the console ended after {:?}: {status}", begin.elapsed()).into());
        }
        looks.push(look(console.pid, begin)?);
    }
    console.kill()?;
    Ok(looks)
}

fn look(pid: u32, begin: Instant) -> Result<Look> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let field = |name: &str| -> Result<u32> {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .ok_or("a field is missing")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse()?)
    };
    Ok(Look {
        minute: begin.elapsed().as_secs_f64() / 60.0,
        resident_mb: f64::from(field("VmRSS:")?) * 1024.0 / 1e6,
        files: fs::read_dir(format!("/proc/{pid}/fd"))?.count(),
        threads: usize::try_from(field("Threads:")?)?,
    })
}

/// Prints the figures and the verdict.
fn judge(looks: &[Look]) -> ExitCode {
    let end = looks.last().map_or(0.0, |look| look.minute);
    for minute in [1.0, 5.0, 10.0, 15.0, 20.0, 25.0] {
        if let Some(look) = looks.iter().find(|look| look.minute >= minute - 0.02) {
            println!(
                "minute {minute:2}: {:.1} MB resident, {} files, {} threads",
                look.resident_mb, look.files, look.threads
            );
        }
    }
    // Of a run that is shorter the last half.
    let from = SETTLED.min(end / 2.0);
    let settled: Vec<Look> = looks.iter().filter(|look| look.minute >= from).copied().collect();
    let (first, last) = settled.split_at(settled.len().min(60));
    let last = &last[last.len().saturating_sub(60)..];
    let slope = slope(&settled);
    let most = |looks: &[Look], of: fn(&Look) -> usize| looks.iter().map(of).max().unwrap_or(0);
    let files = [first, last].map(|looks| most(looks, |look| look.files));
    let threads = [first, last].map(|looks| most(looks, |look| look.threads));
    println!(
        "from minute {from:.1} to {end:.1}: {slope:+.3} MB a minute (least squares; below {MOST_MB_A_MINUTE} wanted)"
    );
    println!(
        "files {} and {}, threads {} and {}",
        files[0], files[1], threads[0], threads[1]
    );
    let flat = slope < MOST_MB_A_MINUTE && files[0] == files[1] && threads[0] == threads[1] && !last.is_empty();
    println!("soak: {}", if flat { "passed" } else { "failed" });
    if flat { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Of the line through the looks that is nearest to them, in MB a minute.
#[allow(clippy::cast_precision_loss)] // a few thousand looks
fn slope(looks: &[Look]) -> f64 {
    let n = looks.len().max(1) as f64;
    let mean = |of: fn(&Look) -> f64| looks.iter().map(of).sum::<f64>() / n;
    let (minute, memory) = (mean(|look| look.minute), mean(|look| look.resident_mb));
    let together: f64 = looks
        .iter()
        .map(|look| (look.minute - minute) * (look.resident_mb - memory))
        .sum();
    let alone: f64 = looks.iter().map(|look| (look.minute - minute).powi(2)).sum();
    together / alone.max(f64::MIN_POSITIVE)
}
