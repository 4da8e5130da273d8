//! A stack that somebody else has brought up with Compose: its labels say which container is which node of a lab.

use std::collections::BTreeMap;

use bollard::models::ContainerSummary;
use futures_util::future::join_all;

use super::container::{self, Container};
use super::engine::Engine;
use super::labels::{PLACE, PORT, PROJECT, label};

/// The file that people are told to bring up.
const FILE: &str = "docker/compose.yaml";
/// The containers of a stack that are nodes, by their places.
#[derive(Debug)]
pub(crate) struct Stack {
    pub project: String,
    nodes: BTreeMap<String, Found>,
}

/// A container that is a node.
#[derive(Debug)]
struct Found {
    container: Container,
    image: String,
    /// Where it listens.
    port: u16,
}

impl Stack {
    /// The stack of this project; without a name, the only one that there is.
    ///
    /// # Errors
    /// There is none, or it can't be used; in words.
    pub(crate) async fn find(engine: &Engine, project: Option<&str>) -> Result<Self, String> {
        let mut stacks: BTreeMap<String, Vec<ContainerSummary>> = BTreeMap::new();
        for container in container::list_having(engine, &[PLACE, PROJECT]).await? {
            let of = label(&container, PROJECT).unwrap_or_default().to_owned();
            stacks.entry(of).or_default().push(container);
        }
        let names = stacks.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let up = format!("`docker compose -f {FILE} up -d` brings one up");
        let project = match (project, stacks.len()) {
            (None, 1) => names.clone(),
            (_, 0) => return Err(format!("no stack with nodes for Lockstorm is up: {up}")),
            (None, _) => {
                return Err(format!(
                    "more than one stack is up ({names}): name one with --lab compose:NAME"
                ));
            }
            (Some(name), _) => name.to_owned(),
        };
        let Some(containers) = stacks.remove(&project) else {
            return Err(format!(
                "no stack named {project} with nodes for Lockstorm is up, but {names}: name that one, or {up}"
            ));
        };
        let mut nodes = BTreeMap::new();
        for container in containers {
            let (place, found) = read(engine, &project, container)?;
            if nodes.insert(place.clone(), found).is_some() {
                return Err(format!(
                    "the stack {project} has more than one container with the label {PLACE}={place}: remove all but one"
                ));
            }
        }
        Ok(Self { project, nodes })
    }

    /// The image of one of its nodes, of which a stack has at least one.
    pub(crate) fn image(&self) -> &str {
        self.nodes.values().next().map_or("", |found| &found.image)
    }

    /// Checks that there is a node for each of these places.
    ///
    /// # Errors
    /// There is none for one of them; says with which profile there would be.
    pub(crate) fn has_all(&self, mut places: impl Iterator<Item = String>) -> Result<(), String> {
        let Some(missing) = places.find(|place| !self.nodes.contains_key(place)) else {
            return Ok(());
        };
        let cure = match profile_of(&missing) {
            Some(profile) => format!("bring the stack up with --profile {profile}"),
            None if missing == "cache" => format!("label the container of a Redis {PLACE}={missing}, as in {FILE}"),
            None => format!("{FILE} has no such node; play this scenario with --lab docker"),
        };
        Err(format!("the stack {} has no {missing}: {cure}", self.project))
    }

    /// The container at this place, and the port at which it listens.
    ///
    /// # Errors
    /// It is gone.
    pub(crate) fn node(&self, place: &str) -> Result<(Container, u16), String> {
        let found = self.nodes.get(place);
        found
            .map(|found| (found.container.clone(), found.port))
            .ok_or_else(|| format!("the stack {} has no {place} any more", self.project))
    }

    /// Lets all of its nodes run, also those that were frozen or killed.
    ///
    /// # Errors
    /// The first one that can't.
    pub(crate) async fn mend(&self) -> Result<(), String> {
        let mended = self.nodes.values().map(|found| found.container.revive());
        join_all(mended).await.into_iter().collect()
    }

    /// Checks that the engine leaves dead nodes dead.
    pub(crate) async fn stays_dead(&self) -> Result<(), String> {
        for (place, found) in &self.nodes {
            let config = found.container.inspect().await?.host_config;
            let policy = config.and_then(|config| config.restart_policy);
            let policy = policy.and_then(|policy| policy.name).map(|name| name.to_string());
            if let Some(policy) = policy.filter(|name| !name.is_empty() && name != "no") {
                return Err(format!(
                    "{place} of the stack {} has the restart policy {policy}, so a kill would not last: remove `restart` from its \
                     service",
                    self.project
                ));
            }
        }
        Ok(())
    }
}

/// Reads the place of a container, and what else there is to know.
fn read(engine: &Engine, project: &str, container: ContainerSummary) -> Result<(String, Found), String> {
    let place = label(&container, PLACE).unwrap_or_default().to_owned();
    let port = label(&container, PORT).and_then(|port| port.parse().ok());
    let port = port.ok_or_else(|| {
        format!("{place} of the stack {project} does not say where it listens: give it the label {PORT}=PORT")
    })?;
    let found = Found {
        container: Container::new(engine, container.id.unwrap_or_default()),
        image: container.image.unwrap_or_default(),
        port,
    };
    Ok((place, found))
}

/// The profile of `docker/compose.yaml` that has this place.
fn profile_of(place: &str) -> Option<&'static str> {
    match place {
        "host-4" | "host-5" => Some("five"),
        "host-1-replicated" | "host-2-replicated" | "host-3-replicated" | "host-1-sentinel" | "host-2-sentinel"
        | "host-3-sentinel" => Some("sentinel"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places in `docker/compose.yaml`, each with the profile that it needs.
    fn in_the_file() -> BTreeMap<String, Option<String>> {
        let file = include_str!("../../../docker/compose.yaml");
        let mut places = BTreeMap::new();
        let mut profile = None;
        for line in file.lines() {
            let is_service = line.starts_with("  ") && !line.starts_with("   ") && line.ends_with(':');
            if is_service {
                profile = None;
            } else if let Some(list) = line.trim().strip_prefix("profiles: [") {
                profile = Some(list.trim_end_matches(']').to_owned());
            } else if let Some(place) = line.trim().strip_prefix("lockstorm.place: ") {
                places.insert(place.to_owned(), profile.clone());
            }
        }
        places
    }

    #[test]
    fn a_missing_place_is_named_with_the_profile_that_the_file_has_it_in() {
        let places = in_the_file();
        assert_eq!(places.len(), 5 + 1 + 6, "{places:?}");
        for (place, profile) in &places {
            assert_eq!(profile_of(place), profile.as_deref(), "{place}");
        }
        let empty = Stack {
            project: "demo".to_owned(),
            nodes: BTreeMap::new(),
        };
        let said = |place: &str| empty.has_all([place.to_owned()].into_iter()).unwrap_err();
        assert_eq!(
            said("host-1-sentinel"),
            "the stack demo has no host-1-sentinel: bring the stack up with --profile sentinel"
        );
        assert!(said("host-2-cluster-1").ends_with("play this scenario with --lab docker"));
    }
}
