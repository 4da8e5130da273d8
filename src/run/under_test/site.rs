use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use tokio::sync::watch;

use super::lock::Lock;
use super::other::Reply;
use lockstorm_data::model::ServerId;
use lockstorm_lock::NodeAddress;

/// The lock of an arm that does not have the engine's: it is made anew for each app server, so that it shares nothing unless it wants to.
pub trait OtherLocks: Debug + Send + Sync {
    /// The lock for this app server. It is called on the app server's own runtime.
    ///
    /// # Errors
    /// Why there can be none, in words.
    fn connect(&self, site: Site) -> Reply<'_, Result<Lock, String>>;
}

/// Where a lock is used.
#[derive(Debug, Clone)]
pub struct Site {
    /// The app server.
    pub server: ServerId,
    /// The lock node of each host, wherever it is by now.
    pub nodes: Vec<watch::Receiver<NodeAddress>>,
    /// Determines its random choices.
    pub seed: u64,
}

/// By the names of arms, the locks that they get instead of those of the scenario. Their nodes and times stay.
pub type OtherArms = BTreeMap<String, Arc<dyn OtherLocks>>;
