//! The estimated needs of a scenario are compared with what its run uses, and a run that does not fit is not started.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use lockstorm_data::scenario::builtin;
use lockstorm_kit::program::{family, says};
use lockstorm_kit::scenario::scenario;
use lockstorm_kit::{beside, ended, lockstorm, parts_of, program};
use lockstorm_run::needs::{Machine, Needs, compare, of};
use tempfile::TempDir;

/// A scenario of a few seconds with this many app servers, connections and workers, and this kind of arm.
fn text(sizes: [usize; 4], workload: &str, arm: &str) -> String {
    let [servers, arms, pool, workers] = sizes;
    let head = format!(
        "duration = \"2s\"\n[swarm]\nservers = {servers}\nworkers = {workers}\nthink = \"20ms\"\n[workload]\n{workload}\n\
         [database]\npool = {pool}\n"
    );
    (0..arms).fold(head, |text, n| text + &format!("[[arm]]\nname = \"arm {n}\"\n{arm}\n"))
}

const SHOP: &str = "kind = \"inventory\"\nproducts = 5\nstock = 100000\nhold = \"5ms\"";
const SHOP_IN_REDIS: &str =
    "kind = \"inventory\"\nproducts = 500\nstock = 100000\nhold = \"5ms\"\nstock_in = \"redis\"";
const CACHES: &str =
    "kind = \"cache-fill\"\n[[workload.cache]]\nname = \"a\"\nkeys = 50\nstate_ttl = \"500ms\"\ndata_ttl = \"1s\"";

/// A directory with this scenario in it.
fn with(text: &str) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("my.toml"), text).expect("the scenario");
    directory
}

/// The largest usage of a run.
#[derive(Debug, Default)]
struct Used {
    files: u64,
    threads: u64,
    memory: u64,
}

/// Plays a scenario to its end, and measures it all the time.
fn play(text: &str) -> Used {
    let directory = with(text);
    let mut run = lockstorm(directory.path(), &["run", "--quiet", "my.toml"]);
    let mut run = run
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("a run");
    let mut used = Used::default();
    while run.try_wait().expect("its state").is_none() {
        look(&run, &mut used);
        thread::sleep(Duration::from_millis(50));
    }
    // 5: a slow machine may make a run doubtful.
    let code = run.wait().expect("its end").code();
    assert!(matches!(code, Some(0 | 5)), "{code:?}");
    used
}

fn look(run: &Child, used: &mut Used) {
    let family = family(run.id());
    let files = fs::read_dir(format!("/proc/{}/fd", run.id())).map_or(0, |files| files.count() as u64);
    used.files = used.files.max(files);
    let sum = |file: &str, name: &str| family.iter().filter_map(|pid| field(*pid, file, name)).sum::<u64>();
    used.threads = used.threads.max(sum("status", "Threads:"));
    used.memory = used.memory.max(sum("smaps_rollup", "Pss:") * 1024);
}

fn field(pid: u32, file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
}

/// Asserts that the estimate is at least what was used, and at most half as much again plus what an empty run has.
fn holds(what: &str, estimate: u64, used: u64, some: u64, of: &str) {
    assert!(
        estimate >= used,
        "{what}: {estimate} were estimated and {used} used, of\n{of}"
    );
    assert!(
        estimate <= used + used / 2 + some,
        "{what}: {estimate} were estimated and only {used} used, of\n{of}"
    );
}

/// Plays this scenario and compares what it used with what was estimated.
fn uses_what_was_estimated(shape: &str) {
    let _turn = beside();
    let (needs, used) = (of(&scenario(shape, &[])), play(shape));
    println!("{needs:?}\n{used:?}");
    holds("files", needs.files, used.files, 40, shape);
    holds("threads", needs.threads, used.threads, 40, shape);
    holds("memory", needs.memory.most, used.memory, 48 << 20, shape);
}

macro_rules! shapes {
    ($($name:ident: $shape:expr;)*) => {
        $(#[test]
        fn $name() {
            uses_what_was_estimated(&$shape);
        })*
    };
}

shapes! {
    a_small_run_uses_what_was_estimated: text([1, 1, 1, 1], SHOP, "lock = \"redlock\"");
    a_larger_one_too: text([2, 3, 6, 12], SHOP, "lock = \"redlock\"");
    and_one_that_queues: text([4, 2, 2, 8], SHOP, "lock = \"redlock\"\nwait = \"queue\"");
    and_one_with_its_stock_in_redis: text([6, 4, 1, 2], SHOP_IN_REDIS, "lock = \"single\"");
    and_one_behind_a_lag: text([3, 2, 4, 2], SHOP_IN_REDIS, "lock = \"redlock\"\nwait = \"queue\"")
        + "[[fault]]\nat = \"500ms\"\ndo = \"lag\"\ndelay = \"5ms\"\non = \"all\"\n";
    and_one_on_replicated_nodes:
        text([2, 2, 4, 2], SHOP_IN_REDIS, "lock = \"single\"\ntopology = \"replicated\"");
    and_one_on_a_cluster: text([2, 2, 4, 2], SHOP_IN_REDIS, "lock = \"cluster\"");
    // Slow enough for a stampede to use the whole pool.
    and_one_of_caches: text([2, 1, 20, 40], CACHES, "lock = \"none\"")
        .replace("[database]\n", "[database]\nread = \"80ms\"\n");
}

