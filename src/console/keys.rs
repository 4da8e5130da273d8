//! The one table of keys: it feeds the bindings, the footer and the help.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::knobs::{KnobKind, Turn};
use crate::model::Fault;

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Select the host or app server of this number.
    Select(usize),
    /// Let the digits pick app servers, or hosts again.
    SwitchDigits,
    /// Select the one before or after.
    Neighbour(Step),
    /// Do this to what is selected.
    Fault(Fault),
    /// Kill the host that is selected and let it come back at once.
    Bounce,
    /// Pause what is selected, or let it go on.
    PauseOrResume,
    /// Restart or resume what is selected, whichever it needs.
    Restore,
    /// Chart another arm.
    Arm(Step),
    /// Show the next view.
    NextView,
    /// Show more or less of the past.
    NextWindow,
    /// Freeze the picture, or let it go on.
    Freeze,
    /// Show or hide the expectations.
    Expectations,
    /// Scroll, or move in a list.
    Scroll(Step),
    /// The same by a page.
    Page(Step),
    /// Go to an end of it.
    End(Step),
    /// Use the next theme.
    NextTheme,
    /// Turn a knob.
    Turn(KnobKind, Turn),
    /// Run the same again.
    Reset,
    /// Open the scenario picker.
    Pick,
    /// Start the scenario picked.
    Start,
    /// Write a summary to a file.
    Save,
    /// Show or hide the help.
    Help,
    /// Close what lies on top.
    Close,
    /// End the run and leave.
    Quit,
    /// The same, by Ctrl-C.
    Interrupt,
    /// The same, by Ctrl-\.
    SigQuit,
}

/// Backward or forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// To the one before.
    Back,
    /// To the one after.
    Forth,
}

/// Where a row of the table counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In the scenario picker.
    Picker,
    /// In a run, before it and after it.
    Run,
    /// Everywhere.
    Both,
}

/// A heading of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Group {
    Faults,
    Look,
    Knobs,
    Run,
}

impl Group {
    /// All of them, in the order of the help.
    pub const ALL: [Self; 4] = [Self::Faults, Self::Look, Self::Knobs, Self::Run];

    /// The heading.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Faults => "Break and restore",
            Self::Look => "Look",
            Self::Knobs => "Turn while it runs",
            Self::Run => "The run",
        }
    }
}

/// A row: one or a few keys that belong together.
#[derive(Debug)]
pub struct Row {
    /// The keys and what each asks for.
    pub keys: &'static [(KeyCode, Act)],
    /// The keys as they are written.
    pub label: &'static str,
    /// A word for the footer; empty: not in the footer.
    pub footer: &'static str,
    /// A few words for the help.
    pub help: &'static str,
    /// Where in the help.
    pub group: Group,
    /// Where it counts.
    pub scope: Scope,
}

const fn row(
    group: Group,
    scope: Scope,
    label: &'static str,
    footer: &'static str,
    help: &'static str,
    keys: &'static [(KeyCode, Act)],
) -> Row {
    Row {
        keys,
        label,
        footer,
        help,
        group,
        scope,
    }
}

use KeyCode::{BackTab, Char, Down, Enter, Esc, Left, PageDown, PageUp, Right, Tab, Up};
use Step::{Back, Forth};

