//! Events for `tracing`, if the feature is on. They have no secrets, and keys only at the level `debug`.

/// Emits an event: `event!(warn, cause = %cause, "disconnected")`.
macro_rules! event {
    ($level:ident, $($event:tt)*) => {
        #[cfg(feature = "tracing")]
        tracing::$level!(target: "lockstorm_lock", $($event)*);
    };
}
pub(crate) use event;
