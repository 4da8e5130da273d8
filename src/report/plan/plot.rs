//! A plan as a picture in text: how often sections outlast their lock, and how long takeovers take, against the TTL; all axes
//! are logarithmic.

use ratatui::style::Color;

use super::words::{curve_name, drawn_overrun, drawn_takeover, renewals};
use crate::report::figures::{percent, time};
use crate::report::paint::Paint;
use crate::report::plot::{Curve, Panel, Point};
use lockstorm_data::model::setting;
use lockstorm_plan::{Plan, Renewal, Row};

/// The mark of the recommended setting.
const BEST: &str = "◆";

/// Both pictures, one above the other, as lines of this width; `height` is that of both together.
#[must_use]
pub fn plot_plan(plan: &Plan, width: u16, height: u16) -> Vec<String> {
    let renewals = renewals(plan);
    let letter = |place: usize, renewal: &Renewal| match renewal {
        Renewal::Off => "o".to_owned(),
        Renewal::Fraction(n) => n.to_string(),
        // Intervals have no short name.
        Renewal::Every(_) => char::from(b'a' + u8::try_from(place % 14).unwrap_or(0)).to_string(),
    };
    let point = |row: &Row, figure: &dyn Fn(&Row) -> f64, mark: String| Point {
        x: row.setting.ttl.as_secs_f64().log10(),
        y: figure(row).log10(),
        mark,
        on_line: true,
    };
    let curves = |figure: &dyn Fn(&Row) -> f64| -> Vec<Curve> {
        let points = |(place, renewal): (usize, &Renewal)| {
            let rows = plan.rows.iter().filter(|row| row.setting.renewal == *renewal);
            rows.map(|row| point(row, figure, letter(place, renewal))).collect()
        };
        let all = renewals.iter().enumerate();
        all.map(|curve| Curve {
            points: points(curve),
            color: Color::Reset,
        })
        .collect()
    };
    let best = |figure: &dyn Fn(&Row) -> f64| {
        let row = &plan.rows[plan.choice.best()?];
        Some(point(row, figure, BEST.to_owned()))
    };
    // The TTLs of the first curve.
    let of_first = plan
        .rows
        .iter()
        .filter(|row| Some(&row.setting.renewal) == renewals.first());
    let ticks: Vec<(f64, String)> = of_first
        .map(|row| (row.setting.ttl.as_secs_f64().log10(), setting(row.setting.ttl)))
        .collect();
    let panel = |figure: &dyn Fn(&Row) -> f64, most, height: u16, label| {
        let panel = Panel {
            curves: &curves(figure),
            best: best(figure),
            several: None,
            ticks: &ticks,
            most,
            label,
        };
        panel.draw((width, height.saturating_sub(1)), Paint::Off)
    };
    let all = renewals.iter().enumerate();
    let legend = all.map(|(place, renewal)| format!("{} {}", letter(place, renewal), curve_name(renewal)));
    let legend: Vec<String> = legend.collect();
    let half = height / 2;
    let mut lines = vec![format!(
        "P(overrun) against the TTL     {}   {BEST} recommended",
        legend.join("   ")
    )];
    lines.extend(panel(&drawn_overrun, 1.0, half, percent));
    lines.push("mean takeover after a crash".to_owned());
    lines.extend(panel(&drawn_takeover, f64::INFINITY, height - half, time));
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
            assert!(lines.last().is_some_and(|axis| axis.contains("30 ms")), "{lines:#?}");
        }
    }
}
