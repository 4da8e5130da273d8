//! A plan as a picture in text: how often sections outlast their lock, and how long takeovers take, against the TTL; all axes
//! are logarithmic.

use ratatui::style::Color;

use super::drawn::Drawn;
use super::phrases::{curve_name, renewals, ttl};
use crate::report::paint::Paint;
use crate::report::plot::{Curve, Panel, Point};
use lockstorm_plan::{Plan, Renewal, Row};

/// The mark of the recommended setting.
const BEST: &str = "◆";
/// The mark of the line that the goal allows.
const GOAL: &str = "-";

/// Both pictures, one above the other, as lines of this width; `height` is that of both together.
pub fn plot_plan(plan: &Plan, width: u16, height: u16) -> Vec<String> {
    let renewals = renewals(plan);
    let letter = |place: usize, renewal: &Renewal| match renewal {
        Renewal::Off => "o".to_owned(),
        Renewal::Fraction(n) => n.to_string(),
        // Intervals have no short name.
        Renewal::Every(_) => char::from(b'a' + u8::try_from(place % 14).unwrap_or(0)).to_string(),
    };
    let x = |row: &Row| row.setting.ttl.as_secs_f64().log10();
    let point = |row: &Row, drawn: &Drawn, mark: String| Point {
        x: x(row),
        y: drawn.place(row).unwrap_or(drawn.range.0).log10(),
        mark,
        on_line: drawn.place(row).is_some(),
    };
    let curves = |drawn: &Drawn| -> Vec<Curve> {
        let curve = |points| Curve {
            points,
            color: Color::Reset,
        };
        let at_goal = |row: &Row, goal: f64| Point {
            x: x(row),
            y: goal.log10(),
            mark: GOAL.to_owned(),
            on_line: true,
        };
        // Below the others, which are written over it.
        let goal = drawn
            .goal
            .iter()
            .map(|(goal, _)| plan.rows.iter().map(|row| at_goal(row, *goal)).collect());
        let points = |(place, renewal): (usize, &Renewal)| {
            let rows = plan.rows.iter().filter(|row| row.setting.renewal == *renewal);
            rows.map(|row| point(row, drawn, letter(place, renewal))).collect()
        };
        goal.chain(renewals.iter().enumerate().map(points)).map(curve).collect()
    };
    let best = |drawn: &Drawn| {
        let row = &plan.rows[plan.choice.best()?];
        Some(point(row, drawn, BEST.to_owned()))
    };
    // The TTLs of the first curve.
    let of_first = plan
        .rows
        .iter()
        .filter(|row| Some(&row.setting.renewal) == renewals.first());
    let ticks: Vec<(f64, String)> = of_first.map(|row| (x(row), ttl(row))).collect();
    let panel = |drawn: &Drawn, most, height: u16| {
        let panel = Panel {
            curves: &curves(drawn),
            best: best(drawn),
            several: None,
            ticks: &ticks,
            most,
            label: drawn.write,
        };
        let goal = drawn.goal.iter().map(|(_, name)| format!("{GOAL} {name}"));
        let bottom = drawn.bottom.iter().map(|bottom| format!("at the bottom: {bottom}"));
        let signs: Vec<String> = std::iter::once(drawn.title.to_owned())
            .chain(goal)
            .chain(bottom)
            .collect();
        let title = signs.join("   ").chars().take(width.into()).collect();
        let picture = panel.draw((width, height.saturating_sub(2)), Paint::Off);
        std::iter::once(title).chain(picture).collect::<Vec<String>>()
    };
    let all = renewals.iter().enumerate();
    let legend = all.map(|(place, renewal)| format!("{} {}", letter(place, renewal), curve_name(renewal)));
    let legend: Vec<String> = legend.collect();
    let half = height / 2;
    let mut lines = vec![format!("{}   {BEST} recommended", legend.join("   "))];
    lines.extend(panel(&Drawn::overruns(plan), 1.0, half));
    lines.extend(panel(&Drawn::takeovers(plan), f64::INFINITY, height - half + 1));
    lines
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use lockstorm_plan::{Question, Spread, settings};

    #[test]
    fn every_curve_and_the_recommended_setting_are_on_both_pictures_within_the_room() {
        let hold = Spread::LogNormal {
            median: 0.020,
            sigma: 0.6,
        };
        let mut question = Question::new(hold, Spread::Constant(0.001), 3);
        question.goal.overlaps_per_day = 100.0;
        let ttls = [30, 50, 80, 150, 300, 500].map(Duration::from_millis);
        let plan = Plan::of(question, &settings(&ttls, &[Renewal::Off]));
        assert!(plan.choice.best().is_some());
        for (width, height) in [(116, 26), (80, 16), (40, 14)] {
            let lines = plot_plan(&plan, width, height);
            assert_eq!(lines.len(), usize::from(height));
            assert!(
                lines
                    .iter()
                    .skip(1)
                    .all(|line| line.chars().count() <= usize::from(width)),
                "{lines:#?}"
            );
            let marks = |mark: char| {
                lines[1..]
                    .iter()
                    .flat_map(|line| line.chars())
                    .filter(|&c| c == mark)
                    .count()
            };
            assert_eq!(marks('◆'), 2, "{lines:#?}");
            assert!(marks('o') >= 6, "{lines:#?}");
            // The goal is a line, and what is 0 is at the bottom, where no line leads to it.
            assert!(marks('-') >= 2 && lines[1].contains("the goal allows"), "{lines:#?}");
            assert!(lines.last().is_some_and(|axis| axis.contains("30 ms")), "{lines:#?}");
        }
    }
}
