//! No output of ours contains the password of a database, no matter how its URL is written and what is wrong with it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use lockstorm_data::scenario::{Overrides, Source, parse, warnings};
use lockstorm_kit::postgres::Database;
use lockstorm_kit::recorded::recorded_in;
use lockstorm_kit::{RedisServer, ended, lockstorm};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tempfile::TempDir;

/// A part of every password here.
const SECRET: &str = "hunter2";

const SCENARIO: &str = r#"
duration = "1s"
swarm = { servers = 1, workers = 2 }
workload = { kind = "inventory", products = 16, stock = 1000000, hold = "1ms" }

[[arm]]
name = "single"
lock = "single"
"#;

/// A directory with a scenario.
fn directory_with(text: &str) -> TempDir {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("my.toml"), text).unwrap();
    directory
}

/// The exit code, and everything that lockstorm prints or leaves in a directory.
fn everything(directory: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = lockstorm(directory, arguments);
    let (code, stdout, stderr) = ended(command.envs(environment.iter().copied()));
    let left = ["log", "out.json"].map(|name| fs::read(directory.join(name)).unwrap_or_default());
    let left = left.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (code, [stdout, stderr, left.concat()].concat())
}

/// What users write where a URL belongs, right and wrong, with `hunter2` in it.
fn spellings() -> Vec<String> {
    [
        "postgres://me:hunter2@127.0.0.1:1/x",
        "postgresql://me:hunter2@127.0.0.1:1/x?sslmode=disable",
        "postgres://me:hunter2%21@127.0.0.1:1/x",
        "postgres://me@127.0.0.1:1/x?password=hunter2",
        "postgres://me@127.0.0.1:1/x?pass%77ord=hunter2",
        "postgres://me@127.0.0.1:1/x?sslpassword=hunter2&sslmode=disable",
        "postgres://me@127.0.0.1:1/x?PASSWORD=hunter2",
        "postgres://me:a@hunter2@127.0.0.1:1/x",
        "postgres://me:1/hunter2@127.0.0.1/x",
        "postgres://me:1?hunter2@127.0.0.1/x",
        "postgres://me:1#hunter2@127.0.0.1/x",
        "postgres://me:hunter2@127.0.0.1:port/x",
        "postgres://me:hunter2@/x",
        "postgres://me:hunter2",
        "postgres:me:hunter2@127.0.0.1/x",
        "postgres:/me:hunter2@127.0.0.1/x",
        "postgre://me:hunter2@127.0.0.1/x",
        "POSTGRES://me:hunter2@127.0.0.1/x",
        "mysql://me:hunter2@127.0.0.1/x",
        "me:hunter2@127.0.0.1/x",
        "host=127.0.0.1 user=me password=hunter2",
        "postgres://me:\"hunter2\"@127.0.0.1/x y",
        "postgres://me:$(hunter2)@127.0.0.1:1/x",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn quoted(url: &str) -> String {
    toml::Value::from(url).to_string()
}

#[test]
fn no_spelling_of_a_url_reveals_its_password() {
    let directory = TempDir::new().unwrap();
    let file = |text: String| fs::write(directory.path().join("my.toml"), text).unwrap();
    let silent = |what: &str, arguments: &[&str]| {
        let (code, said) = everything(directory.path(), arguments, &[]);
        assert!(!said.contains(SECRET), "{what}: {said}");
        assert!(!said.is_empty(), "{what} says nothing");
        code
    };
    for url in spellings() {
        file(SCENARIO.to_owned());
        // As a flag: right, misspelled, in a table, at another key, as the key, as the flag, without a key.
        for set in [
            format!("database.url={url}"),
            format!("database . url = {url}"),
            format!("\"database\".\"url\"={}", quoted(&url)),
            format!("databse.url={url}"),
            format!("database.ulr={url}"),
            format!("database={{url={}}}", quoted(&url)),
            format!("database={url}"),
            format!("database.url_env={url}"),
            format!("url={url}"),
        ] {
            silent(&set, &["check", "my.toml", "--set", &set]);
        }
        // With a mistake elsewhere, whose message names the flags that contradict the file.
        let set = format!("database.url={url}");
        silent(
            &set,
            &[
                "check",
                "my.toml",
                "--set",
                &set,
                "--set",
                "swarm.ramp=50s",
                "--set",
                "sead=1",
                "--duration",
                "2s",
                "--log",
                "log",
            ],
        );
        // In the file: right, and with broken TOML after it, before it and in it.
        for text in [
            format!("{SCENARIO}[database]\nurl = {}\n", quoted(&url)),
            format!("{SCENARIO}[database]\nulr = {}\n", quoted(&url)),
            format!("{SCENARIO}[database]\nurl = {}\nurl = \"x\"\n", quoted(&url)),
            format!("{SCENARIO}[database]\nurl = {} x\n", quoted(&url)),
            format!("{SCENARIO}[database]\nurl = {url}\n"),
            format!("{SCENARIO}[database]\nurl = \"{url}\n"),
            format!("{SCENARIO}[database]\npool = \"{}\"\n", "postgres://me:hunter2@h"),
            format!("database = {}\n{SCENARIO}", quoted(&url)),
        ] {
            file(text.clone());
            silent(&text, &["check", "my.toml"]);
        }
    }
    // In other places of the command line, no matter which mistake is found first.
    file(SCENARIO.to_owned());
    for url in spellings().iter().filter(|url| url.contains("://")) {
        for arguments in [
            &["check", url][..],
            &[url],
            &["run", "my.toml", url],
            &["check", "my.toml", "--duration", url],
            &["check", "my.toml", "--set", &format!("{url}=1")],
            &["check", "my.toml", "--set", url],
            &["check", "my.toml", "--set", &format!("swarm.rate={url}")],
            &["check", "my.toml", "--set", &format!("arm.single.lock={url}")],
            &["check", "my.toml", "--set", &format!("expect.single.oversold={url}")],
        ] {
            silent(url, arguments);
        }
    }
}

#[test]
fn no_spelling_of_a_lock_nodes_url_reveals_its_password() {
    let directory = TempDir::new().unwrap();
    // It does not know AUTH, and repeats the words behind it.
    let server = RedisServer::start_with(&["--rename-command", "AUTH", "XAUTH"]);
    for url in [
        // Nobody listens on port 1 of loopback.
        "redis://hunter2@127.0.0.1:1",
        "redis://hunter2:@127.0.0.1:1",
        "redis://hunter2@127.0.0.1:port",
        "redis://127.0.0.1:1?password=hunter2",
        "redis://127.0.0.1:port?password=hunter2",
        "unix:///run/redis.sock?pass=hunter2",
        "unix:///run/redis.sock?pass=a@hunter2",
        "redis+unix:///run/redis.sock?db=0&pass=hunter2",
        &format!("redis://hunter2@{}", server.addr()),
        &format!("redis://:hunter2@{}", server.addr()),
        &format!("redis://me:hunter2@{}", server.addr()),
    ] {
        let nodes = format!("nodes = [{}]", quoted(url));
        fs::write(directory.path().join("my.toml"), format!("{SCENARIO}[lab]\n{nodes}\n")).unwrap();
        for arguments in [
            &["doctor", url][..],
            &["doctor", url, "--measure", "out.json", "--for", "1s"],
            &["check", "my.toml"],
            &["run", "my.toml", "--record", "out.json", "--log", "log"],
            &["check", "my.toml", "--set", &format!("lab.nodes=[{}]", quoted(url))],
        ] {
            let (_, said) = everything(directory.path(), arguments, &[]);
            assert!(!said.is_empty() && !said.contains(SECRET), "{arguments:?}: {said}");
        }
    }
}

#[test]
fn a_database_error_reveals_no_password() {
    let directory = directory_with(SCENARIO);
    // Nobody listens on port 1 of loopback.
    for url in spellings().iter().filter(|url| url.contains("127.0.0.1:1/x")) {
        let set = format!("database.url={url}");
        let run = ["run", "my.toml", "--set", &set, "--log", "log", "--record", "out.json"];
        let (code, said) = everything(directory.path(), &run, &[]);
        assert!(matches!(code, Some(1 | 2)), "{code:?} {said}");
        assert!(!said.contains(SECRET), "{said}");
    }
}

#[test]
fn passwords_of_any_letters_stay_in_the_url_alone() {
    let user = "[a-z][a-z0-9]{0,8}";
    // Raw where possible, otherwise as %XX.
    let password = proptest::collection::vec((any::<u8>(), any::<bool>()), 0..12);
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::with_cases(500)
    });
    let ran = runner.run(&(user, password, any::<bool>()), |(user, password, in_query)| {
        let piece = |(byte, raw): &(u8, bool)| match char::from(*byte) {
            c if *raw && c.is_ascii_graphic() && !"%&#+'\"\\".contains(c) => c.to_string(),
            _ => format!("%{byte:02X}"),
        };
        let password: String = password.iter().map(piece).collect::<String>() + SECRET;
        let url = if in_query {
            format!("postgres://{user}@h/x?password={password}&sslmode=disable")
        } else {
            format!("postgres://{user}:{password}@h/x")
        };
        let source = Source {
            name: "my.toml".to_owned(),
            text: format!("{SCENARIO}[database]\nurl = {}\n", quoted(&url)),
        };
        let said = match parse(&source, &Overrides::default()) {
            Ok(scenario) => {
                assert!(scenario.database.url.reveal().contains(SECRET));
                let json = serde_json::to_string(&scenario).unwrap();
                format!("{scenario:?} {json} {} {:?}", scenario.to_toml(), warnings(&scenario))
            }
            Err(errors) => format!("{errors} {errors:?}"),
        };
        prop_assert!(!said.contains(SECRET), "{url}: {said}");
        Ok(())
    });
    ran.unwrap();
}

