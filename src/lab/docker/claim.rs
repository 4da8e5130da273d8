//! What says that a run is alive, to everybody who reaches the engine, and that a stack is in use: a container that runs for as
//! long as the run's keeper holds the other end of its stdin.
//!
//! When the keeper ends in any way, the engine closes that stdin, and the server program in the container, which has read its
//! settings from there until then, ends because of them. A keeper that is stopped, or a machine that sleeps, closes nothing. So a
//! claim that has ended proves that nobody uses the run. One that has not started is removed, which the engine refuses once it has:
//! its keeper is gone, or can't start it any more. Nothing else of a run is made before its claim has started.

use std::time::Duration;

use bollard::container::AttachContainerResults;
use bollard::errors::Error;
use bollard::models::{ContainerStateStatusEnum, ContainerSummary, ContainerSummaryStateEnum};
use bollard::query_parameters::{InspectContainerOptions, RemoveContainerOptionsBuilder};
use futures_util::StreamExt;
use tokio::time::{sleep, timeout};

use super::container::Container;
use super::engine::{Engine, is_missing, said};
use super::labels::{Labels, PLACE, label};
use crate::server::binary::PROGRAMS;

/// Its place in a lab, which no node has.
const KEEPER: &str = "keeper";
/// The arguments of its server: read settings from stdin, to its end, and then this one, which no server knows. So it never serves.
const READS: [&str; 3] = ["-", "--ends-with-its-keeper", "yes"];

/// How long a keeper that lives may take from creating its claim to starting it.
const START: Duration = Duration::from_secs(2);
/// How long the engine may take to say how a claim has ended.
const ENDING: Duration = Duration::from_secs(1);

/// A claim that is held. The run counts as alive until this is dropped.
pub(crate) struct Claim {
    container: Container,
    attached: AttachContainerResults,
}

impl Claim {
    /// Says that the run with these labels is alive.
    ///
    /// # Errors
    /// In words.
    pub(crate) async fn of_run(engine: &Engine, run: &str, image: &str, labels: &Labels) -> Result<Self, String> {
        let made = make(engine, &format!("lockstorm-{run}-{KEEPER}"), image, labels).await;
        made.map_err(|why| format!("cannot make the container that says that the lab is alive: {why}"))
    }

    /// Says that the stack of this project is used by the run with these labels.
    ///
    /// # Errors
    /// Another run has claimed it and may still be going on.
    pub(super) async fn of_stack(engine: &Engine, project: &str, image: &str, labels: &Labels) -> Result<Self, String> {
        let name = format!("lockstorm-uses-{project}");
        let why = match make(engine, &name, image, labels).await {
            Ok(claim) => return Ok(claim),
            Err(why) => why,
        };
        match engine.0.inspect_container(&name, None::<InspectContainerOptions>).await {
            Ok(other) => {
                let status = other.state.and_then(|state| state.status);
                let is_new = status == Some(ContainerStateStatusEnum::CREATED);
                // By its id, since a third run may have claimed the stack by now.
                if !end(engine, &other.id.unwrap_or_default(), is_new).await? {
                    return Err(format!(
                        "the stack {project} is in use by another run: end that first; if there is none any more, `docker rm -f {name}`"
                    ));
                }
                make(engine, &name, image, labels).await
            }
            // It has been removed just now, or the engine refuses for another reason.
            Err(error) if is_missing(&error) => make(engine, &name, image, labels).await.map_err(|_| why),
            Err(error) => Err(said(error)),
        }
    }

    /// Comes when it says nothing any more, because somebody has ended it, or its program does not do what servers do. Returns how
    /// it has ended.
    pub(crate) async fn is_lost(&mut self) -> String {
        let mut last = String::new();
        while let Some(Ok(part)) = self.attached.output.next().await {
            last = part.to_string();
        }
        let code = timeout(ENDING, async {
            loop {
                match self.container.state().await {
                    Ok(state) if state.running == Some(true) => sleep(ENDING / 20).await,
                    Ok(state) => return state.exit_code,
                    Err(_) => return None,
                }
            }
        });
        match code.await {
            Ok(Some(code)) => format!("exit code {code}: {}", last.trim()),
            _ => "somebody has removed it".to_owned(),
        }
    }
}

