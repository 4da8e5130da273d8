//! The network of a lab: a bridge of the engine from which nothing leads outside, with a fixed address for each node.

use std::net::Ipv4Addr;

use bollard::models::{Ipam, IpamConfig, NetworkCreateRequest};
use bollard::query_parameters::{InspectNetworkOptions, ListNetworksOptionsBuilder};

use super::engine::{Engine, is_missing, said};
use super::labels::Labels;

/// How often another subnet is taken if somebody else has taken the one that was found.
const TRIES: usize = 5;
/// The last part of the first node's address, less those of the engine's own end.
const FIRST: u32 = 10;

/// A network that was created.
#[derive(Debug)]
pub(crate) struct Network {
    pub name: String,
    base: Ipv4Addr,
}

impl Network {
    /// Creates a network with these labels.
    ///
    /// # Errors
    /// In words.
    pub(crate) async fn create(engine: &Engine, name: &str, labels: &Labels) -> Result<Self, String> {
        let mut last = String::new();
        for _ in 0..TRIES {
            // Addresses can be chosen only in a subnet that was chosen. The engine knows which ones are free: it is asked for a
            // network, and then for the same one on purpose.
            let subnet = free_subnet(engine, name, labels).await?;
            let Some(base) = base_of(&subnet) else {
                return Err(format!(
                    "the engine makes networks with the subnet {subnet}; IPv4 is needed"
                ));
            };
            match create(engine, name, labels, Some(subnet)).await {
                Ok(()) => {
                    let name = name.to_owned();
                    return Ok(Self { name, base });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// The address of a node.
    pub(crate) fn address(&self, id: usize) -> Ipv4Addr {
        // A lab has a few dozen nodes, and the smallest subnet that engines hand out has 254 addresses.
        let id = u32::try_from(id).unwrap_or(u32::MAX);
        Ipv4Addr::from_bits(self.base.to_bits().saturating_add(FIRST).saturating_add(id))
    }
}

async fn create(engine: &Engine, name: &str, labels: &Labels, subnet: Option<String>) -> Result<(), String> {
    let ipam = subnet.map(|subnet| Ipam {
        config: Some(vec![IpamConfig {
            subnet: Some(subnet),
            ..IpamConfig::default()
        }]),
        ..Ipam::default()
    });
    let request = NetworkCreateRequest {
        name: name.to_owned(),
        driver: Some("bridge".to_owned()),
        // No way in or out but from this machine.
        internal: Some(true),
        labels: Some(labels.map()),
        ipam,
        ..NetworkCreateRequest::default()
    };
    let created = engine.0.create_network(request).await;
    created
        .map(drop)
        .map_err(|error| format!("cannot create a network: {}", said(error)))
}

/// A subnet that nobody uses now.
async fn free_subnet(engine: &Engine, name: &str, labels: &Labels) -> Result<String, String> {
    let probe = format!("{name}-subnet");
    create(engine, &probe, labels, None).await?;
    let found = engine.0.inspect_network(&probe, None::<InspectNetworkOptions>).await;
    let removed = engine.0.remove_network(&probe).await;
    let subnet = found
        .map_err(said)?
        .ipam
        .and_then(|ipam| ipam.config?.into_iter().find_map(|config| config.subnet));
    removed.map_err(said)?;
    subnet.ok_or_else(|| "the engine has made a network without a subnet".to_owned())
}

/// The first address of `172.18.0.0/16`.
fn base_of(subnet: &str) -> Option<Ipv4Addr> {
    let (base, _) = subnet.split_once('/')?;
    base.parse().ok()
}

/// Removes all networks with these labels.
pub(super) async fn remove_all(engine: &Engine, labels: &Labels) -> Result<(), String> {
    let options = ListNetworksOptionsBuilder::new().filters(&labels.filter()).build();
    let networks = engine.0.list_networks(Some(options)).await.map_err(said)?;
    let mut failed = None;
    for id in networks.into_iter().filter_map(|network| network.id) {
        if let Err(error) = engine.0.remove_network(&id).await
            && !is_missing(&error)
        {
            failed.get_or_insert(said(error));
        }
    }
    failed.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_has_an_address_of_its_own_in_the_subnet() {
        let network = Network {
            name: String::new(),
            base: base_of("172.18.0.0/16").unwrap(),
        };
        assert_eq!(network.address(0), Ipv4Addr::new(172, 18, 0, 10));
        assert_eq!(network.address(13), Ipv4Addr::new(172, 18, 0, 23));
        assert_eq!(base_of("fd00::/64"), None);
    }
}
