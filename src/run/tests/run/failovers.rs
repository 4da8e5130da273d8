//! How long failovers take, as distributions: run by `.ci/long failovers`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lockstorm_data::metrics::Entry;
use lockstorm_data::model::{Action, Condition, Fault, HostId, ReplicationRole, Wait};
use lockstorm_data::scenario::{LabSpec, ReplicatedSpec};
use lockstorm_lab::{Lab, LabOptions, MASTER_NAME, NodeName, ServerBinary};
use lockstorm_lock::{AcquireOptions, Lock, NodeOptions, Nodes, Sentinels};
use lockstorm_run::{ArmRecord, Record};
use tokio::time::{sleep, timeout};

/// How many deaths of the master make the distribution.
const DEATHS: usize = 20;
/// No failover may take longer: down-after, and three rounds of elections.
const LIMIT: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(10);

async fn up(down_after: Duration) -> Lab {
    let spec = LabSpec {
        replicated: Some(ReplicatedSpec {
            down_after,
            ..ReplicatedSpec::default()
        }),
        ..LabSpec::of(3)
    };
    let binary = ServerBinary::find(None).expect("a server is installed");
    let mut options = LabOptions::new(binary).expect("options");
    options.keeper = lockstorm_kit::keeper();
    Lab::up(&spec, options).await.expect("the lab comes up")
}

/// The host of the only master, once both others follow it.
async fn in_order(lab: &Lab) -> HostId {
    let settled = async {
        loop {
            let roles = lab.replication_roles().await;
            let is_master = |role: &ReplicationRole| matches!(role, ReplicationRole::Master { .. });
            let masters: Vec<NodeName> = roles
                .iter()
                .filter_map(|(node, role)| is_master(role).then_some(*node))
                .collect();
            if let [master] = masters[..] {
                let follows = |role: &&ReplicationRole| match role {
                    ReplicationRole::Replica {
                        master: of, connected, ..
                    } => *connected && *of == master.host,
                    ReplicationRole::Master { .. } => false,
                };
                if roles.values().filter(follows).count() == 2 {
                    return master.host.expect("it is on a host");
                }
            }
            sleep(PAUSE).await;
        }
    };
    timeout(LIMIT, settled).await.expect("all follow one master")
}

/// Acquires locks again and again until one is granted. Returns how long after `since` that was.
async fn granted(nodes: &Nodes, names: &mut impl Iterator<Item = String>, since: Instant) -> Duration {
    let lock = Lock::single(nodes, 0, 1);
    let options = AcquireOptions::new().wait(Wait::FailFast);
    let trying = async {
        loop {
            let name = names.next().expect("names never end");
            if let Ok(guard) = lock.acquire(&name, &options).await {
                let took = since.elapsed();
                let _ = guard.release().await;
                return took;
            }
            sleep(PAUSE).await;
        }
    };
    timeout(LIMIT, trying).await.expect("the lock is granted again")
}

fn print_distribution(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an index of a short list"
        )]
        let index = ((times.len() - 1) as f64 * share).round() as usize;
        times[index].as_millis()
    };
    println!(
        "{what}: {} times, ms: min {}, p25 {}, median {}, p75 {}, p90 {}, max {}",
        times.len(),
        at(0.0),
        at(0.25),
        at(0.5),
        at(0.75),
        at(0.9),
        at(1.0)
    );
    let all: Vec<String> = times.iter().map(|time| time.as_millis().to_string()).collect();
    println!("    {}", all.join(" "));
}

/// The host of the master dies twenty times; a lock that follows the Sentinels is granted again each time.
async fn deaths(down_after: Duration) {
    let lab = up(down_after).await;
    let (sentinels, login) = lab.replicated_nodes().expect("it has replicated nodes");
    let nodes = Sentinels::at(&sentinels, MASTER_NAME, &login, NodeOptions::default()).master();
    let mut names = (0..).map(|n| format!("lock:{n}"));
    granted(&nodes, &mut names, Instant::now()).await;
    let (mut writable, mut followed) = (Vec::new(), Vec::new());
    for _ in 0..DEATHS {
        let old = in_order(&lab).await;
        let dead = lab.apply(Fault::Kill.into(), old).await.expect("killed").at;
        let new_master = async {
            loop {
                let roles = lab.replication_roles().await;
                if roles
                    .values()
                    .any(|role| matches!(role, ReplicationRole::Master { .. }))
                {
                    return dead.elapsed();
                }
                sleep(PAUSE).await;
            }
        };
        let (new_master, grant) = tokio::join!(timeout(LIMIT, new_master), granted(&nodes, &mut names, dead));
        writable.push(new_master.expect("there is a new master"));
        followed.push(grant);
        lab.apply(Action::Undo(Condition::Down), old).await.expect("back");
    }
    println!("the host of the master dies, down_after {down_after:?}");
    print_distribution("  a replica is the master", writable);
    print_distribution("  a lock that follows the Sentinels is granted", followed);
    lab.down().await;
}

#[tokio::test]
#[ignore = "takes six minutes; run by .ci/long failovers"]
async fn twenty_deaths_of_the_master() {
    deaths(Duration::from_secs(3)).await;
}

#[tokio::test]
#[ignore = "takes six minutes; run by .ci/long failovers"]
async fn twenty_deaths_of_the_master_with_impatient_sentinels() {
    deaths(Duration::from_secs(1)).await;
}

fn row(seed: &str, arm: &ArmRecord) -> String {
    let figures = &arm.figures;
    let outages: Vec<String> = figures
        .outages
        .iter()
        .map(|outage| format!("{}{}", outage.lasted_us / 1000, if outage.over { "" } else { "+" }))
        .collect();
    format!(
        "{seed:>4}  {:16} {:>12} {:>9} {:>12} {:>12} {:>6}  {}",
        arm.name,
        figures.booked(Entry::LostUpdates),
        figures.booked(Entry::Oversold),
        figures.granted_by_old_master,
        figures.lost_at_failover,
        figures.stuck.map_or("-".to_owned(), |stuck| stuck.to_string()),
        outages.join(" / ")
    )
}

/// Prints what the records say that `.ci/long failovers` has left.
#[test]
#[ignore = "reads the records of .ci/long failovers"]
fn the_table_of_the_played_failovers() {
    let dir = std::env::var_os("LOCKSTORM_RECORDS")
        .map(PathBuf::from)
        .expect("LOCKSTORM_RECORDS names a directory");
    let mut records: Vec<(String, Record)> = fs::read_dir(&dir)
        .expect("it can be read")
        .filter_map(|entry| {
            let path = entry.expect("an entry").path();
            let seed = Path::new(&path).file_stem()?.to_str()?.to_owned();
            let text = fs::read_to_string(&path).expect("it can be read");
            Some((seed, serde_json::from_str(&text).expect("a record")))
        })
        .collect();
    assert!(!records.is_empty(), "no records in {}", dir.display());
    records.sort_by_key(|(seed, _)| seed.parse::<u64>().unwrap_or(u64::MAX));
    println!(
        "seed  arm              lost updates  oversold  by old master  lost at fail.  stuck  unavailable ms after each death, and after the demotion"
    );
    for (seed, record) in &records {
        for arm in &record.arms {
            println!("{}", row(seed, arm));
        }
    }
}
