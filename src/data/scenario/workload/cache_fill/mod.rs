//! `cache-fill`: reading through caches that expire.

mod shown;
mod spec;
mod warnings;

pub use spec::{CacheFillSpec, CacheSpec};
pub(super) use spec::{ROW, read};
pub(in super::super) use warnings::warnings;
