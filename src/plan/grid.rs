//! The TTLs that are worth looking at.

use std::time::Duration;

use super::question::Question;
use super::row::{self, Row, Shortfall};
use super::setting::{Renewal, Setting};

/// Steps of a decade, which are 1.33 to 1.67 apart.
const STEPS: [u64; 6] = [10, 15, 20, 30, 50, 70];
/// How many TTLs are shown at most: the last ones.
const MOST: usize = 14;
/// The steps after the first TTL with a risk that is low enough.
const BEYOND: usize = 5;
/// The longest TTL.
const LONGEST: Duration = Duration::from_hours(24);

/// Round TTLs from the median of a section on, until each of these renewals has a setting with a risk that is low enough, proven
/// or not, or some steps after the first one that has; if there would be too many, the longer ones.
#[must_use]
pub fn ttls(question: &Question, renewals: &[Renewal]) -> Vec<Duration> {
    let shortest = question.hold.quantile(0.5).max(0.005);
    let mut fit = vec![false; renewals.len()];
    let (mut ttls, mut since_first_fit) = (Vec::new(), 0);
    let round = (0..).flat_map(|decade| STEPS.map(|step| Duration::from_millis(step * 10_u64.pow(decade))));
    for ttl in round.take_while(|ttl| *ttl <= LONGEST) {
        if ttl.as_secs_f64() < shortest {
            continue;
        }
        ttls.push(ttl);
        for (renewal, fit) in renewals.iter().zip(&mut fit) {
            let setting = Setting { ttl, renewal: *renewal };
            let is_possible = setting.interval().is_none_or(|interval| interval < ttl.as_secs_f64());
            *fit |= is_possible && may_do(&row::of(question, setting));
        }
        let is_too_long = question
            .goal
            .takeover
            .is_some_and(|most| ttl.as_secs_f64() > 2.0 * most);
        if is_too_long || since_first_fit > BEYOND || since_first_fit > 0 && fit.iter().all(|fit| *fit) {
            break;
        }
        since_first_fit += usize::from(fit.contains(&true));
    }
    ttls.split_off(ttls.len().saturating_sub(MOST))
}

fn may_do(row: &Row) -> bool {
    let fails = |shortfall: &Shortfall| matches!(shortfall, Shortfall::Risk | Shortfall::TooShort);
    !row.shortfalls.iter().any(fails)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::Measured;
    use crate::spread::Spread;

    #[test]
    fn what_only_the_tail_can_meet_does_not_lead_to_days() {
        let values = (1..=1000).map(|n| f64::from(n) / 10_000.0).collect();
        let hold = Spread::Measured(Measured::of_values(values).expect("enough values"));
        let ttls = ttls(&Question::new(hold, Spread::Constant(0.001), 3), &[Renewal::Off]);
        assert!(ttls.last().is_some_and(|ttl| *ttl < Duration::from_mins(1)), "{ttls:?}");
    }
}
