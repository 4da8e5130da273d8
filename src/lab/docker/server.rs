//! The server programs of images and stacks, and what a stack must have.

use super::engine::Engine;
use super::image::program_of;
use super::labels::Labels;
use super::stack::Stack;
use crate::error::LabError;
use crate::server::binary::{ServerBinary, parse};
use crate::server::containers::Containers;
use crate::server::node_name::{NodeName, Role};
use crate::server::version::OLDEST;
use lockstorm_data::model::HostId;
use lockstorm_data::scenario::LabSpec;

impl ServerBinary {
    /// The server program of an image, which is pulled if it is not here.
    ///
    /// # Errors
    /// There is no engine, no such image, or no server in it that can be used.
    pub async fn in_image(image: &str) -> Result<Self, LabError> {
        let engine = Engine::connect().await.map_err(LabError::Other)?;
        Self::of(&engine, image, Containers::Of(image.to_owned())).await
    }

    /// The server program of a stack that is up: of this Compose project, or of the only one that there is.
    ///
    /// # Errors
    /// There is no engine, no such stack, or no server in its image that can be used.
    pub async fn in_stack(project: Option<&str>) -> Result<Self, LabError> {
        let (engine, stack) = stack(project).await?;
        Self::of(&engine, stack.image(), Containers::In(stack.project.clone())).await
    }

    async fn of(engine: &Engine, image: &str, containers: Containers) -> Result<Self, LabError> {
        let labels = Labels::of_process();
        let (program, output) = program_of(engine, image, &labels).await.map_err(LabError::Other)?;
        let not = || {
            LabError::Other(format!(
                "for --version {program} of {image} does not print that of a server"
            ))
        };
        let (flavour, version) = parse(&output).ok_or_else(not)?;
        if version < OLDEST {
            return Err(LabError::Other(format!(
                "{image} has version {version}, but {OLDEST} is the oldest that works: name another image with --image"
            )));
        }
        Ok(Self {
            path: program.into(),
            flavour,
            version,
            containers: Some(containers),
        })
    }
}

/// Checks, before anything is touched, that a stack has a container for each of these nodes. New containers and processes are
/// always there.
pub(crate) async fn check(containers: Option<&Containers>, names: &[NodeName], spec: &LabSpec) -> Result<(), LabError> {
    let Some(Containers::In(project)) = containers else {
        return Ok(());
    };
    if let Some(port) = spec.port {
        return Err(LabError::Other(format!(
            "lab.port = {port} can't be used: the nodes of the stack {project} listen where they do; leave it out"
        )));
    }
    let (_, stack) = stack(Some(project)).await?;
    let all = stack.has_all(names.iter().map(|name| name.directory()));
    all.map_err(LabError::Other)
}

/// Whether a stack that is up has a Sentinel: that of this Compose project, or the only one.
///
/// # Errors
/// There is no engine, or no such stack.
pub async fn stack_has_sentinels(project: Option<&str>) -> Result<bool, LabError> {
    let sentinel = NodeName::on(HostId(1), Role::Sentinel);
    let (_, stack) = stack(project).await?;
    Ok(stack.has_all([sentinel.directory()].into_iter()).is_ok())
}

/// A stack that is up, with its engine.
async fn stack(project: Option<&str>) -> Result<(Engine, Stack), LabError> {
    let engine = Engine::connect().await.map_err(LabError::Other)?;
    let stack = Stack::find(&engine, project).await.map_err(LabError::Other)?;
    Ok((engine, stack))
}
