//! `lockstorm compare`: what it calls worse, what it can't tell apart, and what it refuses.

use std::fs;
use std::path::Path;

use lockstorm_data::metrics::units::rounded;
use lockstorm_kit::program::{printed, refused, told};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fuzz/seeds/record/short-run.json");

/// A record of the run with this seed, which began then, with a change.
fn run(directory: &Path, name: &str, seed: u64, change: impl FnOnce(&mut Value)) -> String {
    let mut record: Value = serde_json::from_str(&fs::read_to_string(RECORD).unwrap()).unwrap();
    record["seed"] = seed.into();
    record["second_zero"]["wall"] = json!(name);
    change(&mut record);
    fs::create_dir_all(directory).unwrap();
    let path = directory.join(format!("{name}.json"));
    fs::write(&path, record.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A group of runs in which redlock lost so many updates.
fn group(directory: &Path, name: &str, lost: &[u64]) -> String {
    let directory = directory.join(name);
    for (seed, lost) in (1..).zip(lost) {
        run(&directory, &format!("{name}-{seed}"), seed, |record| {
            let arm = &mut record["arms"][1];
            (arm["lost_updates"], arm["lost_updates_peak"]) = ((*lost).into(), (*lost).into());
        });
    }
    directory.to_str().unwrap().to_owned()
}

const NONE: [u64; 8] = [0; 8];
const SOME: [u64; 8] = [12, 3, 20, 9, 7, 1, 14, 8];

#[test]
fn a_group_is_worse_if_it_lost_in_all_of_eight_runs_against_none_and_equals_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let [none, some, also_none] =
        [("none", NONE), ("some", SOME), ("also", NONE)].map(|(name, lost)| group(directory.path(), name, &lost));
    let worse = printed(0, &["compare", &none, "--", &some]);
    let expected = "✖ worse with B than with A: redlock, lost updates, in 8 of 8 runs against 0 of 8 (p = 1.6e-4)";
    assert!(worse.contains(expected), "{worse}");
    assert!(worse.starts_with("held"), "{worse}");
    let better = printed(0, &["compare", &some, "--", &none]);
    assert!(better.contains("✔ better with B than with A: redlock"), "{better}");
    let same = printed(0, &["compare", &none, "--", &also_none]);
    assert!(same.contains("= B and A are the same"), "{same}");
    // A pattern that a shell left alone; two runs against eight can't show it.
    let two = format!("{some}/some-[12].json");
    let few = printed(0, &["compare", &none, "--", &two]);
    assert!(
        few.contains("? too few to show anything, whatever they are: 2 against 8; it takes 5 of each (--repeat 5)"),
        "{few}"
    );
    assert!(few.contains("? needs "), "{few}");
    let markdown = printed(0, &["compare", "--markdown", &none, "--", &some]).replace('\u{a0}', " ");
    assert!(
        markdown.starts_with("**✖ worse with B than with A: redlock"),
        "{markdown}"
    );
    assert!(
        markdown.contains("| redlock: lost updates | 0 | 8.50 | +3 to +14 | ✖ worse |"),
        "{markdown}"
    );
    let json: Value = serde_json::from_str(&printed(0, &["compare", "--json", &none, "--", &some])).unwrap();
    let is_loss = |row: &&Value| row["figure"] == "lost_updates_peak" && row["arm"] == "redlock";
    let row = json["rows"].as_array().unwrap().iter().find(is_loss).unwrap();
    assert_eq!(
        (&row["result"], &row["differs"], &row["sides"][1]["median"]),
        (&json!("failed"), &json!(true), &json!(8.5))
    );
}

/// Adds what casts doubt on one arm alone.
fn doubt_redlock(record: &mut Value) {
    let unreadable = serde_json::json!({ "caveat": "ledger_unreadable", "arm": "redlock", "quoted": "gone" });
    let warnings = record["warnings"].as_array_mut();
    warnings.expect("a list").push(unreadable);
}

#[test]
fn a_baseline_is_kept_the_first_time_and_a_regression_ends_with_code_4() {
    let directory = tempfile::tempdir().unwrap();
    let [none, some] = [("none", NONE), ("some", SOME)].map(|(name, lost)| group(directory.path(), name, &lost));
    let baseline = directory.path().join("baseline");
    let with = ["--baseline", baseline.to_str().unwrap()];
    let compare = |code, runs: &str| printed(code, &[&["compare", runs][..], &with].concat());
    assert_eq!(compare(0, &none), "");
    assert_eq!(fs::read_dir(&baseline).unwrap().count(), 8);
    assert!(compare(4, &some).contains("✖ worse with now than with the baseline: redlock"));
    // One run never fails a build, however bad it is.
    let one = compare(0, &format!("{some}/some-1.json"));
    assert!(one.contains("evidence within these runs only"), "{one}");
    assert_eq!(fs::read_dir(&baseline).unwrap().count(), 8, "it is kept as it was");
    // A gate that can't see is not open: too few runs, or a lock of which nothing can be said.
    let two = compare(5, &group(directory.path(), "few", &[0, 1]));
    assert!(two.contains("too few to show anything"), "{two}");
    let says_why = |text: &str| {
        assert!(
            text.contains("? nothing can be said of ") && text.contains("runs of each side that count"),
            "{text}"
        );
    };
    for seed in 1..=8 {
        run(
            &directory.path().join("doubt"),
            &format!("doubt-{seed}"),
            seed,
            |record| {
                doubt_redlock(record);
            },
        );
    }
    says_why(&compare(5, directory.path().join("doubt").to_str().unwrap()));
    // Equal, but seven of eight runs do not count.
    for seed in 1..=8 {
        run(&directory.path().join("cut"), &format!("cut-{seed}"), seed, |record| {
            record["interrupted"] = (seed > 1).into();
        });
    }
    says_why(&compare(5, directory.path().join("cut").to_str().unwrap()));
    compare(0, &group(directory.path(), "again", &NONE));
}

#[test]
fn a_control_is_compared_if_it_is_named_and_an_arm_may_have_any_name() {
    let directory = tempfile::tempdir().unwrap();
    let bare = |record: &mut Value, seed: u64| {
        record["scenario"]["arms"][0]["lock"] = "none".into();
        for (arm, name) in ["b against a", "redlock"].into_iter().enumerate() {
            record["arms"][arm]["name"] = name.into();
            record["scenario"]["arms"][arm]["name"] = name.into();
        }
        (
            record["arms"][0]["lost_updates"],
            record["arms"][0]["lost_updates_peak"],
        ) = (seed.into(), seed.into());
    };
    for seed in 1..=8 {
        run(directory.path(), &format!("run-{seed}"), seed, |record| {
            bare(record, seed);
        });
    }
    let runs = directory.path().to_str().unwrap();
    let said = printed(0, &["compare", runs, "--arms", "b against a,redlock"]);
    assert!(
        said.starts_with("✔ better with redlock than with b against a: lost updates"),
        "{said}"
    );
    // In groups it is a control.
    let other = directory.path().join("other");
    for seed in 11..=18 {
        run(&other, &format!("run-{seed}"), seed, |record| bare(record, 100 * seed));
    }
    let said = printed(0, &["compare", runs, "--", other.to_str().unwrap()]);
    assert!(!said.contains("b against a: lost updates"), "{said}");
}

#[test]
fn a_baseline_is_of_whole_runs_of_one_setting_and_kept_as_a_whole_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let place = path.join("baseline");
    let with = ["--baseline", place.to_str().unwrap()];
    let one = run(&path.join("a"), "one", 1, |_| ());
    let namesake = run(&path.join("b"), "one", 2, |record| {
        record["second_zero"]["monotonic_us"] = 7.into();
    });
    let (code, _, stderr) = told(&[&["compare", &one, &namesake][..], &with].concat());
    assert!(
        code == Some(1) && stderr.contains("copy them under other names first"),
        "{stderr}"
    );
    let cut = run(&path.join("c"), "cut", 3, |record| record["interrupted"] = true.into());
    refused(
        2,
        &[&["compare", &one, &cut][..], &with].concat(),
        &["1 of these runs was interrupted or in doubt"],
    );
    let left = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name());
    let mut left: Vec<_> = left.collect();
    left.sort();
    assert_eq!(left, ["a", "b", "c"], "nothing of a baseline is left");
    let (code, _, stderr) = told(&[&["compare", &one][..], &with].concat());
    assert!(
        code == Some(0) && stderr.contains("fewer than 5 runs can't show anything"),
        "{stderr}"
    );
}

