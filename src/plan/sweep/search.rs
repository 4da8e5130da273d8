use lockstorm_data::scenario::Scenario;

/// The largest value that is tried.
const MOST: f64 = 1e6;
/// The smallest, if it need not be whole.
const LEAST: f64 = 0.1;
/// The search ends when the smallest value that failed is at most this many times the largest that held.
const NEAR: f64 = 1.1;

/// Looks for the largest value for which a condition holds: it doubles until the condition fails, or halves until it holds, and
/// then takes the geometric middle, until both are within 10 %, or are neighbours.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// Whether only whole numbers make sense.
    whole: bool,
    next: f64,
    held: Option<f64>,
    failed: Option<f64>,
}

impl Search {
    /// A search that begins at `start`, among all numbers or among `whole` ones from 1 on.
    pub const fn from(start: f64, whole: bool) -> Self {
        Self {
            whole,
            next: start,
            held: None,
            failed: None,
        }
    }

    /// The value to try next; `None` if the search has ended.
    pub fn next(&self) -> Option<f64> {
        let next = if self.whole {
            self.next.round()
        } else {
            rounded(self.next)
        };
        let is_near = |(held, failed): (f64, f64)| failed / held <= NEAR || self.whole && failed - held <= 1.0;
        let least = if self.whole { 1.0 } else { LEAST };
        let is_over = self.held.zip(self.failed).is_some_and(is_near);
        // From 1 there is no smaller one.
        let is_new = Some(next) != self.held && Some(next) != self.failed;
        (!is_over && is_new && (least..=MOST).contains(&next)).then_some(next)
    }

    /// Tells whether the condition held for the value that was tried.
    pub fn tell(&mut self, tried: f64, holds: bool) {
        if holds {
            self.held = Some(tried);
        } else {
            self.failed = Some(tried);
        }
        self.next = match (self.held, self.failed) {
            (Some(held), Some(failed)) => (held * failed).sqrt(),
            (Some(held), None) => held * 2.0,
            (None, Some(failed)) => failed / 2.0,
            (None, None) => self.next,
        };
    }

    /// The largest value that held and the smallest that failed.
    pub const fn found(&self) -> (Option<f64>, Option<f64>) {
        (self.held, self.failed)
    }
}

/// Three digits: nobody asks for 141.4213 requests a second.
fn rounded(value: f64) -> f64 {
    let unit = 10_f64.powf(value.log10().floor() - 2.0);
    (value / unit).round() * unit
}

/// The condition, for example `acquire_p99 < 50ms` or `redlock.acquire_p99 < 50ms`, as expectations in the form of `--set`; one
/// that names no arm is asked of every arm with lock nodes.
///
/// # Errors
/// There is no comparison in it.
pub fn while_expectations(text: &str, scenario: &Scenario) -> Result<Vec<String>, String> {
    let wrong = || format!("\"{text}\" is not a condition; write it like \"acquire_p99 < 50ms\"");
    let at = text.find(['<', '>', '=', '!']).ok_or_else(wrong)?;
    let (figure, bound) = (text[..at].trim(), text[at..].trim());
    if figure.is_empty() {
        return Err(wrong());
    }
    if figure.contains('.') {
        return Ok(vec![format!("expect.{figure}={bound}")]);
    }
    let arms = scenario.arms.iter().filter(|arm| arm.lock.uses_nodes());
    Ok(arms
        .map(|arm| format!("expect.{}.{figure}={bound}", arm.name))
        .collect())
}

/// Whether none of these conditions, in the form of [`while_expectations`], is among the expectations that `failed`.
pub fn all_held(conditions: &[String], failed: &[String]) -> bool {
    let as_expectation = |condition: &String| condition.trim_start_matches("expect.").replacen('=', " ", 1);
    !conditions
        .iter()
        .any(|condition| failed.contains(&as_expectation(condition)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From here only whole numbers are tried.
    const WHOLE: f64 = 51.0;

    /// The values that are tried until the search ends, if the condition holds up to `limit`.
    fn tried(start: f64, limit: f64) -> (Vec<f64>, (Option<f64>, Option<f64>)) {
        let mut search = Search::from(start, start == WHOLE);
        let mut values = Vec::new();
        while let Some(value) = search.next() {
            values.push(value);
            search.tell(value, value <= limit);
        }
        (values, search.found())
    }

    #[test]
    fn the_largest_value_is_found_from_below_and_from_above() {
        for (start, limit) in [(50.0, 730.0), (5000.0, 730.0), (700.0, 730.0)] {
            let (values, (held, failed)) = tried(start, limit);
            let (held, failed) = (held.expect("some hold"), failed.expect("some fail"));
            assert!(
                held <= limit && failed > limit && failed / held <= 1.11,
                "{held} {failed}"
            );
            assert!(values.len() <= 14, "{values:?}");
        }
    }

    #[test]
    fn a_condition_is_found_among_the_expectations_that_failed() {
        let conditions = ["expect.a.oversold=== 0", "expect.a.acquire_p99=< 50ms"].map(str::to_owned);
        assert!(all_held(&conditions, &["b.oversold == 0".to_owned()]));
        assert!(!all_held(&conditions, &["a.oversold == 0".to_owned()]));
        assert!(!all_held(&conditions, &["a.acquire_p99 < 50ms".to_owned()]));
    }

    #[test]
    fn whole_numbers_end_beside_each_other() {
        for limit in [1.5, 7.0, 9.9, 340.0] {
            let (values, (held, failed)) = tried(WHOLE, limit);
            let (held, failed) = (held.expect("some hold"), failed.expect("some fail"));
            assert!(values.iter().all(|value| value.fract() == 0.0), "{values:?}");
            assert!(
                held <= limit && failed > limit && (failed - held <= 1.0 || failed / held <= 1.1),
                "{held} {failed}"
            );
        }
        assert_eq!(tried(WHOLE, 0.5).1.0, None);
    }

    #[test]
    fn what_never_fails_or_never_holds_ends_too() {
        assert_eq!(tried(50.0, f64::INFINITY).1.1, None);
        assert_eq!(tried(50.0, 0.0).1.0, None);
    }
}
