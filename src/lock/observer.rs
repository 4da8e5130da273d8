use std::time::Duration;

use crate::refusal::Refusal;

/// Is told what becomes of the acquires of a lock, for metrics: how long callers wait, how long they hold, and why they are
/// refused. Of an acquire whose future is dropped it hears nothing. [`Gauges::observe`](crate::Gauges::observe) takes one. The callers' tasks call it, so it must be quick.
///
/// ```
/// # use std::time::Duration;
/// use lockstorm_lock::{Observer, Refusal};
///
/// struct Metrics;
///
/// impl Observer for Metrics {
///     fn acquired(&self, _key: &[u8], waited: Duration) {
///         println!("lock.waited_seconds {}", waited.as_secs_f64());
///     }
///
///     fn refused(&self, _key: &[u8], refusal: &Refusal, _waited: Duration) {
///         println!("lock.refused {:?}", refusal.outcome());
///     }
/// }
/// ```
pub trait Observer: Send + Sync {
    /// A lock was acquired, so long after it was asked for.
    fn acquired(&self, key: &[u8], waited: Duration) {
        let _ = (key, waited);
    }

    /// A lock was refused, so long after it was asked for.
    fn refused(&self, key: &[u8], refusal: &Refusal, waited: Duration) {
        let _ = (key, refusal, waited);
    }

    /// A lock was released that could be relied on until then. It was held for so long, counted from when its nodes were asked.
    fn released(&self, key: &[u8], held: Duration) {
        let _ = (key, held);
    }

    /// A lock was released that had been lost before. Its holder took so long: [`Guard::lost`](crate::Guard::lost) tells the loss itself.
    fn lost(&self, key: &[u8], held: Duration) {
        let _ = (key, held);
    }
}
