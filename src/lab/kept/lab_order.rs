use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::server::binary::ServerBinary;
use lockstorm_data::model::{Action, Fault, Obstacle, Target, TargetKind};
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
    /// Whether the network can be broken: there is a proxy in front of the nodes of the hosts.
    #[serde(default)]
    pub network: bool,
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

    /// Whether the lab can have this done to such a target.
    ///
    /// # Errors
    /// Why not, and with what options it could.
    pub fn can(&self, action: Action, target: Target) -> Result<(), String> {
        let (kind, containers) = (target.kind(), self.image.is_some());
        let why = match action {
            _ if !action.is_for(kind) => return Err(format!("{target} {}", Obstacle::NotFor(action, kind))),
            _ if matches!(kind, TargetKind::Server | TargetKind::Client) => {
                return Err(format!(
                    "{target}: a kept lab has only hosts and links; app servers and clients are those of a run"
                ));
            }
            Action::Fault(Fault::Failover { .. }) if !self.replicated => {
                "the lab has no replicated nodes: start it with `lockstorm lab up --replicated`"
            }
            _ if kind == TargetKind::Link && !self.replicated => {
                "independent nodes say nothing to each other: start the lab with `lockstorm lab up --replicated --network`"
            }
            Action::Fault(Fault::Cut { .. }) if kind == TargetKind::Host && !containers => {
                "a host that is a process can't be cut off: start the lab with `lockstorm lab up --lab docker`, or cut links"
            }
            Action::Fault(Fault::Cut { .. }) if kind == TargetKind::Host => return Ok(()),
            Action::Fault(Fault::Lag { .. } | Fault::Cut { .. }) if !self.network => {
                "the lab has no proxy, by which alone its network can be broken: start it with `lockstorm lab up --network`"
            }
            _ => return Ok(()),
        };
        Err(format!("cannot {}: {why}", action.on(target)))
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
