//! The contenders: the engine, the machine's limit, and in a build with the feature `peers` other clients.

use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

/// A lock client, and the runtime that it is measured on.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Display, IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Contender {
    /// [`lockstorm_lock`], on a current-thread runtime, as on every app server.
    #[default]
    Engine,
    /// The engine on a multi-thread runtime with two workers.
    EngineMt,
    /// The machine's limit: a bare driver of the same commands, which is no lock.
    Bare,
    /// The crate rslock on a current-thread runtime.
    Rslock,
    /// The crate rslock on a multi-thread runtime with two workers.
    RslockMt,
    /// `join_all` over the redis crate's multiplexed connections.
    Naive,
    /// A lock on one node only.
    Plain,
}

impl Contender {
    /// The contenders of this build, the engine first.
    pub const ALL: &'static [Self] = if cfg!(feature = "peers") {
        &[
            Self::Engine,
            Self::EngineMt,
            Self::Bare,
            Self::Rslock,
            Self::RslockMt,
            Self::Naive,
            Self::Plain,
        ]
    } else {
        &[Self::Engine, Self::Bare]
    };

    /// Its name in tables and in the record.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The threads of its runtime on each app server; 0: a current-thread runtime.
    pub(super) const fn workers(self) -> usize {
        match self {
            Self::EngineMt | Self::RslockMt => 2,
            Self::Engine | Self::Bare | Self::Rslock | Self::Naive | Self::Plain => 0,
        }
    }
}
