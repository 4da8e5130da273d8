//! Who is measured: the engine, and in a build with the feature `peers` other clients.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::case::{Case, Load, Trouble};
use super::client::Setup;
use super::engine;
use crate::lock::NodeOptions;

/// A client of the locks, and the runtime that it is measured on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contender {
    /// [`crate::lock`], on a current-thread runtime, as on every app server.
    Engine,
    /// The crate rslock on a current-thread runtime.
    Rslock,
    /// The crate rslock on a multi-thread runtime with two workers.
    RslockMt,
    /// `join_all` over the redis crate's multiplexed connections.
    Naive,
    /// One node only.
    Plain,
}

impl Contender {
    /// Those in this build, the engine first.
    pub const ALL: &'static [Self] = if cfg!(feature = "peers") {
        &[Self::Engine, Self::Rslock, Self::RslockMt, Self::Naive, Self::Plain]
    } else {
        &[Self::Engine]
    };

    /// Its name in tables and in the record.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Rslock => "rslock",
            Self::RslockMt => "rslock-mt",
            Self::Naive => "naive",
            Self::Plain => "plain",
        }
    }

    /// The threads of its runtime on each app server; 0: a current-thread runtime.
    pub(super) const fn workers(self) -> usize {
        match self {
            Self::RslockMt => 2,
            Self::Engine | Self::Rslock | Self::Naive | Self::Plain => 0,
        }
    }

    /// Whether it is measured in this case.
    pub(super) fn takes_part(self, case: &Case) -> bool {
        match self {
            Self::Engine => true,
            // Only the engine renews by itself.
            _ if case.load == Load::Renewal => false,
            Self::Rslock | Self::Naive => true,
            // Four app servers have four threads already.
            Self::RslockMt => case.servers == 1,
            // A client of one node has nothing to show when another one fails.
            Self::Plain => case.trouble == Trouble::None,
        }
    }

    /// How it was set up, for the record.
    pub(super) fn settings(self, setup: &Setup) -> BTreeMap<String, String> {
        let runtime = match self.workers() {
            0 => "tokio, current thread".to_owned(),
            workers => format!("tokio, {workers} worker threads"),
        };
        let mut settings = BTreeMap::from([
            ("runtime".to_owned(), runtime),
            ("ttl".to_owned(), format!("{:?}", setup.ttl)),
        ]);
        let mut add = |name: &str, value: String| settings.insert(name.to_owned(), value);
        if self == Self::Engine {
            let options = engine::options(setup);
            add("node_timeout", format!("{:?}", NodeOptions::default().node_timeout));
            add("timeout", format!("{:?}", options.timeout));
            add("wait", format!("{:?}", options.wait));
            add(
                "renew",
                options
                    .renew
                    .map_or_else(|| "off".to_owned(), |every| format!("{every:?}")),
            );
            add("release", "returns when a quorum of nodes confirmed it".to_owned());
        } else {
            add(
                "timeouts",
                "the redis crate's own: 500 ms for a reply, 1 s to connect".to_owned(),
            );
        }
        #[cfg(feature = "peers")]
        self.add_settings_of_peers(setup, &mut settings);
        settings
    }

    #[cfg(feature = "peers")]
    fn add_settings_of_peers(self, setup: &Setup, settings: &mut BTreeMap<String, String>) {
        use super::peers::{DELAY, POLL, TRIES};
        let wait = match self {
            Self::Engine => return,
            Self::Rslock | Self::RslockMt if setup.waits => {
                format!("lock() with set_retry(u32::MAX, {DELAY:?}): 0 to {DELAY:?} between two tries, without end")
            }
            Self::Rslock | Self::RslockMt => {
                format!("lock() with its defaults: {TRIES} tries, 0 to {DELAY:?} between two")
            }
            Self::Naive | Self::Plain if setup.waits => {
                format!("0 to {POLL:?} between two tries, without end")
            }
            Self::Naive | Self::Plain => "one try".to_owned(),
        };
        settings.insert("wait".to_owned(), wait);
        settings.insert("release".to_owned(), "returns when all nodes have answered".to_owned());
        if self == Self::Naive {
            settings.insert("reconnect".to_owned(), "never".to_owned());
            settings.insert("validity".to_owned(), "not checked".to_owned());
        }
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
