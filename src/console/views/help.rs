//! The help: the table of keys, and the meaning of the symbols.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::parts::dialog;
use crate::console::app::App;
use crate::console::keys::{Group, Place, Row, Scope, TABLE};
use crate::console::text;
use crate::console::theme::Theme;

/// The smallest width of a dialog with two columns.
const TWO_COLUMNS: u16 = 76;
/// The columns of the keys and signs.
const LABEL: usize = 8;

const SIGNS: [(&str, &str); 11] = [
    ("✖ red", "proven damage (it stays)"),
    ("✔", "no damage, and it would show"),
    ("…", "no damage, but no proof yet"),
    ("= ≠", "as predicted, or not"),
    ("▲", "an arm that cannot work now"),
    ("● ✖ ‖", "up, down, paused"),
    ("━ ╌ ▇", "granting, unavailable, damage"),
    ("K S P R", "kill, stop, pause, restore"),
    ("B M C L", "bounce, new master, cut, lag"),
    ("k s p r", "asked for, not yet in effect"),
    ("?", "a fault not verified"),
];

/// What the columns say.
const COLUMNS: [(&str, &str); 4] = [
    ("NOW", "does the lock work, answers/s"),
    ("LOST", "lost sales; TWICE: held by two"),
    ("WHY", "what cost it that, or saved it"),
    ("down", "longest time without any lock"),
];

const LOG: [(&str, &str); 3] = [
    ("!", "news of a lock, or a warning"),
    ("±", "a turned knob"),
    ("»", "a note of the console"),
];

pub(super) fn render(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let theme = &app.theme;
    let two = area.width >= TWO_COLUMNS;
    let of = |each| group(each, app.place(), theme);
    let (left, right) = if two {
        let mut left: Vec<Line<'_>> = [Group::Record, Group::Faults, Group::Knobs]
            .into_iter()
            .flat_map(of)
            .collect();
        left.extend(signs("Signs", &SIGNS, theme));
        let mut right: Vec<Line<'_>> = [Group::Look, Group::Run].into_iter().flat_map(of).collect();
        right.extend(signs("Columns", &COLUMNS, theme));
        right.push(Line::default());
        right.extend(signs("Event log", &LOG, theme));
        (left, right)
    } else {
        let mut all: Vec<Line<'_>> = Group::ALL.into_iter().flat_map(of).collect();
        all.extend(signs("Signs", &SIGNS, theme));
        all.push(Line::default());
        all.extend(signs("Columns", &COLUMNS, theme));
        all.push(Line::default());
        all.extend(signs("Event log", &LOG, theme));
        (all, Vec::new())
    };
    let rows = left.len().max(right.len());
    let height = u16::try_from(rows + 2).unwrap_or(u16::MAX);
    let width = if two { 96.min(area.width) } else { 56 };
    let inside = dialog(frame, area, [width, height], "Keys (↑ ↓ scroll, ? closes)", theme);
    let most = rows.saturating_sub(usize::from(inside.height));
    app.scroll_most.set(most);
    let scroll = u16::try_from(app.scroll.min(most)).unwrap_or(u16::MAX);
    let columns = if two {
        [Constraint::Fill(1), Constraint::Fill(1)]
    } else {
        [Constraint::Fill(1), Constraint::Length(0)]
    };
    let [first, second]: [Rect; 2] = Layout::horizontal(columns).areas(inside);
    frame.render_widget(Paragraph::new(left).scroll((scroll, 0)), first);
    frame.render_widget(Paragraph::new(right).scroll((scroll, 0)), second);
}

/// A heading with its keys: in a record those that do something there, otherwise all others.
fn group(group: Group, place: Place, theme: &Theme) -> Vec<Line<'static>> {
    let is_shown = |row: &&Row| match place {
        Place::Record => row.works(place),
        Place::Picker | Place::Run => row.scope != Scope::Record,
    };
    let rows: Vec<&Row> = TABLE.iter().filter(|row| row.group == group).filter(is_shown).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![Line::styled(group.title(place), theme.strong)];
    lines.extend(rows.into_iter().map(|row| entry(row.label, row.help, theme)));
    if group == Group::Run && place != Place::Record {
        lines.push(entry("Ctrl-C", "like q; third time: no summary", theme));
    }
    lines.push(Line::default());
    lines
}

fn signs(title: &'static str, signs: &[(&'static str, &'static str)], theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled(title, theme.strong)];
    lines.extend(signs.iter().map(|(sign, meaning)| entry(sign, meaning, theme)));
    lines
}

fn entry(label: &'static str, words: &'static str, theme: &Theme) -> Line<'static> {
    Line::from(vec![
        Span::styled(text::left(label, LABEL), theme.accent),
        Span::raw(words),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_left_column_leaves_room_before_the_right_one_on_the_smallest_terminal() {
        let keys = TABLE
            .iter()
            .filter(|row| matches!(row.group, Group::Record | Group::Faults | Group::Knobs));
        for (label, words) in keys.map(|row| (row.label, row.help)).chain(SIGNS) {
            assert!(words.chars().count() <= 29, "{label}: {words}");
        }
    }
}
