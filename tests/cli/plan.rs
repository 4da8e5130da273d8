//! `lockstorm plan` from outside: what it recommends, in text, JSON and CSV, and what it refuses.

use std::fs;
use std::io::BufReader;
use std::path::Path;

use lockstorm_kit::program::{self, printed, read_until, says, told};
use lockstorm_kit::{lockstorm, parts_of, send};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::Value;
use tempfile::TempDir;

/// What is printed by a plan that ends with this exit code.
fn planned(words: &str, code: i32) -> String {
    printed(code, &split(words))
}

fn split(words: &str) -> Vec<&str> {
    ["plan"].into_iter().chain(words.split_whitespace()).collect()
}

fn json(words: &str, code: i32) -> Value {
    serde_json::from_str(&planned(&format!("{words} --json"), code)).unwrap()
}

const WORK: &str = "--hold lognormal:20ms,0.6 --rtt same-az --pause none --rate 100/s";

/// One line on standard error, which has all of these parts, and exit code 2.
fn refused(words: &str, parts: &[&str]) {
    program::refused(2, &split(words), parts);
}

#[test]
fn the_whole_plan_of_a_short_section() {
    insta::assert_snapshot!(planned(&format!("{WORK} --risk 1/h --takeover 2s"), 0));
}

#[test]
fn the_recommended_setting_meets_the_goal_and_the_next_shorter_one_does_not() {
    // So short a takeover leaves no room for pauses.
    let plan = json(&format!("{WORK} --risk 1/h --renew off --takeover 900ms"), 0);
    let best = usize::try_from(plan["choice"]["best"].as_u64().unwrap()).unwrap();
    let overlaps = |row: usize| plan["rows"][row]["overlaps_per_day"]["p"].as_f64().unwrap();
    assert!(overlaps(best) <= 24.0 && overlaps(best - 1) > 24.0, "{plan:#}");
}

/// No round TTL is long enough for the risk and short enough for the takeover, but one between them is.
#[test]
fn a_ttl_between_the_round_ones_is_found_if_none_of_those_will_do() {
    let work = "--hold lognormal:200ms,0.866 --rate 40/s --takeover 5s --risk 1/month";
    assert_eq!(recommended(work), (4_500, 1_500));
    // One that will do is in no need of it.
    let plan = planned(&format!("{work} --takeover 8s").replace("--takeover 5s ", ""), 0);
    assert!(!plan.contains("7.2 s   ttl") && !plan.contains("6.4 s   ttl"), "{plan}");
}

