//! Bad scenarios: each mistake gives one clear line with its place and its cure, and all of them are found at once. The
//! cases are in `scenario_errors/`: a valid start, `----`, then for each case the text after that start and `=>
//! line: message`, where the line counts from the `----`, and ` … ` in the message stands for anything.

use std::time::Duration;

use lockstorm_data::model::Lack;
use lockstorm_data::model::{HostId, Seat, Target, Targets};
use lockstorm_data::scenario::{
    ClusterSpec, Fence, Follow, Overrides, ReplicatedSpec, Scenario, Source, parse, warnings,
};
use lockstorm_kit::program::says;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

const INVENTORY: &str = r#"
[workload]
kind = "inventory"
products = 8
stock = 10
hold = "5ms"
"#;

const PAYMENT: &str = r#"
[database]
read = "2500us"
[workload]
kind = "payment"
accounts = 8
money = 10
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

/// The only mistake in `text`.
fn mistake(text: &str) -> String {
    match read(text, &[]) {
        Ok(_) => panic!("accepted: {text}"),
        Err(errors) => {
            assert_eq!(errors.len(), 1, "{errors:#?}");
            errors[0].clone()
        }
    }
}

/// All cases of one file.
fn cases(file: &str, cases: &str) {
    let (start, cases) = cases.split_once("----\n").expect("a valid start");
    let mut count = 0;
    for case in cases.split("\n\n") {
        let (toml, expected) = case.split_once("=> ").expect(case);
        let message = mistake(&format!("{start}{toml}"));
        let place = message.strip_prefix("my.toml:").expect("a line");
        let (line, text) = place.split_once(": ").expect("a place");
        let line: usize = line.parse().expect("a number");
        let found = format!("{}: {text}", line - start.lines().count());
        // ` … ` stands for all that may come to a list.
        match expected.trim_end().split_once(" … ") {
            Some((head, tail)) => assert!(found.starts_with(head) && found.ends_with(tail), "{file}: {found}"),
            None => assert_eq!(found, expected.trim_end(), "{file}: {toml}"),
        }
        assert_eq!(message.lines().count(), 1, "{message}");
        count += 1;
    }
    assert!(count > 5, "{file} has only {count} cases");
}

macro_rules! case_files {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            let file = concat!("scenario_errors/", stringify!($name), ".txt");
            cases(file, include_str!(concat!("scenario_errors/", stringify!($name), ".txt")));
        })*
    };
}

case_files!(general arms workload caches faults expectations links replicated failovers clusters);

#[test]
fn the_top_of_the_file() {
    let top = |line: &str| mistake(&format!("{line}\n{INVENTORY}{ARMS}"));
    for (line, message) in [
        ("lab = 3", "lab: is a number; write a table: [lab]"),
        ("arms = 3", "arms: unknown key \"arms\"; did you mean \"arm\"?"),
        ("duration = \"0s\"", "duration: is 0; a duration above 0 is needed"),
        ("seed = -1", "seed: -1 is out of range; at least 0"),
        ("title = \"\"", "title: is empty"),
        ("title = \"a\\u001b[2J\"", "title: contains a control character"),
    ] {
        assert_eq!(top(line), format!("my.toml:1: {message}"));
    }
    assert_eq!(
        top("\"a\\u001b\\nb\" = 1"),
        "my.toml:1: a\u{fffd} b: unknown key \"a\u{fffd} b\"; known: \"title\", \"caption\", \"lesson\", \"look_at\", \"try\", \"duration\", \
         \"warmup\", \"drain\", \"seed\", \"lab\", \"workload\", \"database\", \"arm\", \"swarm\", \"fault\", \"expect\"",
        "nothing from the file reaches the terminal as a command"
    );
}

