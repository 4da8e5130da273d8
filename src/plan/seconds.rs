/// Seconds of a day.
pub(super) const DAY: f64 = 86_400.0;
/// The longest duration that is read or planned with, in seconds: a year.
pub const MAX_SECONDS: f64 = 366.0 * DAY;
