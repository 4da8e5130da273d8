//! Bad scenarios: each mistake is one clear line with its place and its cure, and all of them are found at once.

use std::time::Duration;

use lockstorm::scenario::{Overrides, Scenario, Source, parse, warnings};

const INVENTORY: &str = r#"
[workload]
kind = "inventory"
products = 8
stock = 10
hold = "5ms"
"#;

const ARMS: &str = r#"
[[arm]]
name = "no lock"
lock = "none"

[[arm]]
name = "redlock"
lock = "redlock"
"#;

const CACHE: &str = r#"
[workload]
kind = "cache-fill"
[[workload.cache]]
name = "catalogue"
keys = 10
state_ttl = "1s"
data_ttl = "2s"
[[arm]]
name = "redlock"
lock = "redlock"
"#;

fn read(text: &str, set: &[&str]) -> Result<Scenario, Vec<String>> {
    let source = Source {
        name: "my.toml".into(),
        text: text.into(),
    };
    let overrides = Overrides {
        set: set.iter().map(|set| (*set).to_owned()).collect(),
        ..Overrides::default()
    };
    parse(&source, &overrides).map_err(|errors| errors.0.iter().map(ToString::to_string).collect())
}

/// The only mistake of `text`.
fn mistake(text: &str) -> String {
    match read(text, &[]) {
        Ok(_) => panic!("accepted: {text}"),
        Err(errors) => {
            assert_eq!(errors.len(), 1, "{errors:#?}");
            errors[0].clone()
        }
    }
}

