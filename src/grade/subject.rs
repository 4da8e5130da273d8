use std::fmt;

use lockstorm_data::scenario::{ArmSpec, LockKind, Renew};

/// Who is graded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// Another program.
    Client {
        /// The program and its arguments.
        command: Vec<String>,
        /// What it calls itself, with its version.
        name: String,
        /// On how many of three nodes its locks are.
        nodes: usize,
        /// Whether locks can be renewed.
        renews: bool,
    },
    /// One of this program's own locks: `single` or `redlock`.
    Engine(LockKind),
}

impl Subject {
    /// On how many of three nodes its locks are.
    pub const fn nodes(&self) -> usize {
        match self {
            Self::Client { nodes, .. } => *nodes,
            Self::Engine(kind) if kind.needs_majority() => 3,
            Self::Engine(_) => 1,
        }
    }

    /// Whether its locks can be renewed.
    pub const fn renews(&self) -> bool {
        match self {
            Self::Client { renews, .. } => *renews,
            Self::Engine(_) => true,
        }
    }

    /// Makes an arm this one's.
    pub(crate) fn play_as(&self, arm: &mut ArmSpec) {
        match self {
            Self::Client { command, nodes, .. } => {
                (arm.lock, arm.command) = (LockKind::Client, command.clone());
                arm.hosts = Some(*nodes);
            }
            Self::Engine(kind) => arm.lock = *kind,
        }
        if !self.renews() {
            arm.renew = Renew::Off;
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client { name, .. } => f.write_str(name),
            Self::Engine(kind) if kind.needs_majority() => f.write_str("this program's redlock"),
            Self::Engine(_) => f.write_str("this program's single lock"),
        }
    }
}
