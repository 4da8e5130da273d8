//! The mouse: a click selects, a second one shows more, the wheel scrolls or zooms.

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use super::app::{App, Hit, View};
use super::axis::WINDOWS;
use super::keys::{Overlay, Step};
use lockstorm_data::model::Target;

/// How many lines the wheel scrolls.
const LINES: usize = 3;

impl App {
    pub(super) fn mouse(&mut self, event: MouseEvent) {
        let at = Position::new(event.column, event.row);
        // Later ones are drawn over earlier ones.
        let hits = self.hits.borrow();
        let hit = hits.iter().rev().find(|(area, _)| area.contains(at)).copied();
        drop(hits);
        let is_covered = self.overlay.is_some() || self.palette.is_some() || self.picker.is_some();
        let step = match event.kind {
            MouseEventKind::ScrollUp => Step::Back,
            MouseEventKind::ScrollDown => Step::Forth,
            MouseEventKind::Down(MouseButton::Left) if !is_covered => return self.click(at, hit),
            _ => return,
        };
        match hit {
            Some((_, Hit::Axis(_))) if !is_covered => self.window = self.zoomed(step),
            // Where nothing scrolls, the wheel does nothing.
            _ => _ = self.scroll_by(step, LINES),
        }
    }

    fn click(&mut self, at: Position, hit: Option<(Rect, Hit)>) {
        // What a key asked about may be another target now.
        self.asked = None;
        match hit {
            Some((_, Hit::Arm(arm))) => {
                if self.arm == arm {
                    self.show(Some(Overlay::Lock));
                }
                self.arm = arm;
            }
            Some((_, Hit::Target(target))) => {
                if self.selected == target {
                    self.show(Some(Overlay::Target));
                }
                self.selected = target;
                self.digits_pick_servers = matches!(target, Target::Server(_));
            }
            Some((area, Hit::Axis(axis))) if self.view == View::Charts => {
                self.cursor = Some(axis.begin_of(at.x - area.x));
            }
            Some((_, Hit::Axis(_))) | None => {}
        }
    }

    /// The positions of the windows of time that differ in this run: those that are shorter, and the whole run.
    pub(super) fn windows(&self) -> impl Iterator<Item = usize> + use<> {
        let run = self.newest.as_ref().map_or(0, |snapshot| snapshot.length());
        (0..WINDOWS.len()).filter(move |at| *at == WINDOWS.len() - 1 || WINDOWS[*at].0.cast_unsigned() < run)
    }

    /// The window that shows less or more of the past.
    pub(super) fn zoomed(&self, step: Step) -> usize {
        let next = match step {
            Step::Back => self.windows().filter(|at| *at < self.window).last(),
            Step::Forth => self.windows().find(|at| *at > self.window),
        };
        next.unwrap_or(self.window)
    }

    /// Moves the cursor of the charts by a column; the first time it is at the newest values.
    pub(super) fn move_cursor(&mut self, step: Step) -> Result<(), String> {
        self.begun()?;
        let now = self.picture().map_or(0.0, |picture| picture.elapsed);
        let column = self.column_length.get();
        self.cursor = Some(match (self.cursor, step) {
            (None, _) => (now - column).max(0.0),
            (Some(at), Step::Back) => (at - column).max(0.0),
            (Some(at), Step::Forth) => (at + column).min(now),
        });
        Ok(())
    }
}
