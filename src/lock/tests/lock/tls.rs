//! Lock nodes over TLS, and the errors for nodes that can't prove their identity.

use std::path::Path;
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use crate::kit::authority::{Authority, needs_tls};
use crate::kit::moving::PATIENT;
use crate::kit::trio::OPTIONS;
use crate::kit::{RedisServer, TEST_TIMEOUT, beside, eventually, until};
use lockstorm_lock::{BadAddress, Cause, NodeAddress, Nodes, Redlock, RedlockBuilder, Refusal, TlsOptions};
use rcgen::{BasicConstraints, CertificateParams, IsCa};
use redis::cmd;
use tokio::task::JoinSet;
use tokio::time::sleep;

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

fn patient(nodes: Nodes) -> RedlockBuilder {
    Redlock::builder(nodes).ttl(OPTIONS.ttl).seed(1)
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
        server.add_user("~* &* +@all");
    }
    run_again("lock", &authority.file(), &urls.collect::<Vec<_>>().join(" "));
    eventually("no key is left", || {
        let keys = |server: &RedisServer| server.query::<String>(cmd("INFO").arg("keyspace")).contains("db");
        !servers.iter().any(keys)
    });
    assert!(servers.iter().all(|server| server.calls("pexpire") == 1));
}

#[tokio::test]
#[ignore = "run by another test in a process that trusts its authority"]
async fn lock() {
    let Ok(urls) = env::var(TASK) else { return };
    let urls: Vec<_> = urls.split(' ').collect();
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
    for ended in tasks.join_all().await {
        ended.unwrap();
    }
    assert_eq!(nodes.flush(TEST_TIMEOUT).await, 3);
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

#[tokio::test]
#[ignore = "run by another test in a process that trusts its authority"]
async fn be_refused() {
    let Ok(cases) = env::var(TASK) else { return };
    for case in cases.lines() {
        let (url, reason) = case.split_once(' ').unwrap();
        let redlock = patient(Nodes::open(&[url], PATIENT).unwrap()).build().unwrap();
        // The first ones are asked before the handshake has failed.
        until(case, async || {
            let refusal = redlock.acquire("sku:7").await.unwrap_err();
            let Refusal::NoQuorum { causes } = &refusal else {
                return false;
            };
            let [Some(Cause::Tls(text))] = &causes[..] else {
                return false;
            };
            assert!(text.contains(reason), "{text}");
            assert!(refusal.to_string().contains(reason), "{refusal}");
            true
        })
        .await;
    }
}

#[test]
fn a_wrong_password_and_a_wrong_certificate_give_different_errors() {
    needs_tls();
    let _turn = beside();
    let authority = Authority::new("ours");
    let (server, port) = authority.server("localhost", &[]);
    server.add_user("");
    let url = format!("rediss://locks:wrong@localhost:{port}");
    run_again("be_denied", &authority.file(), &url);
}

#[tokio::test]
#[ignore = "run by another test in a process that trusts its authority"]
async fn be_denied() {
    let Ok(url) = env::var(TASK) else { return };
    let redlock = patient(Nodes::open(&[url], PATIENT).unwrap()).build().unwrap();
    until("it is denied", async || {
        matches!(redlock.acquire("sku:7").await, Err(Refusal::NotPermitted { .. }))
    })
    .await;
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
    let BadAddress { url, why, .. } = Nodes::open(&["rediss://me:secret@host"], PATIENT).unwrap_err();
    assert_eq!(url, "rediss://me:***@host");
    assert!(why.contains("SSL_CERT_FILE") && why.contains("/nowhere/"), "{why}");
}

#[tokio::test]
async fn authorities_and_a_certificate_of_ones_own_are_given_by_the_program() {
    needs_tls();
    let _turn = beside();
    let authority = Authority::new("ours");
    let (_server, port) = authority.server("localhost", &["--tls-auth-clients", "yes"]);
    let url = format!("rediss://localhost:{port}");
    let trusting = TlsOptions::new().authorities(fs::read(authority.file()).unwrap());
    let (certificate, key) = authority.client();
    let known = trusting.clone().identity(certificate.clone(), key.clone());
    let connect = |tls: &TlsOptions| Nodes::connect(&[NodeAddress::parse_with(&url, tls).unwrap()], PATIENT);
    let nodes = connect(&known);
    assert_eq!(nodes.ready(TEST_TIMEOUT).await, 1);
    let guard = patient(nodes).build().unwrap().acquire("sku:7").await.unwrap();
    assert_eq!(guard.release().await.deleted, 1);
    let unknown = patient(connect(&trusting)).build().unwrap();
    until("it asks for a certificate", async || {
        let refusal = unknown.acquire("sku:7").await.unwrap_err().to_string();
        refusal.contains("requires a client certificate")
    })
    .await;
    for (tls, why) in [
        (TlsOptions::new().authorities("nothing"), "there is no certificate"),
        (
            trusting.clone().identity(certificate.clone(), "nothing"),
            "the key of our own",
        ),
        (
            trusting.identity(certificate, Authority::new("other").client().1),
            "and its key",
        ),
    ] {
        let error = NodeAddress::parse_with(&url, &tls).unwrap_err();
        assert!(error.why.contains(why), "{error}");
        assert!(!format!("{tls:?}").contains(&key), "it shows the key");
    }
}
