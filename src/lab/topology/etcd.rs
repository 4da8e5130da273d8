//! etcd: a member on each host.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::awaited::{Awaited, Of};
use crate::directory::password::{Password, create_file};
use crate::error::LabError;
use crate::server::binary::version_output;
use crate::server::programs::on_path;
use crate::server::stats::STATS_TIMEOUT;
use crate::server::version::Version;
use lockstorm_data::model::HostId;
use lockstorm_etcd::{CallError, Gateway, Secret};

/// Where members keep their data, in their directories.
const DATA: &str = "data";
/// The oldest version that the lab knows.
const OLDEST: Version = Version(3, 4, 0);
/// How long each of the steps may take until all members work together.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long one answer may take. A member without a leader needs 7 s to say so.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause before a member is asked again.
const PAUSE: Duration = Duration::from_millis(50);

/// The program of etcd.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub path: PathBuf,
    version: Version,
}

impl Program {
    /// This one, or the first on PATH.
    pub(crate) fn find(explicit: Option<&Path>) -> Result<Self, LabError> {
        let path = match explicit {
            Some(path) => path.to_owned(),
            None => on_path("etcd").ok_or_else(|| {
                let why = "this scenario has locks on etcd, and no etcd is found: install one, 3.4 or newer (apt-get install etcd-server), or \
                           name one with --etcd-bin PATH";
                LabError::Other(why.to_owned())
            })?,
        };
        let not = |why: String| LabError::Other(format!("{} is not an etcd: {why}", path.display()));
        let path = std::path::absolute(&path).map_err(|error| not(error.to_string()))?;
        let output = version_output(&path).map_err(|error| not(error.to_string()))?;
        let version = output.lines().find_map(|line| line.strip_prefix("etcd Version: "));
        let version = version.and_then(|text| Version::parse(text.trim()));
        let version = version.ok_or_else(|| not("it does not print its version for --version".to_owned()))?;
        if version < OLDEST {
            let why = format!(
                "{} has version {version}, but {OLDEST} is the oldest that works: name a newer one with --etcd-bin PATH",
                path.display()
            );
            return Err(LabError::Other(why));
        }
        Ok(Self { path, version })
    }

    /// It in words.
    pub(crate) fn name(&self) -> String {
        format!("etcd {}", self.version)
    }
}

/// The etcd of a lab.
#[derive(Debug)]
pub(crate) struct Etcd {
    pub program: Program,
    /// Where each member is used, and where the others talk to it.
    places: BTreeMap<HostId, [SocketAddr; 2]>,
    /// Tells it from others.
    token: String,
    /// The user that everybody must be, and the file with the key of what they are known by.
    password: Option<Secret>,
    key: Option<PathBuf>,
    /// Asks the members who the leader is, which anybody may.
    watcher: Gateway,
    /// Whether the members have come together once. One that has lost its data must be added again then.
    is_established: AtomicBool,
}

