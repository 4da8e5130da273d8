use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::server::binary::ServerBinary;
use lockstorm_data::scenario::{LabSpec, Password, Persistence, ReplicatedSpec};

/// The lab that somebody wants to have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabOrder {
    /// How many hosts, 1 to 9.
    pub hosts: usize,
    /// The port of host 1; the others follow. `None`: free ports are chosen.
    pub port: Option<u16>,
    /// What a lock node keeps when it is restarted.
    pub persistence: Persistence,
    /// Whether there are a master with replicas and their Sentinels too.
    pub replicated: bool,
    /// Whether nodes require a password.
    pub password: bool,
    /// The server program of all nodes, on this machine or in the image.
    pub server: PathBuf,
    /// The image of all nodes, if they are containers.
    pub image: Option<String>,
}

impl LabOrder {
    /// The server program of all nodes.
    pub(super) async fn binary(&self) -> Result<ServerBinary, LabError> {
        match &self.image {
            Some(image) => ServerBinary::in_image(image).await,
            None => ServerBinary::find(Some(&self.server)),
        }
    }

    /// The specification of the lab.
    pub(super) fn spec(&self) -> LabSpec {
        LabSpec {
            persistence: self.persistence,
            port: self.port,
            password: match self.password {
                true => Password::Random,
                false => Password::Off,
            },
            replicated: self.replicated.then(ReplicatedSpec::default),
            ..LabSpec::of(self.hosts)
        }
    }
}