/// Of these no round TTL is short enough, and none that leaves a tenth of the takeover.
#[test]
fn what_is_advised_is_the_shortest_that_will_do() {
    let work = "--hold lognormal:400ms,0.692 --pause 20/h,lognormal:200ms,1 --rate 20/s --risk 1/month";
    assert!(recommended(&format!("{work} --takeover 17s")).0 < 17_000);
    // The limit is compared with the exact time.
    for (hold, takeover, ttl) in [("1s..2s", 2026, 2024), ("100s..200s", 202_500, 202_024)] {
        let work = format!("--hold uniform:{hold} --pause none --renew off --takeover {takeover}ms");
        assert_eq!(recommended(&work), (ttl, 0));
    }
    for (work, takeover) in [
        (work.to_owned(), "3s"),
        (format!("{work} --renew ttl/3"), "10s"),
        (format!("{work} --renew 500ms"), "10s"),
        (
            "--hold lognormal:100ms,0.5 --pause none --risk 1/day --renew off".to_owned(),
            "50ms",
        ),
        (
            "--hold lognormal:16min,0.2 --rate 1/day --outage 2/month,30s --renew off,ttl/2".to_owned(),
            "60s",
        ),
        ("--hold uniform:1s..2s --pause none --renew off".to_owned(), "2s"),
        ("--hold uniform:100s..200s --pause none --renew off".to_owned(), "200s"),
        // Half of the sections may overlap, so a TTL shorter than their median will do.
        (
            "--hold uniform:1s..3s --pause none --risk 60% --renew off".to_owned(),
            "1s",
        ),
    ] {
        let refused = planned(&format!("{work} --takeover {takeover}"), 3);
        let refused = refused.split_whitespace().collect::<Vec<_>>().join(" ");
        says(&refused, &["No setting here meets both", " is the shortest, to 1 ms, "]);
        let advice = refused.split("Allow --takeover ").nth(1).unwrap();
        let advice = advice.split(',').next().unwrap();
        let with = |takeover: &str| told(&split(&format!("{work} --takeover {takeover}"))).0;
        assert_eq!(with(advice), Some(0), "{work}: {advice}");
        let shorter = format!("{}ms", humantime::parse_duration(advice).unwrap().as_millis() - 1);
        assert_eq!(with(&shorter), Some(3), "{work}: {advice} {shorter}");
        // What is shown as the shortest meets the risk as it is written.
        let shown = refused.replace(' ', "");
        let shown = shown
            .split("meetsboth:TTL")
            .nth(1)
            .unwrap()
            .split("istheshortest")
            .next()
            .unwrap();
        let (ttl, renew) = match shown.strip_suffix("withoutrenewal") {
            Some(ttl) => (ttl, "off"),
            None => shown.split_once("witharenewalevery").unwrap(),
        };
        let work = work.split(" --renew").next().unwrap();
        let only = format!("{work} --ttl {ttl} --renew {renew}");
        assert_eq!(told(&split(&only)).0, Some(0), "{only}");
    }
}

/// The recommended TTL and renewal interval in milliseconds, 0 if there is none.
fn recommended(words: &str) -> (u64, u64) {
    let plan = json(words, 0);
    let best = usize::try_from(plan["choice"]["best"].as_u64().unwrap()).unwrap();
    let setting = &plan["rows"][best]["setting"];
    let ttl = setting["ttl_us"].as_u64().unwrap() / 1000;
    let renewal = setting["renewal"]["fraction"].as_u64().map_or(0, |parts| ttl / parts);
    (ttl, renewal)
}

/// Invoices, a nightly job, and refills: what is recommended survives the pauses with room and a failed renewal.
#[test]
fn what_is_recommended_can_be_deployed() {
    let invoices = "--hold lognormal:180ms,0.8 --pause 2/h,uniform:..1.5s --risk 1/month";
    assert_eq!(recommended(invoices), (5000, 1666));
    assert_eq!(
        recommended("--hold lognormal:16min,0.2 --rate 1/day --takeover 60s"),
        (45_000, 15_000)
    );
    assert_eq!(
        recommended("--hold uniform:10min..25min --rate 1/day --takeover 60s"),
        (45_000, 15_000)
    );
    assert_eq!(
        recommended("--hold 2s --pause none --renew ttl/2,ttl/3 --risk 1/month"),
        (2000, 666)
    );
    // In an outage of 30 s most renewals of such a lock fail.
    let outage = "--hold lognormal:16min,0.2 --rate 1/day --takeover 60s --outage 2/month,30s";
    assert_eq!(recommended(outage), (45_000, 5000));
    assert_eq!(recommended(&format!("{outage} --risk 1/year")), (45_000, 15_000));
    says(
        &planned(&format!("{outage} --renew off,ttl/2,ttl/3"), 3),
        &["No setting here meets both", "Allow --takeover "],
    );
    // What is left of the takeover is enough for the longest delay between two attempts.
    let soon = planned("--hold 60s --takeover 50s --risk 1%", 0);
    says(
        &soon,
        &[
            "Use TTL 45 s",
            "asks again within another 5 s",
            "after 2.5 s + 0–2.5 s",
            "a standby asks again",
        ],
    );
    let full = planned(
        "--hold uniform:10s..25s --rate 1/min --takeover 2s --ttl 2s --renew ttl/3 --risk 1/day",
        3,
    );
    says(&full, &["✖ takeover"]);
    for (risk, goal) in [
        ("1/day", "one overlap a day"),
        ("3/day", "3 overlaps a day"),
        ("1/week", "one overlap in 7 days"),
    ] {
        let text = planned(&format!("--hold 2s --pause none --risk {risk}"), 0);
        says(&text, &[format!("at most {goal}\n").as_str()]);
    }
    // Where nothing survives so long a pause, that is said.
    let short = planned("--hold 20ms --pause none --risk 1/month --takeover 500ms", 0);
    says(
        &short,
        &["With none of them a pause of 1 s is survived, which any machine may have."],
    );
}

