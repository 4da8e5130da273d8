//! Checks that memory, files and threads of the console stay constant under full load, read from outside in `/proc` (Linux).
//! `LOCKSTORM_SOAK=1500 cargo bench --bench soak` runs it for that many seconds, and fails if they grow; `.ci/long soak` does
//! that.

#[path = "support/saturated.rs"]
mod saturated;

use std::error::Error;
use std::fs;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use saturated::Saturated;

/// The most by which memory may grow once it has settled, in MB a minute.
const MOST_MB_A_MINUTE: f64 = 0.1;
/// The minutes until memory has settled: the charts keep five minutes in tenths of a second.
const SETTLED: f64 = 5.0;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// One sample of the process.
#[derive(Debug, Clone, Copy)]
struct Sample {
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
    let samples = run(Duration::from_secs(seconds))?;
    Ok(judge(&samples))
}

/// Runs the console, taking a sample once a second.
fn run(length: Duration) -> Result<Vec<Sample>> {
    let mut console = Saturated::start("24h")?;
    let (begin, mut samples) = (Instant::now(), Vec::new());
    while begin.elapsed() < length {
        thread::sleep(Duration::from_secs(1));
        if let Some(status) = console.ended()? {
            return Err(format!("the console ended after {:?}: {status}", begin.elapsed()).into());
        }
        samples.push(sample(console.pid, begin)?);
    }
    console.kill()?;
    Ok(samples)
}

fn sample(pid: u32, begin: Instant) -> Result<Sample> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let field = |name: &str| -> Result<u32> {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .ok_or("a field is missing")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse()?)
    };
    Ok(Sample {
        minute: begin.elapsed().as_secs_f64() / 60.0,
        resident_mb: f64::from(field("VmRSS:")?) * 1024.0 / 1e6,
        files: fs::read_dir(format!("/proc/{pid}/fd"))?.count(),
        threads: usize::try_from(field("Threads:")?)?,
    })
}

/// Prints the figures and the verdict.
fn judge(samples: &[Sample]) -> ExitCode {
    let end = samples.last().map_or(0.0, |sample| sample.minute);
    for minute in [1.0, 5.0, 10.0, 15.0, 20.0, 25.0] {
        if let Some(sample) = samples.iter().find(|sample| sample.minute >= minute - 0.02) {
            println!(
                "minute {minute:2}: {:.1} MB resident, {} files, {} threads",
                sample.resident_mb, sample.files, sample.threads
            );
        }
    }
    // Of a shorter run, only the second half is judged.
    let from = SETTLED.min(end / 2.0);
    let settled: Vec<Sample> = samples.iter().filter(|sample| sample.minute >= from).copied().collect();
    let (first, last) = settled.split_at(settled.len().min(60));
    let last = &last[last.len().saturating_sub(60)..];
    let slope = slope(&settled);
    let most = |samples: &[Sample], of: fn(&Sample) -> usize| samples.iter().map(of).max().unwrap_or(0);
    let files = [first, last].map(|samples| most(samples, |sample| sample.files));
    let threads = [first, last].map(|samples| most(samples, |sample| sample.threads));
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

/// The slope of the least-squares line through the samples, in MB a minute.
fn slope(samples: &[Sample]) -> f64 {
    let n = samples.len().max(1) as f64;
    let mean = |of: fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>() / n;
    let (minute, memory) = (mean(|sample| sample.minute), mean(|sample| sample.resident_mb));
    let together: f64 = samples
        .iter()
        .map(|sample| (sample.minute - minute) * (sample.resident_mb - memory))
        .sum();
    let alone: f64 = samples.iter().map(|sample| (sample.minute - minute).powi(2)).sum();
    together / alone.max(f64::MIN_POSITIVE)
}
