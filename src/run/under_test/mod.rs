//! The lock of an arm, behind the one narrow interface by which workers get it: acquire, look, release. Most arms have the
//! engine's; an arm can have any other one, which grants an [`OtherHold`].

mod hold;
mod lock;
mod other;
mod site;

pub use hold::{Granted, KeyLife, OtherHold};
pub use lock::{Guard, HeldLock, Lock};
pub use other::{OtherLock, Reply};
pub use site::{OtherArms, OtherLocks, Site};
