//! The server program that the nodes of a lab run.

use lockstorm::lab::ServerBinary;
use tokio::runtime::Builder;

use crate::cli::{LabKind, Nodes};
use crate::failure::Failure;

/// The image of containers if none is named.
const IMAGE: &str = "redis:7";

/// Finds the program that the command line asks for, on this machine or in an image.
pub fn find(nodes: &Nodes) -> Result<ServerBinary, Failure> {
    let explicit = nodes.server.server_bin.as_deref();
    match nodes.lab {
        LabKind::Process if nodes.image.is_some() => Err(Failure::usage(
            "--image names what containers are made of: add --lab docker, or leave it out",
        )),
        LabKind::Process => ServerBinary::find(explicit).map_err(Failure::error),
        LabKind::Docker if explicit.is_some() => Err(Failure::usage(
            "--server-bin names a program of this machine, but --lab docker runs the one of an image: name that with --image",
        )),
        LabKind::Docker => {
            let runtime = Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(Failure::error)?;
            let image = nodes.image.as_deref().unwrap_or(IMAGE);
            runtime.block_on(ServerBinary::in_image(image)).map_err(Failure::error)
        }
    }
}