#[test]
fn what_differs_in_its_settings_is_named_by_them_and_what_is_unlike_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let toml = |record: &mut Value, from: &str, to: &str| {
        let text = record["scenario_toml"].as_str().unwrap().replace(from, to);
        record["scenario_toml"] = text.into();
    };
    let one = run(path, "one", 1, |_| ());
    let other_ttl = run(path, "ttl", 2, |record| toml(record, "ttl = \"2s\"", "ttl = \"8s\""));
    let said = printed(0, &["compare", &one, "--", &other_ttl]);
    assert!(
        said.contains("the same but for\n  arm.*.ttl: \"2s\" against \"8s\"\n"),
        "{said}"
    );
    assert!(said.contains("= ttl 8s and ttl 2s are the same"), "{said}");
    let longer = run(path, "longer", 3, |record| {
        toml(record, "duration = \"3s\"", "duration = \"9s\"");
    });
    let why = ["not alike", "duration: \"3s\" against \"9s\""];
    refused(2, &["compare", &one, "--", &longer], &why);
    let forced = printed(0, &["compare", &one, "--force", "--", &longer]);
    assert!(
        forced.contains("! not alike, so a difference may come from that"),
        "{forced}"
    );
    let elsewhere = run(path, "elsewhere", 4, |record| record["machine"]["cpus"] = 64.into());
    refused(2, &["compare", &one, "--", &elsewhere], &["machine: "]);
}

