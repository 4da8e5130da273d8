//! What a node that belongs to a cluster leaves to the others.

use super::job::{Job, LockJob};

/// The cluster that a node belongs to, for the queue and the connection of that node.
pub(crate) trait Redirector: Send + Sync {
    /// The node did not run this command, for this error. Returns the command unless another node is asked instead.
    fn redirect(&self, job: Job, error: &str) -> Option<Job>;

    /// These deletes are owed, and the node is not the one any more that can run them.
    fn owe(&self, deletes: Vec<LockJob>);

    /// The node can't be asked now.
    fn on_trouble(&self);
}
