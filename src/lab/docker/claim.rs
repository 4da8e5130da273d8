//! Who uses a stack: a container that never runs, whose name only one of them can have.

use std::path::Path;

use bollard::models::ContainerInspectResponse;
use bollard::query_parameters::InspectContainerOptions;

use super::container::Container;
use super::engine::{Engine, is_missing, said};
use super::labels::{self, Labels, MACHINE, RUN};

/// How many letters of a container's id are the name of its machine.
const SHORT_ID: usize = 12;

/// Claims the stack of this project for the run with these labels.
///
/// # Errors
/// Another run has claimed it and may still be going on.
pub(super) async fn make(engine: &Engine, project: &str, image: &str, labels: &Labels) -> Result<(), String> {
    let name = format!("lockstorm-uses-{project}");
    let create = || Container::create_asked(engine, image, &["true"], Some(name.clone()), labels);
    let Err(why) = create().await else {
        return Ok(());
    };
    let Some(other) = inspect(engine, &name).await? else {
        // It has been removed just now, or the engine refuses for another reason.
        return create().await.map(drop).map_err(|_| why);
    };
    if is_stale(engine, &other).await? {
        Container(name.clone()).remove(engine).await?;
        return create().await.map(drop);
    }
    Err(format!(
        "the stack {project} is in use by another run: end that first; if there is none any more, `docker rm {name}`"
    ))
}

/// Whether the run that made this is gone. The leftovers of this machine have been removed before.
async fn is_stale(engine: &Engine, claim: &ContainerInspectResponse) -> Result<bool, String> {
    let labels = claim.config.as_ref().and_then(|config| config.labels.as_ref());
    let label = |name| labels.and_then(|labels| labels.get(name)).map(String::as_str);
    match (label(MACHINE), label(RUN)) {
        (Some(machine), Some(run)) if machine == labels::machine() => Ok(!Path::new(run).exists()),
        // A run in a container ends with that.
        (Some(machine), _) if machine.len() == SHORT_ID && machine.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            let found = inspect(engine, machine).await?;
            let state = found.and_then(|container| container.state);
            Ok(state.and_then(|state| state.running) != Some(true))
        }
        _ => Ok(false),
    }
}

async fn inspect(engine: &Engine, name: &str) -> Result<Option<ContainerInspectResponse>, String> {
    match engine.0.inspect_container(name, None::<InspectContainerOptions>).await {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(said(error)),
    }
}
