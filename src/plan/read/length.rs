use crate::seconds::MAX_SECONDS;

/// The length of a section in seconds, if it is one: some time, and a year at most. `text` is how the file has it.
pub(super) fn check(text: &str, seconds: f64) -> Result<f64, String> {
    if seconds > 0.0 && seconds.is_finite() {
        if seconds > MAX_SECONDS {
            return Err(format!("{text} is longer than a year; is the unit right?"));
        }
        return Ok(seconds);
    }
    Err(format!(
        "{text} is not a time that a section can take; it must be above 0"
    ))
}
