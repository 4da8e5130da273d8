use lockstorm_lock::Cause;

/// A node that an acquire lacked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoVote {
    /// Its position in the lock, from 1.
    pub node: usize,
    /// Why it gave no vote.
    pub cause: Cause,
}

impl NoVote {
    /// The nodes that were missing, from the answers of all nodes of a lock. Nodes that voted don't count, nor do those
    /// that only said that somebody else holds the lock.
    pub fn all_of(causes: &[Option<Cause>]) -> impl Iterator<Item = Self> {
        causes.iter().enumerate().filter_map(|(index, cause)| match cause {
            None | Some(Cause::Held) => None,
            Some(cause) => Some(Self {
                node: index + 1,
                cause: cause.clone(),
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_voted_and_nodes_that_know_another_holder_are_not_lacking() {
        let causes = [None, Some(Cause::Held), Some(Cause::Timeout)];
        let lacking: Vec<_> = NoVote::all_of(&causes).collect();
        let silent = NoVote {
            node: 3,
            cause: Cause::Timeout,
        };
        assert_eq!(lacking, [silent]);
    }
}
