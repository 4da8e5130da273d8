//! A node can't save its snapshots, and refuses writes for that reason.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::telling::{info, info_text, is_replica, open, order, refusal};
use crate::findings::Found;
use crate::server::node::Node;
use lockstorm_data::model::{Finding, Observer};
use lockstorm_lock::Session;

/// How long it may take until it has tried.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is asked whether it has tried to save.
const PAUSE: Duration = Duration::from_millis(10);
/// What the answer begins with that names this reason.
const CODE: &str = "MISCONF ";

/// A place in a node's directory. A server moves a finished snapshot to its name, which it can't where a directory has that name: not
/// even as root, whom no permission would stop.
struct Place {
    snapshot: PathBuf,
    kept: PathBuf,
}

impl Place {
    fn of(node: &Node) -> Self {
        let file = |name| node.dir().join(name);
        Self {
            snapshot: file("dump.rdb"),
            kept: file("dump.rdb.kept"),
        }
    }

    fn block(&self) -> io::Result<()> {
        if self.snapshot.is_file() {
            fs::rename(&self.snapshot, &self.kept)?;
        }
        match fs::create_dir(&self.snapshot) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            created => created,
        }
    }

    fn free(&self) -> io::Result<()> {
        if self.snapshot.is_dir() {
            fs::remove_dir(&self.snapshot)?;
        }
        match fs::rename(&self.kept, &self.snapshot) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            renamed => renamed,
        }
    }
}

/// Lets a snapshot fail.
///
/// # Errors
/// It does not answer, its directory can't be changed, or it takes writes all the same.
pub(super) async fn begin(node: &Node, found: &mut Found) -> Result<(), String> {
    let mut session = open(node).await?;
    if is_replica(&mut session).await? {
        return Ok(());
    }
    Place::of(node).block().map_err(|error| error.to_string())?;
    // It refuses writes only if it is to save now and then.
    node.changed.set(&mut session, "save", "3600 1").await?;
    node.changed
        .set(&mut session, "stop-writes-on-bgsave-error", "yes")
        .await?;
    save(&mut session).await?;
    match refusal(&mut session).await? {
        Some(answer) if answer.starts_with(CODE) => {
            found.add(Finding::CannotSave, Observer::Write);
            Ok(())
        }
        answer => Err(format!("it answers a write with {}", answer.as_deref().unwrap_or("OK"))),
    }
}

/// Lets it save again. A snapshot that it must not keep is removed.
///
/// # Errors
/// It does not answer, its directory can't be changed, or it goes on refusing writes.
pub(super) async fn end(node: &Node, found: &mut Found) -> Result<(), String> {
    let mut session = open(node).await?;
    let place = Place::of(node);
    if !place.snapshot.is_dir() {
        // A replica, which was left alone.
        return Ok(());
    }
    let kept_one = place.kept.is_file();
    place.free().map_err(|error| error.to_string())?;
    save(&mut session).await?;
    if let Some(answer) = refusal(&mut session).await?.filter(|answer| answer.starts_with(CODE)) {
        return Err(format!("it answers a write with {answer}"));
    }
    node.changed.undo(&mut session).await?;
    if !kept_one && !node.saves() {
        fs::remove_file(&place.snapshot).map_err(|error| error.to_string())?;
    }
    // A master that refused PING may have become a replica meanwhile, which takes no writes.
    if !is_replica(&mut session).await? {
        found.add(Finding::NotRefused, Observer::Write);
    }
    Ok(())
}

/// Frees the place of a node that is down, so that it finds its snapshot.
pub(super) fn clear(node: &Node) -> io::Result<()> {
    Place::of(node).free()
}

/// Waits until it has tried to save.
async fn save(session: &mut Session) -> Result<(), String> {
    let tried = timeout(PATIENCE, try_to_save(session)).await;
    tried.unwrap_or_else(|_| Err(format!("it has not tried to save within {PATIENCE:?}")))
}

async fn try_to_save(session: &mut Session) -> Result<(), String> {
    while info_text(session, "rdb_bgsave_in_progress").await? != "0" {
        sleep(PAUSE).await;
    }
    let before = info(session, "total_forks").await?;
    order(session, &["BGSAVE", "SCHEDULE"]).await?;
    while info(session, "total_forks").await? == before || info_text(session, "rdb_bgsave_in_progress").await? != "0" {
        sleep(PAUSE).await;
    }
    Ok(())
}