#[test]
fn csv_has_a_row_for_each_setting_and_one_is_recommended() {
    let text = planned("--hold 50ms --ttl 100ms,200ms --renew off,ttl/3 --pause none --csv", 0);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    let columns = lines[0].split(',').count();
    assert!(lines.iter().all(|line| line.split(',').count() == columns), "{text}");
    assert_eq!(
        lines.iter().filter(|line| line.ends_with(",true,true")).count(),
        1,
        "{text}"
    );
    assert!(lines[1].starts_with("0.1,,0e0"), "{text}");
}

#[test]
fn a_goal_that_no_setting_meets_says_what_to_change_and_ends_with_3() {
    let risky = planned("--hold lognormal:20ms,0.6 --ttl 50ms --renew off --pause none", 3);
    says(&risky, &["✖ No setting here meets", "fence the writes"]);
    // Longer than any TTL that is offered.
    let long = planned("--hold 1h --ttl 1s,10s --renew off --pause none", 3);
    says(&long, &["100 %", "No setting here meets"]);
    let slow = planned("--hold 1s --renew off --pause none --takeover 500ms", 3);
    assert!(slow.contains("No setting here meets both"), "{slow}");
    let short = planned("--hold 1ms --rtt cross-region --ttl 20ms --pause none", 3);
    assert!(short.contains("Every TTL here is too short"), "{short}");
}

#[test]
fn measured_holds_are_believed_as_far_as_they_reach() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("holds.csv");
    // A thousand holds of 1 to 100 ms.
    let holds: String = (0..1000).map(|n| format!("{}\n", 1 + n % 100)).collect();
    fs::write(&path, format!("hold_ms\n{holds}")).unwrap();
    let file = path.to_str().unwrap();
    let common = format!("--hold-from {file} --pause none --renew off");
    // One section in a million can't be seen in a thousand.
    let unproven = planned(&format!("{common} --rate 1/s --risk 0.1/day"), 3);
    says(&unproven, &["? Not proven", "~"]);
    // One in five can.
    let proven = json(&format!("{common} --rate 1/s --risk 0.2/s"), 0);
    let best = usize::try_from(proven["choice"]["best"].as_u64().unwrap()).unwrap();
    assert_eq!(proven["rows"][best]["overrun"]["basis"]["measured"], 1000, "{proven:#}");
    // With renewal the length of the sections does not matter.
    let renewed = format!("--hold-from {file} --pause none --renew ttl/3 --risk 0.1/day");
    assert!(planned(&renewed, 0).contains("✔ Use TTL"));
}

#[test]
fn the_simulation_agrees_and_a_signal_keeps_what_was_played() {
    let plan = json(&format!("{WORK} --ttl 30ms --renew off --simulate 200000"), 3);
    let row = &plan["rows"][0];
    let overran = row["simulated"]["overran"].as_f64().unwrap();
    assert_eq!(row["simulated"]["sections"], 200_000);
    let expected = row["overrun"]["p"].as_f64().unwrap() * 2e5;
    // Four standard errors and 2 %.
    assert!(
        (overran - expected).abs() < 4.0 * expected.sqrt() + 0.02 * expected,
        "{overran}, {expected} expected"
    );
    assert_eq!(row["simulated"]["ended_early"], false);
}

