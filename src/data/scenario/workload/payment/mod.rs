//! `payment`: money that is moved between accounts, each with a lock of its own.

mod shown;
mod spec;
mod warnings;

pub use spec::PaymentSpec;
pub(super) use spec::{ROW, read};
pub(in super::super) use warnings::warnings;
