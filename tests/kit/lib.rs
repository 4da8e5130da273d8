//! What the product's tests share: the real program and a place for it, its console in a terminal, databases, and all that the
//! lock's own tests share.
// Advice for those whose functions strangers call.
#![allow(
    clippy::missing_errors_doc,
    clippy::must_use_candidate,
    clippy::return_self_not_must_use
)]

#[path = "../../src/lock/tests/kit/mod.rs"]
mod lock;

pub mod console;
pub mod lab;
pub mod old_records;
mod old_texts;
pub mod password;
pub mod place;
#[cfg(feature = "run")]
pub mod play;
pub mod postgres;
pub mod program;
pub mod proxy;
#[cfg(feature = "run")]
pub mod recorded;
pub mod scenario;
pub mod terminal;
pub mod witness;

pub use lock::server::{free_port, server_bin};
pub use lock::turn::alone;
pub use lock::*;
pub use program::{ended, keeper, lockstorm, parts_of, program, send};