#[test]
fn the_number_of_arms() {
    let none = "arm: there are no arms; a run needs at least one [[arm]] with a name and a lock";
    assert_eq!(mistake(INVENTORY), format!("my.toml: {none}"));
    assert_eq!(mistake(&format!("arm = []\n{INVENTORY}")), format!("my.toml:1: {none}"));
    assert_eq!(
        mistake(&format!("{INVENTORY}[arm]\nname = \"x\"\nlock = \"none\"")),
        "my.toml:7: arm: is a single table; there can be several, so write [[arm]]"
    );
    let many: String = (0..61)
        .map(|n| format!("[[arm]]\nname = \"{n}\"\nlock = \"none\"\n"))
        .collect();
    assert!(mistake(&format!("{INVENTORY}{many}")).ends_with("arm: 61 arms are too many; 60 at most"));
}

#[test]
fn keys_of_the_other_workload() {
    let hold = CACHE.replace("[[workload.cache]]", "hold = \"5ms\"\n[[workload.cache]]");
    let expected = "my.toml:4: workload.hold: makes no sense with kind = \"cache-fill\"; it belongs to kind = \"inventory\", \"job\" or \"payment\"";
    assert_eq!(mistake(&hold), expected);
    let cache = |line: &str| mistake(&format!("{CACHE}[expect]\n{line}"));
    assert!(cache("\"redlock.oversold\" = \"== 0\"").ends_with("a cache-fill workload has no oversold"));
    let pages = cache("\"redlock.duplicate_pages\" = \"== 0\"");
    assert!(pages.ends_with("no cache has pages, so there are no duplicate_pages"));
}

#[test]
fn accounts_are_locked_by_those_who_have_a_lock() {
    let text = |arm: &str| format!("{PAYMENT}[[arm]]\nname = \"a\"\n{arm}\n");
    read(&text("lock = \"single\"\nlocks = \"payer\""), &[]).expect("valid");
    let none = mistake(&text("lock = \"none\"\nlocks = \"payer\""));
    assert!(
        none.ends_with("locks: there is no lock to take; leave it out, or choose a lock"),
        "{none}"
    );
    assert!(mistake(&format!("{INVENTORY}{ARMS}locks = \"payer\"")).contains("locks: "));
}

#[test]
fn a_redlock_needs_three_hosts() {
    let hosts = |n: u32| mistake(&format!("[lab]\nhosts = {n}\n{INVENTORY}{ARMS}"));
    let place = "my.toml:16: arm.redlock.lock: a redlock on";
    for (n, why) in [
        (2, "the loss of one host stops it"),
        (1, "it is a single lock under another name"),
    ] {
        let expected = format!("{place} hosts = {n} has a quorum of {n}: {why}; set an odd number of hosts, 3 or more");
        assert_eq!(hosts(n), expected);
    }
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
        ("arm.redlock.deadline=5s", "is now called \"timeout\""),
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
        ("=3", "\"\" is not a key; write it like arm.redlock.ttl"),
        (
            "workload.products.x=1",
            "products is a number here, so it has no keys of its own",
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
        "arm.redlock.fence=write",
        "swarm.rate=200/s",
        "fault.1.at=3s",
        "workload.hold={ median = \"1ms\", sigma = 0.1 }",
        "workload.hold.sigma=0.5",
        "expect.redlock.oversold=<= 2",
        "title=from a flag",
    ];
    let scenario = read(&base, &good).expect("good overrides");
    assert_eq!(scenario.arms[1].ttl, Duration::from_millis(500));
    assert_eq!(scenario.arms[1].fence, Fence::Write);
    assert_eq!(scenario.swarm.rate, Some(200.0));
    assert_eq!(scenario.title, "from a flag");
    assert!((scenario.expect[0].bound - 2.0).abs() < f64::EPSILON && scenario.expect.len() == 1);
}

