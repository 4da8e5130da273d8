//! Where the containers of a lab come from: they are made for it, or somebody else has made them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::claim::Claim;
use super::container::{Container, place_of};
use super::endpoints::{Endpoints, forget, rejoin_all};
use super::engine::Engine;
use super::labels::Labels;
use super::leftovers;
use super::network::Network;
use super::removal::remove_all;
use super::stack::Stack;
use crate::protocol::{Addresses, Start};
use crate::server::containers::Containers;

/// What is needed to have the containers of a lab.
pub(super) struct Supply {
    engine: Engine,
    /// What all that is made for this lab carries.
    labels: Labels,
    run_dir: PathBuf,
    kind: Kind,
}

enum Kind {
    Made { image: String, network: Network },
    Found { project: String },
}

/// A container, and what it was made from, or for.
#[derive(Clone)]
pub(super) struct Had {
    pub start: Start,
    pub container: Container,
    /// The port at which it listens, if somebody else has chosen it.
    port: Option<u16>,
}

impl Supply {
    /// Prepares what the containers need, and claims it: that goes on for as long as the claim is kept. Whatever this makes before it
    /// fails is removed by [`remove_all`].
    pub(super) async fn open(
        engine: &Engine,
        containers: &Containers,
        run_dir: &Path,
    ) -> Result<(Self, Claim), String> {
        let labels = Labels::of_run(run_dir);
        leftovers::note(run_dir, engine, None)?;
        let (kind, claim) = match containers {
            Containers::Of(image) => {
                let name = place_of(run_dir);
                let claim = Claim::of_run(engine, &name, image, &labels).await?;
                let network = Network::create(engine, &format!("lockstorm-{name}"), &labels).await?;
                let image = image.clone();
                (Kind::Made { image, network }, claim)
            }
            Containers::In(project) => {
                let stack = Stack::find(engine, Some(project)).await?;
                stack.stays_dead().await?;
                let claim = Claim::of_stack(engine, project, stack.image(), &labels).await?;
                // Only now: a stack that somebody else uses is not ours to mend.
                leftovers::note(run_dir, engine, Some(project))?;
                let project = project.clone();
                (Kind::Found { project }, claim)
            }
        };
        let supply = Self {
            engine: engine.clone(),
            labels,
            run_dir: run_dir.to_owned(),
            kind,
        };
        Ok((supply, claim))
    }

    /// What the containers carry by which the engine tells what happens to them.
    pub(super) fn changing(&self) -> Labels {
        match &self.kind {
            Kind::Made { .. } => self.labels.clone(),
            Kind::Found { project } => Labels::of_project(project),
        }
    }

    /// Where the servers will be.
    pub(super) fn addresses(&self) -> Addresses {
        match &self.kind {
            Kind::Made { network, .. } => Addresses::From(network.address(0)),
            Kind::Found { .. } => Addresses::Told,
        }
    }

    /// The container for this server: the one that there is, if it was made from the same.
    pub(super) async fn container(&self, start: Start, before: Option<Had>) -> Result<Had, String> {
        let (image, network) = match &self.kind {
            Kind::Made { image, network } => (image, network),
            Kind::Found { project } => {
                // Looked up each time, since somebody may have made it anew.
                let stack = Stack::find(&self.engine, Some(project)).await?;
                let (container, port) = stack.node(&place_of(&start.dir))?;
                return Ok(Had {
                    start,
                    container,
                    port: Some(port),
                });
            }
        };
        if let Some(before) = before {
            if before.start == start {
                return Ok(before);
            }
            before.container.remove().await?;
        }
        let (engine, labels) = (&self.engine, &self.labels);
        let container = Container::create(engine, image, &start, &self.run_dir, network, labels).await?;
        Ok(Had {
            start,
            container,
            port: None,
        })
    }

    /// Lets a container run. Returns the id of its process on the engine's machine, and where it listens if nobody could know
    /// that before.
    pub(super) async fn start(&self, had: &Had) -> Result<(u32, Option<SocketAddr>), String> {
        had.container.revive().await?;
        let at = self.place(had).await?;
        let state = had.container.state().await?;
        // One that has ended already is reported as ended.
        let pid = state.pid.and_then(|pid| u32::try_from(pid).ok()).unwrap_or_default();
        Ok((pid, at))
    }

    /// Takes a container out of its networks, and returns what it was in.
    pub(super) async fn take_out(&self, had: &Had) -> Result<Endpoints, String> {
        let endpoints = Endpoints::of(&had.container).await?;
        if matches!(self.kind, Kind::Found { .. }) {
            // Before it happens: whoever cleans up after this keeper must know it.
            let noted = endpoints.note(&self.run_dir, &place_of(&had.start.dir));
            noted.map_err(|error| format!("cannot note the networks of the container: {error}"))?;
        }
        endpoints.leave(&self.engine).await?;
        Ok(endpoints)
    }

    /// Puts a container back into the networks that it has left. Returns where it listens if nobody could know that before.
    pub(super) async fn put_back(&self, had: &Had, left: Option<Endpoints>) -> Result<Option<SocketAddr>, String> {
        let left = left.ok_or_else(|| "it has not left its network".to_owned())?;
        left.rejoin(&self.engine).await?;
        forget(&self.run_dir, &place_of(&had.start.dir));
        self.place(had).await
    }

    /// Where a container that somebody else has made listens.
    async fn place(&self, had: &Had) -> Result<Option<SocketAddr>, String> {
        let Some(port) = had.port else { return Ok(None) };
        let address = had.container.address().await?;
        Ok(address.map(|address| SocketAddr::from((address, port))))
    }

    /// Gives back what was found as it was, and removes everything that was made.
    pub(super) async fn close(&self) -> Result<(), String> {
        let mended = match &self.kind {
            Kind::Made { .. } => Ok(()),
            Kind::Found { project } => match Stack::find(&self.engine, Some(project)).await {
                Ok(stack) => {
                    rejoin_all(&self.engine, &self.run_dir).await;
                    stack.mend().await
                }
                // Somebody has taken it down.
                Err(_) => Ok(()),
            },
        };
        let removed = remove_all(&self.engine, &self.labels).await;
        mended.and(removed.map(drop))
    }
}
