//! One row is one lock: whether it works, what it cost, why, and when, on an axis of time that all rows share.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::course::Course;
use super::parts::tone_style;
use super::visible_rows::VisibleRows;
use crate::console::app::{App, Hit};
use crate::console::score::Score;
use crate::console::stuck::Stuck;
use crate::console::text;
use crate::report::{Arm, Moment, counted, order, sign};
use lockstorm_data::facts::Caveat;
use lockstorm_data::metrics::Metric;
use lockstorm_data::metrics::units::{micros, rounded, short_count};
use lockstorm_data::scenario::WorkloadSpec;
use lockstorm_judge::{ArmJudgement, Outcome};
use lockstorm_run::{ArmView, Phase, Snapshot};

/// Heads the column of double holds.
const TWICE: &str = "TWICE";

/// The widths of the columns before the axis; 0 leaves a column out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Widths {
    name: usize,
    now: usize,
    cost: usize,
    twice: usize,
    why: usize,
}

impl Widths {
    fn of(total: u16, names: usize, costs: usize, twice: usize) -> Self {
        let (name, now, why) = match total {
            0..76 => (13, 14, 0),
            76..100 => (15, 15, 20),
            100.. => (16, 19, 27),
        };
        Self {
            name: names.min(name),
            now,
            cost: costs.clamp(6, 16),
            twice,
            why,
        }
    }

    /// Where the axis begins.
    const fn all(self) -> usize {
        // Two columns at the left, and two behind each.
        let [twice, why] = [self.twice, self.why];
        let more = if twice > 0 { twice + 2 } else { 0 } + if why > 0 { why + 2 } else { 0 };
        2 + self.name + self.now + self.cost + 6 + more
    }
}

/// How many rows it takes: one for each lock or two if there is room, and three for the axis.
pub(super) fn height(snapshot: &Snapshot, room: u16) -> u16 {
    let arms = u16::try_from(snapshot.arms.len()).unwrap_or(u16::MAX);
    let two = arms.saturating_mul(2).saturating_add(3);
    if two <= room {
        two
    } else {
        arms.saturating_add(2).min(room)
    }
}

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App, snapshot: &Snapshot, told: &[Moment]) {
    let theme = &app.theme;
    let (scenario, order) = (&snapshot.scenario, order(&snapshot.scenario));
    let arms: Vec<Arm<'_>> = Arm::all_of_snapshot(snapshot).into_iter().map(Arm::narrow).collect();
    let metric = counted(scenario);
    let costs = arms.iter().map(|arm| Score::of_cost(metric, arm, &scenario.workload));
    let costs: Vec<Score> = costs.collect();
    // Where a word is enough, it is short.
    let head = match metric {
        Metric::LostUpdates => "LOST".to_owned(),
        other => other.title().to_uppercase(),
    };
    let marked = |index: usize| format!("{} {}", sign(costs[index].mark).1, costs[index].value);
    let widest = order
        .iter()
        .map(|index| text::width(&marked(*index)))
        .max()
        .unwrap_or(0);
    let names = text::widest(arms.iter().map(|arm| arm.name));
    // There is a column for them once any was held by two.
    let is_shown = metric != Metric::DoubleHolds && arms.iter().any(|arm| arm.figures.double_holds > 0);
    let twice: Vec<Score> = arms.iter().map(|arm| Score::of(Metric::DoubleHolds, arm)).collect();
    let twice: Vec<_> = twice.iter().map(|score| (score.cell(), score.tone())).collect();
    let of_twice = match is_shown {
        true => text::widest(twice.iter().map(|(cell, _)| cell.as_str()).chain([TWICE])),
        false => 0,
    };
    let widths = Widths::of(area.width, names, widest.max(text::width(&head)), of_twice);
    let start = u16::try_from(widths.all()).unwrap_or(u16::MAX);
    let axis_width = area.width.saturating_sub(start + 1);
    let course = Course::of(snapshot, app, axis_width, told);
    let rows = area.height.saturating_sub(2);
    let tall = u16::try_from(order.len()).unwrap_or(u16::MAX).saturating_mul(2) <= rows;
    let each = if tall { 2 } else { 1 };
    let chosen = order.iter().position(|index| *index == app.arm).unwrap_or(0);
    let visible = VisibleRows::of(order.len(), usize::from(rows / each), chosen);
    let [head_row, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)]).areas(area);
    let titles = [
        (text::left("lock", widths.name), theme.dim),
        (text::left("NOW", widths.now), theme.dim),
        (text::right(&head, widths.cost), theme.dim),
        (text::right(TWICE, widths.twice), theme.dim),
        (text::left("WHY", widths.why), theme.dim),
    ];
    frame.render_widget(cells(" ", titles, widths), head_row);
    course.letters(frame, axis_of(head_row, start), theme);
    let mut y = body.y;
    for index in &order[visible.shown.clone()] {
        let row = Rect { y, height: 1, ..body };
        y += each;
        if row.y >= body.bottom() {
            break;
        }
        app.hits(Rect { height: each, ..row }, Hit::Arm(*index));
        let (arm, view) = (&arms[*index], &snapshot.arms[*index]);
        let is_control = arm.judged.outcome == Outcome::Control;
        let dimmed = |style: Style| if is_control { theme.dim } else { style };
        let (now, now_style, untold) = now(view, arm, snapshot, widths.now, app);
        let [first, second] = [0, 1].map(|at| why(&arm.judged, &scenario.workload, untold.as_ref(), at));
        let cost_style = tone_style(sign(costs[*index].mark).0, theme);
        let sign = if *index == app.arm { "›" } else { " " };
        let parts = [
            (text::left(arm.name, widths.name), dimmed(theme.strong)),
            (text::left(&now, widths.now), dimmed(now_style)),
            (text::right(&marked(*index), widths.cost), dimmed(cost_style)),
            (
                text::right(&twice[*index].0, widths.twice),
                dimmed(tone_style(twice[*index].1, theme)),
            ),
            (text::left(&first, widths.why), dimmed(theme.base)),
        ];
        frame.render_widget(cells(sign, parts, widths), row);
        course.row(frame, axis_of(row, start), *index, is_control, theme);
        if tall && widths.why > 0 {
            let x = widths.all() - widths.why - 2;
            let line = Line::from(vec![
                Span::raw(" ".repeat(x)),
                Span::styled(text::left(&second, widths.why), theme.dim),
            ]);
            frame.render_widget(line, Rect { y: row.y + 1, ..row });
        }
    }
    if let Some(more) = visible.more("  ", theme) {
        frame.render_widget(
            more,
            Rect {
                y: y.min(body.bottom()),
                height: 1,
                ..body
            },
        );
    }
    let axis = Rect {
        y: head_row.y,
        ..axis_of(body, start)
    };
    app.hits(axis, Hit::Axis(course.axis));
    course.foot(frame, foot, start, theme);
}

