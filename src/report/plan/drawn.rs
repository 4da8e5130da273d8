//! What both pictures show of a plan: a figure of each setting, what the goal allows, and where a logarithmic axis ends.

use crate::report::figures::percent;
use crate::report::page::{ROOM, round, round_time, round_times};
use lockstorm_plan::{Plan, Row};

/// Less than this is at the bottom edge, unless the goal is lower.
const LEAST: f64 = 1e-12;
/// The room above the bottom edge if something stands there.
const ROOM_ABOVE_ZEROS: f64 = 4.0;
/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// The round values within a range that has room for so many.
type Ticks = fn((f64, f64), usize) -> Vec<f64>;

/// A figure of each setting, as it is drawn.
pub(super) struct Drawn {
    /// What is drawn.
    pub title: &'static str,
    figure: fn(&Row) -> f64,
    /// The round values of its axis.
    pub ticks: Ticks,
    /// How a value is written.
    pub write: fn(f64) -> String,
    /// What the goal allows, and its name; `None` if it allows everything.
    pub goal: Option<(f64, String)>,
    /// What is drawn at the bottom edge, if anything is: a logarithmic axis has no 0.
    pub bottom: Option<String>,
    /// The ends of the axis.
    pub range: (f64, f64),
    least: f64,
}

impl Drawn {
    /// How often sections outlast their lock.
    pub fn overruns(plan: &Plan) -> Self {
        let question = &plan.question;
        let goal = question.goal.overlaps_per_day / (question.per_second * DAY * question.contended);
        let goal = (goal < 1.0).then(|| (goal, format!("the goal allows {}", chance(goal))));
        Self::of(plan, "P(overrun)", |row| row.overrun.p, (round, chance), goal)
    }

    /// How long others wait after a crash.
    pub fn takeovers(plan: &Plan) -> Self {
        let goal = plan.question.goal.takeover;
        let goal = goal.map(|most| (most, format!("the goal for the worst takeover: {}", round_time(most))));
        Self::of(
            plan,
            "mean takeover after a crash",
            |row| row.takeover_mean,
            (round_times, round_time),
            goal,
        )
    }

    fn of(
        plan: &Plan,
        title: &'static str,
        figure: fn(&Row) -> f64,
        (ticks, write): (Ticks, fn(f64) -> String),
        goal: Option<(f64, String)>,
    ) -> Self {
        let allowed = goal
            .as_ref()
            .map(|(allowed, _)| *allowed)
            .filter(|allowed| *allowed > 0.0);
        let least = allowed.map_or(LEAST, |allowed| LEAST.min(allowed / 100.0));
        let (below, above): (Vec<f64>, Vec<f64>) = plan.rows.iter().map(figure).partition(|value| *value < least);
        let (low, high) = above
            .into_iter()
            .chain(allowed)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        let bottom = (!below.is_empty()).then(|| match below.iter().all(|value| *value <= 0.0) {
            true => "0".to_owned(),
            false => format!("0, or less than {}", write(least)),
        });
        let room = if bottom.is_some() { ROOM_ABOVE_ZEROS } else { ROOM };
        Self {
            title,
            figure,
            ticks,
            write,
            goal: goal.filter(|(allowed, _)| *allowed > 0.0),
            bottom,
            range: if high > 0.0 {
                (low / room, high * ROOM)
            } else {
                (least, 1.0)
            },
            least,
        }
    }

    /// Where a setting is on the axis; `None` if it is at the bottom edge.
    pub fn place(&self, row: &Row) -> Option<f64> {
        Some((self.figure)(row)).filter(|value| *value >= self.least)
    }
}

/// A probability: `1e-6`, and not `1.0e-6`.
fn chance(p: f64) -> String {
    percent(p).replace(".0e", "e")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use lockstorm_plan::{Question, Renewal, Spread, settings};

    fn plan(hold: f64, change: impl Fn(&mut Question)) -> Plan {
        let mut question = Question::new(Spread::Constant(hold), Spread::Constant(0.001), 3);
        change(&mut question);
        Plan::of(question, &settings(&[Duration::from_millis(100)], &[Renewal::Off]))
    }

    #[test]
    fn a_zero_is_at_the_bottom_below_everything_and_another_figure_is_not() {
        let none = plan(0.010, |_| ());
        let drawn = Drawn::overruns(&none);
        assert_eq!((drawn.place(&none.rows[0]), drawn.bottom.as_deref()), (None, Some("0")));
        let (allowed, _) = drawn.goal.expect("a goal");
        assert!(drawn.range.0 < allowed / 3.0, "{:?}", drawn.range);
        let every = plan(1.0, |_| ());
        let drawn = Drawn::overruns(&every);
        assert_eq!((drawn.place(&every.rows[0]), &drawn.bottom), (Some(1.0), &None));
    }

    #[test]
    fn the_goal_is_what_it_allows_of_the_sections_and_none_if_it_allows_all() {
        let goal = |a_day: f64, contended: f64| {
            let plan = plan(0.010, |question| {
                (question.goal.overlaps_per_day, question.per_second, question.contended) = (a_day, 2.0, contended);
            });
            Drawn::overruns(&plan).goal.map(|(goal, _)| goal)
        };
        // Of 172,800 sections a day half overlap if they overrun.
        assert!(goal(86.4, 0.5).is_some_and(|goal| (goal - 1e-3).abs() < 1e-9));
        assert_eq!([goal(1e9, 0.5), goal(1.0, 0.0), goal(0.0, 0.5)], [None, None, None]);
        let takeover = |most| Drawn::takeovers(&plan(0.010, |question| question.goal.takeover = most)).goal;
        assert!(takeover(Some(30.0)).is_some_and(|(goal, name)| goal > 29.9 && name.contains("30 s")));
        assert!(takeover(None).is_none());
    }
}
