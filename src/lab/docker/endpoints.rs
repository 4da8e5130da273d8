//! The networks of a container, and how it leaves and rejoins them.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bollard::models::{EndpointIpamConfig, EndpointSettings, NetworkConnectRequest, NetworkDisconnectRequest};
use serde::{Deserialize, Serialize};

use super::container::Container;
use super::engine::{Engine, said};
use lockstorm_base::input;

/// How the files begin that say which containers of a stack have left their networks.
const FILES: &str = "left-";
/// The largest of them that is read, in MB.
const LARGEST: u64 = 1;

/// The networks that a container was in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Endpoints {
    container: String,
    networks: HashMap<String, EndpointSettings>,
}

impl Endpoints {
    /// Those of this container now.
    pub(crate) async fn of(container: &Container) -> Result<Self, String> {
        let networks = container.networks().await?;
        if networks.is_empty() {
            return Err("it is in no network".to_owned());
        }
        Ok(Self {
            container: container.id().to_owned(),
            networks: networks.into_iter().map(|(name, end)| (name, asked_for(end))).collect(),
        })
    }

    /// Takes the container out of all of them.
    pub(crate) async fn leave(&self, engine: &Engine) -> Result<(), String> {
        for name in self.networks.keys() {
            let request = NetworkDisconnectRequest {
                container: self.container.clone(),
                ..NetworkDisconnectRequest::default()
            };
            engine.0.disconnect_network(name, request).await.map_err(said)?;
        }
        Ok(())
    }

    /// Puts the container into all of them again, with the addresses and names that it had there.
    pub(crate) async fn rejoin(&self, engine: &Engine) -> Result<(), String> {
        for (name, endpoint) in &self.networks {
            let request = NetworkConnectRequest {
                container: self.container.clone(),
                endpoint_config: Some(endpoint.clone()),
            };
            engine.0.connect_network(name, request).await.map_err(said)?;
        }
        Ok(())
    }

    /// Notes in a run directory that the container at this place is about to leave them.
    pub(crate) fn note(&self, run_dir: &Path, place: &str) -> io::Result<()> {
        fs::write(file(run_dir, place), serde_json::to_vec(self)?)
    }
}

/// Notes that the container at this place is where it was.
pub(crate) fn forget(run_dir: &Path, place: &str) {
    // A note too many does no harm: an engine refuses to connect a container twice.
    let _ = fs::remove_file(file(run_dir, place));
}

/// Puts all containers back of which this run directory says that they have left.
pub(crate) async fn rejoin_all(engine: &Engine, run_dir: &Path) {
    let files = fs::read_dir(run_dir).into_iter().flatten().flatten();
    let files = files.filter(|file| file.file_name().to_string_lossy().starts_with(FILES));
    for file in files {
        let text = input::open_own(&file.path()).and_then(|file| input::whole(&file, LARGEST));
        let text = text.unwrap_or_default();
        if let Ok(noted) = serde_json::from_slice::<Endpoints>(&text) {
            // It may be back, or be gone.
            let _ = noted.rejoin(engine).await;
        }
    }
}

fn file(run_dir: &Path, place: &str) -> PathBuf {
    run_dir.join(format!("{FILES}{place}"))
}

/// What has to be asked for to get this endpoint again.
fn asked_for(now: EndpointSettings) -> EndpointSettings {
    // In a network without a subnet of its own an address can't be asked for.
    let chosen = now.ipam_config.and_then(|config| config.ipv4_address);
    EndpointSettings {
        aliases: now.aliases,
        ipam_config: chosen.map(|address| EndpointIpamConfig {
            ipv4_address: Some(address),
            ..EndpointIpamConfig::default()
        }),
        ..EndpointSettings::default()
    }
}
