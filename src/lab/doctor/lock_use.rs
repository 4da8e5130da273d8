use std::time::Duration;

/// How the locks are used that the servers are to keep.
#[derive(Debug, Clone)]
pub struct LockUse {
    /// The longest TTL.
    pub ttl: Duration,
    /// How long a reply is waited for.
    pub node_timeout: Duration,
    /// What the keys begin with.
    pub prefix: String,
}