#[test]
fn a_fence_needs_a_stock_that_can_check_it() {
    let base = format!("{INVENTORY}{ARMS}");
    let (redis, fence) = ("workload.stock_in=redis", "arm.redlock.fence=read-write");
    let why = "is checked by the database, and the stock is in Redis; leave out workload.stock_in";
    assert_eq!(
        read(&base, &[redis, fence]).expect_err("no fence there"),
        [format!("--set {fence}: {why}")]
    );
    read(&base, &[redis, "arm.redlock.fence=off"]).expect("off is off anywhere");
    let scenario = read(&base, &["arm.no lock.fence=read-write"]).expect("optimistic locking");
    let arms: Vec<_> = scenario.arms.iter().map(|arm| (arm.fence, arm.label())).collect();
    let expected = [
        (Fence::ReadWrite, "no lock, read-write fence".to_owned()),
        (Fence::Off, "redlock".to_owned()),
    ];
    assert_eq!(arms, expected, "by default there is no fence");
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
fn a_contradiction_of_a_flag_names_the_flag_and_no_line() {
    let base = format!("{INVENTORY}{ARMS}[swarm]\nthink = \"1ms\"\nramp = \"8s\"\n");
    read(&base, &[]).expect("valid by itself");
    let errors = read(&base, &["swarm.workers=2", "swarm.rate=100/s"]).expect_err("think and rate");
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0].starts_with("--set swarm.rate=100/s: swarm.think: "),
        "{errors:?}"
    );
    // Two flags that are each right alone.
    let errors = read(&base, &["duration=9s", "swarm.ramp=10s"]).expect_err("ramp and duration");
    assert!(errors[0].starts_with("--set swarm.ramp=10s: "), "{errors:?}");
    // A mistake in the file stays the file's.
    let errors = read(&format!("sead = 1\n{base}"), &["swarm.rate=100/s"]).expect_err("two mistakes");
    let places: Vec<&str> = errors.iter().filter_map(|error| error.split(": ").next()).collect();
    assert_eq!(places, ["my.toml:1", "--set swarm.rate=100/s"], "{errors:?}");
}

#[test]
fn sources_that_are_not_scenarios() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let error = |spec: &str| Source::open(spec).expect_err(spec).to_string();
    std::fs::write(path("empty.toml"), " \n").expect("written");
    std::fs::write(path("latin.toml"), b"title = \"a\"\n# caf\xe9\n").expect("written");

    let neither = "is neither a built-in scenario nor a file";
    assert_eq!(
        error("flash-sal"),
        format!("flash-sal: {neither}; did you mean \"flash-sale\"? (`lockstorm scenarios` lists them)")
    );
    assert_eq!(
        error("xyz"),
        format!("xyz: {neither} (`lockstorm scenarios` lists them)")
    );
    let directory = path("");
    assert_eq!(
        error(&directory),
        format!("{directory}: is a directory; name a file in it")
    );
    let start = "is empty; `lockstorm scenarios show single-vs-redlock` prints one to start from";
    assert!(error(&path("empty.toml")).ends_with(start));
    let latin = path("latin.toml");
    assert_eq!(
        error(&latin),
        format!("{latin}:2: is not UTF-8 text; save the scenario as UTF-8")
    );
    let (short, whole) = (error(&path("empty")), error(&path("empty.toml")));
    assert_eq!(short, whole, "the ending may be left out");
    std::fs::write(path("record.json"), "{\n  \"format\": 2\n}").expect("written");
    assert!(error(&path("record.json")).contains("is JSON, not a scenario; if it is a record, `jq -r .scenario_toml "));
    assert!(error("/dev/zero").contains("it is a device"));
    mkfifo(path("pipe").as_str(), Mode::S_IRWXU).expect("a pipe");
    assert!(error(&path("pipe")).contains("it is a pipe"));
    std::fs::write(path("long"), vec![b'#'; (1 << 20) + 1]).expect("written");
    assert!(error(&path("long")).contains("larger than 1 MB"));
    assert!(error("").contains("is not a scenario"));
}

/// One arm with a single lock and these lines.
fn single(lines: &str) -> String {
    format!("{INVENTORY}[[arm]]\nname = \"a\"\nlock = \"single\"\n{lines}\n")
}

