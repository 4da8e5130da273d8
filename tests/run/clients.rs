//! Locks of other programs: bad ones, faults on them, and what a grade finds of planted ones.

use std::fmt::Write as _;
use std::process::Command;

use lockstorm_data::facts::{Caveat, EventKind, Order};
use lockstorm_data::metrics::Count;
use lockstorm_data::model::{CheckResult, Fault, ServerId, Target};
use lockstorm_data::scenario::LockKind;
use lockstorm_grade::{Letter, Reason, Subject, grade};
use lockstorm_kit::play::{Run, texts, told};
use lockstorm_kit::program::{example, program};
use lockstorm_kit::scenario::scenario;
use lockstorm_kit::{alone, beside};
use lockstorm_run::RunOptions;

/// Answers the greeting, in a shell.
const STARTED: &str = r#"read -r start; echo '{"op":"started","name":"x","nodes":3,"can":["renew"]}'; "#;
/// Answers each acquire with this, and each release rightly.
const ANSWER: &str = r#"while read -r order; do id=${order#*\"id\":}; id=${id%%,*}; case $order in *acquire*) "#;
const REST: &str = r#";; *release*) echo "{\"id\":$id,\"is\":\"released\"}" ;; esac; done"#;

/// Bad clients: whether they greet first, whether they then answer orders, and what they do.
const BAD: [(&str, &str); 41] = [
    ("ends", "exit 0"),
    ("fails", "read -r start; echo \"$start\" >&2; exit 3"),
    ("dies", "kill -9 $$"),
    ("closes", "exec >&- <&-; exec sleep 100"),
    ("says nonsense and ends", "echo hello; exit 0"),
    ("says JSON and ends", r#"echo '{"op":"begun"}'; exit 0"#),
    ("has no name", r#"echo '{"op":"started"}'; exit 0"#),
    ("floods", "exec yes"),
    (
        "sends a long line",
        "head -c 1000000 /dev/zero | tr '\\0' a; exec sleep 100",
    ),
    ("sends garbage", "head -c 300000 /dev/urandom; exit 0"),
    ("greets and ends", "GREET exit 0"),
    ("greets and fails", "GREET exit 3"),
    ("greets and dies", "GREET kill -9 $$"),
    ("greets and closes", "GREET exec >&- <&-; exec sleep 100"),
    ("greets and floods", "GREET exec yes"),
    (
        "greets and sends a long line",
        "GREET head -c 1000000 /dev/zero | tr '\\0' a; exec sleep 100",
    ),
    (
        "greets and sends garbage",
        "GREET head -c 300000 /dev/urandom; exec sleep 100",
    ),
    (
        "greets and sends NUL",
        "GREET printf '\\0\\0\\0\\n'; exec cat >/dev/null",
    ),
    (
        "greets and sends half a line",
        "GREET printf '{\"id\":'; exec cat >/dev/null",
    ),
    ("greets and says nonsense", "GREET echo hello; exec cat >/dev/null"),
    (
        "greets and nests deeply",
        "GREET head -c 60000 /dev/zero | tr '\\0' '['; echo; exec cat >/dev/null",
    ),
    ("dies at the first order", "GREET read -r order; kill -9 $$"),
    ("ends at the first order", "GREET read -r order; exit 0"),
    ("never answers", "GREET exec cat >/dev/null"),
    ("reads nothing", "GREET exec sleep 100"),
    ("stops itself", "GREET kill -STOP $$"),
    ("spins", "GREET while :; do :; done"),
    ("floods its log", "GREET exec yes >&2"),
    (
        "answers twice",
        r#"EACH echo "{\"id\":$id,\"is\":\"busy\"}"; echo "{\"id\":$id,\"is\":\"busy\"}""#,
    ),
    ("answers another", r#"EACH echo "{\"id\":99999999,\"is\":\"busy\"}""#),
    ("answers with text", r#"EACH echo "{\"id\":\"$id\",\"is\":\"busy\"}""#),
    (
        "answers with an unknown word",
        r#"EACH echo "{\"id\":$id,\"is\":\"ok\"}""#,
    ),
    ("answers without a word", r#"EACH echo "{\"id\":$id}""#),
    ("answers released", r#"EACH echo "{\"id\":$id,\"is\":\"released\"}""#),
    ("answers with the time", r#"EACH echo "{\"id\":$id,\"t\":5}""#),
    (
        "has a number that is too large",
        r#"EACH echo "{\"id\":$id,\"is\":\"held\",\"until\":1e400}""#,
    ),
    (
        "promises without a clock",
        r#"EACH echo "{\"id\":$id,\"is\":\"held\",\"until\":5}""#,
    ),
    (
        "tells of no lock",
        r#"EACH echo '{"event":"lost"}'; echo "{\"id\":$id,\"is\":\"busy\"}""#,
    ),
    (
        "answers no release",
        r#"GREET while read -r order; do id=${order#*\"id\":}; id=${id%%,*}; case $order in *acquire*) echo "{\"id\":$id,\"is\":\"held\"}" ;; esac; done"#,
    ),
    ("leaves a child that holds on", "GREET sleep 100 & kill -9 $$"),
    ("leaves its session", "GREET setsid sleep 100 & exit 0"),
];

#[test]
fn no_bad_client_hangs_a_run_or_ends_well() {
    let _alone = alone();
    let mut text = r#"
        duration = "4s"
        swarm = { servers = 1, workers = 2 }
        workload = { kind = "inventory", products = 4, stock = 100000, hold = "5ms", stock_in = "redis" }
        [[arm]]
        name = "redlock"
        lock = "redlock"
    "#
    .to_owned();
    let quoted = |word: &str| toml::Value::from(word).to_string();
    for (number, (_, script)) in BAD.iter().enumerate() {
        let script = match script.strip_prefix("EACH ") {
            Some(answer) => format!("{STARTED}{ANSWER}{answer}{REST}"),
            None => script.replace("GREET ", STARTED),
        };
        write!(
            text,
            "\n[[arm]]\nname = \"bad{number}\"\nlock = \"client\"\nttl = \"500ms\"\ntimeout = \"200ms\"\ncommand = [\"sh\", \"-c\", {}]",
            quoted(&script)
        )
        .unwrap();
    }
    text += "\n[expect]\n\"redlock.lost_updates\" = \"== 0\"\n";
    for number in 0..BAD.len() {
        writeln!(text, "\"bad{number}.lost_updates\" = \"== 0\"").unwrap();
    }
    let record = Run::begin(scenario(&text, &[])).finish();
    let of = |name: &str| {
        let check = record.expectations.iter().find(|check| check.expectation.arm == name);
        check.map(|check| check.result)
    };
    assert!(record.arms[0].figures.outcomes.acquired > 50, "the others go on");
    let is_hidden = |why: &String| why.contains("redis://:***@");
    assert!(
        texts(&record.inconclusive).iter().any(is_hidden),
        "the end of its log is told, without the password"
    );
    for (number, (what, _)) in BAD.iter().enumerate() {
        let name = format!("bad{number}");
        assert_ne!(of(&name), Some(CheckResult::Held), "a client that {what} ends well");
        let told = texts(&record.inconclusive)
            .iter()
            .any(|why| why.starts_with(&format!("{name}:")));
        assert!(
            told,
            "of a client that {what} nothing is told: {:#?}",
            texts(&record.inconclusive)
        );
    }
}

#[test]
fn a_check_tells_what_a_client_did_and_what_is_right() {
    let _lab = beside();
    let check = |command: &[&str]| {
        let checked = Command::new(program())
            .args(["client", "check", "--json", "--"])
            .args(command)
            .output()
            .unwrap();
        let said: serde_json::Value = serde_json::from_slice(&checked.stdout).unwrap_or_default();
        let error = String::from_utf8_lossy(&checked.stderr).into_owned();
        (checked.status.code(), said, error)
    };
    let (code, said, error) = check(&[&example("planted_client"), "mutex"]);
    assert_eq!((code, error.as_str()), (Some(3), ""), "it asks no node");
    let said = said.as_array().unwrap();
    let wrong: Vec<_> = said.iter().filter(|done| done["right"] == false).collect();
    assert!(
        wrong.len() == 1 && wrong[0]["tried"] == "acquire while all nodes are down",
        "{wrong:?}"
    );

    // Each is told, and others are not told of it; `None`: that wasn't tried.
    for (kind, [places, ends, compares]) in [
        ("plain", [Some(true), Some(true), None]),
        ("plain-del", [Some(true), Some(true), Some(false)]),
        ("dead-renewal", [Some(true), Some(true), Some(true)]),
        ("says-three", [Some(false), Some(true), None]),
        ("short", [Some(true), Some(false), None]),
        ("no-nx", [Some(true), Some(false), None]),
    ] {
        let (_, said, _) = check(&[&example("planted_client"), kind]);
        for (tried, right) in [
            ("where its keys are", places),
            ("wait until the TTL is over", ends),
            ("release what somebody else holds", compares),
        ] {
            // Its keys live for 1.5 ms: on a slow machine they are gone before somebody looks.
            if (kind, tried) == ("short", "where its keys are") {
                continue;
            }
            let mut all = said.as_array().unwrap().iter();
            let done = all.find(|done| done["tried"] == tried);
            assert_eq!(done.map(|done| done["right"] == true), right, "{kind}, {tried}: {said}");
        }
    }

    for (answer, expected) in [
        (r#""is":"outage""#, "outage for a free lock"),
        (r#""is":"unknown""#, "unknown for a free lock"),
        (
            r#""is":"error","text":"no route","definite":true"#,
            "a definite error (no route)",
        ),
        (
            r#""is":"error","text":"no route","definite":false"#,
            "an error that is not definite (no route)",
        ),
    ] {
        let answer = format!("{{\\\"id\\\":$id,{}}}", answer.replace('"', "\\\""));
        // It answers twice, which is wrong each time and told once.
        let script = format!("{STARTED}{ANSWER}echo \"{answer}\"; echo \"{answer}\"; echo \"{answer}\"{REST}");
        let (code, said, _) = check(&["sh", "-c", &script]);
        let first = &said[1];
        let text = first["said"].as_str().unwrap();
        assert!(
            code == Some(3) && first["tried"] == "acquire" && text.contains(expected),
            "{expected}: {said}"
        );
        assert!(text.ends_with("where held is right; nothing else was tried"));
        let messages = said
            .as_array()
            .unwrap()
            .iter()
            .filter(|done| done["tried"] == "messages");
        assert_eq!(messages.count(), 1, "{said}");
    }

    let only = Command::new(program())
        .args(["grade", "--only", "nosuch", "--", "true"])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&only.stderr);
    assert!(
        only.status.code() == Some(2) && error.contains("\"nosuch\" is no act; they are: healthy"),
        "{error}"
    );

    // What happened, and not the frames of its stack.
    let stack = (1..10).fold("Error: no jar".to_owned(), |stack, frame| {
        format!("{stack}\n    at frame {frame}")
    });
    let (code, _, error) = check(&["sh", "-c", &format!("echo '{stack}' >&2; exit 1")]);
    assert!(
        code == Some(1) && error.contains("Error: no jar") && !error.contains("frame"),
        "{error}"
    );
}

/// Two app servers work on few locks for longer than the TTL, which the clients renew.
fn renewing(duration: &str) -> String {
    format!(
        r#"
        duration = "{duration}"
        swarm = {{ servers = 2, workers = 4 }}
        workload = {{ kind = "inventory", products = 4, stock = 100000, hold = "1500ms" }}
        [[arm]]
        name = "client"
        lock = "client"
        command = ["{}", "plain"]
        hosts = 1
        ttl = "500ms"
        renew = "ttl/3"
        timeout = "4s"
        wait = "queue"
        "#,
        example("planted_client")
    )
}

/// Work of more than two TTLs, by clients that neither renew nor say until when a lock is valid.
fn outlasting() -> String {
    let mut text = r#"
        duration = "6s"
        swarm = { servers = 2, workers = 4 }
        workload = { kind = "inventory", products = 2, stock = 100000, hold = "1200ms" }
    "#
    .to_owned();
    for kind in ["plain", "no-nx", "plain-del"] {
        let command = example("planted_client");
        write!(
            text,
            "[[arm]]\nname = \"{kind}\"\nlock = \"client\"\ncommand = [\"{command}\", \"{kind}\"]\nhosts = 1\nttl = \"500ms\"\n\
             timeout = \"4s\"\nwait = \"queue\"\n"
        )
        .unwrap();
    }
    text
}

#[test]
fn a_lock_whose_ttl_is_over_has_expired_and_one_that_is_taken_before_breaks_the_law() {
    let _alone = alone();
    let directory = tempfile::TempDir::new().unwrap();
    std::fs::write(directory.path().join("outlasting.toml"), outlasting()).unwrap();
    let run = |arguments: &[&str]| lockstorm_kit::ended(&mut lockstorm_kit::lockstorm(directory.path(), arguments));
    let (_, out, err) = run(&["run", "outlasting.toml", "--record", "r.json"]);
    let (code, csv, _) = run(&["report", "r.json", "--format", "csv"]);
    assert_eq!(code, Some(0), "{out}{err}");
    let figure = |arm: &str, figure: &str| -> u64 {
        let row = format!(",{arm},{figure},");
        let value = csv.lines().find_map(|line| line.split_once(&row)?.1.split(',').next());
        value.unwrap_or_else(|| panic!("{row}: {csv}")).parse().unwrap()
    };
    let all = |arm| ["double_holds", "law_violations", "expired_holds"].map(|name| figure(arm, name));
    let [doubles, violations, expired] = all("plain");
    assert!(
        doubles > 0 && violations == 0 && expired > 0,
        "{:?}: {out}",
        all("plain")
    );
    for arm in ["no-nx", "plain-del"] {
        assert!(all(arm)[1] > 0, "{arm} {:?}: {out}", all(arm));
    }
    assert!(out.contains("TTL was over"), "{out}");
    let text = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("most likely removed the key of the next holder"), "{out}");
    assert!(!text.contains("different nodes"), "all keys are on one: {out}");
    // Who has removed a key is told by the lanes of a double hold.
    let record: serde_json::Value =
        serde_json::from_slice(&std::fs::read(directory.path().join("r.json")).unwrap()).unwrap();
    for (place, arm) in ["plain", "no-nx", "plain-del"].into_iter().enumerate() {
        let evidence = record["arms"][place]["evidence"].as_array().unwrap();
        let removed = evidence.iter().find(|double| !double["removed_by"].is_null());
        assert_eq!(removed.is_some(), arm == "plain-del", "{arm}: {evidence:#?}");
        let number = removed.unwrap_or(&evidence[0])["number"].to_string();
        let (_, out, err) = run(&["record", "show", "r.json", "--arm", arm, "--double-hold", &number]);
        let words = match arm {
            "plain" => "was over, from its acquire or its last extension",
            "no-nx" => "no node has lost a key",
            _ => "has most likely removed the key",
        };
        let text = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(words), "{arm}: {out}{err}");
    }
}

/// The keys of one lock on nodes that have no quorum in common show why two get it.
#[test]
fn clients_that_ask_different_nodes_are_told_from_the_keys_on_the_nodes() {
    let _lab = beside();
    let text = format!(
        r#"
        duration = "8s"
        lab = {{ hosts = 3 }}
        swarm = {{ servers = 3, workers = 2 }}
        workload = {{ kind = "inventory", products = 1, stock = 100000, hold = "200ms" }}
        [[arm]]
        name = "client"
        lock = "client"
        command = ["{}", "own-node"]
        ttl = "1s"
        timeout = "1s"
        "#,
        example("planted_client")
    );
    let record = Run::begin(scenario(&text, &[])).finish();
    assert!(record.arms[0].figures.double_holds > 0, "{}", told(&record));
    let said = texts(&record.warnings)
        .iter()
        .any(|warning| warning.contains("different nodes"));
    assert!(said, "{:?}", texts(&record.warnings));
}

/// By the program, as its users see it.
#[test]
fn what_a_check_proves_caps_the_letter_and_a_client_that_refuses_everything_gets_one() {
    let _alone = alone();
    let directory = tempfile::TempDir::new().unwrap();
    let refuses = STARTED.replace("\"nodes\":3", "\"nodes\":1");
    let refuses = format!("{refuses}{ANSWER}echo \"{{\\\"id\\\":$id,\\\"is\\\":\\\"busy\\\"}}\"{REST}");
    for (command, tried) in [
        (
            vec![example("planted_client"), "plain-del".to_owned()],
            "release what somebody else holds",
        ),
        (
            vec!["sh".to_owned(), "-c".to_owned(), refuses],
            "acquire: busy for a free lock",
        ),
    ] {
        let mut arguments = vec!["grade", "--only", "healthy", "-o", "x.md", "--"];
        arguments.extend(command.iter().map(String::as_str));
        let (code, out, err) = lockstorm_kit::ended(&mut lockstorm_kit::lockstorm(directory.path(), &arguments));
        assert_eq!(code, Some(3), "{out}{err}");
        assert!(out.lines().next().unwrap().ends_with("on one node: F"), "{out}");
        let markdown = std::fs::read_to_string(directory.path().join("x.md")).unwrap();
        assert!(
            markdown.starts_with("### ") && markdown.contains("| act |"),
            "{markdown}"
        );
        assert!(markdown.contains(tried), "{markdown}");
    }
    // Who only tells an outage as something else is told, and keeps the letters of its acts.
    let mutex = [&example("planted_client"), "mutex"];
    let arguments = [
        &["grade", "--only", "healthy", "--"][..],
        &mutex.map(|word| word as &str),
    ]
    .concat();
    let (code, out, err) = lockstorm_kit::ended(&mut lockstorm_kit::lockstorm(directory.path(), &arguments));
    assert!(
        code != Some(3) && out.contains("acquire while all nodes are down"),
        "{out}{err}"
    );
}

#[test]
fn a_client_that_is_killed_alone_renews_nothing_and_comes_back() {
    let _lab = beside();
    let beside = "[[arm]]\nname = \"ours\"\nlock = \"single\"\nttl = \"500ms\"\ntimeout = \"4s\"";
    let run = Run::start(&format!("{}\n{beside}", renewing("1m")), &[]);
    let client = Target::Client(ServerId(1));
    let acquired = |now: &lockstorm_run::Snapshot| now.arms[0].figures.outcomes.acquired;
    let before = loop {
        run.until("locks are held", |now| now.arms[0].figures.holding >= 4);
        run.fault(Fault::Kill, client);
        let before = acquired(&run.now());
        // The work goes on without renewal, and others come in; now and then they have all locks already.
        run.until("they do", |now| {
            now.arms[0].figures.double_holds > 0 || acquired(now) > before + 8
        });
        let now = run.now();
        run.undo(lockstorm_data::model::Condition::Down, client);
        if now.arms[0].figures.double_holds > 0 {
            break acquired(&now);
        }
    };
    run.until("locks are granted", |now| acquired(now) > before + 8);
    let well = |now: &lockstorm_run::Snapshot| [now.servers[0].is_well(), now.servers[1].is_well()];
    run.until("it is back", |now| well(now) == [true, true]);
    run.fault(Fault::Pause, client);
    run.until("one stands still", |now| well(now) == [false, true]);
    run.undo(lockstorm_data::model::Condition::Paused, client);
    run.until("it goes on", |now| well(now) == [true, true]);
    let before = acquired(&run.now());
    for _ in 0..5 {
        run.fault(Fault::Kill, client);
        run.undo(lockstorm_data::model::Condition::Down, client);
    }
    run.until("they are granted again", |now| acquired(now) > before + 8);
    let record = run.stop();
    let faults = record
        .events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Fault { target, .. } if target == client));
    let told = faults
        .filter(|event| event.text().contains("clients of app server 1"))
        .count();
    assert!(
        told >= 14 && told.is_multiple_of(2),
        "each kill and each restart is told: {told}"
    );
    let caveats = record.inconclusive.iter();
    let told: Vec<_> = caveats.filter(|why| matches!(why, Caveat::Client { .. })).collect();
    assert!(told.is_empty(), "it was ordered: {told:?}");
    let figures = &record.arms[0].figures;
    // The nodes kept its keys until their TTL was over, which nobody renewed.
    assert!(
        figures.expired_holds > 0 && figures.law_violations == 0,
        "{}",
        lockstorm_kit::play::told(&record)
    );
    let outages = [0, 1].map(|arm| record.arms[arm].figures.outages.len());
    assert!(
        outages[0] > 0 && outages[1] == 0,
        "the other arm has none of these clients: {outages:?}"
    );
}

/// Two app servers whose clients grant every lock, and `say` something each time. The clock of the first is wrong for two seconds.
fn with_a_wrong_clock(say: &str, skew: &str) -> String {
    let script = format!(r#"{STARTED}{ANSWER}{say}; echo "{{\"id\":$id,\"is\":\"held\"}}" {REST}"#);
    let script = toml::Value::from(script).to_string();
    format!(
        r#"
        duration = "5s"
        swarm = {{ servers = 2, workers = 1 }}
        workload = {{ kind = "inventory", products = 4, stock = 100000, hold = "20ms" }}
        [[arm]]
        name = "client"
        lock = "client"
        command = ["sh", "-c", {script}]
        ttl = "500ms"
        timeout = "4s"
        [[fault]]
        at = "1500ms"
        do = "clock"
        {skew}
        on = "client:1"
        for = "2s"
        "#
    )
}

#[test]
fn the_clock_that_a_client_reads_goes_wrong_and_is_corrected_and_one_that_reads_none_was_not_tried() {
    let _lab = beside();
    let dir = tempfile::TempDir::new().unwrap();
    let say = format!("date +%s >> {}/$$", dir.path().display());
    let record = Run::begin(scenario(&with_a_wrong_clock(&say, "ahead = \"1h\""), &[])).finish();
    let told = told(&record);
    assert!(told.contains("its clock is 3600000.0 ms ahead"), "{told}");
    assert!(told.contains("its clock is right"), "{told}");
    let mut jumps: Vec<Vec<u64>> = Vec::new();
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let times: Vec<i64> = text.lines().map(|line| line.parse().unwrap()).collect();
        let steps = times.windows(2).map(|pair| pair[0].abs_diff(pair[1]));
        jumps.push(steps.filter(|step| *step > 60).collect());
    }
    // One that is tried out at the start is among the others.
    jumps.sort();
    let Some((wrong, others)) = jumps.split_last() else {
        panic!("no client")
    };
    assert!(others.iter().all(Vec::is_empty) && !others.is_empty(), "{jumps:?}");
    let is_hour = |step: &u64| step.abs_diff(3600) < 10;
    assert!(
        wrong.len() == 2 && wrong.iter().all(is_hour),
        "there and back: {jumps:?}"
    );
    // A clock that runs twice as fast is right at first, which proves nothing.
    let record = Run::begin(scenario(&with_a_wrong_clock(&say, "rate = 2"), &[])).finish();
    let told = self::told(&record);
    let ahead = told.split_once("its clock is ").expect(&told).1.split_once(" ms ahead");
    let ahead: f64 = ahead.expect(&told).0.parse().expect(&told);
    assert!((4.0..1000.0).contains(&ahead), "{told}");
    // A shell that grants locks asks nobody for the time.
    let record = Run::begin(scenario(&with_a_wrong_clock(":", "ahead = \"1h\""), &[])).finish();
    let told = self::told(&record);
    assert!(!record.inconclusive.is_empty(), "{told}");
    assert!(told.contains("has not read its wall clock"), "{told}");
}

#[test]
fn a_program_that_does_not_exist_is_refused_before_anything_starts() {
    let mut run = lockstorm_kit::lockstorm(
        std::path::Path::new("."),
        &["run", "quorum-loss", "--client", "./no-such-client x"],
    );
    let (code, out, error) = lockstorm_kit::ended(&mut run);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{error}");
    assert!(
        error.contains("arm \"client\": ./no-such-client is not a program"),
        "{error}"
    );
}

#[test]
fn the_client_of_an_app_server_shares_its_fate() {
    let _lab = beside();
    let run = Run::start(&renewing("1m"), &[]);
    run.until("locks are held", |now| now.arms[0].figures.holding >= 4);
    run.fault(Fault::Kill, Target::Server(ServerId(1)));
    let held = |now: &lockstorm_run::Snapshot| now.arms[0].figures.orphaned;
    run.until("it is dead", |now| held(now) > 0);
    let before = run.now().arms[0].figures.outcomes.acquired;
    // Its locks keep their TTL, and nobody renews them.
    run.until("others get its locks", |now| {
        now.arms[0].figures.outcomes.acquired > before + 4
    });
    let record = run.stop();
    let figures = &record.arms[0].figures;
    assert_eq!((figures.double_holds, figures.counts[Count::Errors]), (0, 0));
}

#[test]
fn planted_clients_get_the_letters_that_they_deserve() {
    let answer = r#"{\"id\":$id,\"is\":\"error\",\"text\":\"no route\",\"definite\":true}"#;
    let on_one = STARTED.replace("\"nodes\":3", "\"nodes\":1");
    let refuses = format!("{on_one}{ANSWER}echo \"{answer}\"{REST}");
    let letter = |kind: &str, act: &str| {
        // Others need not wait for all of them.
        let _alone = alone();
        let client = |command| Subject::Client {
            command,
            name: kind.to_owned(),
            nodes: 1,
            renews: true,
        };
        let subject = match kind {
            "our own" => Subject::Engine(LockKind::Redlock),
            "null" => client(vec![program(), "client".to_owned(), kind.to_owned()]),
            "refuses" => client(vec!["sh".to_owned(), "-c".to_owned(), refuses.clone()]),
            _ => client(vec![example("planted_client"), kind.to_owned()]),
        };
        let options = RunOptions {
            keeper: Some(program().into()),
            ..RunOptions::default()
        };
        let (grades, stop) = grade(&subject, Vec::new(), &[act.to_owned()], 1, &options, |_| ()).unwrap();
        assert!(stop.is_none());
        let pipe = grades.pipe_us.map(|pipe| 0 < pipe.p50 && pipe.p50 <= pipe.p99);
        let has_pipe = (kind != "our own").then_some(true);
        assert_eq!(pipe, has_pipe, "what the pipe costs {kind}: {:?}", grades.pipe_us);
        let played = grades.acts.into_iter().find(|grade| grade.act == act).unwrap();
        (played.letter, played.why)
    };
    for (kind, act, expected) in [
        ("our own", "healthy", Letter::A),
        ("mutex", "node-bounced", Letter::A),
        ("plain", "overrun", Letter::D),
        ("null", "contention", Letter::F),
        ("no-nx", "contention", Letter::F),
        ("plain-del", "overrun", Letter::F),
        ("no-nx", "overrun", Letter::F),
        ("leaks", "healthy", Letter::F),
        ("fail-open", "majority-away", Letter::F),
        ("dead-renewal", "long-work", Letter::F),
        ("hangs", "contention", Letter::F),
        ("mute", "healthy", Letter::D),
        ("refuses", "healthy", Letter::F),
    ] {
        let (letter, why) = letter(kind, act);
        // A machine that is too busy shows nothing; that is no wrong letter.
        let is_busy = letter == Letter::Unknown && why[0].to_string().contains("too busy");
        assert!(letter == expected || is_busy, "{kind} in {act}: {letter:?}, {why:?}");
        let is_said = |why: &Reason| matches!(why, Reason::Caveat(Caveat::ClientError { to: Order::Acquire, quoted, .. }) if quoted == "no route");
        let says = why.iter().any(is_said);
        assert_eq!(says, kind == "refuses", "what the client itself says: {why:?}");
        let (ended, taken) = (
            why.iter().any(|why| matches!(why, Reason::EndUntold { .. })),
            why.iter().any(|why| matches!(why, Reason::HeldByTwo { .. })),
        );
        let expected = [
            (kind, act) == ("plain", "overrun"),
            act == "overrun" && letter == Letter::F,
        ];
        assert_eq!([ended, taken], expected, "{kind} in {act}: {why:?}");
        let is_removed = |why: &Reason| {
            matches!(
                why,
                Reason::HeldByTwo {
                    removed_by: Some(_),
                    ..
                } | Reason::Unexplained {
                    removed_by: Some(_),
                    ..
                }
            )
        };
        let removed = why.iter().any(is_removed);
        assert_eq!(removed, kind == "plain-del" && !is_busy, "{kind} in {act}: {why:?}");
    }
}
