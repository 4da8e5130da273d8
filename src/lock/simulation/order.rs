use std::time::Duration;

use super::settings::InvalidSettings;
use super::units::nanos;

/// Something that is broken, or mended, on order and not at random. Nodes and app servers are numbered from 0.
///
/// What can't be done has no effect: a node that is down can't stop, and one that is up can't come back. Random faults, if
/// there are any, may end earlier what was ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// A node stops. Commands that arrive wait until it goes on.
    Pause {
        /// Its position.
        node: usize,
    },
    /// A node that stopped goes on.
    Resume {
        /// Its position.
        node: usize,
    },
    /// A node dies, until a [`Restart`](Self::Restart).
    Crash {
        /// Its position.
        node: usize,
        /// Whether it loses its keys.
        forgets: bool,
    },
    /// A node that died comes back.
    Restart {
        /// Its position.
        node: usize,
    },
    /// A node's clock jumps forward: its keys expire that much earlier.
    Jump {
        /// Its position.
        node: usize,
        /// How far, up to 10 years.
        by: Duration,
    },
    /// A node's clock jumps back: its keys exist for that much longer. It stops at its zero, which is up to 13 days before the
    /// beginning of the world.
    JumpBack {
        /// Its position.
        node: usize,
        /// How far, up to 10 years.
        by: Duration,
    },
    /// An app server stops, until a [`Thaw`](Self::Thaw). Messages for it wait.
    Freeze {
        /// Its position.
        app_server: usize,
    },
    /// An app server that stopped goes on.
    Thaw {
        /// Its position.
        app_server: usize,
    },
    /// An app server dies, until a [`Replace`](Self::Replace).
    Kill {
        /// Its position.
        app_server: usize,
    },
    /// Another app server starts in the place of one that died.
    Replace {
        /// Its position.
        app_server: usize,
    },
    /// Messages take longer from now on; zero: no longer. On a connection they never overtake each other, so those that are sent
    /// later may have to wait for these.
    Delay {
        /// The position of the app server.
        app_server: usize,
        /// The position of the node.
        node: usize,
        /// How much longer each takes to the node, up to an hour.
        there: Duration,
        /// How much longer each takes from the node, up to an hour.
        back: Duration,
    },
    /// The connections of an app server to a node break. They are made again.
    Cut {
        /// The position of the app server.
        app_server: usize,
        /// The position of the node.
        node: usize,
    },
}

/// The longest extra time of a message.
const MOST_DELAY: Duration = Duration::from_secs(3600);

/// The longest jump of a clock.
const MOST_JUMP: Duration = Duration::from_secs(10 * 365 * 86_400);

impl Order {
    /// Checks that it names nodes and app servers that exist.
    pub(super) fn check(&self, nodes: usize, app_servers: usize) -> Result<(), InvalidSettings> {
        let (node, app_server) = match *self {
            Self::Pause { node }
            | Self::Resume { node }
            | Self::Crash { node, .. }
            | Self::Restart { node }
            | Self::Jump { node, .. }
            | Self::JumpBack { node, .. } => (Some(node), None),
            Self::Freeze { app_server }
            | Self::Thaw { app_server }
            | Self::Kill { app_server }
            | Self::Replace { app_server } => (None, Some(app_server)),
            Self::Delay { app_server, node, .. } | Self::Cut { app_server, node } => (Some(node), Some(app_server)),
        };
        if node.is_some_and(|node| node >= nodes) || app_server.is_some_and(|app_server| app_server >= app_servers) {
            return Err(InvalidSettings(
                "an order names a node or an app server that does not exist",
            ));
        }
        match *self {
            Self::Delay { there, back, .. } if there.max(back) > MOST_DELAY => {
                Err(InvalidSettings("an ordered delay may be an hour at most"))
            }
            Self::Jump { by, .. } | Self::JumpBack { by, .. } if by > MOST_JUMP => {
                Err(InvalidSettings("a clock may jump by 10 years at most"))
            }
            _ => Ok(()),
        }
    }

    /// How much longer it takes until all is quiet, in nanoseconds: messages that are late, and keys that exist for longer.
    fn lingers(&self) -> u64 {
        match *self {
            Self::Delay { there, back, .. } => nanos(there.saturating_add(back)),
            Self::JumpBack { by, .. } => nanos(by),
            _ => 0,
        }
    }
}

/// All orders of a world, in the order in which they were given.
#[derive(Debug, Default)]
pub(super) struct Orders {
    given: Vec<Order>,
    /// When the last of them is due.
    pub(super) last: u64,
    /// How much longer it takes until all is quiet, in nanoseconds.
    pub(super) linger: u64,
}

impl Orders {
    /// Keeps an order that is due at `at`, and returns its position.
    pub(super) fn keep(&mut self, at: u64, order: Order) -> usize {
        self.last = self.last.max(at);
        self.linger = self.linger.saturating_add(order.lingers());
        self.given.push(order);
        self.given.len() - 1
    }

    pub(super) fn get(&self, position: usize) -> Option<Order> {
        self.given.get(position).copied()
    }
}
