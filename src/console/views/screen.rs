//! The whole screen.

use super::super::app::{App, RunStage, View};
use super::super::ascii;
use super::super::keys::Overlay;
use super::{
    briefing, caption, charts, dashboard, details, events, expectations, failed, footer, header, help, lanes, palette,
    picker, scoreboard, stopping, summary, ttls,
};
use lockstorm_run::Phase;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Paragraph, Wrap};

/// The smallest size at which anything is shown.
const LEAST: (u16, u16) = (60, 16);

/// Draws the whole screen.
pub fn render(frame: &mut Frame<'_>, app: &App) {
    screen(frame, app);
    if app.ascii {
        ascii::picture(frame.buffer_mut());
    }
}

fn screen(frame: &mut Frame<'_>, app: &App) {
    let area = frame.area();
    frame.buffer_mut().set_style(area, app.theme.base);
    app.scroll_most.set(0);
    app.hits.borrow_mut().clear();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        too_small(frame, area, app);
        return;
    }
    let rows = [1, caption::height(app)].map(Constraint::Length);
    let [top, under, middle, bottom] =
        Layout::vertical([rows[0], rows[1], Constraint::Min(0), Constraint::Length(2)]).areas(area);
    header::render(frame, top, app);
    caption::render(frame, under, app);
    footer::render(frame, bottom, app);
    if let Some(scenario) = &app.briefing {
        briefing::render(frame, middle, app, scenario, None);
    } else if app.picker.is_some() {
        picker::render(frame, middle, app);
    } else {
        run(frame, middle, app);
    }
    match app.overlay {
        Some(Overlay::Help) => help::render(frame, middle, app),
        Some(Overlay::Expectations) => expectations::render(frame, middle, app),
        Some(Overlay::Ttls) => ttls::render(frame, middle, app),
        Some(Overlay::Lanes) => lanes::render(frame, middle, app),
        Some(of @ (Overlay::Lock | Overlay::Target)) => {
            if let Some(snapshot) = app.picture() {
                match of {
                    Overlay::Lock => details::render_lock(frame, middle, app, snapshot),
                    _ => details::render_target(frame, middle, app, snapshot),
                }
            }
        }
        None => {}
    }
    if let Some(open) = &app.palette {
        palette::render(frame, middle, app, open);
    }
    if let RunStage::Stopping(then) = &app.stage {
        stopping::render(frame, middle, app, then);
    }
}

/// Says that the terminal is too small, and which size is needed.
fn too_small(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let (columns, rows) = LEAST;
    let text = Text::from(vec![
        Line::styled(format!("{}×{}: too small.", area.width, area.height), app.theme.strong),
        Line::from(format!("lockstorm needs {columns}×{rows}.")),
        Line::styled("q quits", app.theme.dim),
    ]);
    let y = area.y + area.height.saturating_sub(3) / 2;
    let room = Rect { y, ..area }.intersection(area);
    frame.render_widget(Paragraph::new(text).centered().wrap(Wrap { trim: true }), room);
}

/// The briefing stays while the lab starts.
fn set_up(frame: &mut Frame<'_>, area: Rect, app: &App, what: &str) {
    if let Some(scenario) = &app.scenario {
        briefing::render(frame, area, app, scenario, Some(what));
    }
}

fn run(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let Some(snapshot) = app.picture() else {
        match &app.failure {
            Some(error) => failed::render(frame, area, &app.theme, error),
            None => set_up(frame, area, app, "starting"),
        }
        return;
    };
    match (&snapshot.phase, app.view) {
        (Phase::Failed(error), _) => failed::render(frame, area, &app.theme, error),
        // The run ended without a snapshot that says so.
        (phase, _) if app.failure.is_some() && !matches!(phase, Phase::Finished { .. }) && !app.is_frozen() => {
            failed::render(frame, area, &app.theme, app.failure.as_deref().unwrap_or_default());
        }
        (Phase::SetUp(what), _) => set_up(frame, area, app, what),
        (_, View::Scoreboard) => scoreboard::render(frame, area, app, snapshot),
        (_, View::Charts) => charts::render(frame, area, app, snapshot, &dashboard::told(snapshot)),
        (_, View::Events) => events::render_all(frame, area, app, snapshot),
        (Phase::Finished { interrupted }, View::Summary) => summary::render(frame, area, app, snapshot, *interrupted),
        (_, View::Dashboard | View::Summary) => dashboard::render(frame, area, app, snapshot),
    }
}