#[test]
fn every_signal_that_ends_a_simulation_keeps_what_was_played() {
    let endless = split("--hold 20ms --ttl 1s --renew off --simulate 1e9");
    for (signal, expected) in [
        (Signal::SIGINT, 130),
        (Signal::SIGTERM, 143),
        (Signal::SIGQUIT, 131),
        (Signal::SIGHUP, 129),
    ] {
        let mut child = lockstorm(Path::new("."), &endless).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        // Progress is told while it goes on.
        says(
            &read_until(&mut stderr, " left; "),
            &[" of 1,000,000,000 sections, about ", "Ctrl-C keeps what was played"],
        );
        send(child.id(), signal);
        let (code, text, _) = parts_of(child.wait_with_output().unwrap());
        assert_eq!(code, Some(expected));
        says(&text, &["simulated (95 %)"]);
    }
}

/// What the program says on standard error of settings that ended early; it ends by itself.
fn early(words: &str) -> Vec<String> {
    let (code, _, said) = told(&split(words));
    assert!(matches!(code, Some(0 | 3)), "{words}: {code:?} {said}");
    let lines = said.lines().filter(|line| line.contains("ended early"));
    lines.map(str::to_owned).collect()
}

#[test]
fn what_would_take_for_ever_ends_early_and_one_line_says_so() {
    let work = "--hold 20ms --ttl 1s --renew off";
    let clients = "--pause none --rate 10/s --simulate 1min --clients 5";
    for endless in [
        // Half of the time is paused, a hundred million times a second.
        format!("{work} --pause 1e8/s,5ns --simulate 1"),
        format!("{work} {clients} --node-crash 1e9/s,1ms"),
        format!("{work} {clients} --clock-jump 1e9/s,1ms"),
        format!("{work} {clients} --crash-rate 1e9/s"),
        // No node answers in time, so nobody gets a lock.
        "--hold 1ms --rtt 200ms --ttl 20ms --renew off --pause none --simulate 1".to_owned(),
        // A hundred thousand renewals.
        "--hold 1day --ttl 1s --renew ttl/3 --pause none --simulate 1".to_owned(),
    ] {
        let said = early(&endless);
        assert_eq!(said.len(), 1, "{endless}: {said:?}");
        says(
            &said[0],
            &["1 of 1 setting ended early, with ", "20,000 events", "make TTLs"],
        );
    }
    // Not what has a few pauses, crashes, jumps and renewals.
    for usual in [
        format!("{work} --pause 5/s,100ms --simulate 1000"),
        format!("{work} {clients} --node-crash 6/min,3s --clock-jump 6/min,2s --crash-rate 1/min"),
        "--hold 30s --ttl 1s --renew ttl/3 --pause none --simulate 100".to_owned(),
    ] {
        assert_eq!(early(&usual), [""; 0], "{usual}");
    }
}

#[test]
fn sections_back_to_back_are_as_many_as_their_time_has_room_for() {
    // 64 app servers, 20 ms and some for each section.
    let plan = json("--hold 20ms --ttl 1s --renew off --pause none --simulate 10s", 0);
    let seen = plan["rows"][0]["simulated"].clone();
    let [sections, elapsed] = ["sections", "elapsed_us"].map(|name| seen[name].as_u64().unwrap());
    assert!(
        (28_000..32_000).contains(&sections) && (9_990_000..10_010_000).contains(&elapsed),
        "{seen}"
    );
    refused(
        "--hold 20ms --simulate 366d --ttl 1s",
        &["are too many", "name a shorter time"],
    );
}

