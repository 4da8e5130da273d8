use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::VariantArray;

/// Which arms have a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Arms that take a lock.
    Locks,
    /// Arms whose lock servers grant, which may refuse it, or not answer.
    Servers,
    /// Those, and reported ones: their locks may be lost.
    Losses,
    /// Arms whose lock has a TTL, so that it may end before the work under it does, and reported ones.
    Leases,
    /// Arms whose lock asks lock nodes.
    LockNodes,
    /// Arms whose lock is on the replicated nodes, or on the cluster.
    Masters,
    /// Arms with `lock = "client"`.
    Clients,
    /// Every arm.
    Load,
    /// Arms whose requests are due at a rate.
    OpenLoop,
    /// Workload `inventory`.
    Inventory,
    /// Workload `job`.
    Job,
    /// Workload `payment`.
    Payment,
    /// What another program reported of its locks.
    Reported,
    /// Workload `cache-fill`.
    CacheFill,
    /// Workload `cache-fill` with lists of pages.
    Pages,
    /// Every arm, but only while a run goes on.
    Now,
}

impl Group {
    /// Whether only arms of certain workloads have its figures.
    pub const fn is_of_a_workload(self) -> bool {
        matches!(
            self,
            Self::Inventory | Self::Job | Self::Payment | Self::Reported | Self::CacheFill | Self::Pages
        )
    }

    /// Which arms have its figures, for the table of docs/figures.md and for `lockstorm explain`.
    pub const fn who_has_it(self) -> &'static str {
        match self {
            Self::Locks => "arms with a lock",
            Self::Servers => "arms whose lock servers grant",
            Self::Losses => "arms whose lock servers grant, reported events",
            Self::Leases => "arms whose lock has a TTL, reported events",
            Self::LockNodes => "arms with lock nodes",
            Self::Masters => "arms on replicated nodes or a cluster",
            Self::Clients => "arms with `lock = \"client\"`",
            Self::Load => "every arm",
            Self::OpenLoop => "every arm, with a `rate`",
            Self::Inventory => "`inventory`",
            Self::Job => "`job`",
            Self::Payment => "`payment`",
            Self::Reported => "reported events",
            Self::CacheFill => "`cache-fill`",
            Self::Pages => "`cache-fill` with pages",
            Self::Now => "the moment, in `when`",
        }
    }
}
