//! The one table of keys, from which the bindings, the footer and the help are made.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::knobs::{KnobKind, Turn};
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
    /// Chart another arm.
    Arm(Step),
    /// Show the next view.
    NextView,
    /// Show more or less of the past.
    NextWindow,
    /// Freeze the display, or let it continue.
    Freeze,
    /// Show or hide the expectations.
    Expectations,
    /// Show or hide what the sections say of other TTLs.
    Ttls,
    /// Scroll, or move in a list.
    Scroll(Step),
    /// Scroll by a page.
    Page(Step),
    /// Scroll to the start or the end.
    End(Step),
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
    /// Write a summary to a file.
    Save,
    /// Show or hide the help.
    Help,
    /// Close the window on top.
    Close,
    /// End the run and leave.
    Quit,
    /// Ctrl-C: like `Quit`.
    Interrupt,
    /// Ctrl-\: like `Quit`.
    SigQuit,
}

/// Backward or forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// To the previous one.
    Back,
    /// To the next one.
    Forth,
}

/// Where a row of the table applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In the scenario picker.
    Picker,
    /// In a run, and before and after it.
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
    /// All groups, in the order of the help.
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

/// All keys but Ctrl-C and Ctrl-\. Those are not in the table because nothing may rebind them: they are [`Act::Interrupt`]
/// and [`Act::SigQuit`] everywhere, like the signals that they send on other terminals.
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
        "pause it, or resume it",
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
        "f",
        "",
        "make it the master, by hand",
        &[(Char('f'), Act::Fault(Fault::Failover { by: Way::Hand }))],
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
        "run again: same seed, new lab",
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
        "TTL of all arms down, up",
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
        Group::Look,
        Scope::Run,
        "l",
        "",
        "which TTL lasts long enough",
        &[(Char('l'), Act::Ttls)],
    ),
    row(
        Group::Run,
        Scope::Picker,
        "Enter",
        "start",
        "start the selected scenario",
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
        "close the top window",
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

/// The keys of an act, as the table writes them.
#[must_use]
pub fn label(act: Act) -> &'static str {
    let row = TABLE.iter().find(|row| row.keys.iter().any(|(_, own)| *own == act));
    row.map_or("", |row| row.label)
}

/// A key in words: `z`, `F1`, `Ctrl-x`.
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
            // Terminals send the same byte for both.
            Char('\\' | '4') => Some(Act::SigQuit),
            _ => None,
        };
    }
    if event.modifiers.contains(KeyModifiers::ALT) {
        return None;
    }
    // Terminals differ: Shift-Tab is either BackTab, or Tab with a modifier.
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
