//! The cost of Lockstorm itself, read from outside in `/proc` (Linux): `cargo bench --bench overhead`.
//!
//! - the processor time of the console and of the run's own thread (collectors, snapshots, auditors) at saturation,
//!   as a share of the machine's: at most 3 %;
//! - the memory of a run over its first minute (`benches/soak.rs` measures for longer);
//! - the memory of one worker, by comparing 10,000 workers with 1,000;
//! - how late simulated delays end, with our timer and with tokio's.

#[path = "support/saturated.rs"]
mod saturated;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use saturated::{SATURATION, Saturated};

const LOCKSTORM: &str = env!("CARGO_BIN_EXE_lockstorm");

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    if !cfg!(target_os = "linux") {
        println!("overhead: skipped, it reads /proc and needs Linux");
        return Ok(());
    }
    // `cargo bench NAME` runs every benchmark with NAME as a filter.
    let filter = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'))
        .unwrap_or_default();
    if "console".contains(&filter) {
        console_at_saturation()?;
    }
    if "workers".contains(&filter) {
        memory_of_workers()?;
    }
    if "timer".contains(&filter) {
        lateness_of_timers()?;
    }
    Ok(())
}

/// Runs the console in a pseudo-terminal of 120×36 under full load.
fn console_at_saturation() -> Result<()> {
    let console = Saturated::start("1h")?;
    let pid = console.pid;
    thread::sleep(Duration::from_secs(5));
    let (start, before) = (Instant::now(), cpu_by_group(pid)?);
    let machine_before = machine_idle()?;
    let mut memory = Vec::new();
    for _ in 0..10 {
        thread::sleep(Duration::from_secs(5));
        memory.push(resident_kib(pid)?);
    }
    let (wall, after) = (start.elapsed().as_secs_f64(), cpu_by_group(pid)?);
    let idle = machine_idle()? - machine_before;
    let cpus = thread::available_parallelism()?.get() as f64;
    println!(
        "console at saturation ({cpus} processors, {:.0} % idle, {wall:.0} s)",
        100.0 * idle / (wall * cpus)
    );
    let mut own = 0.0;
    for (group, seconds) in &after {
        let share = 100.0 * (seconds - before.get(group).unwrap_or(&0.0)) / (wall * cpus);
        if group != "app servers" && group != "database" {
            own += share;
        }
        println!("  {group:<12} {share:6.2} % of the machine's processor time");
    }
    println!("  console and run together {own:.2} % (at most 3 %)");
    println!("  resident memory in ten looks, 5 s apart: {memory:?} KiB");
    let drawn = console.kill()?;
    println!("  drawn: {:.1} KiB a second", drawn as f64 / 1024.0 / (wall + 5.0));
    Ok(())
}

/// Runs 1,000 and then 10,000 workers of one arm on 4 app servers, all of them busy, and compares the memory.
fn memory_of_workers() -> Result<()> {
    let mut resident = Vec::new();
    for workers in [250, 2500] {
        let mut run = headless(workers)?;
        thread::sleep(Duration::from_secs(12));
        let kib = resident_kib(run.id())?;
        let threads = fs::read_dir(format!("/proc/{}/task", run.id()))?.count();
        println!("{} workers: {kib} KiB resident, {threads} threads", 4 * workers);
        resident.push(kib);
        // SIGKILL: the keeper cleans up.
        run.kill()?;
        run.wait()?;
    }
    println!(
        "one worker: {:.1} KiB",
        (resident[1] as f64 - resident[0] as f64) / 9000.0
    );
    Ok(())
}

fn headless(workers: usize) -> Result<Child> {
    let arms = "arm.redlock.wait={ retries = 1000, delay = \"200ms\", jitter = \"200ms\" }";
    let scenario = fs::read_to_string(SATURATION)?;
    let (head, arm) = scenario.split_once("[[arm]]").ok_or("no arm in the scenario")?;
    let arm = arm.rsplit("[[arm]]").next().unwrap_or_default();
    let file = tempfile::Builder::new().suffix(".toml").tempfile()?;
    fs::write(file.path(), format!("{head}[[arm]]{arm}"))?;
    let (_, path) = file.keep()?;
    let run = Command::new(LOCKSTORM)
        .arg("run")
        .arg(path)
        .args([
            "--set",
            &format!("swarm.workers={workers}"),
            "--set",
            "swarm.think=1s",
            "--set",
            arms,
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(run)
}

/// Processor seconds of the threads of a process, grouped by their purpose.
fn cpu_by_group(pid: u32) -> Result<BTreeMap<String, f64>> {
    let mut groups = BTreeMap::new();
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let stat = fs::read_to_string(task?.path().join("stat"))?;
        let (head, fields) = stat.rsplit_once(") ").ok_or("no thread name")?;
        let name = head.split_once('(').map_or("", |(_, name)| name);
        let group = if name.starts_with("app-server") {
            "app servers"
        } else if name.starts_with("sqlx") {
            "database"
        } else if name == "run" {
            "run"
        } else {
            "console"
        };
        let fields: Vec<f64> = fields.split(' ').map(|field| field.parse().unwrap_or(0.0)).collect();
        // Fields 14 and 15 of proc_pid_stat(5), counted from the state as field 3; in ticks of 10 ms.
        *groups.entry(group.to_owned()).or_insert(0.0) += (fields[11] + fields[12]) / 100.0;
    }
    Ok(groups)
}

fn resident_kib(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

/// Seconds that the processors of this machine were idle, summed.
fn machine_idle() -> Result<f64> {
    let stat = fs::read_to_string("/proc/stat")?;
    let idle = stat
        .lines()
        .next()
        .and_then(|line| line.split_whitespace().nth(4))
        .ok_or("no idle time")?;
    Ok(idle.parse::<f64>()? / 100.0)
}

/// Sleeps for 0.5, 1 and 20 ms, 400 times each, with both timers in turn.
fn lateness_of_timers() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let timer = lockstorm_base::timer::Timer::start();
        println!("timer: how late a sleep ends, p50 and p99 in ms");
        for micros in [500, 1_000, 20_000] {
            let time = Duration::from_micros(micros);
            let (mut ours, mut tokios) = (Vec::new(), Vec::new());
            for _ in 0..400 {
                let start = Instant::now();
                timer.sleep(time).await;
                ours.push(start.elapsed().saturating_sub(time));
                let start = Instant::now();
                tokio::time::sleep(time).await;
                tokios.push(start.elapsed().saturating_sub(time));
            }
            println!(
                "  {:>4.1} ms: ours {}, tokio {}",
                time.as_secs_f64() * 1e3,
                quantiles(&mut ours),
                quantiles(&mut tokios)
            );
        }
    });
    Ok(())
}

fn quantiles(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    format!("{:.2} {:.2}", at(50), at(99))
}
