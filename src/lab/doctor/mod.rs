//! Whether a set of servers is fit for locks.
//!
//! [`examine`] asks each server for its [`Facts`]; the checks are pure functions of these, and [`Diagnosis`] is what they found.
//! [`measure`] asks them again and again, for as long as it is let.

mod checks;
mod clock;
mod diagnosis;
mod examine;
mod facts;
mod finding;
mod lock_use;
mod measure;

pub use self::diagnosis::Diagnosis;
pub use self::examine::{PARTS, TRIAL_TTL, examine};
pub use self::facts::{Facts, Keys, Refused, Server, Trial, TtlSeen, Unreached};
pub use self::finding::{Check, Finding};
pub use self::lock_use::LockUse;
pub use self::measure::measure;
