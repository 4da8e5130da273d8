//! A lab that is kept for a program of the user's own, until it is taken down.
//!
//! The lab belongs to a process in the background, in a session of its own: lockstorm, run again ([`background`]). It starts
//! the lab as a run does, so the lab's keeper cleans up if that process ends in any way. While it keeps the lab it answers at
//! a Unix socket in the run directory, which only this user can open: one [`Request`] and one [`Answer`] for each connection,
//! a line of JSON each. Its [`Service`] runs in the foreground too.

mod act;
mod acted;
mod answer;
pub mod background;
mod choice;
mod error;
mod find;
mod lab_order;
mod launch;
mod logged;
mod request;
mod service;
mod socket;
mod status;
mod turn;
mod urls;

pub use acted::{Acted, Effect};
pub use answer::{Answer, HostStatus, LinkStatus, NodeStatus, Status};
pub use choice::Choice;
pub use error::KeptError;
pub use find::{Kept, find};
pub use lab_order::LabOrder;
pub use launch::{Launched, launch};
pub use logged::Logged;
pub use request::{Deed, Request};
pub use service::{End, Service};
pub use turn::{turn, wait_for_start};
pub use urls::Urls;