impl Etcd {
    /// With these members, in this run directory.
    pub(crate) fn new(
        program: Program,
        places: BTreeMap<HostId, [SocketAddr; 2]>,
        dir: &Path,
        password: Option<&Password>,
    ) -> Result<Self, LabError> {
        let key = match password {
            Some(password) => {
                let file = dir.join("etcd.key");
                create_file(&file, password.text())?;
                Some(file)
            }
            None => None,
        };
        let token = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self {
            program,
            watcher: Gateway::new(Vec::new(), 0),
            places,
            token,
            password: password.map(|password| Secret::new(password.text().to_owned())),
            key,
            is_established: AtomicBool::new(false),
        })
    }

    /// The settings of the member on this host, which keeps its files in this directory; all others have etcd's defaults.
    pub(crate) fn settings(&self, host: HostId, dir: &Path) -> Vec<(&'static str, String)> {
        let Some([client, peer]) = self.places.get(&host).copied() else {
            return Vec::new();
        };
        let (data, [client, peer]) = (dir.join(DATA), [client, peer].map(|place| format!("http://{place}")));
        let is_new = !self.is_established.load(Ordering::Relaxed);
        let mut members = String::new();
        for (host, [_, peer]) in &self.places {
            let comma = if members.is_empty() { "" } else { "," };
            let _ = write!(members, "{comma}{}=http://{peer}", name(*host));
        }
        let mut settings = vec![
            ("name", name(host)),
            ("data-dir", data.display().to_string()),
            ("listen-client-urls", client.clone()),
            ("advertise-client-urls", client),
            ("listen-peer-urls", peer.clone()),
            ("initial-advertise-peer-urls", peer),
            ("initial-cluster", members),
            ("initial-cluster-token", self.token.clone()),
            (
                "initial-cluster-state",
                if is_new { "new" } else { "existing" }.to_owned(),
            ),
            // A member that has lost its disk is replaced at once: otherwise the others must have known each other for 5 s.
            ("strict-reconfig-check", "false".to_owned()),
            // Its own defaults, which leases depend on.
            ("heartbeat-interval", "100".to_owned()),
            ("election-timeout", "1000".to_owned()),
            ("log-outputs", "stderr".to_owned()),
            ("log-level", "warn".to_owned()),
        ];
        if let Some(key) = &self.key {
            let key = key.display();
            settings.push(("auth-token", format!("jwt,priv-key={key},sign-method=HS256,ttl=24h")));
            // The password is long and random.
            settings.push(("bcrypt-cost", "4".to_owned()));
        }
        settings
    }

    /// Where clients reach its members, in the order of the hosts.
    pub(crate) fn clients(&self) -> Vec<SocketAddr> {
        self.places.values().map(|[client, _]| *client).collect()
    }

    /// Its members as a client reaches them that has logged in, those from `first` on before the others.
    pub(crate) async fn gateway(&self, first: usize) -> Result<Gateway, CallError> {
        let mut gateway = Gateway::new(self.clients(), first);
        if let Some(password) = &self.password {
            gateway.log_in(password, ANSWER_TIMEOUT).await?;
        }
        Ok(gateway)
    }

    /// Waits until all members have a leader, lets nobody in any more but us, and checks that each member is the one that it should be.
    pub(crate) async fn establish(&self, awaited: &Awaited<'_>) -> Result<(), LabError> {
        awaited.until(Of::Etcd, Some("its members have a leader"));
        let mut gateway = Gateway::new(self.clients(), 0);
        for place in self.places.values() {
            until(async || {
                let status = answer(&gateway, place[0], "maintenance/status").await?;
                match status["leader"].as_str() {
                    Some(leader) if leader != "0" => Ok(()),
                    _ => Err("it has no leader".to_owned()),
                }
            })
            .await?;
        }
        if let Some(password) = &self.password {
            let protected = gateway.protect(password, ANSWER_TIMEOUT).await;
            protected.map_err(|error| LabError::Other(format!("etcd is not ready: {error}")))?;
        }
        for (host, place) in &self.places {
            until(async || {
                let list = answer(&gateway, place[0], "cluster/member/list").await?;
                let own = member(&list, "ID", list["header"]["member_id"].as_str().unwrap_or_default());
                match own.and_then(|own| own["name"].as_str()) {
                    Some(found) if found == name(*host) => Ok(()),
                    _ => Err("another etcd answers in its place".to_owned()),
                }
            })
            .await?;
        }
        self.lead(&gateway)
            .await
            .map_err(|error| LabError::Other(format!("etcd is not ready: {error}")))?;
        self.is_established.store(true, Ordering::Relaxed);
        awaited.until(Of::Etcd, None);
        Ok(())
    }

    /// Makes the member on the first host the leader, so that the same fault meets the same member in every run.
    async fn lead(&self, gateway: &Gateway) -> Result<(), CallError> {
        let status = gateway.call("maintenance/status", &json!({}), ANSWER_TIMEOUT).await?;
        let list = gateway.call("cluster/member/list", &json!({}), ANSWER_TIMEOUT).await?;
        let first = self
            .places
            .keys()
            .next()
            .and_then(|host| member(&list, "name", &name(*host)));
        let leader = status["leader"].as_str().and_then(|id| member(&list, "ID", id));
        let (Some(first), Some(leader)) = (first, leader) else {
            return Ok(());
        };
        let place = self
            .places
            .iter()
            .find(|(host, _)| leader["name"].as_str() == Some(&name(**host)));
        match place {
            Some((_, [client, _])) if first["ID"] != leader["ID"] => {
                let to = json!({ "targetID": first["ID"] });
                gateway
                    .at(*client, "maintenance/transfer-leadership", &to)
                    .await
                    .map(drop)
            }
            _ => Ok(()),
        }
    }

    /// The host of the leader: of those who say that they are, the one whom the others have elected last.
    pub(crate) async fn leader(&self) -> Option<HostId> {
        let asked = self.places.iter().map(|(host, [client, _])| async move {
            let nothing = json!({});
            let status = self.watcher.at(*client, "maintenance/status", &nothing);
            let status = timeout(STATS_TIMEOUT, status).await.ok()?.ok()?;
            let (own, term) = (&status["header"]["member_id"], &status["raftTerm"]);
            let term: u64 = term.as_str()?.parse().ok()?;
            (*own == status["leader"]).then_some((term, *host))
        });
        join_all(asked).await.into_iter().flatten().max().map(|(_, host)| host)
    }

    /// Whether the member on this host has its data.
    pub(crate) fn has_data(dir: &Path) -> bool {
        dir.join(DATA).exists()
    }

    /// Removes what a member has written, and returns how many files that were.
    pub(crate) fn remove_data(dir: &Path) -> std::io::Result<u64> {
        let data = dir.join(DATA);
        let files = |part: &str| fs::read_dir(data.join("member").join(part)).map_or(0, Iterator::count);
        let count = files("wal") + files("snap");
        fs::remove_dir_all(&data)?;
        Ok(count as u64)
    }

    /// Lets the others forget the member on this host, which has lost its data, and expect a new one in its place: with its old number it
    /// could vote twice.
    pub(crate) async fn replace(&self, host: HostId) -> Result<(), LabError> {
        let Some([_, peer]) = self.places.get(&host) else {
            return Ok(());
        };
        let replaced = async {
            let gateway = self.gateway(host.index() + 1).await?;
            let list = gateway.call("cluster/member/list", &json!({}), ANSWER_TIMEOUT).await?;
            if let Some(old) = member(&list, "name", &name(host)) {
                let id = json!({ "ID": old["ID"] });
                gateway.call("cluster/member/remove", &id, ANSWER_TIMEOUT).await?;
            }
            let new = json!({ "peerURLs": [format!("http://{peer}")] });
            gateway.call("cluster/member/add", &new, ANSWER_TIMEOUT).await
        };
        replaced.await.map(drop).map_err(|error: CallError| {
            LabError::Other(format!(
                "the etcd member of {host} has lost its data and can't be replaced ({error}): the others must be up for that"
            ))
        })
    }
}

/// The name of the member on a host.
fn name(host: HostId) -> String {
    format!("host-{}", host.0)
}

/// The member of which this field is `is`, in an answer that lists them.
fn member<'a>(list: &'a Value, field: &str, is: &str) -> Option<&'a Value> {
    let mut members = list["members"].as_array().into_iter().flatten();
    members.find(|member| member[field].as_str() == Some(is))
}

async fn answer(gateway: &Gateway, place: SocketAddr, path: &str) -> Result<Value, String> {
    match timeout(ANSWER_TIMEOUT, gateway.at(place, path, &json!({}))).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err(format!("{place} is silent")),
    }
}

/// Looks again and again until nothing is missing.
async fn until(look: impl AsyncFn() -> Result<(), String>) -> Result<(), LabError> {
    let end = Instant::now() + TIMEOUT;
    while let Err(why) = look().await {
        if Instant::now() >= end {
            return Err(LabError::Other(format!("etcd is not ready after {TIMEOUT:?}: {why}")));
        }
        sleep(PAUSE).await;
    }
    Ok(())
}
