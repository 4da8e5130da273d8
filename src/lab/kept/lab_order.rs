use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::server::binary::ServerBinary;
use lockstorm_data::model::{Action, Lack, Obstacle, Target, TargetKind};
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
    /// Whether the servers are started with our library, for faults of clocks and power.
    #[serde(default)]
    pub preload: bool,
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
        let kind = target.kind();
        if !action.is_for(kind) {
            return Err(format!("{target} {}", Obstacle::NotFor(action, kind)));
        }
        if matches!(kind, TargetKind::Server | TargetKind::Client | TargetKind::Route) {
            return Err(format!(
                "{target}: a kept lab has only hosts and links; app servers and clients are those of a run"
            ));
        }
        let lacks = self.spec().lacks(self.image.is_some(), self.network, self.preload);
        let lack = lacks.into_iter().find(|lack| action.needs(kind, *lack));
        let why = match lack {
            // Its hosts are always its own.
            None | Some(Lack::OwnHosts) => return Ok(()),
            Some(Lack::Replicas) if kind == TargetKind::Link => {
                "independent nodes say nothing to each other: start the lab with `lockstorm lab up --replicated --network`"
            }
            Some(Lack::Replicas) => "the lab has no replicated nodes: start it with `lockstorm lab up --replicated`",
            Some(Lack::Containers) => {
                "a host that is a process can't be cut off: start the lab with `lockstorm lab up --lab docker`, or cut links"
            }
            Some(Lack::Proxy) => {
                "the lab has no proxy, by which alone its network can be broken: start it with `lockstorm lab up --network`"
            }
            Some(Lack::Preload) => {
                "the servers were started without our library: start the lab with `lockstorm lab up --preload`"
            }
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
