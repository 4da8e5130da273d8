//! `cache-fill`: reading through caches that expire.

mod settings;
mod shown;
mod warnings;

pub use settings::{CacheFillSpec, CacheSpec};
pub(super) use settings::{ROW, read};
pub(in super::super) use warnings::warnings;
