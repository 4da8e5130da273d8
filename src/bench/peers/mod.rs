//! The clients that the engine is compared with. They are not part of the normal binary.

mod naive;
mod plain;
mod redis_commands;
mod rslock;
mod threads;

pub(super) use self::naive::Naive;
pub(super) use self::plain::Plain;
pub(super) use self::redis_commands::POLL;
pub(super) use self::rslock::{DELAY, Rslock, TRIES};
pub(super) use self::threads::runtime;
