//! What the documentation promises for each cell: exit code, summary, record.

use super::cell::{Cell, Form, State, Way};

impl Cell {
    /// The documented exit codes; a signal as in a shell.
    pub fn codes(self) -> Vec<i32> {
        let mut codes = self.codes_of_the_way();
        // It may have ended by itself before it could be ended.
        if self.state == State::Closing && self.form == Form::Headless {
            codes.extend([0, 5]);
        }
        codes
    }

    fn codes_of_the_way(self) -> Vec<i32> {
        match (self.way, self.form, self.state) {
            (Way::Interrupt | Way::InterruptTwice | Way::InterruptThrice, ..) => vec![130],
            (Way::Terminate, ..) => vec![143],
            (Way::HangUp | Way::TerminalClosed | Way::TerminalClosedNohup, ..) => vec![129],
            (Way::QuitSignal, ..) => vec![131],
            (Way::Kill | Way::KillBoth, ..) => vec![137],
            // Without a run, Ctrl-C only quits.
            (Way::CtrlC | Way::CtrlCTwice | Way::CtrlCThrice, _, State::Picker | State::Finished) => vec![0, 130],
            (Way::CtrlC | Way::CtrlCTwice | Way::CtrlCThrice, _, State::Failed) => vec![1, 130],
            (Way::CtrlC | Way::CtrlCTwice | Way::CtrlCThrice, ..) => vec![130],
            (_, Form::Console, State::Failed) => vec![1],
            (Way::KillKeeper, Form::Headless, State::SetUp) => vec![1],
            (Way::KillKeeper, Form::Console, State::SetUp) => vec![1],
            (Way::KillKeeper, Form::Headless, State::Draining | State::Closing) => vec![0, 5],
            (Way::KillKeeper, Form::Headless, _) => vec![5],
            // The console shows the results of expectations, and exits with 0.
            (_, Form::Console, _) => vec![0],
            // With a locked database or a full queue, the expectations need not hold.
            (_, Form::Headless, State::DatabaseLocked) => vec![1, 5],
            (_, Form::Headless, State::HostPaused | State::HostKilled | State::ServerPaused | State::FullQueue) => {
                vec![0, 5]
            }
            // Sections of ten minutes are given up, so the record is partial.
            (_, Form::Headless, State::Draining) => vec![5],
            (_, Form::Headless, _) => vec![0],
        }
    }

    /// Whether there must be a summary and, for a headless run, a record.
    pub const fn has_a_summary(self) -> bool {
        self.state.has_a_lab()
            && !self.way.is_abrupt()
            && match (self.state, self.way) {
                // Nothing ran yet.
                (State::SetUp, way) => way.lets_it_play(),
                _ => true,
            }
    }
}
