//! `cache-fill`: reading through caches that expire.

mod settings;
mod shown;

pub use settings::{CacheFillSpec, CacheSpec};
pub(super) use settings::{ROW, examples, read};
