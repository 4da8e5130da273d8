//! The addresses from which nodes reach each other in a lab with a proxy, which knows by them whose connection it carries.

use std::net::{IpAddr, Ipv4Addr};

use crate::server::node_name::{NodeName, Role};
use lockstorm_data::model::HostId;

/// The last byte of the address of host 1, less one.
const BEFORE_FIRST: usize = 10;

/// The address from which the lab itself connects to doors, on systems that have all of 127.0.0.0/8.
pub(crate) const OF_LAB: Ipv4Addr = Ipv4Addr::new(127, 0, 2, 1);

/// The third byte of the addresses of a role whose nodes reach others; `None` for one that is only reached.
const fn net(role: Role) -> Option<u8> {
    match role {
        // The nodes of a cluster and the members of etcd are not behind the proxy.
        Role::Lock | Role::Cache | Role::FirstInCluster | Role::SecondInCluster | Role::Etcd => None,
        Role::Replicated => Some(0),
        Role::Sentinel => Some(1),
    }
}

/// The address from which this node reaches others: 127.0.0.11 for the replicated node of host 1, 127.0.1.11 for its
/// Sentinel. `None` for a node that reaches nobody.
pub(crate) fn of(name: NodeName) -> Option<Ipv4Addr> {
    let last = u8::try_from(BEFORE_FIRST + name.host?.0).ok()?;
    Some(Ipv4Addr::new(127, 0, net(name.role)?, last))
}

/// The node that reaches others from this address; `None` if it is nobody's: that of an app server, or the run's own.
pub(crate) fn caller(address: IpAddr) -> Option<NodeName> {
    let IpAddr::V4(address) = address else { return None };
    let host = HostId(usize::from(address.octets()[3]).checked_sub(BEFORE_FIRST)?);
    let names = [Role::Replicated, Role::Sentinel].map(|role| NodeName::on(host, role));
    names.into_iter().find(|name| host.0 > 0 && of(*name) == Some(address))
}

/// Whether a program connects from this address that is neither a node nor the lab itself.
pub(crate) fn is_client(address: IpAddr) -> bool {
    caller(address).is_none() && address != IpAddr::V4(OF_LAB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_known_by_its_address() {
        for host in (1..=9).map(HostId) {
            for role in [Role::Replicated, Role::Sentinel] {
                let name = NodeName::on(host, role);
                let address = of(name).expect("an address");
                assert!(address.is_loopback());
                assert_eq!(caller(address.into()), Some(name));
            }
        }
        for name in [NodeName::on(HostId(1), Role::Lock), NodeName::CACHE] {
            assert_eq!(of(name), None);
        }
        for nobody in ["127.0.0.1", "127.0.0.10", "127.0.2.11", "10.0.0.11", "::1"] {
            let nobody = nobody.parse().expect("an address");
            assert!(caller(nobody).is_none() && is_client(nobody), "{nobody}");
        }
        assert!(!is_client(OF_LAB.into()) && caller(OF_LAB.into()).is_none());
    }
}
