//! The one table of keys, from which the bindings, the footer and the help are made.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::knobs::{KnobKind, Turn};
use lockstorm_base::Stop;
use lockstorm_data::model::{Fault, Way};

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Select the host or app server with this number.
    Select(usize),
    /// Let the digits select app servers, or hosts again.
    SwitchDigits,
    /// Select the previous or next one.
    Neighbour(Step),
    /// Break the selected target in this way.
    Fault(Fault),
    /// Kill the selected host, and let it come back at once.
    Bounce,
    /// Pause the selected target, or resume it.
    PauseOrResume,
    /// Restart or resume the selected target, whichever it needs.
    Restore,
    /// Find a fault by typing.
    Palette,
    /// Find events by typing.
    Filter,
    /// Show the figures and the latency, or the dashboard again.
    Charts,
    /// Show the next view.
    NextView,
    /// Show more or less of the past.
    NextWindow,
    /// Freeze the display, or let it continue.
    Freeze,
    /// Show or hide a window over the view.
    Show(Overlay),
    /// Scroll by so many lines, or move in a list.
    Scroll(Step, usize),
    /// Use the next theme.
    NextTheme,
    /// Turn a knob.
    Turn(KnobKind, Turn),
    /// Run the same scenario again.
    Reset,
    /// Open the scenario picker.
    Pick,
    /// Start the selected scenario.
    Start,
    /// Hold the schedule, or let it go on.
    Hold,
    /// Let what comes next happen while the schedule is held; otherwise show the chosen lock.
    Next,
    /// Write a summary to a file.
    Save,
    /// Play the record, or stop.
    Play,
    /// Play the record slower, or faster.
    Speed(Step),
    /// Go so many seconds through the record; [`ALL`] goes to its beginning or end.
    Seek(Step, u32),
    /// Go to the previous or next event of the record.
    ToEvent(Step),
    /// Go to the previous or next double hold of the record, and show it.
    ToDoubleHold(Step),
    /// Close the window on top.
    Close,
    /// End the run and leave.
    Quit,
    /// Like `Quit`, by the signal of Ctrl-C or Ctrl-\.
    Stop(Stop),
}

impl Act {
    /// Whether it needs a run or starts one, so that it does nothing in a record.
    pub(super) const fn needs_a_run(self) -> bool {
        matches!(
            self,
            Self::Fault(_)
                | Self::Bounce
                | Self::PauseOrResume
                | Self::Restore
                | Self::Palette
                | Self::Turn(..)
                | Self::Hold
                | Self::Reset
                | Self::Pick
                | Self::Freeze
        )
    }
}

/// A window over a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlay {
    /// The keys and signs.
    Help,
    /// How the expectations stand.
    Expectations,
    /// What the sections say of other TTLs.
    Ttls,
    /// All that is known of the chosen lock.
    Lock,
    /// All that is known of the selected host or app server.
    Target,
    /// Who held one lock at once.
    Lanes,
}

/// Backward or forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// To the previous one.
    Back,
    /// To the next one.
    Forth,
}

/// How many lines a page key scrolls.
const PAGE: usize = 10;

/// All seconds of a record.
const ALL: u32 = u32::MAX;

/// Where a key is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the scenario picker.
    Picker,
    /// In a run, and before and after it.
    Run,
    /// In a record.
    Record,
}

/// Where a row of the table applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In the scenario picker.
    Picker,
    /// In a run, and before and after it, and in a record unless the key means something else there.
    Run,
    /// In a record.
    Record,
    /// Everywhere.
    Both,
}

impl Scope {
    /// Whether it contains this place.
    const fn contains(self, place: Place) -> bool {
        match self {
            Self::Both => true,
            Self::Picker => matches!(place, Place::Picker),
            Self::Run => matches!(place, Place::Run | Place::Record),
            Self::Record => matches!(place, Place::Record),
        }
    }
}

/// A heading of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Group {
    Record,
    Faults,
    Look,
    Knobs,
    Run,
}

impl Group {
    /// All groups, in the order of the help.
    pub const ALL: [Self; 5] = [Self::Record, Self::Faults, Self::Look, Self::Knobs, Self::Run];

    /// The heading.
    pub const fn title(self, place: Place) -> &'static str {
        match self {
            Self::Record => "Through the record",
            Self::Faults if matches!(place, Place::Record) => "Select",
            Self::Faults => "Break and restore",
            Self::Look => "Look",
            Self::Knobs => "Turn while it runs",
            Self::Run => "The run",
        }
    }
}

/// A row: one key, or a few that belong together.
#[derive(Debug)]
pub struct Row {
    /// The keys, and what each does.
    pub keys: &'static [(KeyCode, Act)],
    /// The keys as they are written.
    pub label: &'static str,
    /// A word for the footer; empty if the row is not in the footer.
    pub footer: &'static str,
    /// A few words for the help.
    pub help: &'static str,
    /// Its heading in the help.
    pub group: Group,
    /// Where it applies.
    pub scope: Scope,
}