#[test]
fn links_are_between_hosts_with_replicated_nodes() {
    let replicated = single("topology = \"replicated\"");
    let lag = "[[fault]]\nat = \"1s\"\ndo = \"lag\"\ndelay = \"5ms\"\non = \"host:1\"\n";
    for nodes in ["", "topology = \"replicated\""] {
        read(&format!("{}{lag}", single(nodes)), &[]).expect("nodes of both topologies lag");
    }
    let fault = |on: &str, more: &str| format!("[[fault]]\nat = \"1s\"\ndo = \"cut\"\non = \"{on}\"\n{more}");
    for (on, more) in [
        ("link:1-2", ""),
        ("link:2-1,1-3", "direction = \"there\"\n"),
        ("replication", "direction = \"back\"\nfor = \"2s\"\n"),
        ("sentinels", ""),
    ] {
        let whole = format!("{replicated}{}", fault(on, more));
        let scenario = read(&whole, &[]).unwrap_or_else(|errors| panic!("{on}: {errors:?}"));
        assert!(scenario.needs(Lack::Proxy));
        let written = scenario.to_toml();
        assert!(written.contains(&format!("on = \"{on}\"")), "{written}");
        assert_eq!(
            read(&written, &[]).expect("it can be read").faults,
            scenario.faults,
            "{written}"
        );
    }
}

#[test]
fn the_replicated_topology_is_checked() {
    let replicated = single("topology = \"replicated\"");
    let plain = read(&single(""), &[]).expect("valid");
    assert_eq!((plain.lab.replicated, plain.arms[0].follow), (None, Follow::Sentinel));
    let usual = read(&replicated, &[]).expect("valid");
    assert_eq!(usual.lab.replicated, Some(ReplicatedSpec::default()));
    let set = [
        "arm.a.follow=fixed",
        "arm.a.wait_replicas=2",
        "arm.a.wait_timeout=100ms",
        "lab.replicated.down_after=500ms",
        "lab.replicated.min_replicas_to_write=1",
        "lab.replicated.min_replicas_max_lag=2s",
        "lab.replicated.preferred_host=2",
        "lab.replicated.sentinel_period=100ms",
    ];
    let changed = read(&replicated, &set).expect("valid");
    assert_eq!(read(&changed.to_toml(), &[]).expect("valid"), changed);
}

#[test]
fn a_failover_goes_to_a_replica_or_to_the_host_that_is_named() {
    let replicated = single("topology = \"replicated\"");
    let failover = |rest: &str| format!("[[fault]]\nat = \"1s\"\ndo = \"failover\"\n{rest}\n");
    for (rest, seat) in [
        ("by = \"hand\"", Targets::By(Seat::Replicas)),
        ("by = \"sentinel\"", Targets::By(Seat::Replicas)),
        (
            "by = \"hand\"\non = \"host:3\"",
            Targets::Named(vec![Target::Host(HostId(3))]),
        ),
    ] {
        let scenario = read(&format!("{replicated}{}", failover(rest)), &[]).expect("valid");
        assert_eq!(scenario.faults[0].targets, seat);
        assert_eq!(read(&scenario.to_toml(), &[]).expect("valid").faults, scenario.faults);
    }
}

#[test]
fn a_cluster_is_checked() {
    let text = |arm: &str| format!("{INVENTORY}[[arm]]\nname = \"a\"\n{arm}\n");
    let cluster = text("lock = \"cluster\"");
    let masters = text("lock = \"redlock\"\ntopology = \"cluster\"");
    for (text, label) in [(&cluster, "cluster"), (&masters, "redlock, cluster masters")] {
        let usual = read(text, &[]).expect("valid");
        assert_eq!(usual.lab.cluster, Some(ClusterSpec::default()));
        assert_eq!(usual.lab.processes(), 3 + 1 + 6);
        assert_eq!(usual.arms[0].label(), label);
    }
    let plain = read(&text("lock = \"redlock\""), &[]).expect("valid");
    assert_eq!((plain.lab.cluster.as_ref(), plain.lab.processes()), (None, 4));
    let set = [
        "arm.a.wait_replicas=1",
        "lab.cluster.node_timeout=1s",
        "lab.cluster.require_full_coverage=false",
    ];
    let changed = read(&cluster, &set).expect("valid");
    assert_eq!(changed.arms[0].label(), "cluster, WAIT 1");
    assert_eq!(read(&changed.to_toml(), &[]).expect("valid"), changed);
}

