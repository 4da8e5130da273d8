//! What happened in a run and what limits its conclusions, as data: [`Event`]s and [`Caveat`]s. Their English is made in `words` when it is
//! shown, and nothing reads it back. Text that others wrote (errors of servers, databases and the system, lines of a client, captions of a
//! scenario) stands verbatim in fields named `quoted`.

mod caveat;
mod checked;
mod effect;
mod event;
mod lacking;
mod misuse;
mod next_step;
mod words;

pub use caveat::{Caveat, ClientFault, GivenUp, Ledger, NodeChange, Order, TimedTurn, Turn, Unmet};
pub use checked::{CheckedExpectation, NotProven};
pub use effect::{ArmConsequence, NoEffect, Shortage, Unavailable};
pub use event::{Event, EventKind, LockChange, OrderedBy, Step};
pub use lacking::{Lacking, lacking_in_short};
pub use misuse::{LateWork, Misuse};
pub use next_step::{Awaited, BlockedAct, NextStep};
pub use words::{is_back, with_text};
