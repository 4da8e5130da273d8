/// What a node is asked to do for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Command {
    /// Create the key with the token and the TTL if it does not exist (`SET NX PX`): ask for a vote.
    Set,
    /// Give the key its whole TTL again if it has the token.
    Extend,
    /// Delete the key if it has the token.
    Delete,
}

/// The result of a command, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The node did it.
    Yes,
    /// The node did not do it: for a `Set`, somebody else has the key; for the others, the key is gone or somebody else's.
    No,
    /// The node has not done it and never will: it was not asked, or it refused.
    Never,
    /// The node did it, but its replicas have not confirmed it in time: it is no vote, and the key must be taken back.
    Unconfirmed,
    /// There is no answer; the node may have done it or may still do it.
    Unknown,
}
