//! `lockstorm doctor --measure` on real servers, and what `lockstorm plan` and `check` make of it.

use std::fs;
use std::path::Path;
use std::process::Command;

use lockstorm_kit::program::says;
use lockstorm_kit::{RedisServer, beside, ended, eventually, free_port, lockstorm, parts_of, send};
use nix::sys::signal::Signal;
use serde_json::Value;
use tempfile::TempDir;

/// Servers with the user of [`RedisServer::add_user`], who may do this.
fn servers(count: usize, rules: &str) -> Vec<RedisServer> {
    let servers: Vec<RedisServer> = (0..count).map(|_| RedisServer::start()).collect();
    for server in &servers {
        server.add_user(rules);
    }
    servers
}

/// `lockstorm doctor --measure m.json` of these, in this directory.
fn doctor(dir: &Path, servers: &[RedisServer], time: &str) -> Command {
    let urls = servers
        .iter()
        .map(|server| format!("redis://locks:secret@{}", server.addr()));
    let arguments = ["doctor", "--urls-env", "URLS", "--measure", "m.json", "--for", time];
    let mut command = lockstorm(dir, &arguments);
    command.env("URLS", urls.collect::<Vec<_>>().join(" "));
    command
}

fn measured(dir: &Path) -> Value {
    let text = fs::read_to_string(dir.join("m.json")).unwrap();
    assert!(!text.contains("secret") && !text.contains("locks"), "{text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_server_that_is_paused_is_silent_and_the_others_are_not() {
    let _turn = beside();
    let dir = TempDir::new().unwrap();
    let trio = servers(3, "~* +@all");
    let mut child = doctor(dir.path(), &trio, "1h").spawn().unwrap();
    let wait = |server: &RedisServer, more| {
        let until = server.calls("time") + more;
        eventually("it is asked on and on", || server.calls("time") >= until);
    };
    for server in &trio {
        wait(server, 3);
    }
    trio[2].pause();
    // Meanwhile it is silent for two seconds.
    wait(&trio[0], 20);
    trio[2].resume();
    wait(&trio[2], 3);
    assert!(child.try_wait().unwrap().is_none(), "it measures for an hour");
    send(child.id(), Signal::SIGINT);
    let (code, text, error) = parts_of(child.wait_with_output().unwrap());
    assert_eq!((code, error.as_str()), (Some(130), ""));
    says(
        &text,
        &[
            " of 60 min: it was interrupted",
            "10 commands a second on each server",
            "no answer",
        ],
    );
    let measured = measured(dir.path());
    let nodes = measured["nodes"].as_array().unwrap();
    let [one, other, paused] = [0, 1, 2].map(|node| nodes[node]["longest_silence_us"].as_u64().unwrap());
    assert!(
        paused > 1_500_000 && one < paused && other < paused,
        "{one} {other} {paused}"
    );
    assert!(
        nodes[2]["failures"].as_u64() >= Some(1) && nodes[0]["failures"] == 0,
        "{measured:#}"
    );
    assert!(measured["seconds"].as_f64() < Some(3000.0));
}

#[test]
fn a_plan_and_a_scenario_are_made_of_what_was_measured() {
    let _turn = beside();
    let dir = TempDir::new().unwrap();
    let one = servers(1, "~* +@all");
    let (code, text, error) = ended(&mut doctor(dir.path(), &one, "4s"));
    assert_eq!((code, error.as_str()), (Some(0), ""), "{text}");
    says(&text, &["measured for 4 s", "plan --from m.json"]);
    assert_eq!(one[0].keys(), 0);
    let measured = measured(dir.path());
    assert_eq!(measured["nodes"].as_array().unwrap().len(), 1);
    assert_eq!(measured["nodes"][0]["node"], one[0].addr().to_string());
    // It is this machine's own clock.
    let clock = &measured["nodes"][0]["clock"]["median"];
    let [ahead, within] = ["ahead_us", "within_us"].map(|field| clock[field].as_i64().unwrap());
    assert!(ahead.abs() <= within + 1, "{clock}");
    let plan = |more: &str| {
        let words = format!("plan --from m.json --hold 20ms --ttl 1s --renew off {more}");
        ended(&mut lockstorm(
            dir.path(),
            &words.split_whitespace().collect::<Vec<_>>(),
        ))
    };
    let (code, text, error) = plan("--risk 1e9/day --scenario choice.toml");
    assert_eq!((code, error.as_str()), (Some(0), ""), "{text}");
    says(
        &text,
        &[
            "values measured",
            "(measured: m.json)",
            "nodes       1 node (measured: m.json)\n",
        ],
    );
    let (code, text, error) = ended(&mut lockstorm(dir.path(), &["check", "choice.toml"]));
    assert_eq!((code, error.as_str()), (Some(0), ""), "{text}");
    says(&text, &["arms: single"]);
    let (_, text, _) = plan("--rtt 1ms --pause none --nodes 5");
    assert!(!text.contains("(measured"), "{text}");
    says(
        &text,
        &["round trip  1 ms\n", "pauses      none\n", "nodes       5 nodes, 3 of"],
    );
    let (_, _, warned) = plan("");
    says(&warned, &["4s can't show pauses as rare as --risk asks for", "--pause"]);
}

#[test]
fn who_may_not_ask_for_the_time_still_measures_round_trips() {
    let _turn = beside();
    let dir = TempDir::new().unwrap();
    let (code, text, _) = ended(&mut doctor(dir.path(), &servers(1, "~* +@all -time"), "1s"));
    assert_eq!(code, Some(0), "{text}");
    let node = measured(dir.path())["nodes"][0].clone();
    assert!(
        node["clock"].is_null() && node["answers"].as_u64() > Some(0),
        "{node:#}"
    );
    assert_eq!(node["failures"], 0);
}

#[test]
fn what_cannot_be_measured_is_told_at_once_and_leaves_no_file() {
    let _turn = beside();
    let dir = TempDir::new().unwrap();
    let nobody = format!("redis://:secret@127.0.0.1:{}", free_port());
    let doctor = |arguments: &[&str]| {
        let arguments = [&["doctor", &nobody], arguments].concat();
        let (code, _, error) = ended(&mut lockstorm(dir.path(), &arguments));
        assert!(!error.contains("secret") && error.lines().count() == 1, "{error}");
        (code, error)
    };
    let (code, error) = doctor(&["--measure", "m.json"]);
    assert!(
        code == Some(1) && error.contains("127.0.0.1:") && error.contains("connection refused"),
        "{error}"
    );
    for (arguments, said) in [
        (&["--measure", "no/m.json"][..], "there is no directory"),
        (&["--measure", "m.json", "--for", "0s"], "--for"),
        (&["--for", "1s"], "--measure"),
        (&["--measure", "m.json", "--ttl", "1s"], "--ttl"),
    ] {
        let (code, error) = doctor(arguments);
        assert!(code == Some(2) && error.contains(said), "{arguments:?}: {error}");
    }
    assert!(fs::read_dir(dir.path()).unwrap().next().is_none());
}
