//! The program that the nodes of a lab run.

use std::env;

use lockstorm_lab::{LabError, ServerBinary, stack_has_sentinels};
use lockstorm_run::RunOptions;
use tokio::runtime::Builder;

use crate::cli::{self, LabKind, Nodes};
use crate::failure::Failure;

/// The image of containers if none is named.
const IMAGE: &str = "redis:7";
/// Says what the nodes run as if the command line does not.
const LAB: &str = "LOCKSTORM_LAB";

/// Finds the program that the command line asks for, on this machine, in an image, or in a stack.
pub fn find(nodes: &Nodes) -> Result<ServerBinary, Failure> {
    let (program, image) = (nodes.server.server_bin.as_deref(), nodes.image.as_deref());
    let lab = kind(nodes)?;
    match lab {
        LabKind::Docker | LabKind::Compose(_) if program.is_some() => Err(Failure::usage(
            "--server-bin names a program of this machine, but containers run the one of their image: name that with --lab docker \
             --image, or leave it out",
        )),
        LabKind::Process | LabKind::Compose(_) if image.is_some() => Err(Failure::usage(
            "--image names what new containers are made of: add --lab docker, or leave it out",
        )),
        LabKind::Process => ServerBinary::find(program).map_err(Failure::error),
        LabKind::Docker => at_engine(ServerBinary::in_image(image.unwrap_or(IMAGE))),
        LabKind::Compose(project) => at_engine(ServerBinary::in_stack(project.as_deref())),
    }
}

/// What the nodes run as.
pub fn kind(nodes: &Nodes) -> Result<LabKind, Failure> {
    if let Some(lab) = &nodes.lab {
        return Ok(lab.clone());
    }
    match env::var(LAB) {
        Ok(text) if !text.is_empty() => cli::lab(&text)
            .map_err(|why| Failure::usage(format!("the environment variable {LAB} is \"{text}\": {why}"))),
        _ => Ok(LabKind::Process),
    }
}

/// Whether the nodes of a stack can play scenarios with Sentinels.
pub fn has_sentinels(project: Option<&str>) -> Result<bool, Failure> {
    at_engine(stack_has_sentinels(project))
}

fn at_engine<T>(found: impl Future<Output = Result<T, LabError>>) -> Result<T, Failure> {
    wait_for(found)?.map_err(Failure::error)
}

/// Waits here for what is done on sockets.
pub fn wait_for<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(Failure::error)?.block_on(work))
}

/// A run with nodes of this program.
pub fn options(server: &ServerBinary) -> RunOptions {
    RunOptions {
        server: Some(server.clone()),
        ..RunOptions::default()
    }
}