#[test]
fn a_run_counts_once_and_only_if_it_was_played_to_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (one, other) = (run(path, "one", 1, |_| ()), run(path, "other", 2, |_| ()));
    refused(2, &["compare", &one, "--", &one], &["are the same run"]);
    let cut = run(path, "cut", 3, |record| record["interrupted"] = true.into());
    let left = printed(5, &["compare", &one, "--", &cut]);
    assert!(left.contains("1 interrupted run: what came later is missing"), "{left}");
    assert!(left.contains("no figure in common"), "{left}");
    let doubted = run(path, "doubt", 4, |record| {
        doubt_redlock(record);
    });
    let left = printed(0, &["compare", &one, "--", &doubted]);
    assert!(
        left.contains("redlock in the run with seed 4: redlock: its ledger"),
        "{left}"
    );
    refused(2, &["compare", &one], &["nothing to compare with"]);
    let arms = ["there is no arm \"raft\"; the arms are single, redlock"];
    refused(2, &["compare", &one, "--arms", "redlock,raft"], &arms);
    refused(2, &["compare", "no-*.json", "--", &other], &["no file fits no-*.json"]);
}

#[test]
fn how_long_a_lock_was_away_is_not_known_while_it_was_another_ones_turn() {
    let directory = tempfile::tempdir().unwrap();
    let [one, other] = [("one", 1), ("other", 2)].map(|(name, seed)| {
        run(directory.path(), name, seed, |record| {
            record["scenario"]["swarm"]["turns_us"] = 1_000_000.into();
        })
    });
    let said = printed(0, &["compare", &one, "--", &other]);
    assert!(
        said.contains("unavailable ms of single, redlock: not known while arms take turns"),
        "{said}"
    );
    assert!(!said.contains("single: unavailable ms"), "{said}");
}

#[test]
fn two_arms_of_a_short_run_have_too_few_parts_to_tell() {
    let said = printed(5, &["compare", RECORD, "--arms", "single,redlock"]);
    assert!(said.contains("too short to be cut into eight parts"), "{said}");
}