/// Each line of `cases` is `TOML ⇒ the whole message`, put after a valid scenario; `↵` is a line break. The line number
/// is counted from that TOML's first line.
#[track_caller]
fn table(before: &str, cases: &[(&str, &str)]) {
    let first = before.lines().count();
    for (toml, expected) in cases {
        let message = mistake(&format!("{before}{toml}\n"));
        let place = message.strip_prefix("my.toml:").unwrap_or(&message);
        let (line, rest) = place.split_once(": ").expect("a place");
        let line: usize = line
            .split(':')
            .next()
            .and_then(|line| line.parse().ok())
            .expect(&message);
        assert_eq!(format!("{}: {rest}", line - first), **expected, "{toml}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn the_general_tables() {
    let base = format!("{INVENTORY}{ARMS}");
    table(
        &base,
        &[
            (
                "[swarm]\nworker = 3",
                "2: swarm.worker: unknown key \"worker\"; did you mean \"workers\"?",
            ),
            (
                "[swarn]\nworkers = 3",
                "1: swarn: unknown key \"swarn\"; did you mean \"swarm\"?",
            ),
            (
                "[swarm]\nworkers = 0",
                "2: swarm.workers: 0 is out of range; 1 to 100000",
            ),
            (
                "[swarm]\nworkers = -4",
                "2: swarm.workers: -4 is out of range; 1 to 100000",
            ),
            (
                "[swarm]\nworkers = \"4\"",
                "2: swarm.workers: is \"4\"; write a whole number without quotes",
            ),
            (
                "[swarm]\nworkers = 1.5",
                "2: swarm.workers: is 1.5; write a whole number without quotes",
            ),
            (
                "[swarm]\nworkers = 20_000",
                "2: swarm.workers: 4 servers × 20000 workers × 2 arms are 160000 workers; 100000 at most",
            ),
            ("[swarm]\nservers = 0", "2: swarm.servers: 0 is out of range; 1 to 64"),
            (
                "[swarm]\nrate = 0",
                "2: swarm.rate: 0 is no rate; write a number above 0 and up to 1000000, like \"400/s\"",
            ),
            (
                "[swarm]\nrate = \"-3/s\"",
                "2: swarm.rate: \"-3/s\" is no rate; write a number above 0 and up to 1000000, like \"400/s\"",
            ),
            (
                "[swarm]\nrate = nan",
                "2: swarm.rate: NaN is no rate; write a number above 0 and up to 1000000, like \"400/s\"",
            ),
            (
                "[swarm]\nrate = \"400/m\"",
                "2: swarm.rate: \"400/m\" is no rate; write a number above 0 and up to 1000000, like \"400/s\"",
            ),
            (
                "[swarm]\nrate = 9\nthink = \"1s\"",
                "3: swarm.think: contradicts rate: requests at a rate start when they are due; leave one of them out",
            ),
            (
                "[swarm]\nrequests = 0",
                "2: swarm.requests: 0 is out of range; 1 to 1000000000000",
            ),
            (
                "[swarm]\nthink = \"-5ms\"",
                "2: swarm.think: \"-5ms\" is negative; a duration is 0 or more",
            ),
            (
                "[swarm]\nthink = 5",
                "2: swarm.think: 5 has no unit; write \"5ms\" or \"5s\"",
            ),
            (
                "[swarm]\nthink = \"5 parsecs\"",
                "2: swarm.think: \"5 parsecs\" is no duration; write it like \"500ms\", \"2s\" or \"1m\"",
            ),
            (
                "[swarm]\nthink = \"99999 years\"",
                "2: swarm.think: \"99999 years\" is out of range; 7 days at most",
            ),
            (
                "[swarm]\nramp = \"1m\"",
                "2: swarm.ramp: a ramp of 1m is longer than the run of 30s",
            ),
            ("[database]\npool = 0", "2: database.pool: 0 is out of range; 1 to 1000"),
            (
                "[database]\nread = { median = \"2ms\", sigma = -1 }",
                "2: database.read.sigma: -1 is out of range; 0 to 5",
            ),
            (
                "[database]\nread = { median = \"2ms\", sigma = nan }",
                "2: database.read.sigma: NaN is out of range; 0 to 5",
            ),
            (
                "[database]\nread = { mean = \"2ms\", median = \"1ms\" }",
                "2: database.read.mean: unknown key \"mean\"; did you mean \"median\"?",
            ),
            (
                "[database]\nurl = \"mysql://x\"",
                "2: database.url: \"mysql://x\" is no database; \"sqlite\" or a URL like \"postgres://user@host/name\"",
            ),
            ("[lab]\nhosts = 0", "2: lab.hosts: 0 is out of range; 1 to 9"),
            ("[lab]\nhosts = 10", "2: lab.hosts: 10 is out of range; 1 to 9"),
            ("[lab]\nport = 65533", "2: lab.port: 65533 is out of range; 1 to 65532"),
            (
                "[lab]\npersistence = \"aof\"",
                "2: lab.persistence: \"aof\" is not none, rdb, aof-everysec or aof-always",
            ),
            (
                "[lab]\npersistence = \"aof-everysecond\"",
                "2: lab.persistence: \"aof-everysecond\" is not none, rdb, aof-everysec or aof-always; did you mean \"aof-everysec\"?",
            ),
            (
                "[lab]\npersistence = 2026-01-01",
                "2: lab.persistence: is a date; it is none, rdb, aof-everysec or aof-always, in quotes",
            ),
        ],
    );
    let top = |line: &str| mistake(&format!("{line}\n{base}"));
    assert_eq!(top("lab = 3"), "my.toml:1: lab: is a number; write a table: [lab]");
    assert_eq!(
        top("arms = 3"),
        "my.toml:1: arms: unknown key \"arms\"; did you mean \"arm\"?"
    );
    assert_eq!(
        top("duration = \"0s\""),
        "my.toml:1: duration: is 0; a duration above 0 is needed"
    );
    assert_eq!(top("seed = -1"), "my.toml:1: seed: -1 is out of range; at least 0");
    assert_eq!(top("title = \"\""), "my.toml:1: title: is empty");
    assert_eq!(
        top("title = \"a\\u001b[2J\""),
        "my.toml:1: title: has a control character in it"
    );
}

#[test]
fn arms() {
    table(
        &format!("{INVENTORY}{ARMS}"),
        &[
            ("ttl = \"0s\"", "1: arm.redlock.ttl: is 0; a duration above 0 is needed"),
            (
                "ttl = \"3ms\"",
                "1: arm.redlock.ttl: a TTL of 3ms leaves no validity (TTL − TTL/100 − 2ms); 5ms at least",
            ),
            (
                "ttl = \"10500us\"",
                "1: arm.redlock.ttl: 10ms 500us is no whole number of milliseconds, which is what Redis counts TTLs in",
            ),
            (
                "ttl = \"1s\"\nrenew = \"1s\"",
                "2: arm.redlock.renew: renewing every 1s comes after the TTL of 1s; \"ttl/3\" is usual",
            ),
            (
                "renew = \"ttl/4\"",
                "1: arm.redlock.renew: \"ttl/4\" is not off, ttl/2, ttl/3 or a duration",
            ),
            (
                "node_timeout = \"2s\"",
                "1: arm.redlock.node_timeout: 2s is not shorter than the TTL of 2s: a slow node would cost the whole lock",
            ),
            (
                "deadline = \"0ms\"",
                "1: arm.redlock.deadline: is 0; a duration above 0 is needed",
            ),
            (
                "wait = \"failfast\"",
                "1: arm.redlock.wait: \"failfast\" is not fail-fast or until-expiry; did you mean \"fail-fast\"?; or a table like { retries = 20, delay = \"20ms\" }",
            ),
            (
                "wait = { retry = 3, retries = 1 }",
                "1: arm.redlock.wait.retry: unknown key \"retry\"; did you mean \"retries\"?",
            ),
            (
                "host = 2",
                "1: arm.redlock.host: makes no sense here; only lock = \"single\" chooses a host",
            ),
            (
                "update = \"atomic\"",
                "1: arm.redlock.update: an atomic update needs no lock; write lock = \"none\"",
            ),
            (
                "serve_stale = true",
                "1: arm.redlock.serve_stale: makes no sense in an inventory workload; it belongs to kind = \"cache-fill\"",
            ),
            (
                "tll = \"1s\"",
                "1: arm.redlock.tll: unknown key \"tll\"; did you mean \"ttl\"?",
            ),
            (
                "[[arm]]\nname = \"x\"\nlock = \"redlok\"",
                "3: arm.x.lock: \"redlok\" is not none, local, single or redlock; did you mean \"redlock\"?",
            ),
            (
                "[[arm]]\nname = \"x\"",
                "1: arm.x.lock: is missing; for example lock = \"redlock\"",
            ),
            (
                "[[arm]]\nlock = \"none\"",
                "1: arm.3.name: is missing; for example name = \"redlock\"",
            ),
            (
                "[[arm]]\nname = \"redlock\"\nlock = \"none\"",
                "2: arm.redlock.name: two arms are called \"redlock\"; each needs a name of its own",
            ),
            (
                "[[arm]]\nname = \"a.b\"\nlock = \"none\"",
                "2: arm.a.b.name: \"a.b\" is no name; letters, digits, inner spaces, - and _, without the word \"and\"",
            ),
            (
                "[[arm]]\nname = \"x\"\nlock = \"none\"\nttl = \"1s\"",
                "4: arm.x.ttl: makes no sense for a lock without nodes; it belongs to lock = \"single\" or \"redlock\"",
            ),
            (
                "[[arm]]\nname = \"x\"\nlock = \"none\"\nwait = \"fail-fast\"",
                "4: arm.x.wait: makes no sense without a lock",
            ),
            (
                "[[arm]]\nname = \"x\"\nlock = \"local\"\nwait = \"until-expiry\"",
                "4: arm.x.wait: an in-process mutex wakes its waiters in line; leave wait out, or write \"fail-fast\"",
            ),
            (
                "[[arm]]\nname = \"x\"\nlock = \"single\"\nhost = 4",
                "4: arm.x.host: there is no host 4; the lab has 3",
            ),
        ],
    );
    assert_eq!(
        mistake(INVENTORY),
        "my.toml: arm: there are no arms; a run needs at least one [[arm]] with a name and a lock"
    );
    assert_eq!(
        mistake(&format!("arm = []\n{INVENTORY}")),
        "my.toml:1: arm: there are no arms; a run needs at least one [[arm]] with a name and a lock"
    );
    let one = "[arm]\nname = \"x\"\nlock = \"none\"";
    assert_eq!(
        mistake(&format!("{INVENTORY}{one}")),
        "my.toml:7: arm: is one table; there may be more of it: write [[arm]]"
    );
    let many: String = (0..61)
        .map(|n| format!("[[arm]]\nname = \"{n}\"\nlock = \"none\"\n"))
        .collect();
    assert!(mistake(&format!("{INVENTORY}{many}")).ends_with("arm: 61 arms are too many; 60 at most"));
}

#[test]
fn a_redlock_needs_three_hosts() {
    let hosts = |n: u32| mistake(&format!("[lab]\nhosts = {n}\n{INVENTORY}{ARMS}"));
    let place = "my.toml:16: arm.redlock.lock: a redlock on";
    assert_eq!(
        hosts(2),
        format!(
            "{place} hosts = 2 has a quorum of 2: the loss of one host stops it; set an odd number of hosts, 3 or more"
        )
    );
    assert_eq!(
        hosts(1),
        format!(
            "{place} hosts = 1 has a quorum of 1: it is a single lock under another name; set an odd number of hosts, 3 or more"
        )
    );
}

#[test]
fn workloads() {
    let arm = "[[arm]]\nname = \"x\"\nlock = \"none\"\n[workload]\n";
    table(
        arm,
        &[
            (
                "kind = \"inventry\"\nproducts = 1\nstock = 1\nhold = \"1ms\"",
                "1: workload.kind: \"inventry\" is not inventory or cache-fill; did you mean \"inventory\"?",
            ),
            (
                "kind = \"inventory\"\nstock = 1\nhold = \"1ms\"",
                "0: workload.products: is missing; for example products = 64",
            ),
            (
                "kind = \"inventory\"\nproducts = 0\nstock = 1\nhold = \"1ms\"",
                "2: workload.products: 0 is out of range; 1 to 1000000",
            ),
            (
                "kind = \"inventory\"\nproducts = 1\nstock = 1\nhold = \"0ms\"",
                "4: workload.hold: is 0; a duration above 0 is needed",
            ),
            (
                "kind = \"inventory\"\nproducts = 1\nstock = 1\nhold = \"1ms\"\nstock_in = \"disk\"",
                "5: workload.stock_in: \"disk\" is not database or redis",
            ),
            (
                "kind = \"inventory\"\nproducts = 1\nstock = 1\nhold = \"1ms\"\npopularity = { zipf = 0 }",
                "5: workload.popularity.zipf: 0 is out of range; 0.01 to 10",
            ),
            (
                "kind = \"inventory\"\nproducts = 1\nstock = 1\nhold = \"1ms\"\n[[workload.cache]]\nname = \"x\"",
                "5: workload.cache: makes no sense in an inventory workload; caches belong to kind = \"cache-fill\"",
            ),
            (
                "kind = \"cache-fill\"",
                "0: workload.cache: is missing; a cache-fill workload needs at least one [[workload.cache]]",
            ),
        ],
    );
    table(
        CACHE,
        &[
            (
                "update = \"atomic\"",
                "1: arm.redlock.update: makes no sense in a cache-fill workload; it belongs to kind = \"inventory\"",
            ),
            (
                "second_look = 1",
                "1: arm.redlock.second_look: is a number; write true or false without quotes",
            ),
            (
                "[[workload.cache]]\nname = \"catalogue\"\nkeys = 1\nstate_ttl = \"1s\"\ndata_ttl = \"2s\"",
                "2: workload.cache.catalogue.name: two caches are called \"catalogue\"; their keys would be the same",
            ),
            (
                "[[workload.cache]]\nname = \"b\"\nkeys = 1\nstate_ttl = \"2s\"\ndata_ttl = \"2s\"",
                "4: workload.cache.b.state_ttl: state_ttl (2s) must be shorter than data_ttl (2s), or no value is ever stale",
            ),
            (
                "[[workload.cache]]\nname = \"b\"\nkeys = 1\nstate_ttl = \"1s\"\ndata_ttl = \"2s\"\npages = 0",
                "6: workload.cache.b.pages: 0 is out of range; 1 to 10000",
            ),
            (
                "[[workload.cache]]\nname = \"b\"\nkeys = 1\nstate_ttl = \"1s\"\ndata_ttl = \"2s\"\nweight = inf",
                "6: workload.cache.b.weight: inf is out of range; 0.001 to 1000000",
            ),
        ],
    );
    let hold = CACHE.replace("[[workload.cache]]", "hold = \"5ms\"\n[[workload.cache]]");
    assert_eq!(
        mistake(&hold),
        "my.toml:4: workload.hold: makes no sense in a cache-fill workload; it belongs to kind = \"inventory\""
    );
}

#[test]
fn faults() {
    let fault = "[[fault]]\ndo = \"kill\"\non = \"host:1\"\nat = \"1s\"\n";
    table(
        &format!("{INVENTORY}{ARMS}{fault}[[fault]]\n"),
        &[
            (
                "at = \"2s\"\ndo = \"kill\"\non = \"host:9\"",
                "3: fault.2.on: there is no host 9; there are host 1 to 3",
            ),
            (
                "at = \"2s\"\ndo = \"pause\"\non = \"server:9\"",
                "3: fault.2.on: there is no server 9; there are server 1 to 4",
            ),
            (
                "at = \"2s\"\ndo = \"pause\"\non = \"host:1,1\"",
                "3: fault.2.on: names host 1 twice",
            ),
            (
                "at = \"2s\"\ndo = \"pause\"\non = \"host:one\"",
                "3: fault.2.on: \"one\" is no host; write it like \"host:1,2\"",
            ),
            (
                "at = \"2s\"\ndo = \"pause\"\non = \"minorty\"",
                "3: fault.2.on: \"minorty\" is not host:1, host:1,2, server:3, minority, majority, primary or all; did you mean \"minority\"?",
            ),
            (
                "at = \"30s\"\ndo = \"kill\"\non = \"all\"",
                "1: fault.2.at: 30s is not before the end of the run (30s)",
            ),
            (
                "at = \"-1s\"\ndo = \"kill\"\non = \"all\"",
                "1: fault.2.at: \"-1s\" is negative; a duration is 0 or more",
            ),
            (
                "at = \"2s\"\non = \"all\"",
                "0: fault.2.do: is missing; for example do = \"kill\"",
            ),
            (
                "at = \"2s\"\ndo = \"kil\"\non = \"all\"",
                "2: fault.2.do: \"kil\" is not kill, shutdown, pause, resume or restart; did you mean \"kill\"?",
            ),
            (
                "do = \"kill\"\non = \"all\"",
                "0: fault.2.at: is missing; a fault starts at = \"10s\", when = \"…\" or after = \"fault:1 + 300ms\"",
            ),
            (
                "at = \"2s\"\nafter = \"fault:1\"\ndo = \"kill\"\non = \"all\"",
                "2: fault.2.after: contradicts at; a fault starts by one of them",
            ),
            (
                "after = \"fault:7\"\ndo = \"kill\"\non = \"all\"",
                "1: fault.2.after: there is no fault:7; this scenario has fault:1 to fault:2",
            ),
            (
                "after = \"fault:2 + 1s\"\ndo = \"kill\"\non = \"all\"",
                "1: fault.2.after: waits for itself: fault:2 after fault:2",
            ),
            (
                "after = \"fault:1 + 29s\"\ndo = \"kill\"\non = \"all\"",
                "1: fault.2.after: 30s is not before the end of the run (30s)",
            ),
            (
                "after = \"the first\"\ndo = \"kill\"\non = \"all\"",
                "1: fault.2.after: \"the first\" names no fault; write it like \"fault:1\" or \"fault:1 + 300ms\"",
            ),
            (
                "at = \"2s\"\ndo = \"restart\"\non = \"all\"\nfor = \"1s\"",
                "4: fault.2.for: makes no sense with restart, which is itself the end of a fault",
            ),
            (
                "at = \"2s\"\ndo = \"shutdown\"\non = \"server:1\"",
                "2: fault.2.do: shutdown is for hosts; an app server can be killed, paused and resumed",
            ),
            (
                "at = \"2s\"\ndo = \"kill\"\non = \"server:1\"\nfor = \"1s\"",
                "4: fault.2.for: makes no sense here: a killed app server does not come back; pause it instead",
            ),
            (
                "at = \"2s\"\ndo = \"kill\"\non = \"all\"\nfor = \"0s\"",
                "4: fault.2.for: is 0; a duration above 0 is needed",
            ),
            (
                "when = \"redlok.holding > 3\"\ndo = \"kill\"\non = \"all\"",
                "1: fault.2.when: no arm \"redlok\"; did you mean \"redlock\"?",
            ),
            (
                "when = \"redlock.holdin > 3\"\ndo = \"kill\"\non = \"all\"",
                "1: fault.2.when: no figure \"holdin\"; did you mean \"holding\"?",
            ),
            (
                "when = \"redlock.holding = 3\"\ndo = \"kill\"\non = \"all\"",
                "1: fault.2.when: \"= 3\" is no comparison; write it like \"== 0\" or \">= 10\" (<, <=, ==, !=, >=, >)",
            ),
            (
                "when = \"redlock.holding > 3 and\"\ndo = \"kill\"\non = \"all\"",
                "1: fault.2.when: \"3 and\" is no bound for holding; write a number, 0 or more, without a unit",
            ),
            (
                "when = \"soon\"\ndo = \"kill\"\non = \"all\"",
                "1: fault.2.when: \"soon\" compares nothing; write it like \"redlock.holding >= 32\"",
            ),
        ],
    );
}

#[test]
fn faults_that_wait_for_each_other() {
    let fault = |after: u32| format!("[[fault]]\nafter = \"fault:{after}\"\ndo = \"kill\"\non = \"all\"\n");
    let errors = read(&format!("{INVENTORY}{ARMS}{}{}{}", fault(2), fault(1), fault(1)), &[]).expect_err("a circle");
    assert_eq!(errors.len(), 2, "the third only hangs on the circle: {errors:#?}");
    assert_eq!(
        errors[0],
        "my.toml:16: fault.1.after: waits for itself: fault:1 after fault:2 after fault:1"
    );
}

#[test]
fn expectations() {
    table(
        &format!("{INVENTORY}{ARMS}[expect]\n"),
        &[
            (
                "\"redlok.oversold\" = \"== 0\"",
                "1: expect.redlok.oversold: no arm \"redlok\"; did you mean \"redlock\"?",
            ),
            (
                "\"redlock.oversolds\" = \"== 0\"",
                "1: expect.redlock.oversolds: no figure \"oversolds\"; did you mean \"oversold\"?",
            ),
            (
                "\"redlock.oversold\" = 0",
                "1: expect.redlock.oversold: is a number; write a comparison in quotes, like \"== 0\"",
            ),
            (
                "redlock.oversold = \"== 0\"",
                "1: expect.redlock: is a table; put the whole name in quotes: \"redlock.oversold\" = \"== 0\"",
            ),
            (
                "\"redlock.oversold\" = \"0\"",
                "1: expect.redlock.oversold: \"0\" is no comparison; write it like \"== 0\" or \">= 10\" (<, <=, ==, !=, >=, >)",
            ),
            (
                "\"redlock.oversold\" = \"< nan\"",
                "1: expect.redlock.oversold: \"nan\" is no bound for oversold; write a number, 0 or more, without a unit",
            ),
            (
                "\"redlock.acquire_p99\" = \"< 50\"",
                "1: expect.redlock.acquire_p99: acquire_p99 is a duration and 50 has no unit; write 50ms or 50us",
            ),
            (
                "\"redlock.throughput\" = \"> 5ms\"",
                "1: expect.redlock.throughput: \"5ms\" is no bound for throughput; write a number, 0 or more, like 400/s",
            ),
            (
                "\"redlock.db_hits\" = \"== 0\"",
                "1: expect.redlock.db_hits: an inventory workload has no db_hits",
            ),
            (
                "\"redlock.holding\" = \"== 0\"",
                "1: expect.redlock.holding: holding is a figure of the moment, for the `when` of a fault; it has no final value",
            ),
            (
                "redlock = \"== 0\"",
                "1: expect.redlock: \"redlock\" is no figure; write it like \"redlock.oversold\": the arm, a dot, the figure",
            ),
        ],
    );
    let cache = |line: &str| mistake(&format!("{CACHE}[expect]\n{line}"));
    assert!(cache("\"redlock.oversold\" = \"== 0\"").ends_with("a cache-fill workload has no oversold"));
    assert!(
        cache("\"redlock.duplicate_pages\" = \"== 0\"")
            .ends_with("no cache has pages, so there are no duplicate_pages")
    );
}

#[test]
fn broken_toml_is_one_line_with_its_column() {
    for text in [
        "[swarm\nworkers = 3",
        "a = 1\na = 2",
        "title = \"x",
        "= 3",
        "x = {a = 1",
        "[[arm]]\n[arm]",
        "\u{0}",
    ] {
        let message = mistake(text);
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(
            message.starts_with("my.toml:") && message.contains(": not valid TOML: "),
            "{message}"
        );
    }
    assert!(mistake("title = \"ok\"\nseed = x").starts_with("my.toml:2:8: not valid TOML: "));
}

#[test]
fn all_mistakes_are_found_in_the_order_of_the_file() {
    let text =
        format!("duration = \"0s\"\nsead = 1\n{INVENTORY}{ARMS}ttl = \"0s\"\n[expect]\n\"x.oversold\" = \"== 0\"\n");
    let errors = read(&text, &["swarm.rate=0", "arm.redlok.ttl=1s"]).expect_err("five mistakes");
    let places: Vec<&str> = errors
        .iter()
        .map(|error| error.split(": ").next().unwrap_or_default())
        .collect();
    let expected = [
        "my.toml:1",
        "my.toml:2",
        "my.toml:17",
        "my.toml:19",
        "--set arm.redlok.ttl=1s",
        "--set swarm.rate=0",
    ];
    assert_eq!(places, expected, "{errors:#?}");
}

#[test]
fn overrides_name_their_flag() {
    let base = format!(
        "{INVENTORY}{ARMS}[[fault]]\nat = \"5s\"\ndo = \"kill\"\non = \"host:1\"\n[expect]\n\"redlock.oversold\" = \"== 0\"\n"
    );
    let cases = [
        ("arm.redlok.ttl=500ms", "no arm \"redlok\"; did you mean \"redlock\"?"),
        ("arm.redlock.tl=500ms", "unknown key \"tl\"; did you mean \"ttl\"?"),
        ("arm.redlock.ttl=0s", "is 0; a duration above 0 is needed"),
        (
            "arm.redlock",
            "needs KEY=VALUE; for example --set arm.redlock.ttl=500ms",
        ),
        ("arm.redlock=3", "which key of arm redlock? write arm.redlock.KEY=VALUE"),
        ("swarn.rate=3", "unknown key \"swarn\"; did you mean \"swarm\"?"),
        ("swarm.workers.x=3", "unknown key"),
        ("fault.2.at=3s", "no fault \"2\"; known: \"1\""),
        ("fault.1.at=40s", "40s is not before the end of the run (30s)"),
        (
            "expect.redlock.oversolt=== 0",
            "no figure \"oversolt\"; did you mean \"oversold\"?",
        ),
        ("=3", "\"\" is no key; write it like arm.redlock.ttl"),
        (
            "workload.products.x=1",
            "products is a number here, it has no keys of its own",
        ),
    ];
    for (set, expected) in cases {
        let errors = read(&base, &[set]).expect_err(set);
        if set == "swarm.workers.x=3" {
            assert!(errors[0].starts_with("--set swarm.workers.x=3: "), "{errors:?}");
            continue;
        }
        assert_eq!(errors, [format!("--set {set}: {expected}")]);
    }
    let good = [
        "arm.redlock.ttl=500ms",
        "arm.redlock.wait={ retries = 3, delay = \"1ms\" }",
        "arm.no lock.update=atomic",
        "arm.\"redlock\".renew = ttl/3",
        "swarm.rate=200/s",
        "fault.1.at=3s",
        "workload.hold={ median = \"1ms\", sigma = 0.1 }",
        "workload.hold.sigma=0.5",
        "expect.redlock.oversold=<= 2",
        "title=from a flag",
    ];
    let scenario = read(&base, &good).expect("good overrides");
    assert_eq!(scenario.arms[1].ttl, Duration::from_millis(500));
    assert_eq!(scenario.swarm.rate, Some(200.0));
    assert_eq!(scenario.title, "from a flag");
    assert!((scenario.expect[0].bound - 2.0).abs() < f64::EPSILON && scenario.expect.len() == 1);
}

#[test]
fn seed_and_duration_flags() {
    let source = Source {
        name: "my.toml".into(),
        text: format!("{INVENTORY}{ARMS}"),
    };
    let overrides = Overrides {
        seed: Some(u64::MAX),
        duration: Some(Duration::from_millis(2500)),
        ..Overrides::default()
    };
    let scenario = parse(&source, &overrides).expect("valid");
    assert_eq!(
        (scenario.seed, scenario.duration),
        (u64::MAX, Duration::from_millis(2500))
    );
    let overrides = Overrides {
        duration: Some(Duration::ZERO),
        ..Overrides::default()
    };
    let errors = parse(&source, &overrides).expect_err("no duration");
    assert_eq!(errors.to_string(), "--duration 0s: is 0; a duration above 0 is needed");
}

#[test]
fn sources_that_are_none() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let error = |spec: &str| Source::open(spec).expect_err(spec).to_string();
    std::fs::write(path("empty.toml"), " \n").expect("written");
    std::fs::write(path("latin.toml"), b"title = \"a\"\n# caf\xe9\n").expect("written");

    assert_eq!(
        error("flash-sal"),
        "flash-sal: is no built-in scenario and no file; did you mean \"flash-sale\"? (`lockstorm scenarios` lists them)"
    );
    assert_eq!(
        error("xyz"),
        "xyz: is no built-in scenario and no file (`lockstorm scenarios` lists them)"
    );
    assert_eq!(
        error(&path("")),
        format!("{}: is a directory; name a file in it", path(""))
    );
    assert!(
        error(&path("empty.toml"))
            .ends_with("is empty; `lockstorm scenarios show single-vs-redlock` prints one to start from")
    );
    assert_eq!(
        error(&path("latin.toml")),
        format!(
            "{}:2: is not UTF-8 text; save the scenario as UTF-8",
            path("latin.toml")
        )
    );
    assert_eq!(
        error(&path("empty")),
        error(&path("empty.toml")),
        "the ending may be left out"
    );
    assert!(error("/dev/zero").contains("longer than 1 MiB"));
    assert!(error("").contains("is no scenario"));
}

#[test]
fn warnings_of_valid_scenarios() {
    let said = |text: &str, set: &[&str]| warnings(&read(text, set).expect("valid")).join("\n");
    let inventory = format!("{INVENTORY}{ARMS}");
    assert_eq!(said(&inventory, &[]), "");
    assert!(
        said(&inventory, &["swarm.rate=2000"])
            .contains("2000/s is more than 8 locks can do (products / (read + hold) = 1600/s)")
    );
    assert!(
        said(&inventory, &["expect.redlock.oversold=> 0", "swarm.requests=79"])
            .contains("about 79 of 80 units can be sold")
    );
    assert!(said(&inventory, &["lab.hosts=4"]).contains("a quorum of 3"));
    assert!(said(&inventory, &["workload.hold=3s"]).contains("arm.redlock.ttl: more than 1 %"));
    assert_eq!(said(&inventory, &["workload.hold=3s", "arm.redlock.renew=ttl/3"]), "");
    assert!(said(&inventory, &["database.url=postgres://localhost/x"]).is_empty());
    assert!(said(&inventory, &["database.url=postgres://localhost/x", "database.pool=20"]).contains("160 connections"));
    let stampede = format!("{CACHE}[[arm]]\nname = \"none\"\nlock = \"none\"\n");
    assert!(said(&stampede, &["database.read=700ms"]).contains("is not longer than a stampede's queue at the pool"));
}
