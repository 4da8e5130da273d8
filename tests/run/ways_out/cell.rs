//! The table: how lockstorm is ended, and in which state.

use std::fmt;

use strum::{IntoStaticStr, VariantArray};

/// How lockstorm runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `lockstorm run`, with pipes as outputs.
    Headless,
    /// The console, in a pseudo-terminal.
    Console,
}

/// Where a run keeps its stock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    Sqlite,
    Postgres,
}

/// The state of lockstorm when it is ended: a column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum State {
    Picker,
    /// The lab is being started, and its servers hang.
    SetUp,
    WarmUp,
    Load,
    HostPaused,
    HostKilled,
    ServerPaused,
    /// A dialog covers the run.
    Dialog,
    /// Another process has locked the database.
    DatabaseLocked,
    /// More work is due than can be done.
    FullQueue,
    /// The load has ended, the workers still hold locks.
    Draining,
    /// The app servers have ended. This lasts only a moment, so lockstorm may end by itself first.
    Closing,
    Finished,
    Failed,
}

/// How it is ended: a row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
pub enum Way {
    /// By itself; in the console by `q` once everything is over.
    #[strum(serialize = "its end")]
    ItsEnd,
    #[strum(serialize = "q")]
    Quit,
    #[strum(serialize = "q q")]
    QuitTwice,
    #[strum(serialize = "q q q")]
    QuitThrice,
    #[strum(serialize = "Ctrl-C")]
    CtrlC,
    #[strum(serialize = "Ctrl-C ×2")]
    CtrlCTwice,
    #[strum(serialize = "Ctrl-C ×3")]
    CtrlCThrice,
    #[strum(serialize = "SIGINT")]
    Interrupt,
    #[strum(serialize = "SIGINT ×2")]
    InterruptTwice,
    #[strum(serialize = "SIGINT ×3")]
    InterruptThrice,
    #[strum(serialize = "SIGTERM")]
    Terminate,
    #[strum(serialize = "SIGHUP")]
    HangUp,
    #[strum(serialize = "SIGQUIT")]
    QuitSignal,
    #[strum(serialize = "SIGKILL")]
    Kill,
    #[strum(serialize = "SIGKILL keeper")]
    KillKeeper,
    /// Lockstorm and its keeper are killed; `lab down` removes what is left.
    #[strum(serialize = "SIGKILL both")]
    KillBoth,
    /// The window is closed, the tmux server is killed, or the connection is lost.
    #[strum(serialize = "terminal closed")]
    TerminalClosed,
    /// The same for a lockstorm that was started with `nohup`: only the terminal itself shows it.
    #[strum(serialize = "… with nohup")]
    TerminalClosedNohup,
    #[strum(serialize = "stdout closed")]
    StdoutClosed,
    #[strum(serialize = "stderr closed")]
    StderrClosed,
    #[strum(serialize = "outputs closed")]
    OutputsClosed,
    /// A lockstorm that was started with `nohup` ignores a hang-up.
    #[strum(serialize = "nohup, SIGHUP")]
    NohupHangUp,
}

impl Form {
    pub const ALL: [Self; 2] = [Self::Headless, Self::Console];
}

impl State {
    pub fn name(self) -> &'static str {
        self.into()
    }

    const fn is_of(self, form: Form) -> bool {
        match form {
            Form::Console => true,
            Form::Headless => !matches!(self, Self::Picker | Self::Dialog | Self::Finished | Self::Failed),
        }
    }

    /// Whether there is a lab, and so a keeper.
    pub const fn has_a_lab(self) -> bool {
        !matches!(self, Self::Picker | Self::Finished | Self::Failed)
    }

    /// Whether there is no run that could be told to end.
    const fn is_over(self) -> bool {
        !self.has_a_lab()
    }
}