#[test]
fn a_warning_says_who_can_see_a_password() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("my.toml");
    let check = |set: &[&str]| everything(directory.path(), &[&["check", "my.toml"], set].concat(), &[]).1;
    fs::write(&path, SCENARIO).unwrap();
    let said = check(&["--set", "database.url=postgres://me:hunter2@h/x"]);
    assert!(
        said.contains("can see a command line") && said.contains("database.url_env"),
        "{said}"
    );
    assert!(!check(&["--set", "database.url=postgres://me@h/x"]).contains("warning"));
    fs::write(
        &path,
        format!("{SCENARIO}[database]\nurl = \"postgres://me:hunter2@h/x\"\n"),
    )
    .unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(check(&[]).contains("can read this file"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(!check(&[]).contains("warning"));
}

#[test]
fn a_url_comes_from_the_environment_where_it_is_asked_for() {
    let directory = directory_with(&format!("{SCENARIO}[database]\nurl_env = \"MY_DB\"\n"));
    let check = |environment: &[(&str, &str)], more: &[&str]| {
        let arguments = [&["check", "my.toml"], more].concat();
        everything(directory.path(), &arguments, environment)
    };
    assert_eq!(check(&[("MY_DB", "postgres://me:hunter2@h/x")], &[]).0, Some(0));
    for environment in [&[][..], &[("MY_DB", "")]] {
        let (code, said) = check(environment, &[]);
        assert_eq!(code, Some(2));
        assert!(
            said.contains("database.url_env: the environment variable MY_DB is missing or empty"),
            "{said}"
        );
    }
    let (code, said) = check(&[("MY_DB", "mysql://me:hunter2@h/x")], &[]);
    assert_eq!(code, Some(2));
    assert!(
        said.contains("MY_DB: \"mysql://…\" is not a database") && !said.contains(SECRET),
        "{said}"
    );
    let (code, said) = check(&[("MY_DB", "postgres://me@h/x")], &["--set", "database.url=sqlite"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("contradicts url"), "{said}");
}

/// A record is run again with the password from another place.
#[test]
#[ignore = "slow: .ci/long postgres"]
fn a_record_can_be_run_again_without_the_password_in_it() {
    let database = Database::start();
    let url = database.url();
    let whole = url::Url::parse(url).expect("a URL");
    let password = whole.password().expect("a URL with a password");
    let directory = directory_with(SCENARIO);
    let run = |file: &str, environment: &[(&str, &str)]| {
        let _ = fs::remove_file(directory.path().join("out.json"));
        let arguments = [
            "run",
            file,
            "--set",
            "swarm.workers=1",
            "--record",
            "out.json",
            "--log",
            "log",
        ];
        let (code, said) = everything(directory.path(), &arguments, environment);
        // A machine that held the run up makes it prove nothing, which is another code.
        let stood_still = code == Some(5) && said.contains("the run itself stood still");
        assert!(code == Some(0) || stood_still, "{said}");
        assert!(!said.contains(&format!(":{password}@")), "{said}");
        recorded_in(directory.path().join("out.json"))
    };
    fs::write(
        directory.path().join("my.toml"),
        format!("{SCENARIO}[database]\nurl_env = \"MY_DB\"\n"),
    )
    .unwrap();
    let by_env = run("my.toml", &[("MY_DB", url)]);
    assert!(by_env.scenario_toml.contains("url_env = \"MY_DB\""));
    fs::write(
        directory.path().join("my.toml"),
        format!("{SCENARIO}[database]\nurl = {}\n", quoted(url)),
    )
    .unwrap();
    let first = run("my.toml", &[]);
    fs::write(directory.path().join("again.toml"), &first.scenario_toml).unwrap();
    let again = run("again.toml", &[("PGPASSWORD", password)]);
    assert_eq!(again.scenario.database, first.scenario.database);
    let passfile = directory.path().join("pgpass");
    fs::write(&passfile, format!("*:*:*:*:{password}\n")).unwrap();
    fs::set_permissions(&passfile, fs::Permissions::from_mode(0o600)).unwrap();
    run("again.toml", &[("PGPASSFILE", passfile.to_str().unwrap())]);
}

#[test]
#[ignore = "slow: .ci/long postgres"]
fn a_login_that_is_refused_says_where_a_password_may_come_from() {
    let database = Database::start();
    let url = database.url();
    let mut wrong = url::Url::parse(url).expect("a URL");
    wrong.set_password(Some(SECRET)).expect("a URL with a host");
    let directory = directory_with(SCENARIO);
    let arguments = ["run", "my.toml", "--set", "database.url_env=MY_DB"];
    let (code, said) = everything(directory.path(), &arguments, &[("MY_DB", wrong.as_str())]);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("password authentication failed") && said.contains("a password comes from PGPASSWORD"),
        "{said}"
    );
    assert!(!said.contains(SECRET) && !said.contains("at line"), "{said}");
}

/// The address of a Docker engine, right and wrong. Nothing listens at port 1.
#[test]
fn a_password_in_the_address_of_a_docker_engine_is_never_shown() {
    for address in [
        "tcp://me:hunter2@127.0.0.1:1",
        "tcp://hunter2@127.0.0.1:1",
        "tcp://me:hunt/er2@127.0.0.1:1",
        "tcp://me:a@hunter2@127.0.0.1:1",
        "tcp://127.0.0.1:1/?password=hunter2",
        "tcp://127.0.0.1:1#hunter2",
        "http://me:hunter2@127.0.0.1:1",
        "https://me:hunter2@127.0.0.1:1",
        "ssh://me:hunter2@127.0.0.1",
        "unix://me:hunter2@/nowhere/docker.sock",
        "unix:///nowhere/docker.sock?password=hunter2",
        "tcp:me:hunter2@127.0.0.1:1",
        "me:hunter2@127.0.0.1:1",
        "tcp://me:hunter2",
        "me:hunter2",
        "hunter2",
    ] {
        let directory = directory_with(SCENARIO);
        let environment = [("DOCKER_HOST", address)];
        for arguments in [
            "run my.toml --lab docker --image x --log log --record out.json",
            "lab up --lab docker --image x --log log",
            "lab status --log log",
            "lab down --log log",
        ] {
            let arguments: Vec<&str> = arguments.split(' ').collect();
            let (code, all) = everything(directory.path(), &arguments, &environment);
            assert!(!all.contains(SECRET), "{address}: {arguments:?}: {all}");
            if arguments.contains(&"docker") {
                assert_eq!(code, Some(1), "{address}: {all}");
                assert!(all.contains("DOCKER_HOST"), "{address}: {all}");
            }
        }
        for run in fs::read_dir(directory.path()).unwrap().flatten() {
            assert!(run.file_type().unwrap().is_file(), "{address}: {run:?} is left");
        }
    }
}
