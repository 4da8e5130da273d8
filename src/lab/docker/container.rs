//! One container: a node of the lab.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use bollard::Docker;
use bollard::container::AttachContainerResults;
use bollard::models::{
    ContainerCreateBody, ContainerInspectResponse, ContainerState, ContainerSummary, EndpointIpamConfig,
    EndpointSettings, HostConfig, Mount, MountType, NetworkingConfig,
};
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, CreateContainerOptionsBuilder, InspectContainerOptions, KillContainerOptionsBuilder,
    ListContainersOptionsBuilder, LogsOptionsBuilder, RemoveContainerOptionsBuilder, StartContainerOptions,
};
use futures_util::StreamExt;
use nix::unistd::{getegid, geteuid};
use tokio::time::sleep;

use super::engine::{Engine, is_missing, said};
use super::labels::{Labels, label};
use super::network::Network;
use crate::protocol::Start;

/// The label of containers that `compose run` has made.
const ONE_OFF: &str = "com.docker.compose.oneoff";
/// What engines say of a directory that is to be mounted and is not there.
const NO_SOURCE: &str = "bind source path does not exist";
/// How often a container is removed again that the engine is just removing.
const REMOVALS: usize = 50;

/// Which node of a lab has this directory.
pub(crate) fn place_of(dir: &Path) -> String {
    dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A container that there is.
#[derive(Debug, Clone)]
pub(crate) struct Container {
    docker: Docker,
    /// The engine's name for it.
    id: String,
}

impl Container {
    /// The one that this engine knows by this name.
    pub(super) fn new(engine: &Engine, id: String) -> Self {
        let docker = engine.0.clone();
        Self { docker, id }
    }

    /// Creates the container of a node, without starting it. It finds its working directory, and the run directory with the files
    /// that it reads, at the same paths as this machine has them.
    ///
    /// It runs as this user, so that its files are this user's, and may do nothing that a server does not need.
    pub(super) async fn create(
        engine: &Engine,
        image: &str,
        start: &Start,
        run_dir: &Path,
        network: &Network,
        labels: &Labels,
    ) -> Result<Self, String> {
        let place = place_of(&start.dir);
        let endpoint = EndpointSettings {
            ipam_config: Some(EndpointIpamConfig {
                ipv4_address: Some(network.address(start.id).to_string()),
                ..EndpointIpamConfig::default()
            }),
            ..EndpointSettings::default()
        };
        let program = start.program.to_string_lossy();
        let body = ContainerCreateBody {
            working_dir: Some(start.dir.to_string_lossy().into_owned()),
            user: Some(format!("{}:{}", geteuid(), getegid())),
            networking_config: Some(NetworkingConfig {
                endpoints_config: Some(HashMap::from([(network.name.clone(), endpoint)])),
            }),
            ..body(image, &program, &start.args, &labels.of_node(&place))
        };
        // The name that people see: `lockstorm-run-0a1b2c3d-host-1`.
        let name = format!("lockstorm-{}-{place}", place_of(run_dir));
        let run_dir = run_dir.to_string_lossy();
        let host = HostConfig {
            // Unlike a "bind", this makes no directory if the engine does not see ours.
            mounts: Some(vec![Mount {
                typ: Some(MountType::BIND),
                source: Some(run_dir.to_string()),
                target: Some(run_dir.to_string()),
                ..Mount::default()
            }]),
            ..host_config(&network.name)
        };
        let created = Self::with(engine, Some(&name), body, host).await;
        created.map_err(|why| match why.contains(NO_SOURCE) {
            true => format!(
                "the Docker engine does not see the run directory {run_dir}: it is on another machine, or has another file system \
                 there; set TMPDIR to a directory that both see"
            ),
            false => why,
        })
    }

    /// Creates a container that only says something, without a network. It is gone when it has ended.
    pub(super) async fn create_asked(
        engine: &Engine,
        image: &str,
        program: &str,
        args: &[&str],
        labels: &Labels,
    ) -> Result<Self, String> {
        let host = HostConfig {
            // Who is killed meanwhile can't remove it.
            auto_remove: Some(true),
            ..host_config("none")
        };
        Self::with(engine, None, body(image, program, args, labels), host).await
    }

    /// Creates the container of a program that reads from stdin, without a network.
    pub(super) async fn create_reader(
        engine: &Engine,
        image: &str,
        (program, args): (&str, &[&str]),
        name: &str,
        labels: &Labels,
    ) -> Result<Self, String> {
        let body = ContainerCreateBody {
            open_stdin: Some(true),
            // Whoever is attached is the only one.
            stdin_once: Some(true),
            ..body(image, program, args, labels)
        };
        Self::with(engine, Some(name), body, host_config("none")).await
    }

    async fn with(
        engine: &Engine,
        name: Option<&str>,
        body: ContainerCreateBody,
        host: HostConfig,
    ) -> Result<Self, String> {
        let options = name.map(|name| CreateContainerOptionsBuilder::new().name(name).build());
        let body = ContainerCreateBody {
            host_config: Some(host),
            ..body
        };
        let created = engine.0.create_container(options, body).await;
        created.map(|created| Self::new(engine, created.id)).map_err(said)
    }

    /// The engine's name for it.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Starts it, the first time or again.
    pub(crate) async fn start(&self) -> Result<(), String> {
        let options = None::<StartContainerOptions>;
        self.docker.start_container(&self.id, options).await.map_err(said)
    }

    /// Starts it with somebody at what it prints, and at its stdin if it has one, from before its start: nothing is missed.
    pub(super) async fn start_attached(&self, stdin: bool) -> Result<AttachContainerResults, String> {
        let options = AttachContainerOptionsBuilder::new()
            .stream(true)
            .stdin(stdin)
            .stdout(true)
            .stderr(true)
            .build();
        let attached = self.docker.attach_container(&self.id, Some(options)).await;
        let attached = attached.map_err(said)?;
        self.start().await?;
        Ok(attached)
    }

    /// All that the engine knows of it.
    pub(super) async fn inspect(&self) -> Result<ContainerInspectResponse, String> {
        let options = None::<InspectContainerOptions>;
        self.docker.inspect_container(&self.id, options).await.map_err(said)
    }

    /// Its state, as the engine knows it.
    pub(crate) async fn state(&self) -> Result<ContainerState, String> {
        Ok(self.inspect().await?.state.unwrap_or_default())
    }

    /// The networks that it is in, each with its end there.
    pub(super) async fn networks(&self) -> Result<HashMap<String, EndpointSettings>, String> {
        let settings = self.inspect().await?.network_settings;
        Ok(settings.and_then(|settings| settings.networks).unwrap_or_default())
    }

    /// Lets it run, whether it was frozen, has ended, or runs already.
    pub(crate) async fn revive(&self) -> Result<(), String> {
        let state = self.state().await?;
        match (state.running, state.paused) {
            (Some(true), Some(true)) => self.thaw().await,
            (Some(true), _) => Ok(()),
            _ => self.start().await,
        }
    }

    /// Its address in its network; `None` if it has none, because it has ended.
    pub(crate) async fn address(&self) -> Result<Option<Ipv4Addr>, String> {
        let mut networks = self.networks().await?.into_values();
        Ok(networks.find_map(|end| end.ip_address?.parse().ok()))
    }

    /// Sends it a signal.
    pub(crate) async fn signal(&self, signal: &str) -> Result<(), String> {
        let options = KillContainerOptionsBuilder::new().signal(signal).build();
        self.docker.kill_container(&self.id, Some(options)).await.map_err(said)
    }

    /// Freezes all of its processes.
    pub(crate) async fn freeze(&self) -> Result<(), String> {
        self.docker.pause_container(&self.id).await.map_err(said)
    }

    /// Lets them go on.
    pub(crate) async fn thaw(&self) -> Result<(), String> {
        self.docker.unpause_container(&self.id).await.map_err(said)
    }

    /// Ends it, even if it is frozen, and removes it with its volumes.
    pub(crate) async fn remove(&self) -> Result<(), String> {
        let options = || RemoveContainerOptionsBuilder::new().force(true).v(true).build();
        let mut last = String::new();
        for _ in 0..REMOVALS {
            match self.docker.remove_container(&self.id, Some(options())).await {
                Ok(()) => return Ok(()),
                Err(error) if is_missing(&error) => return Ok(()),
                Err(error) => last = said(error),
            }
            // Somebody else removes it now; it is gone when the engine does not know it any more.
            sleep(Duration::from_millis(100)).await;
        }
        Err(format!("cannot remove the container {}: {last}", self.id))
    }

    /// Copies what it prints from now on into a file, until it ends.
    pub(crate) async fn copy_log(&self, since: i32, file: &Path) {
        let options = LogsOptionsBuilder::new()
            .follow(true)
            .stdout(true)
            .stderr(true)
            .since(since)
            .build();
        let opened = OpenOptions::new().create(true).append(true).mode(0o600).open(file);
        // A log is for people who look for a cause; a lab goes on without it.
        let Ok(mut file) = opened else { return };
        let mut lines = std::pin::pin!(self.docker.logs(&self.id, Some(options)));
        while let Some(Ok(part)) = lines.next().await {
            if file.write_all(part.as_ref()).is_err() {
                return;
            }
        }
    }
}

/// All containers that have labels with these names, except those that Compose has made for one command.
pub(super) async fn list_having(engine: &Engine, names: &[&str]) -> Result<Vec<ContainerSummary>, String> {
    let names = names.iter().map(ToString::to_string).collect();
    let mut found = list_by(engine, &HashMap::from([("label".to_owned(), names)])).await?;
    found.retain(|container| !label(container, ONE_OFF).is_some_and(|value| value.eq_ignore_ascii_case("true")));
    Ok(found)
}

/// All containers with these labels.
pub(super) async fn list(engine: &Engine, labels: &Labels) -> Result<Vec<ContainerSummary>, String> {
    list_by(engine, &labels.filter()).await
}

async fn list_by(engine: &Engine, filters: &HashMap<String, Vec<String>>) -> Result<Vec<ContainerSummary>, String> {
    let options = ListContainersOptionsBuilder::new().all(true).filters(filters).build();
    engine.0.list_containers(Some(options)).await.map_err(said)
}

/// What every container has: its program with its arguments, and whose it is.
fn body(image: &str, program: &str, args: &[impl ToString], labels: &Labels) -> ContainerCreateBody {
    ContainerCreateBody {
        image: Some(image.to_owned()),
        entrypoint: Some(vec![program.to_owned()]),
        cmd: Some(args.iter().map(ToString::to_string).collect()),
        labels: Some(labels.map()),
        ..ContainerCreateBody::default()
    }
}

fn host_config(network: &str) -> HostConfig {
    HostConfig {
        network_mode: Some(network.to_owned()),
        cap_drop: Some(vec!["ALL".to_owned()]),
        security_opt: Some(vec!["no-new-privileges".to_owned()]),
        // What the server writes is in its own directory.
        readonly_rootfs: Some(true),
        ..HostConfig::default()
    }
}
