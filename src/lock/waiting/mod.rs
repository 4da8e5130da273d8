//! Waiting for a lock: the line within an app server, and the announcements between app servers.

pub(crate) mod announcement;
pub(crate) mod channel;
mod channels;
mod feed;
pub(crate) mod lines;
mod silence;
pub(crate) mod subscriptions;
