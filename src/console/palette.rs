//! The palette: every fault on every target, found by typing.

use ratatui::crossterm::event::{KeyCode, KeyEvent};

use super::app::{App, Intent};
use super::keys::{self, Act, is_letter};
use lockstorm_data::model::{Action, Condition, Fault, Target};
use lockstorm_run::Snapshot;

/// Something that can be done to a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    /// In words: `kill host 1`.
    pub words: String,
    /// Its word in scenarios.
    word: &'static str,
    act: Act,
    target: Target,
    /// Its key; empty if it has none.
    pub key: &'static str,
    /// Why it does nothing now.
    pub refused: Option<String>,
}

/// What it offers first for each target; the faults that are offered follow.
const FIRST: [Act; 4] = [Act::Bounce, Act::Fault(Fault::Kill), Act::PauseOrResume, Act::Restore];

impl App {
    /// What fits what was typed; what would do something comes first.
    pub(super) fn choices(&self, snapshot: &Snapshot) -> Vec<Choice> {
        let typed = self
            .palette
            .as_ref()
            .map_or("", |palette| palette.typed.as_str())
            .to_lowercase();
        let hosts = snapshot.hosts.iter().map(|host| Target::Host(host.id));
        let servers = snapshot.servers.iter().map(|server| Target::Server(server.id));
        let with_clients = snapshot.servers.iter().filter(|server| server.clients.is_some());
        let clients = with_clients.map(|server| Target::Client(server.id));
        let targets: Vec<Target> = hosts.chain(servers).chain(clients).collect();
        let acts = || FIRST.into_iter().chain(Fault::OFFERED.map(Act::Fault));
        let all = targets
            .into_iter()
            .flat_map(|target| acts().map(move |act| self.choice(act, target, snapshot)));
        let fits = |choice: &Choice| {
            let is_in = |word| choice.words.contains(word) || choice.word.contains(word);
            typed.split_whitespace().all(is_in)
        };
        let mut fitting: Vec<Choice> = all.flatten().filter(fits).collect();
        fitting.sort_by_key(|choice| choice.refused.is_some());
        fitting
    }

    /// One of them; `None` if it makes no sense for such a target, or another one says the same.
    fn choice(&self, act: Act, target: Target, snapshot: &Snapshot) -> Option<Choice> {
        let plain = match act {
            Act::Fault(fault) => Action::Fault(fault),
            Act::Bounce => Action::Fault(Fault::Kill),
            _ => Action::Fault(Fault::Pause),
        };
        if !plain.is_for(target.kind()) || act == Act::Bounce && !matches!(target, Target::Host(_)) {
            return None;
        }
        let wanted = self.live().and_then(|_| self.wanted(act, target, snapshot));
        let words = match (act, &wanted) {
            (Act::Restore, Err(_) | Ok(Action::Undo(Condition::Paused))) => return None,
            (Act::Bounce, _) => format!("bounce {target}"),
            (_, Ok(action)) => action.on(target),
            (_, Err(_)) => plain.on(target),
        };
        Some(Choice {
            words,
            word: if act == Act::Bounce { "" } else { plain.word() },
            act,
            target,
            key: if matches!(target, Target::Client(_)) {
                ""
            } else {
                keys::label(act)
            },
            refused: wanted.err(),
        })
    }

    /// A key while the palette is open.
    pub(super) fn palette_key(&mut self, key: &KeyEvent) -> Result<Option<Intent>, String> {
        let last = self
            .newest
            .as_deref()
            .map_or(0, |newest| self.choices(newest).len().saturating_sub(1));
        let Some(palette) = &mut self.palette else {
            return Ok(None);
        };
        match key.code {
            KeyCode::Esc => self.palette = None,
            KeyCode::Char(c) if is_letter(key) => {
                palette.typed.push(c);
                palette.chosen = 0;
            }
            KeyCode::Backspace => {
                palette.typed.pop();
                palette.chosen = 0;
            }
            KeyCode::Up => palette.chosen = palette.chosen.saturating_sub(1),
            KeyCode::Down => palette.chosen = (palette.chosen + 1).min(last),
            KeyCode::Enter => return self.choose(),
            _ => return Err("type what is to happen: Enter does it, Esc closes".to_owned()),
        }
        Ok(None)
    }

    fn choose(&mut self) -> Result<Option<Intent>, String> {
        let choices = match self.live() {
            Ok(snapshot) => self.choices(snapshot),
            // The lab may still come.
            Err(why) if self.begun().is_err() && self.failure.is_none() => return Err(why),
            Err(why) => {
                self.palette = None;
                return Err(why);
            }
        };
        let chosen = self.palette.as_ref().map_or(0, |palette| palette.chosen);
        let Some(choice) = choices.get(chosen.min(choices.len().saturating_sub(1))) else {
            return Err("nothing fits what you typed: Backspace, or Esc closes".to_owned());
        };
        if let Some(why) = &choice.refused {
            return Err(why.clone());
        }
        self.palette = None;
        // No key selects clients.
        if !matches!(choice.target, Target::Client(_)) {
            self.selected = choice.target;
            self.digits_pick_servers = matches!(choice.target, Target::Server(_));
        }
        self.fault(choice.act, choice.target, true)
    }
}