#[test]
fn clients_share_locks_and_nodes_that_forget_make_two_holders() {
    let around =
        "--hold 500ms --rate 50/s --nodes 1 --pause none --ttl 2s --renew off --simulate 5min --clients 40 --keys 30";
    let simulated = |crash: &str, code| json(&format!("{around} {crash}"), code)["rows"][0]["simulated"].clone();
    let calm = simulated("", 0);
    assert_eq!(
        [&calm["overlaps"], &calm["overran"], &calm["violations"]],
        [0, 0, 0],
        "{calm}"
    );
    assert!(calm["sections"].as_u64().unwrap() > 7_500, "{calm}");
    let forgets = simulated("--node-crash 6/min,100ms", 3);
    assert!(forgets["overlaps"].as_u64().unwrap() > 10, "{forgets}");
    for harmless in ["6/min,100ms,keeps", "6/min,2100ms"] {
        let seen = simulated(&format!("--node-crash {harmless}"), 0);
        assert_eq!([&seen["overlaps"], &seen["violations"]], [0, 0], "{harmless}: {seen}");
    }
    let text = planned(&format!("{around} --node-crash 6/min,100ms"), 3);
    says(&text, &["✖ two holders", "would do if nodes stayed away for 2.02 s"]);
}

#[test]
fn a_prediction_says_what_a_run_should_show() {
    let question = "--hold lognormal:20ms,0.6 --ttl 80ms --renew off --pause none --sections 10000";
    let seen = json(question, 3)["rows"][0]["predicted"].clone();
    let expected = seen["expected"].as_f64().unwrap();
    // 0.012 by the closed form.
    assert!((110.0..135.0).contains(&expected), "{seen}");
    let ends = [0, 1].map(|end| seen["interval"][end].as_f64().unwrap());
    assert!(
        ends[0] < expected - 20.0 && ends[1] > expected + 20.0 && ends[1] < expected + 40.0,
        "{seen}"
    );
}