/// Makes the container, and holds its stdin.
async fn make(engine: &Engine, name: &str, image: &str, labels: &Labels) -> Result<Claim, String> {
    let mut last = String::new();
    let labels = &labels.of_node(KEEPER);
    for program in PROGRAMS {
        let container = Container::create_reader(engine, image, (program, &READS), name, labels).await?;
        // It never runs without somebody at its stdin.
        match container.start_attached(true).await {
            Ok(attached) => return Ok(Claim { container, attached }),
            // Most likely the image has the other program.
            Err(why) => last = why,
        }
        container.remove().await?;
    }
    Err(last)
}

/// Removes the claim with this id unless somebody holds it, and returns whether it is gone.
pub(super) async fn end(engine: &Engine, id: &str, is_new: bool) -> Result<bool, String> {
    if is_new {
        sleep(START).await;
    }
    // Not by force: the engine itself refuses to remove what runs or is frozen.
    let options = RemoveContainerOptionsBuilder::new().v(true).build();
    match engine.0.remove_container(id, Some(options)).await {
        Ok(()) => Ok(true),
        Err(error) if is_missing(&error) => Ok(true),
        Err(Error::DockerResponseServerError { status_code: 409, .. }) => Ok(false),
        Err(error) => Err(said(error)),
    }
}

/// Whether this container is a claim.
pub(super) fn is_one(container: &ContainerSummary) -> bool {
    label(container, PLACE) == Some(KEEPER)
}

/// What the containers of a run say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Life {
    /// Its claim with this id has not started.
    Begins(String),
    /// Its keeper lives.
    Lives,
    /// Its keeper is gone.
    Over,
    /// None of them says either.
    Untold,
}

/// What these containers, all of one run, say of it.
pub(super) fn life<'a>(containers: impl IntoIterator<Item = &'a ContainerSummary>) -> Life {
    use ContainerSummaryStateEnum::{CREATED, DEAD, EXITED, PAUSED, RUNNING};
    let claim = containers.into_iter().find(|container| is_one(container));
    match claim.and_then(|claim| claim.state) {
        Some(CREATED) => Life::Begins(claim.and_then(|claim| claim.id.clone()).unwrap_or_default()),
        Some(RUNNING | PAUSED) => Life::Lives,
        Some(EXITED | DEAD) => Life::Over,
        _ => Life::Untold,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn container(place: &str, state: ContainerSummaryStateEnum) -> ContainerSummary {
        ContainerSummary {
            id: Some(place.to_owned()),
            labels: Some(HashMap::from([(PLACE.to_owned(), place.to_owned())])),
            state: Some(state),
            ..ContainerSummary::default()
        }
    }

    #[test]
    fn only_a_claim_that_has_ended_says_that_a_run_is_over() {
        use ContainerSummaryStateEnum::{CREATED, DEAD, EXITED, PAUSED, REMOVING, RUNNING};
        for (state, says) in [
            (RUNNING, Life::Lives),
            (PAUSED, Life::Lives),
            (EXITED, Life::Over),
            (DEAD, Life::Over),
            (CREATED, Life::Begins(KEEPER.to_owned())),
            (REMOVING, Life::Untold),
        ] {
            // Nodes may be in any state while their lab lives.
            let nodes = [
                container("host-1", EXITED),
                container(KEEPER, state),
                container("host-2", RUNNING),
            ];
            assert_eq!(life(&nodes), says, "{state:?}");
        }
        assert_eq!(life(&[container("host-1", EXITED)]), Life::Untold);
    }
}