impl Way {
    pub fn name(self) -> &'static str {
        self.into()
    }

    fn is_of(self, form: Form) -> bool {
        let only = match self {
            Self::Quit
            | Self::QuitTwice
            | Self::QuitThrice
            | Self::CtrlC
            | Self::CtrlCTwice
            | Self::CtrlCThrice
            | Self::TerminalClosed
            | Self::TerminalClosedNohup => Form::Console,
            Self::StdoutClosed | Self::StderrClosed | Self::OutputsClosed | Self::NohupHangUp => Form::Headless,
            _ => return true,
        };
        only == form
    }

    /// Whether the run plays to its end all the same.
    pub const fn lets_it_play(self) -> bool {
        matches!(
            self,
            Self::ItsEnd | Self::StdoutClosed | Self::StderrClosed | Self::OutputsClosed | Self::NohupHangUp
        )
    }

    /// Whether it starts with SIGHUP ignored.
    pub const fn by_nohup(self) -> bool {
        matches!(self, Self::TerminalClosedNohup | Self::NohupHangUp)
    }

    /// Whether lockstorm has no chance to end in order, so that the next run removes what is left in PostgreSQL.
    pub const fn is_abrupt(self) -> bool {
        matches!(
            self,
            Self::Kill | Self::KillBoth | Self::QuitThrice | Self::CtrlCThrice | Self::InterruptThrice
        )
    }

    /// Whether lockstorm can still restore its terminal.
    pub const fn leaves_a_terminal(self) -> bool {
        !matches!(
            self,
            Self::Kill | Self::KillBoth | Self::TerminalClosed | Self::TerminalClosedNohup
        )
    }
}

/// A cell of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    pub form: Form,
    pub state: State,
    pub way: Way,
    pub database: Database,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (form, database) = (self.form, self.database);
        write!(
            f,
            "{form:?} · {} · {} · {database:?}",
            self.state.name(),
            self.way.name()
        )
    }
}

/// All cells that make sense.
pub fn all(database: Database) -> Vec<Cell> {
    let mut cells = Vec::new();
    for form in Form::ALL {
        for &state in State::VARIANTS {
            // Without a lab there is no database.
            if !state.is_of(form) || (database == Database::Postgres && state.is_over() && state != State::Finished) {
                continue;
            }
            for &way in Way::VARIANTS {
                let possible = way.is_of(form)
                    // There is no keeper to kill; a set-up that hangs would never end by itself.
                    && (state.has_a_lab() || !matches!(way, Way::KillKeeper | Way::KillBoth))
                    && !(state == State::Picker && way == Way::ItsEnd);
                if possible {
                    cells.push(Cell {
                        form,
                        state,
                        way,
                        database,
                    });
                }
            }
        }
    }
    cells
}

/// Every way and every state once: what each change is tested with.
pub fn sample() -> Vec<Cell> {
    use Form::{Console, Headless};
    [
        (Headless, State::Load, Way::ItsEnd),
        (Headless, State::ServerPaused, Way::Interrupt),
        (Headless, State::DatabaseLocked, Way::InterruptTwice),
        (Headless, State::Draining, Way::InterruptThrice),
        (Headless, State::FullQueue, Way::Terminate),
        (Headless, State::HostKilled, Way::HangUp),
        (Headless, State::Load, Way::KillKeeper),
        (Headless, State::SetUp, Way::KillBoth),
        (Headless, State::Closing, Way::StdoutClosed),
        (Headless, State::WarmUp, Way::StderrClosed),
        (Headless, State::Load, Way::OutputsClosed),
        (Headless, State::Load, Way::NohupHangUp),
        (Console, State::Picker, Way::Quit),
        (Console, State::Draining, Way::QuitTwice),
        (Console, State::DatabaseLocked, Way::QuitThrice),
        (Console, State::Dialog, Way::CtrlC),
        (Console, State::FullQueue, Way::CtrlCTwice),
        (Console, State::SetUp, Way::CtrlCThrice),
        (Console, State::WarmUp, Way::QuitSignal),
        (Console, State::HostPaused, Way::Kill),
        (Console, State::HostPaused, Way::TerminalClosed),
        (Console, State::Finished, Way::TerminalClosedNohup),
        (Console, State::Failed, Way::Terminate),
    ]
    .map(|(form, state, way)| Cell {
        form,
        state,
        way,
        database: Database::Sqlite,
    })
    .to_vec()
}