impl Row {
    /// Whether one of its keys does there what the row says.
    pub fn works(&self, place: Place) -> bool {
        let mut keys = self.keys.iter();
        keys.any(|(key, act)| {
            // An earlier row may have taken it over.
            let is_its = at(*key, place).is_some_and(|(row, _)| row.help == self.help);
            is_its && !(place == Place::Record && act.needs_a_run())
        })
    }
}

use KeyCode::{BackTab, Char, Left, PageDown, PageUp, Right, Tab};
use Step::{Back, Forth};
use Turn::{Down, Up};

/// Makes the table from its rows: heading, scope, the keys as they are written, a word for the footer, a few words for the
/// help, and what each key does.
macro_rules! keys {
    ($($group:ident, $scope:ident, $label:literal, $footer:literal, $help:literal:
        $($key:ident $(($char:literal))? => $act:ident $(($($of:expr),+))?),+;)*) => {
        /// All keys but Ctrl-C and Ctrl-\. Those are not in the table because nothing may rebind them: they are
        /// [`Act::Stop`] everywhere, like the signals that they send on other terminals.
        pub const TABLE: &[Row] = &[$(Row {
            keys: &[$((KeyCode::$key $(($char))?, Act::$act $(($($of),+))?),)+],
            label: $label,
            footer: $footer,
            help: $help,
            group: Group::$group,
            scope: Scope::$scope,
        },)*];
    };
}

keys! {
    // The rows of a record come before those of a run whose keys it takes over.
    Record, Record, "Space", "play", "play, or stop": Char(' ') => Play;
    Record, Record, "← →", "1 s", "back, forth by a second": Left => Seek(Back, 1), Right => Seek(Forth, 1);
    Record, Record, "PgUp/Dn", "10 s", "by ten seconds; Home and End":
        PageUp => Seek(Back, 10), PageDown => Seek(Forth, 10), Home => Seek(Back, ALL), End => Seek(Forth, ALL);
    Record, Record, "p n", "event", "previous, next event; or [ ]":
        Char('p') => ToEvent(Back), Char('n') => ToEvent(Forth), Char('[') => ToEvent(Back), Char(']') => ToEvent(Forth);
    Record, Record, "D d", "double hold", "previous, next double hold":
        Char('D') => ToDoubleHold(Back), Char('d') => ToDoubleHold(Forth);
    Record, Record, "- +", "speed", "slower, faster; or < >":
        Char('-') => Speed(Back), Char('+') => Speed(Forth), Char('<') => Speed(Back), Char('>') => Speed(Forth),
        Char('=') => Speed(Forth);
    Faults, Run, "1-9", "select", "select a host or app server":
        Char('1') => Select(1), Char('2') => Select(2), Char('3') => Select(3), Char('4') => Select(4),
        Char('5') => Select(5), Char('6') => Select(6), Char('7') => Select(7), Char('8') => Select(8),
        Char('9') => Select(9);
    Faults, Run, "b", "bounce", "kill a host; back in 300 ms": Char('b') => Bounce;
    Faults, Run, "k", "kill", "kill it (SIGKILL)": Char('k') => Fault(Fault::Kill);
    Faults, Run, "p", "pause", "pause it, or resume it": Char('p') => PauseOrResume;
    Faults, Run, "r", "restore", "restart, resume or correct it": Char('r') => Restore;
    Faults, Run, "x", "shut down", "shut a host down (SIGTERM)": Char('x') => Fault(Fault::Shutdown);
    Faults, Run, "f", "", "make it the master, by hand": Char('f') => Fault(Fault::Failover { by: Way::Hand });
    Faults, Run, "F :", "faults", "every fault, found by typing": Char('F') => Palette, Char(':') => Palette;
    Faults, Run, "s", "servers", "digits: app servers, or hosts": Char('s') => SwitchDigits;
    Faults, Run, "← →", "", "the neighbour; a cursor": Left => Neighbour(Back), Right => Neighbour(Forth);
    Run, Run, "R", "again", "run again: same seed, new lab": Char('R') => Reset;
    Run, Run, "g", "", "hold the schedule, or release": Char('g') => Hold;
    Look, Run, "v", "view", "next view": Char('v') => NextView;
    Look, Run, "Tab", "latency", "figures and latency, or back": Tab => Charts, BackTab => Charts;
    Look, Run, "Space", "freeze", "freeze the picture only": Char(' ') => Freeze;
    Knobs, Run, "t T", "TTL", "TTL of all arms down, up":
        Char('t') => Turn(KnobKind::Ttl, Down), Char('T') => Turn(KnobKind::Ttl, Up);
    Knobs, Run, "a A", "rate", "rate of an open loop down, up":
        Char('a') => Turn(KnobKind::Rate, Down), Char('A') => Turn(KnobKind::Rate, Up);
    Knobs, Run, "h H", "hold", "time inside the lock down, up":
        Char('h') => Turn(KnobKind::Hold, Down), Char('H') => Turn(KnobKind::Hold, Up);
    Knobs, Run, "n N", "workers", "workers down, up":
        Char('n') => Turn(KnobKind::Workers, Down), Char('N') => Turn(KnobKind::Workers, Up);
    Look, Run, "w", "window", "30 s, 60 s, 2 min, 5 min, all": Char('w') => NextWindow;
    Look, Run, "e", "expected", "the expectations, so far": Char('e') => Show(Overlay::Expectations);
    Look, Run, "l", "", "which TTL lasts long enough": Char('l') => Show(Overlay::Ttls);
    Look, Run, "Enter", "details", "all of a lock; held: go on": Enter => Next;
    Look, Run, "i", "", "all of a host or app server": Char('i') => Show(Overlay::Target);
    Look, Run, "L", "", "who held one lock at once": Char('L') => Show(Overlay::Lanes);
    Look, Run, "/", "", "filter the events": Char('/') => Filter;
    Run, Picker, "Enter", "start", "start the selected scenario": Enter => Start;
    Look, Both, "↑ ↓", "", "choose a lock, scroll": Up => Scroll(Back, 1), Down => Scroll(Forth, 1);
    Look, Both, "PgUp/Dn", "", "by a page; Home and End":
        PageUp => Scroll(Back, PAGE), PageDown => Scroll(Forth, PAGE),
        Home => Scroll(Back, usize::MAX), End => Scroll(Forth, usize::MAX);
    Look, Both, "c", "theme", "dark, light, high contrast": Char('c') => NextTheme;
    Run, Run, "o", "scenarios", "choose another scenario": Char('o') => Pick;
    Run, Run, "S", "save", "save a summary to a file": Char('S') => Save;
    Run, Both, "Esc", "", "close the top window": Esc => Close;
    Run, Both, "?", "help", "this help": Char('?') => Show(Overlay::Help);
    Run, Record, "q", "quit", "leave; nothing is printed": Char('q') => Quit;
    Run, Both, "q", "quit", "end, print the summary, leave": Char('q') => Quit;
}