#[test]
fn an_outage_too_short_to_be_counted_stays_so_and_each_missing_figure_has_its_own_reason() {
    let directory = tempfile::tempdir().unwrap();
    let away = |name: &str, millis: fn(u64) -> u64| {
        let directory = directory.path().join(name);
        for seed in 1..=8 {
            run(&directory, &format!("{name}-{seed}"), seed, |record| {
                let outage = json!({ "at_us": 5000, "event": null, "lasted_us": 1000 * millis(seed), "over": true });
                let has_one = millis(seed) > 0;
                record["arms"][1]["outages"] = if has_one { json!([outage]) } else { json!([]) };
            });
        }
        directory.to_str().unwrap().to_owned()
    };
    let (short, as_short) = (away("short", |_| 0), away("as-short", |_| 0));
    let long = away("long", |seed| 300 + seed);
    let said = printed(4, &["compare", &long, "--baseline", &short]);
    assert!(
        said.contains("✖ worse with now than with the baseline: redlock, unavailable ms, 305 against < 10 ms (p = "),
        "{said}"
    );
    let said = printed(0, &["compare", &short, "--", &as_short]);
    assert!(said.contains("= B and A are the same"), "{said}");
    // Only a percentile needs so many acquires.
    assert!(
        said.contains("acquire p99 of single, redlock: a side has too few values in each run: 1,000 are needed"),
        "{said}"
    );
    let mixed = away("mixed", |seed| if seed < 6 { 0 } else { 40 });
    let all = printed(0, &["compare", "--verbose", &short, "--", &mixed]);
    let row = all
        .lines()
        .find(|line| line.starts_with("redlock: unavailable ms"))
        .unwrap();
    assert!(row.contains("< 10 ms (< 10 ms – 40)"), "{row}");
}

/// What a run showed: the p99 of its acquires and of the load generator's lag in microseconds, stalled sections, lost updates; and in which
/// minute of an hour it began.
#[derive(Clone, Copy, Default)]
struct Showed {
    acquire: u64,
    lag: u64,
    stalled: u64,
    lost: u64,
    minute: u64,
}

/// So many runs that showed this.
fn timed(directory: &Path, name: &str, runs: u64, showed: impl Fn(u64) -> Showed) -> String {
    let directory = directory.join(name);
    for seed in 1..=runs {
        let showed = showed(seed);
        run(&directory, &format!("{name}-{seed}"), seed, |record| {
            record["started"] = format!("2026-11-26T12:{:02}:00Z", showed.minute).into();
            for arm in [0, 1] {
                let arm = &mut record["arms"][arm];
                for (figure, p99) in [("acquire_us", showed.acquire), ("lag_us", showed.lag)] {
                    arm[figure] = json!({ "count": 5000, "p50": 100, "p90": 200, "p99": p99, "p999": p99, "max": p99 });
                }
                arm["hold_us"]["count"] = 5000.into();
                arm["stalled"] = showed.stalled.into();
            }
            let arm = &mut record["arms"][1];
            (arm["lost_updates"], arm["lost_updates_peak"]) = (showed.lost.into(), showed.lost.into());
        });
    }
    directory.to_str().unwrap().to_owned()
}

#[test]
fn times_that_differ_as_the_machine_does_prove_nothing_and_say_what_would() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    // No two runs are the same.
    let quick = |seed| Showed {
        acquire: 10_000 + 10 * seed,
        lag: 3_000 + 10 * seed,
        minute: seed,
        ..Showed::default()
    };
    let slow = |seed| Showed {
        acquire: 12_000 + 10 * seed,
        minute: 20 + seed,
        ..quick(seed)
    };
    let before = timed(path, "before", 8, quick);
    let against = |code, now: &str| printed(code, &["compare", now, "--baseline", &before]);
    let cure = "Record both sides in turns";
    let busy = timed(path, "busy", 8, |seed| Showed {
        lag: 5_000 + seed,
        ..slow(seed)
    });
    let said = against(5, &busy);
    assert!(
        said.contains("? other with now than with the baseline: redlock, acquire p99, +"),
        "{said}"
    );
    assert!(
        said.contains("more lag of the load generator (p = ") && said.contains(cure),
        "{said}"
    );
    assert!(said.contains("? the machine") && !said.contains("✖ worse"), "{said}");
    // So does one that was less busy, and without a baseline.
    let said = printed(5, &["compare", &busy, "--", &before]);
    assert!(
        said.contains("less lag of the load generator") && !said.contains("✔ better"),
        "{said}"
    );
    let stalled = timed(path, "stalled", 8, |seed| Showed {
        stalled: 40 + seed,
        ..slow(seed)
    });
    assert!(against(5, &stalled).contains("more stalled sections (p = "));
    // The machine was as before, or less busy, or it was as busy for both, in turns.
    let other: [(&str, &dyn Fn(u64) -> Showed); 3] = [
        ("slower", &slow),
        ("quiet", &|seed| Showed {
            lag: 1_000 + seed,
            ..slow(seed)
        }),
        ("in-turns", &|seed| Showed {
            lag: 5_000 + seed,
            minute: seed,
            ..slow(seed)
        }),
    ];
    for (name, showed) in other {
        let said = against(4, &timed(path, name, 8, showed));
        assert!(
            said.contains("✖ worse with now than with the baseline: redlock, acquire p99"),
            "{name}: {said}"
        );
        assert!(!said.contains(cure), "{name}: {said}");
    }
    // Damage does not come from a slow generator.
    let damaged = timed(path, "damaged", 8, |seed| Showed {
        lag: 5_000 + seed,
        lost: 3 * seed,
        ..slow(seed)
    });
    let said = against(4, &damaged);
    assert!(
        said.contains("✖ worse with now than with the baseline: redlock, lost updates"),
        "{said}"
    );
    assert!(said.contains("? other with now") && said.contains(cure), "{said}");
}

