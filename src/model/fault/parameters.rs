use std::time::Duration;

/// Something that the parameters of a fault pass through, each with its key: it reads them, writes them, or lists them.
pub trait Parameters {
    /// A duration above 0 and up to `most`. `now` is its present value, which means nothing while a fault is being read.
    fn duration(&mut self, key: &'static str, now: Duration, most: Duration) -> Duration;
}
