//! Which faults nodes bring about themselves.

use std::io;

use super::{evict, forget, full, misconf, reset, stall};
use crate::findings::Found;
use crate::server::node::Node;
use lockstorm_data::model::Fault;

/// Tells a node to bring it about, and finds what proves that: nothing, if it does not concern a replica. `None`: nodes don't do such a
/// thing.
///
/// # Errors
/// It did not.
pub(crate) async fn begin(node: &Node, fault: Fault, found: &mut Found) -> Option<Result<(), String>> {
    Some(match fault {
        Fault::Forget { every } => forget::begin(node, every, found).await,
        Fault::Evict => evict::begin(node, found).await,
        Fault::Full => full::begin(node, found).await,
        Fault::Misconf => misconf::begin(node, found).await,
        Fault::Stall { length } => stall::begin(node, length, found).await,
        Fault::Reset => reset::begin(node, found).await,
        // The keeper does these, the preload, the proxy, or Redis among its nodes.
        Fault::Kill
        | Fault::Shutdown
        | Fault::PowerLoss
        | Fault::DiskLoss
        | Fault::Pause
        | Fault::Clock(_)
        | Fault::Cut { .. }
        | Fault::Lag { .. }
        | Fault::SlowLink { .. }
        | Fault::Refuse
        | Fault::Failover { .. } => return None,
    })
}

/// Tells a node to undo it, and finds what proves that. `None`: nodes don't do such a thing.
///
/// # Errors
/// It did not.
pub(crate) async fn end(node: &Node, fault: Fault, found: &mut Found) -> Option<Result<(), String>> {
    Some(match fault {
        Fault::Full => full::end(node, found).await,
        Fault::Misconf => misconf::end(node, found).await,
        _ => return None,
    })
}

/// Removes what it has left where a node is that is down, so that it starts.
///
/// # Errors
/// That could not be removed.
pub(crate) fn clear(node: &Node) -> io::Result<()> {
    node.changed.forget();
    misconf::clear(node)
}