/// A record of a short run, with this change. Its arm "redlock" has 233 sections, and "single" has 2.
fn record(dir: &TempDir, change: impl FnOnce(&mut Value)) -> String {
    let seed = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fuzz/seeds/record/short-run.json");
    let mut record: Value = serde_json::from_str(&fs::read_to_string(seed).unwrap()).unwrap();
    change(&mut record);
    let path = dir.path().join("record.json");
    fs::write(&path, record.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// "single" has the times of "redlock", and host 1 those of host 2.
fn alike(record: &mut Value) {
    record["arms"][0]["histograms"] = record["arms"][1]["histograms"].clone();
    record["arms"][0]["hold_us"] = record["arms"][1]["hold_us"].clone();
    record["round_trips"][0] = record["round_trips"][1].clone();
    record["round_trips"][0]["host"] = 1.into();
}

/// What a plan prints, whether or not a setting is recommended.
fn text_of(words: &str) -> String {
    told(&split(words)).1
}

#[test]
fn a_record_is_planned_from_the_first_arm_with_lock_nodes_and_with_as_many() {
    let dir = TempDir::new().unwrap();
    let rest = "--rtt same-az --renew off";
    let path = record(&dir, alike);
    says(
        &text_of(&format!("{path} {rest}")),
        &["239 values measured", "(arm \"single\")", "1 node (from the record)"],
    );
    let path = record(&dir, |record| {
        alike(record);
        record["scenario"]["arms"][0]["lock"] = "local".into();
    });
    let text = text_of(&format!("{path} {rest}"));
    says(&text, &["(arm \"redlock\")", "1 may fail (from the record)"]);
    assert!(!text.contains("stopped"), "{text}");
    says(
        &text_of(&format!("{path} {rest} --nodes 5")),
        &["5 nodes, 3 of which must answer: 2 may fail\n"],
    );
    says(
        &text_of(&format!("{path} {rest} --arm single")),
        &["1 may fail (assumed)"],
    );
    let nowhere = record(&dir, |record| {
        for arm in [0, 1] {
            record["scenario"]["arms"][arm]["lock"] = "none".into();
        }
    });
    refused(&nowhere, &["under a lock on lock nodes", "--arm"]);
}

#[test]
fn what_timers_added_is_told_as_that_and_a_record_that_was_stopped_as_such() {
    let dir = TempDir::new().unwrap();
    let path = record(&dir, |record| {
        record["interrupted"] = true.into();
        record["arms"][1]["cut_off"] = 46.into();
    });
    let text = text_of(&format!("{path} --arm redlock"));
    says(
        &text,
        &[
            "pauses      timers were late by a median of ",
            "measured in each section (from the record)",
            "the run was stopped before its end; 46 sections were cut off then and are not in these values",
        ],
    );
    assert!(!text.contains("an hour"), "{text}");
    let given = text_of(&format!("{path} --arm redlock --pause 2/h,50ms"));
    says(&given, &["2 an hour and app server, 50 ms\n"]);
}

#[test]
fn only_arms_whose_nodes_are_independent_are_replayed() {
    let dir = TempDir::new().unwrap();
    let replay = |path: &str| format!("{path} --arm single --replay 40");
    let path = record(&dir, alike);
    let both = json(&replay(&path), 0);
    let figures = both["figures"].as_array().unwrap();
    assert_eq!(both["times"], 40);
    assert_eq!(figures.len(), 5, "{both:#}");
    // A figure that none of the plays has can't be compared.
    assert_eq!(figures[4]["result"], "inconclusive", "{both:#}");
    assert!(
        figures[0]["interval"][0].as_f64() <= figures[0]["mean"].as_f64(),
        "{both:#}"
    );
    let text = planned(&replay(&path), 0);
    says(&text, &["virtual time, mean", "95 % of the plays", "✖ differs"]);
    assert!(!text.contains("takeover mean"), "{text}");
    for (key, value, said) in [
        ("follow", "sentinel", "replicated nodes or a cluster"),
        ("follow", "fixed", "replicated nodes or a cluster"),
        ("lock", "local", "takes no lock on lock nodes"),
    ] {
        let path = record(&dir, |record| {
            alike(record);
            let arm = &mut record["scenario"]["arms"][0];
            if key == "follow" {
                arm["topology"] = "replicated".into();
            }
            arm[key] = value.into();
        });
        refused(&replay(&path), &["arm \"single\" can't be replayed", said, "--arm"]);
    }
    let cut = record(&dir, |record| {
        alike(record);
        record["scenario"]["workload"]["popularity"] = serde_json::json!({ "zipf": 1.0 });
    });
    let both = json(&replay(&cut), 0);
    let figures = both["figures"].as_array().unwrap();
    assert!(
        figures.iter().all(|figure| figure["result"] == "inconclusive"),
        "{both:#}"
    );
    says(
        &planned(&replay(&cut), 0),
        &[
            "! not played: the products' popularity",
            "? undecided: what was not played may explain",
        ],
    );
}

#[test]
fn the_only_setting_becomes_a_scenario_even_if_it_is_not_fit() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("choice.toml");
    let file = path.to_str().unwrap();
    let question = "--hold lognormal:20ms,0.6 --ttl 30ms --renew off --rtt cross-az --sections 2000";
    assert!(planned(&format!("{question} --scenario {file}"), 3).contains("No setting here meets"));
    let (code, checked, warned) = told(&["check", file]);
    assert_eq!(code, Some(0), "{warned}");
    says(
        &checked,
        &["TTL 30ms, renewal off", "arms: redlock", "faults: 1", "expectations: 3"],
    );
    says(&warned, &["longer than the TTL"]);
    let expected = fs::read_to_string(&path).unwrap();
    says(
        &expected,
        &["requests = 2000\n", "\"redlock.overran\"  = \">= ", "do    = \"lag\""],
    );
    // Every renewal that is tried can be chosen.
    planned(
        &format!("--hold 200ms --pause none --ttl 1s --renew ttl/5 --scenario {file}"),
        0,
    );
    assert!(fs::read_to_string(&path).unwrap().contains("\"ttl/5\""));
    assert_eq!(told(&["check", file]).0, Some(0));
}

#[test]
fn the_page_has_everything_and_asks_nobody() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("plan.html");
    let text = planned(&format!("{WORK} --risk 1/h -o {}", path.display()), 0);
    let page = fs::read_to_string(&path).unwrap();
    assert_eq!(page.matches("<figure>").count(), 2);
    let sentence = text.lines().find_map(|line| line.strip_prefix("✔ ")).unwrap();
    assert!(page.contains(sentence), "{sentence}");
    says(
        &page,
        &[
            "redsync (Go)",
            "systemd",
            "restart delay",
            "app server may pause",
            "What was not considered",
            "by <code>lockstorm plan --hold lognormal:20ms,0.6 --rtt same-az",
            "the goal allows",
            "recommended: TTL",
        ],
    );
    let year = humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string()[..5].to_owned();
    says(&page, &[&format!("Made {year}")]);
    // The name space of SVG is only a name.
    let page = page.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http:", "https:", "src=", "href=", "url(", "@import", "<script"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let (code, _, said) = told(&split(&format!("{WORK} -o no/such/plan.html")));
    assert_eq!(code, Some(2));
    says(&said, &["no/such/plan.html"]);
}

#[test]
fn bad_input_is_refused_in_one_line() {
    refused("", &["how long does a section take?", "--hold lognormal:20ms,0.6"]);
    refused("--hold soon", &["\"soon\" is not a duration"]);
    refused("--hold 20ms --rtt moon", &["moon", "same-az"]);
    refused("--hold 20ms --pause 1/h", &["has no length"]);
    refused(
        "--hold 20ms --outage 1/s,10d",
        &["--outage", "fill all time", "rarer or shorter"],
    );
    refused(
        "--hold 20ms --pause 1e9/s,1s",
        &[
            "--pause",
            "fill 1,000,000,000 seconds of each second",
            "rarer or shorter",
        ],
    );
    refused(
        "--hold 20ms --pause 1/h,lognormal:100ms,5",
        &["--pause", "fill 7.5 seconds"],
    );
    assert_ne!(told(&split("--hold 20ms --pause 1/s,900ms")).0, Some(2));
    refused("--hold 20ms --ttl 1.5ms", &["whole milliseconds"]);
    refused(
        "--hold 20ms --ttl 1s --renew 2s",
        &["no renewal interval is shorter than its TTL"],
    );
    refused(
        "--hold 20ms --renew 2days",
        &["no renewal interval is shorter than its TTL"],
    );
    refused("--hold 20ms --nodes 0", &["0"]);
    refused("--hold 20ms --contended 2", &["above 0 and up to 1"]);
    refused("--hold 20ms --contended 0", &["needs no TTL"]);
    refused("--hold 20ms --bogus", &["'--bogus'"]);
    refused(
        "--hold 20ms -o both --scenario both",
        &["both: is used twice", "name another file"],
    );
    refused("no-such.json", &["cannot read no-such.json"]);
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    refused(manifest, &["Cargo.toml is not a record"]);
    refused("--hold 20ms --from no-such.json", &["no-such.json: cannot be read"]);
    let no_measurement = ["Cargo.toml: is not a whole measurement", "`lockstorm doctor URL"];
    refused(&format!("--hold 20ms --from {manifest}"), &no_measurement);
    // The plan is printed, but there is nothing to write.
    let (code, plan, said) = told(&split("--hold 20ms --ttl 5ms,10ms --renew off --scenario no-such.toml"));
    assert_eq!((code, said.lines().count()), (Some(2), 1), "{said}");
    says(&said, &["one --ttl and one --renew"]);
    says(&plan, &["✖ No setting here meets the goal"]);
    refused("--hold-from no-such.csv", &["no-such.csv: cannot be read"]);
    refused("--hold 20ms --simulate soon", &["write a number of sections", "7d"]);
    refused("--hold 20ms --clients 9", &["--simulate"]);
    let clients = "--hold 20ms --simulate 9 --clients 5";
    refused(&format!("{clients} --node-crash 1/day"), &["1/day", "2/day,10s,keeps"]);
    refused(&format!("{clients} --clock-jump 1/day"), &["1/day", "1/day,2s,back"]);
    refused("--hold 20ms --clock-jump 1/day,2s", &["--clients"]);
    refused("--hold -5ms", &["--hold", "write a duration (20ms)"]);
    refused("--hold 20ms --sections -1", &["--sections", "1 to 1e9"]);
    refused("--hold 20ms --renew 1ns", &["--renew", "at least 1 ms"]);
    refused("--hold 20ms --rate 0/s", &["--rate", "\"0/s\" is never"]);
    refused("--hold 20ms --takeover 0s", &["--takeover", "above 0"]);
    refused("--hold 20ms --risk 2", &["--risk", "0.1%", "1/month"]);
    refused("--hold 20ms --outage 2/month", &["--outage", "2/month,30s"]);
    refused("--hold uniform:3s..2s", &["--hold", "the shorter time first"]);
    refused("no-such.json --replay NaN", &["--replay", "NaN"]);
    refused(
        &format!("{clients} --rate 251/s"),
        &["--rate", "at most 24", "sections a second"],
    );
    refused(
        "--hold 20ms --rate 99/s --simulate 366d --clients 5 --ttl 1s",
        &["are too many", "name a shorter time"],
    );
    refused("--replay 5", &["<RECORD>"]);
    refused("--validate quick --hold 20ms", &["cannot be used with"]);
    let ttls: Vec<String> = (1..=4000).map(|ttl| format!("{ttl}ms")).collect();
    let ttls = format!("--hold 20ms --ttl {}", ttls.join(","));
    refused(&ttls, &["12000 settings are too many"]);
}

/// Files of any kind that somebody names are read or refused, and never waited for.
#[test]
fn only_regular_files_are_read_and_none_without_end() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (pipe, line, large) = (path("pipe"), path("line"), path("large"));
    mkfifo(pipe.as_str(), Mode::S_IRWXU).unwrap();
    let sparse = |path: &str, bytes| fs::File::create(path).unwrap().set_len(bytes).unwrap();
    sparse(&line, 100 << 20);
    sparse(&large, 513 << 20);
    for (file, said) in [
        (pipe.as_str(), "is a pipe"),
        ("/dev/zero", "is a device"),
        (dir.path().to_str().unwrap(), "is a directory"),
        (&line, "line 1: is longer than 64 KiB"),
        (&large, "is larger than 512 MB"),
    ] {
        refused(&format!("--hold-from {file}"), &[file, said]);
    }
    for (file, said) in [
        (pipe.as_str(), "is a pipe"),
        ("/dev/zero", "is a device"),
        (&large, "is larger than 256 MB"),
    ] {
        refused(file, &[file, said]);
        refused(&format!("{file} --replay 1"), &[file, said]);
    }
}

/// The values are kept, and not the text.
#[test]
fn many_holds_take_little_memory() {
    const LINES: i64 = 500_000;
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("holds.csv");
    // The most memory of all programs that this test has started.
    let most = |lines: i64| {
        let holds = (0..lines).map(|n| format!("{n},{}\n", 1 + n * 7919 % 3_999_971));
        fs::write(&path, format!("id,hold_us\n{}", holds.collect::<String>())).unwrap();
        let text = planned(&format!("--hold-from {} --risk 1e9/day", path.display()), 0);
        (getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss() * 1024, text)
    };
    let (few, (many, text)) = (most(1_000).0, most(LINES));
    assert!(text.contains("500,000") || text.contains("500000"), "{text}");
    // Each value takes 8 bytes, and twice that while their list grows; its line has 14.
    assert!(many - few < 20 * LINES, "{} bytes for {LINES} values", many - few);
}