/// The keys of an act, as the table writes them.
pub fn label(act: Act) -> &'static str {
    let row = TABLE.iter().find(|row| row.keys.iter().any(|(_, own)| *own == act));
    row.map_or("", |row| row.label)
}

/// A key in words: `z`, `F1`, `Ctrl-x`.
pub fn name(event: &KeyEvent) -> String {
    let with = [(KeyModifiers::CONTROL, "Ctrl-"), (KeyModifiers::ALT, "Alt-")];
    let with = with.iter().filter(|(modifier, _)| event.modifiers.contains(*modifier));
    let prefix: String = with.map(|(_, name)| *name).collect();
    format!("{prefix}{}", event.code)
}

/// The act of a key in this place.
pub fn find(event: &KeyEvent, place: Place) -> Option<Act> {
    if event.modifiers.contains(KeyModifiers::CONTROL) {
        return match event.code {
            Char('c') => Some(Act::Stop(Stop::Interrupt)),
            // Terminals send the same byte for both.
            Char('\\' | '4') => Some(Act::Stop(Stop::Quit)),
            _ => None,
        };
    }
    if event.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    // Terminals differ: Shift-Tab is either BackTab, or Tab with a modifier.
    let is_shifted = event.modifiers.contains(KeyModifiers::SHIFT);
    let code = match event.code {
        Tab if is_shifted => BackTab,
        Left if is_shifted && place == Place::Record => PageUp,
        Right if is_shifted && place == Place::Record => PageDown,
        other => other,
    };
    at(code, place).map(|(_, act)| act)
}

/// What a key does without modifiers, and the row that says so.
fn at(code: KeyCode, place: Place) -> Option<(&'static Row, Act)> {
    let mut rows = TABLE.iter().filter(|row| row.scope.contains(place));
    rows.find_map(|row| {
        let mut keys = row.keys.iter();
        keys.find(|(key, _)| *key == code).map(|(_, act)| (row, *act))
    })
}
/// What is meant where text is typed: terminals send Ctrl-H for the key that deletes.
pub(super) fn typed(key: KeyEvent) -> KeyEvent {
    match (key.code, key.modifiers) {
        (KeyCode::Char('h'), KeyModifiers::CONTROL) => KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE),
        _ => key,
    }
}

/// Whether it is one of the letters that stand for themselves.
pub(super) fn is_letter(key: &KeyEvent) -> bool {
    matches!(key.code, KeyCode::Char(_)) && !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
}