/// All keys but Ctrl-C and Ctrl-\, which are in no table because nobody may take them: they are [`Act::Interrupt`] and
/// [`Act::SigQuit`] everywhere, as the signals that they stand for on other terminals.
pub const TABLE: &[Row] = &[
    row(
        Group::Faults,
        Scope::Run,
        "1-9",
        "select",
        "select a host or app server",
        &[
            (Char('1'), Act::Select(1)),
            (Char('2'), Act::Select(2)),
            (Char('3'), Act::Select(3)),
            (Char('4'), Act::Select(4)),
            (Char('5'), Act::Select(5)),
            (Char('6'), Act::Select(6)),
            (Char('7'), Act::Select(7)),
            (Char('8'), Act::Select(8)),
            (Char('9'), Act::Select(9)),
        ],
    ),
    row(
        Group::Faults,
        Scope::Run,
        "b",
        "bounce",
        "kill a host; back in 300 ms",
        &[(Char('b'), Act::Bounce)],
    ),
    row(
        Group::Faults,
        Scope::Run,
        "k",
        "kill",
        "kill it (SIGKILL)",
        &[(Char('k'), Act::Fault(Fault::Kill))],
    ),
    row(
        Group::Faults,
        Scope::Run,
        "p",
        "pause",
        "pause it, or let it go on",
        &[(Char('p'), Act::PauseOrResume)],
    ),
    row(
        Group::Faults,
        Scope::Run,
        "r",
        "restore",
        "restart or resume it",
        &[(Char('r'), Act::Restore)],
    ),
    row(
        Group::Faults,
        Scope::Run,
        "x",
        "shut down",
        "shut a host down (SIGTERM)",
        &[(Char('x'), Act::Fault(Fault::Shutdown))],
    ),
    row(
        Group::Faults,
        Scope::Run,
        "s",
        "servers",
        "digits: app servers, or hosts",
        &[(Char('s'), Act::SwitchDigits)],
    ),
    row(
        Group::Faults,
        Scope::Run,
        "← →",
        "",
        "select the neighbour",
        &[(Left, Act::Neighbour(Back)), (Right, Act::Neighbour(Forth))],
    ),
    row(
        Group::Run,
        Scope::Run,
        "R",
        "again",
        "again: same seed, fresh lab",
        &[(Char('R'), Act::Reset)],
    ),
    row(
        Group::Look,
        Scope::Run,
        "v",
        "view",
        "next view",
        &[(Char('v'), Act::NextView)],
    ),
    row(
        Group::Look,
        Scope::Run,
        "Tab",
        "arm",
        "chart the next arm",
        &[(Tab, Act::Arm(Forth)), (BackTab, Act::Arm(Back))],
    ),
    row(
        Group::Look,
        Scope::Run,
        "Space",
        "freeze",
        "freeze the picture only",
        &[(Char(' '), Act::Freeze)],
    ),
    row(
        Group::Knobs,
        Scope::Run,
        "t T",
        "TTL",
        "TTL down, up",
        &[
            (Char('t'), Act::Turn(KnobKind::Ttl, Turn::Down)),
            (Char('T'), Act::Turn(KnobKind::Ttl, Turn::Up)),
        ],
    ),
    row(
        Group::Knobs,
        Scope::Run,
        "a A",
        "rate",
        "rate of an open loop down, up",
        &[
            (Char('a'), Act::Turn(KnobKind::Rate, Turn::Down)),
            (Char('A'), Act::Turn(KnobKind::Rate, Turn::Up)),
        ],
    ),
    row(
        Group::Knobs,
        Scope::Run,
        "h H",
        "hold",
        "time inside the lock down, up",
        &[
            (Char('h'), Act::Turn(KnobKind::Hold, Turn::Down)),
            (Char('H'), Act::Turn(KnobKind::Hold, Turn::Up)),
        ],
    ),
    row(
        Group::Knobs,
        Scope::Run,
        "n N",
        "workers",
        "workers down, up",
        &[
            (Char('n'), Act::Turn(KnobKind::Workers, Turn::Down)),
            (Char('N'), Act::Turn(KnobKind::Workers, Turn::Up)),
        ],
    ),
    row(
        Group::Look,
        Scope::Run,
        "w",
        "window",
        "30 s, 60 s, 2 min, 5 min, all",
        &[(Char('w'), Act::NextWindow)],
    ),
    row(
        Group::Look,
        Scope::Run,
        "e",
        "expected",
        "the expectations, so far",
        &[(Char('e'), Act::Expectations)],
    ),
    row(
        Group::Run,
        Scope::Picker,
        "Enter",
        "start",
        "start the scenario picked",
        &[(Enter, Act::Start)],
    ),
    row(
        Group::Look,
        Scope::Both,
        "↑ ↓",
        "",
        "scroll, or move in a list",
        &[(Up, Act::Scroll(Back)), (Down, Act::Scroll(Forth))],
    ),
    row(
        Group::Look,
        Scope::Both,
        "PgUp/Dn",
        "",
        "by a page; Home and End",
        &[
            (PageUp, Act::Page(Back)),
            (PageDown, Act::Page(Forth)),
            (KeyCode::Home, Act::End(Back)),
            (KeyCode::End, Act::End(Forth)),
        ],
    ),
    row(
        Group::Look,
        Scope::Both,
        "c",
        "theme",
        "dark, light, high contrast",
        &[(Char('c'), Act::NextTheme)],
    ),
    row(
        Group::Run,
        Scope::Run,
        "o",
        "scenarios",
        "choose another scenario",
        &[(Char('o'), Act::Pick)],
    ),
    row(
        Group::Run,
        Scope::Run,
        "S",
        "save",
        "save a summary to a file",
        &[(Char('S'), Act::Save)],
    ),
    row(
        Group::Run,
        Scope::Both,
        "Esc",
        "",
        "close what lies on top",
        &[(Esc, Act::Close)],
    ),
    row(
        Group::Run,
        Scope::Both,
        "?",
        "help",
        "this help",
        &[(Char('?'), Act::Help)],
    ),
    row(
        Group::Run,
        Scope::Both,
        "q",
        "quit",
        "end the run; again: at once",
        &[(Char('q'), Act::Quit)],
    ),
];

/// The keys of an act as the table writes them.
#[must_use]
pub fn label(act: Act) -> &'static str {
    let row = TABLE.iter().find(|row| row.keys.iter().any(|(_, own)| *own == act));
    row.map_or("", |row| row.label)
}

/// A key as it is written: `z`, `F1`, `Ctrl-x`.
#[must_use]
pub fn name(event: &KeyEvent) -> String {
    let with = [(KeyModifiers::CONTROL, "Ctrl-"), (KeyModifiers::ALT, "Alt-")];
    let with = with.iter().filter(|(modifier, _)| event.modifiers.contains(*modifier));
    let prefix: String = with.map(|(_, name)| *name).collect();
    format!("{prefix}{}", event.code)
}

/// The act of a key.
#[must_use]
pub fn find(event: &KeyEvent, in_picker: bool) -> Option<Act> {
    let control = event.modifiers.contains(KeyModifiers::CONTROL);
    if control {
        return match event.code {
            Char('c') => Some(Act::Interrupt),
            // Terminals send one and the same byte for both.
            Char('\\' | '4') => Some(Act::SigQuit),
            _ => None,
        };
    }
    if event.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    // Terminals differ in whether Shift-Tab is BackTab or Tab with a modifier.
    let shifted_tab = event.code == Tab && event.modifiers.contains(KeyModifiers::SHIFT);
    let code = if shifted_tab { BackTab } else { event.code };
    let rows = TABLE.iter().filter(|row| match row.scope {
        Scope::Both => true,
        Scope::Picker => in_picker,
        Scope::Run => !in_picker,
    });
    rows.flat_map(|row| row.keys)
        .find(|(key, _)| *key == code)
        .map(|&(_, act)| act)
}
