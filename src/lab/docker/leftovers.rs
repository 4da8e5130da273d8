//! What keepers that were killed have left at an engine.

use std::fs;
use std::io;
use std::path::Path;

use tokio::runtime::Builder;

use super::container;
use super::endpoints::rejoin_all;
use super::engine::Engine;
use super::labels::Labels;
use super::removal::remove_all;
use super::stack::Stack;
use crate::input;

/// The file in a run directory that says at which engine its containers are.
const FILE: &str = "docker";
/// The largest such file that is read, in MB.
const LARGEST: u64 = 1;

/// Notes that there may be containers of this run, before the first is made, and which stack it uses, if it does.
pub(in crate::lab) fn note(run_dir: &Path, engine: &Engine, project: Option<&str>) -> io::Result<()> {
    fs::write(
        run_dir.join(FILE),
        [engine.place(), project.unwrap_or_default()].join("\n"),
    )
}

/// Removes the containers and networks of the run with this directory, if it has noted that there may be some, and returns how
/// many containers that were. The stack that it used is mended. Nobody may use the run any more.
pub(in crate::lab) fn remove_of_run(run_dir: &Path) -> io::Result<usize> {
    let noted = input::open_own(&run_dir.join(FILE)).and_then(|noted| input::whole(&noted, LARGEST));
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
            stack.mend(&engine).await?;
        }
        remove_all(&engine, &Labels::of_run(run_dir)).await
    })
}

/// Removes this user's containers and networks whose run directory is gone: nobody can be using them. Returns how many
/// containers that were; 0 if there is no engine here.
pub(in crate::lab) fn remove_without_directory() -> io::Result<usize> {
    alone(async {
        let Ok(engine) = Engine::connect().await else {
            return Ok(0);
        };
        let mut removed = 0;
        for run in container::runs(&engine, &Labels::of_user()).await? {
            if !Path::new(&run).exists() {
                removed += remove_all(&engine, &Labels::of_run(Path::new(&run))).await?;
            }
        }
        Ok(removed)
    })
}

/// Runs this on a runtime of its own: what is left is removed from threads without one.
fn alone(work: impl Future<Output = Result<usize, String>>) -> io::Result<usize> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(work).map_err(io::Error::other)
}
