//! Lock nodes over TLS, and the errors for nodes that can't prove their identity.
#![cfg(feature = "tls")]

use std::env;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::kit::authority::{Authority, needs_tls};
use crate::kit::{RedisServer, TEST_TIMEOUT, beside, eventually};
use lockstorm_lock::Cause;
use lockstorm_lock::{BadAddress, NodeOptions, Nodes, Redlock, RedlockBuilder, Refusal};
use rcgen::{BasicConstraints, CertificateParams, IsCa};
use redis::cmd;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// Holds what a test needs when it runs itself again in a process that trusts an authority of ours.
const TASK: &str = "LOCKSTORM_TEST_TLS";

/// Runs a test of this file in a process of its own that trusts only this authority.
fn run_again(test: &str, authority: &Path, task: &str) {
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", &format!("tls::{test}"), "--ignored", "--nocapture"])
        .env("SSL_CERT_FILE", authority)
        .env_remove("SSL_CERT_DIR")
        .env(TASK, task)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// A node timeout that lets no node become suspect on a slow machine.
const PATIENT: NodeOptions = NodeOptions {
    connect_timeout: Duration::from_secs(1),
    reconnect_backoff: Duration::from_millis(50),
    node_timeout: Duration::from_secs(5),
    give_up: Duration::from_secs(30),
    wait_replicas: None,
    longest_key: 8 << 10,
};

fn patient(nodes: Nodes) -> RedlockBuilder {
    Redlock::builder(nodes).ttl(Duration::from_mins(1)).seed(1)
}

#[test]
fn a_lock_is_acquired_extended_waited_for_and_released_over_tls() {
    needs_tls();
    let _turn = beside();
    let authority = Authority::new("ours");
    let names = ["localhost", "127.0.0.1", "localhost"];
    let (servers, ports): (Vec<_>, Vec<_>) = names.iter().map(|name| authority.server(name, &[])).unzip();
    let urls = names
        .iter()
        .zip(ports)
        .map(|(name, port)| format!("rediss://locks:secret@{name}:{port}/2"));
    for server in &servers {
        let mut user = cmd("ACL");
        user.arg("SETUSER")
            .arg("locks")
            .arg(&["on", ">secret", "~*", "&*", "+@all"]);
        server.query::<String>(&user);
    }
    run_again("lock", &authority.file(), &urls.collect::<Vec<_>>().join(" "));
    eventually("no key is left", || {
        let keys = |server: &RedisServer| server.query::<String>(cmd("INFO").arg("keyspace")).contains("db");
        !servers.iter().any(keys)
    });
    assert!(servers.iter().all(|server| server.calls("pexpire") == 1));
}

#[test]
#[ignore = "run by another test in a process that trusts its authority"]
fn lock() {
    let Ok(urls) = env::var(TASK) else { return };
    let urls: Vec<_> = urls.split(' ').collect();
    runtime().block_on(async {
        let nodes = Nodes::open(&urls, PATIENT).unwrap();
        assert_eq!(nodes.ready(TEST_TIMEOUT).await, 3);
        let redlock = patient(nodes.clone()).wait_up_to(TEST_TIMEOUT).build().unwrap();
        let guard = redlock.acquire("sku:7").await.unwrap();
        assert!(guard.extend().await.is_ok());
        assert_eq!(redlock.try_acquire("sku:7").await.unwrap_err(), Refusal::Contended);
        let other = patient(nodes.clone()).wait_up_to(TEST_TIMEOUT).build().unwrap();
        let (released, next) = tokio::join!(
            async {
                while other.gauges().waiting() == 0 {
                    sleep(Duration::from_millis(1)).await;
                }
                guard.release().await
            },
            other.acquire("sku:7")
        );
        assert!(released.deleted >= 2, "{released:?}");
        let next = next.unwrap();
        assert!(next.waited());
        drop(next);
        // Many at once: buffered TLS data must be sent too.
        let mut tasks = JoinSet::new();
        for task in 0..200 {
            let redlock = redlock.clone();
            tasks.spawn(async move {
                for _ in 0..10 {
                    redlock.acquire(&format!("sku:{task}")).await?.release().await;
                }
                Ok::<_, Refusal>(())
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap().unwrap();
        }
        assert_eq!(nodes.flush(TEST_TIMEOUT).await, 3);
    });
}

#[test]
fn a_node_that_can_not_prove_its_identity_gives_no_vote_and_a_cause() {
    needs_tls();
    let _turn = beside();
    let [authority, stranger, namesake] = ["ours", "a stranger", "ours"].map(Authority::new);
    let (_strange, strange) = stranger.server("localhost", &[]);
    let (_wrong, wrong) = namesake.server("localhost", &[]);
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let (_presumptuous, presumptuous) = authority.server_with(&params, &[]);
    let (_elsewhere, elsewhere) = authority.server("elsewhere.example", &[]);
    let (curious, asking) = authority.server("localhost", &["--tls-auth-clients", "yes"]);
    let cases = [
        (strange, "this machine trusts no authority that signed"),
        (wrong, "this machine trusts no authority that signed"),
        (presumptuous, "the node uses an authority's certificate"),
        (elsewhere, "not valid for name \"localhost\""),
        (asking, "tls-auth-clients no"),
        (curious.port(), "does not speak TLS"),
    ];
    let cases = cases.map(|(port, reason)| format!("rediss://localhost:{port} {reason}"));
    run_again("be_refused", &authority.file(), &cases.join("\n"));
}

#[test]
#[ignore = "run by another test in a process that trusts its authority"]
fn be_refused() {
    let Ok(cases) = env::var(TASK) else { return };
    for case in cases.lines() {
        let (url, reason) = case.split_once(' ').unwrap();
        runtime().block_on(async {
            let redlock = patient(Nodes::open(&[url], PATIENT).unwrap()).build().unwrap();
            let start = Instant::now();
            loop {
                let refusal = redlock.acquire("sku:7").await.unwrap_err();
                if let Refusal::NoQuorum { causes } = &refusal
                    && let Some(Cause::Tls(text)) = &causes[0]
                {
                    assert!(text.contains(reason), "{text}");
                    assert!(refusal.to_string().contains(reason), "{refusal}");
                    break;
                }
                // Asked before the handshake has failed.
                assert!(start.elapsed() < TEST_TIMEOUT, "{url}: {refusal}");
                sleep(Duration::from_millis(5)).await;
            }
        });
    }
}

#[test]
fn a_wrong_password_and_a_wrong_certificate_give_different_errors() {
    needs_tls();
    let _turn = beside();
    let authority = Authority::new("ours");
    let (server, port) = authority.server("localhost", &[]);
    server.query::<String>(cmd("ACL").arg("SETUSER").arg("locks").arg("on").arg(">secret"));
    let url = format!("rediss://locks:wrong@localhost:{port}");
    run_again("be_denied", &authority.file(), &url);
}

#[test]
#[ignore = "run by another test in a process that trusts its authority"]
fn be_denied() {
    let Ok(url) = env::var(TASK) else { return };
    runtime().block_on(async {
        let redlock = patient(Nodes::open(&[url], PATIENT).unwrap()).build().unwrap();
        let start = Instant::now();
        while !matches!(redlock.acquire("sku:7").await, Err(Refusal::NotPermitted { .. })) {
            assert!(start.elapsed() < TEST_TIMEOUT, "not denied");
            sleep(Duration::from_millis(5)).await;
        }
    });
}

#[test]
fn an_unreadable_file_of_authorities_is_an_error_at_once() {
    run_again("miss_the_authorities", Path::new("/nowhere/authorities.pem"), "-");
}

#[test]
#[ignore = "run by another test in a process that trusts nobody"]
fn miss_the_authorities() {
    if env::var(TASK).is_err() {
        return;
    }
    runtime().block_on(async {
        let BadAddress { url, why } = Nodes::open(&["rediss://me:secret@host"], PATIENT).unwrap_err();
        assert_eq!(url, "rediss://me:***@host");
        assert!(why.contains("SSL_CERT_FILE") && why.contains("/nowhere/"), "{why}");
    });
}