#[test]
fn the_built_in_scenarios_fit_a_small_machine() {
    for builtin in builtin::ALL {
        let scenario = scenario(builtin.text, &[]);
        // A member of etcd makes its log ahead, and keeps much in memory.
        let mib = if scenario.lab.etcd { 1024 } else { 512 };
        let small = Machine {
            files: Some(1_024),
            threads: Some(1_000),
            memory: Some(mib << 20),
            disk: Some(mib << 20),
        };
        let room = compare(&of(&scenario), &small);
        assert_eq!((room.refusals, room.warnings), (vec![], vec![]), "{}", builtin.name);
    }
}

#[test]
fn growing_needs_are_estimated_for_the_end_of_the_run() {
    let shop = text([1, 1, 1, 1], SHOP_IN_REDIS, "lock = \"none\"");
    let set = ["swarm.rate=1000", "duration=24h", "workload.stock=1000000"];
    let no_think: String = shop
        .lines()
        .filter(|line| !line.starts_with("think"))
        .map(|line| format!("{line}\n"))
        .collect();
    let (short, long) = (of(&scenario(&no_think, &set[..1])), of(&scenario(&no_think, &set)));
    // 86 million orders.
    assert!(long.memory.sure > short.memory.sure + 1_000_000_000, "{long:?}");
    assert_eq!(long.files, short.files);
    // A closed loop has no given pace, so what it may need is no reason to refuse it.
    let closed = of(&scenario(&shop, &set[1..]));
    assert!(closed.memory.most > closed.memory.sure + 100_000_000, "{closed:?}");
    let least = Needs {
        memory: short.memory,
        ..closed
    };
    assert!(
        closed.memory.sure < least.memory.sure + 2_000_000,
        "{closed:?} {least:?}"
    );
}

/// Runs the program here in a shell that sets these limits first: the exit code, standard output, standard error.
fn limited(directory: &Path, limits: &str, arguments: &str) -> (Option<i32>, String, String) {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{limits} && exec '{}' {arguments}", program())]);
    shell.current_dir(directory).env("TMPDIR", directory);
    parts_of(shell.output().expect("a shell"))
}

#[test]
fn a_scenario_with_more_files_than_the_limit_is_refused_before_anything_starts() {
    let here = tempfile::tempdir().expect("a directory");
    let limited = |command: &str| {
        let arguments = format!("{command} flash-sale --set swarm.servers=16");
        limited(here.path(), "ulimit -n 256", &arguments)
    };
    let (code, _, said) = limited("run");
    assert_eq!(code, Some(2), "{said}");
    let parts = [
        "open files, but only 256 are available: raise the limit (ulimit -n ",
        "lower swarm.servers, database.pool or the number of arms",
    ];
    says(&said, &parts);
    let (code, _, said) = limited("check");
    assert_eq!(code, Some(0), "{said}");
    says(&said, &["warning: this scenario needs about"]);
}

#[test]
fn the_soft_limit_of_files_is_raised_as_far_as_a_run_needs() {
    let _turn = beside();
    let here = with(&text([3, 3, 3, 3], SHOP, "lock = \"single\""));
    let (code, stdout, said) = limited(here.path(), "ulimit -Sn 64", "run --quiet --json my.toml");
    assert!(matches!(code, Some(0 | 5)), "{code:?} {said}");
    let record: serde_json::Value = serde_json::from_str(&stdout).expect("a record");
    assert!(record["arms"][0]["orders"].as_u64().is_some_and(|orders| orders > 0));
}

#[test]
#[ignore = "needs root: mounts a file system of 40 MB"]
fn a_disk_that_is_nearly_full_is_warned_of_once_while_the_run_goes_on() {
    let directory = tempfile::tempdir().expect("a directory");
    let mount = |command: &str, arguments: &[&str]| {
        let done = Command::new(command).args(arguments).arg(directory.path()).status();
        assert!(done.expect("a command").success(), "{command}");
    };
    mount("mount", &["-t", "tmpfs", "-o", "size=40m", "lockstorm-test"]);
    let small = Machine {
        disk: lockstorm_run::needs::free_disk(directory.path()),
        ..Machine::default()
    };
    let shop = text([2, 1, 2, 2], SHOP, "lock = \"single\"");
    fs::write(directory.path().join("my.toml"), &shop).expect("the scenario");
    let mut run = lockstorm(directory.path(), &["run", "--quiet", "--json", "my.toml"]);
    let run: serde_json::Value = serde_json::from_str(&ended(&mut run).1).expect("a record");
    mount("umount", &["-l"]);
    assert!(small.disk.is_some_and(|free| free <= 40 << 20));
    let warnings = run["warnings"].as_array().expect("warnings");
    let of_the_disk = warnings
        .iter()
        .filter(|warning| warning["caveat"] == "disk_nearly_full");
    assert_eq!(of_the_disk.count(), 1, "{warnings:?}");
}
