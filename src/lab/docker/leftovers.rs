//! What keepers that were killed have left at an engine.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bollard::models::ContainerSummary;
use tokio::runtime::Builder;

use super::claim::{self, Life};
use super::container;
use super::endpoints::rejoin_all;
use super::engine::Engine;
use super::labels::{Labels, PROCESSES, RUN, label};
use super::removal::remove_all;
use super::stack::Stack;
use crate::directory::report::{NOTE, Report};
use crate::directory::run_dir::LOCK_FILE;
use lockstorm_base::input;

/// The largest such file that is read, in MB.
const LARGEST: u64 = 1;

/// Notes that there may be containers of this run, before the first is made, and which stack it uses, if it does.
pub(crate) fn note(run_dir: &Path, engine: &Engine, project: Option<&str>) -> Result<(), String> {
    let text = [engine.place(), project.unwrap_or_default()].join("\n");
    fs::write(run_dir.join(NOTE), text).map_err(|error| error.to_string())
}

/// Removes the containers and networks of the run with this directory, if it has noted that there may be some, and returns how
/// many containers that were. The stack that it used is mended. Nobody may use the run any more.
pub(crate) fn remove_of_run(run_dir: &Path) -> io::Result<usize> {
    let noted = input::open_own(&run_dir.join(NOTE)).and_then(|noted| input::whole(&noted, LARGEST));
    let noted = match noted {
        Ok(noted) => String::from_utf8_lossy(&noted).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    alone(async {
        let (place, project) = noted.split_once('\n').unwrap_or((&noted, ""));
        let engine = Engine::at(place).await?;
        // A stack that is gone needs no mending.
        if !project.is_empty()
            && let Ok(stack) = Stack::find(&engine, Some(project)).await
        {
            rejoin_all(&engine, run_dir).await;
            stack.mend().await?;
        }
        remove_all(&engine, &Labels::of_run(run_dir)).await
    })
}

/// Removes this user's containers and networks whose run directory can't be seen from here, if their keeper is gone; with `force`,
/// even if it is not. That a directory is not seen proves nothing: others may have another file system there.
pub(crate) fn remove_without_directory(force: bool) -> io::Result<Report> {
    alone(async {
        let mut unseen = Report::default();
        let engine = match Engine::usual().await {
            Ok(Some(engine)) => engine,
            Ok(None) => return Ok(unseen),
            Err(why) => {
                unseen.unasked = Some(why);
                return Ok(unseen);
            }
        };
        let mut runs: BTreeMap<PathBuf, Vec<ContainerSummary>> = BTreeMap::new();
        for container in container::list(&engine, &Labels::of_user()).await? {
            if let Some(run) = label(&container, RUN).map(PathBuf::from) {
                runs.entry(run).or_default().push(container);
            }
        }
        for (run, containers) in runs {
            // Whoever sees the lock of the directory knows more. What a process asks an image is no lab, and ends by itself.
            let is_asked = run.starts_with(PROCESSES) && (run.exists() || !force);
            if run.join(LOCK_FILE).exists() || is_asked {
                continue;
            }
            let life = match claim::life(&containers) {
                Life::Begins(id) if !force => match claim::end(&engine, &id, true).await? {
                    true => {
                        unseen.containers += 1;
                        Life::Over
                    }
                    false => Life::Lives,
                },
                life => life,
            };
            match life {
                Life::Lives if !force => unseen.running.push(run),
                Life::Untold if !force => unseen.untold.push(run),
                Life::Begins(_) | Life::Lives | Life::Untold | Life::Over => {
                    unseen.containers += remove_all(&engine, &Labels::of_run(&run)).await?;
                }
            }
        }
        Ok(unseen)
    })
}

/// Runs this on a runtime of its own: what is left is removed from threads without one.
fn alone<T>(work: impl Future<Output = Result<T, String>>) -> io::Result<T> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(work).map_err(io::Error::other)
}