/// The part of a row for the axis.
fn axis_of(row: Rect, start: u16) -> Rect {
    Rect {
        x: row.x + start.min(row.width),
        width: row.width.saturating_sub(start + 1),
        ..row
    }
}

/// The cells before the axis.
fn cells(sign: &str, parts: [(String, Style); 5], widths: Widths) -> Line<'static> {
    let mut spans = vec![Span::raw(format!("{sign} "))];
    let shown = parts
        .into_iter()
        .zip([widths.name, widths.now, widths.cost, widths.twice, widths.why]);
    for (part, _) in shown.filter(|(_, width)| *width > 0) {
        spans.push(Span::styled(part.0, part.1));
        spans.push(Span::raw("  "));
    }
    Line::from(spans)
}

/// A cell with its style, and the cause that has no room in it.
type Now = (String, Style, Option<String>);

/// Whether the lock works, or at the end how long it was unavailable.
fn now(view: &ArmView, arm: &Arm<'_>, snapshot: &Snapshot, columns: usize, app: &App) -> Now {
    let Some(stuck) = Stuck::of(view, &snapshot.phase) else {
        let (words, style) = works(view, arm, snapshot, columns, app);
        return (words, style, None);
    };
    let lasting = arm
        .figures
        .outages
        .iter()
        .filter(|outage| !outage.over)
        .map(|outage| outage.lasted_us)
        .max();
    let since = lasting
        .filter(|us| *us > 0)
        .map_or_else(String::new, |us| format!(" {}", text::micros(us)));
    let room = columns.saturating_sub(text::width(&since));
    let words = stuck.within(room.min(stuck.width())) + &since;
    (words, app.theme.warn, stuck.untold(room))
}

/// The same of a lock that is not stuck.
fn works(view: &ArmView, arm: &Arm<'_>, snapshot: &Snapshot, columns: usize, app: &App) -> (String, Style) {
    let theme = &app.theme;
    if matches!(snapshot.phase, Phase::Finished { .. } | Phase::Draining) {
        let longest = arm.figures.longest_outage();
        return match longest.lasted_us {
            _ if arm.nodes == 0 => (String::new(), theme.base),
            0 => ("never down".to_owned(), theme.good),
            us => {
                let till_end = if longest.over { "" } else { "…end" };
                (format!("down for {}{till_end}", micros(us)), theme.warn)
            }
        };
    }
    if view.done {
        return ("done".to_owned(), theme.base);
    }
    let rate = match view.live.per_second {
        ..0.05 => return ("● ready".to_owned(), theme.good),
        few @ ..10.0 => text::rate(few),
        many => short_count(rounded(many)),
    };
    // Who has nothing more to sell can't show what a lock lets in.
    let (doing, style) = match arm.figures.sold_out_all {
        true => ("sold out", theme.warn),
        false => ("working", theme.good),
    };
    let whole = format!("● {doing} {rate}/s");
    let words = match text::width(&whole) <= columns {
        true => whole,
        false if arm.figures.sold_out_all => format!("● {doing}"),
        false => format!("● {rate}/s"),
    };
    (words, style)
}

/// The cause at this position; of an arm in doubt it is first of all that. What an arm is stuck for follows the first one.
fn why(judged: &ArmJudgement, workload: &WorkloadSpec, stuck: Option<&String>, at: usize) -> String {
    let doubt = judged.doubt().filter(|_| judged.outcome == Outcome::NotShown);
    let mut words = judged.causes.iter().map(|cause| cause.words(workload));
    let first = doubt.map(Caveat::to_string).or_else(|| words.next());
    let stuck = stuck.cloned();
    first.into_iter().chain(stuck).chain(words).nth(at).unwrap_or_default()
}