#[test]
fn warnings_of_valid_scenarios() {
    let said = |text: &str, set: &[&str]| warnings(&read(text, set).expect("valid")).join("\n");
    let inventory = format!("{INVENTORY}{ARMS}");
    assert_eq!(said(&inventory, &[]), "");
    let too_fast = "2000/s is more than 8 locks can do (products / (read + hold) = 1600/s)";
    says(&said(&inventory, &["swarm.rate=2000"]), &[too_fast]);
    let few = said(&inventory, &["expect.redlock.oversold=> 0", "swarm.requests=79"]);
    says(&few, &["about 79 of 80 units can be sold"]);
    assert!(said(&inventory, &["lab.hosts=4"]).contains("lab.hosts: a redlock on 4 hosts has a quorum of 3"));
    let even = said(&inventory, &["lab.hosts=5", "arm.redlock.hosts=4"]);
    says(&even, &["arm.redlock.hosts: a redlock on 4 hosts has a quorum of 3"]);
    assert_eq!(said(&inventory, &["lab.hosts=4", "arm.redlock.hosts=3"]), "");
    assert!(said(&inventory, &["workload.hold=3s"]).contains("arm.redlock.ttl: more than 1 %"));
    assert_eq!(said(&inventory, &["workload.hold=3s", "arm.redlock.renew=ttl/3"]), "");
    assert!(said(&inventory, &["database.url=postgres://localhost/x"]).is_empty());
    let pools = said(&inventory, &["database.url=postgres://localhost/x", "database.pool=20"]);
    says(&pools, &["164 connections in all"]);
    let of = |query: &str| said(&inventory, &[&format!("database.url=postgres://localhost/x{query}")]);
    assert!(of("?sslmode=disable&passfile=/p").contains("a passfile is named by PGPASSFILE"));
    assert_eq!(of("?sslmode=disable"), "");
    let in_redis = ["workload.stock_in=redis", "database.url=postgres://localhost/x"];
    assert!(said(&inventory, &in_redis).contains("database.url: no sale touches that database"));
    assert_eq!(said(&inventory, &in_redis[..1]), "");
    let lagging = format!("{inventory}[[fault]]\nat = \"1s\"\ndo = \"lag\"\non = \"host:1\"\ndelay = \"25ms\"\n");
    assert!(said(&lagging, &[]).contains("fault.1.delay: a round trip takes 50ms longer"));
    assert_eq!(said(&lagging, &["fault.1.delay=24ms"]), "");
    let hurried = format!(
        "{inventory}[[arm]]\nname = \"sentinel\"\nlock = \"single\"\ntopology = \"replicated\"\n\
         [lab.replicated]\nsentinel_period = \"250ms\"\n[[fault]]\nat = \"1s\"\ndo = \"failover\"\nby = \"sentinel\"\n"
    );
    says(
        &said(&hurried, &[]),
        &[
            "lab.replicated.sentinel_period: with 250ms the Sentinels often undo",
            "was told to make; 300ms is",
        ],
    );
    assert_eq!(said(&hurried, &["lab.replicated.sentinel_period=300ms"]), "");
    assert_eq!(said(&hurried, &["fault.1.by=hand"]), "");
    let payments = PAYMENT.to_owned() + ARMS;
    assert_eq!(said(&payments, &["swarm.rate=400"]), "");
    let queue = "401/s is more than 8 accounts can do under both locks (accounts / 2 / (2 reads + hold) = 400/s)";
    says(&said(&payments, &["swarm.rate=401"]), &[queue]);
    assert_eq!(said(&payments, &["swarm.rate=401", "arm.redlock.locks=payer"]), "");
    let stampede = format!("{CACHE}[[arm]]\nname = \"none\"\nlock = \"none\"\n");
    assert!(said(&stampede, &["database.read=700ms"]).contains("is not longer than a stampede's queue at the pool"));
}