/// Runs on a machine of which each minute is about as busy as the one before, and an hour is not as the next.
#[test]
fn a_machine_that_changes_is_no_regression_and_ten_percent_are_found_in_turns() {
    let mut random = SmallRng::seed_from_u64(1);
    // The sum of twelve is nearly normal, with a deviation of 1.
    let mut noise = move || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
    // The p99 of acquires and of the lag in each of 24 minutes.
    let mut minutes = |hours: [f64; 2]| {
        let mut now = 0.0;
        let minute = |place: usize| {
            now = 0.7 * now + 0.7 * noise();
            let busy = hours[place / 12] + 0.2 * now;
            let mut part = |base: f64, grows: f64, varies: f64| base * (grows * busy + varies * noise()).exp();
            (part(10_000.0, 0.1, 0.02), part(2_000.0, 0.4, 0.08))
        };
        (0..24).map(minute).collect::<Vec<_>>()
    };
    let mut code = |hours: [f64; 2], slower: f64, is_second: fn(usize) -> bool| {
        let directory = tempfile::tempdir().unwrap();
        let minutes = minutes(hours);
        let [before, now] = [("before", false, 1.0), ("now", true, slower)].map(|(name, second, slower)| {
            let own: Vec<usize> = (0..24).filter(|minute| is_second(*minute) == second).collect();
            timed(directory.path(), name, 12, |seed| {
                let minute = own[usize::try_from(seed).unwrap() - 1];
                let [acquire, lag] = [minutes[minute].0 * slower, minutes[minute].1].map(rounded);
                Showed {
                    acquire,
                    lag,
                    minute: minute as u64,
                    ..Showed::default()
                }
            })
        });
        told(&["compare", &now, "--baseline", &before]).0
    };
    let busier = |comparison: u32| [f64::from(comparison % 3), f64::from(comparison / 3 % 4)];
    let after_the_other = |minute| minute >= 12;
    let codes: Vec<_> = (0..20)
        .map(|comparison| code(busier(comparison), 1.0, after_the_other))
        .collect();
    assert!(!codes.contains(&Some(4)), "{codes:?}");
    // A machine that is busier is noticed.
    assert!(codes.iter().filter(|code| **code == Some(5)).count() >= 8, "{codes:?}");
    let in_turns = |minute| matches!(minute % 4, 1 | 2);
    let found: Vec<_> = (0..10)
        .map(|comparison| code(busier(comparison), 1.1, in_turns))
        .collect();
    assert!(found.iter().filter(|code| **code == Some(4)).count() >= 9, "{found:?}");
}

#[test]
fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
    let directory = tempfile::tempdir().unwrap();
    let [none, some] =
        [("none", &NONE[..6]), ("some", &[12, 3, 20, 9, 7, 1])].map(|(name, lost)| group(directory.path(), name, lost));
    let json: Value = serde_json::from_str(&printed(0, &["compare", "--json", &none, "--", &some])).unwrap();
    let is_loss = |row: &&Value| row["figure"] == "lost_updates_peak" && row["arm"] == "redlock";
    let row = json["rows"].as_array().unwrap().iter().find(is_loss).unwrap();
    assert_eq!(row["sides"][1]["median"], json!(8.0));
}
