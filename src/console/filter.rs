//! The filter of the event log.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::app::{App, View};
use super::keys::is_letter;

impl App {
    /// Lets the user type what events must have.
    pub(super) fn open_filter(&mut self) -> Result<(), String> {
        self.begun()?;
        self.show(None);
        self.view = View::Events;
        self.typing_filter = true;
        Ok(())
    }

    /// A key while the filter is being typed.
    pub(super) fn filter_key(&mut self, key: &KeyEvent) {
        self.scroll = 0;
        match key.code {
            KeyCode::Char(c) if is_letter(key) => self.filter.push(c),
            KeyCode::Backspace => _ = self.filter.pop(),
            KeyCode::Enter => self.typing_filter = false,
            KeyCode::Esc => {
                self.filter.clear();
                self.typing_filter = false;
            }
            _ => self.status = Some("type words that events must have: Enter keeps them, Esc shows all".to_owned()),
        }
    }

    /// Whether an event with these words is to be shown: it has every word of the filter, in capitals or not.
    pub(super) fn lets_through(&self, words: &str) -> bool {
        let (words, wanted) = (words.to_lowercase(), self.filter.to_lowercase());
        wanted.split_whitespace().all(|word| words.contains(word))
    }
}