/// A scenario with `n` parts of one kind.
fn many(kind: &str, n: usize) -> String {
    let parts = |part: &dyn Fn(usize) -> String| (0..n).map(part).collect::<String>();
    let arm = "[[arm]]\nname = \"a\"\nlock = \"single\"\n";
    match kind {
        "faults" => {
            let fault = |n: usize| format!("[[fault]]\nat = \"{}s\"\ndo = \"kill\"\non = \"host:1\"\n", n % 20);
            format!("{INVENTORY}{arm}{}", parts(&fault))
        }
        "arms" => format!(
            "{INVENTORY}{}",
            parts(&|n| format!("[[arm]]\nname = \"a{n}\"\nlock = \"single\"\n"))
        ),
        "caches" => {
            let cache = |n: usize| {
                format!("[[workload.cache]]\nname = \"c{n}\"\nkeys = 1\nstate_ttl = \"1s\"\ndata_ttl = \"2s\"\n")
            };
            format!("[workload]\nkind = \"cache-fill\"\n{}{arm}", parts(&cache))
        }
        "expectations" => format!(
            "{INVENTORY}{arm}[expect]\n{}",
            parts(&|n| format!("\"b{n}.oversold\" = \"== 0\"\n"))
        ),
        _ => format!("{INVENTORY}{arm}[lab]\n{}", parts(&|n| format!("key{n} = 1\n"))),
    }
}

#[test]
fn the_time_to_read_a_scenario_grows_with_its_length_and_not_with_its_square() {
    for kind in ["faults", "arms", "caches", "expectations", "keys"] {
        let time = |n: usize| {
            let text = many(kind, n);
            let once = || {
                let begin = std::time::Instant::now();
                assert!(read(&text, &["swarm.workers=0"]).is_err());
                begin.elapsed()
            };
            // The smallest of several times: anything else on the machine only adds to it.
            (0..3).map(|_| once()).min().expect("three times").as_secs_f64()
        };
        let (few, many) = (time(250), time(2_000));
        // 8 if it grows with the length, 64 if with its square.
        assert!(many < 25.0 * few, "{kind}: {few:.4} s for 250, {many:.4} s for 2,000");
    }
}

#[test]
fn too_many_parts_are_one_mistake() {
    let errors_of = |kind, n| read(&many(kind, n), &[]).expect_err("too many");
    for (kind, n, expected) in [
        ("faults", 10_000, "fault: 10,000 faults are too many; 1,000 at most"),
        (
            "caches",
            10_000,
            "workload.cache: 10,000 caches are too many; 1,000 at most",
        ),
        ("arms", 10_000, "arm: 10000 arms are too many; 60 at most"),
    ] {
        let errors = errors_of(kind, n);
        assert_eq!(errors.len(), 1, "{errors:#?}");
        assert!(errors[0].ends_with(expected), "{errors:?}");
    }
    assert_eq!(read(&many("faults", 1_000), &[]).expect("enough").faults.len(), 1_000);
}

#[test]
fn a_long_circle_gives_a_short_line_and_a_long_chain_is_not_a_circle() {
    let link = |to: usize| format!("[[fault]]\nafter = \"fault:{to}\"\ndo = \"restart\"\non = \"host:1\"\n");
    let start = format!("{INVENTORY}{ARMS}");
    let circle: String = (0..900).map(|n| link((n + 1) % 900 + 1)).collect();
    let errors = read(&format!("{start}{circle}"), &[]).expect_err("all wait for themselves");
    assert_eq!(errors.len(), 900);
    let short = "fault:2 after fault:3 after fault:4 after fault:5 after fault:6 after fault:7 after … after fault:2";
    assert!(errors[1].ends_with(short), "{}", errors[1]);
    let first = "[[fault]]\nat = \"1s\"\ndo = \"kill\"\non = \"host:1\"\n";
    let chain: String = (0..900).map(|n| link(n + 1)).collect();
    let chain = read(&format!("{start}{first}{chain}"), &[]).expect("a chain");
    assert_eq!(chain.faults.len(), 901);
}

#[test]
fn a_condition_has_a_largest_number_of_comparisons() {
    let when = vec!["redlock.holding >= 1"; 33].join(" and ");
    let fault = format!("[[fault]]\nwhen = \"{when}\"\ndo = \"kill\"\non = \"host:1\"\n");
    let error = mistake(&format!("{INVENTORY}{ARMS}{fault}"));
    assert!(
        error.ends_with("fault.1.when: has 33 comparisons; 32 at most"),
        "{error}"
    );
}
