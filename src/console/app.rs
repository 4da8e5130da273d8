//! The state of the console and how it changes: messages go in, an intent may come out, with no input or output of its own.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{KeyEvent, KeyEventKind, MouseEvent};
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::axis::{TimeAxis, WINDOWS};
use super::keys::{Act, Overlay, Place};
use super::knobs::OrderedKnobs;
use super::options::ConsoleOptions;
use super::orders::Orders;
use super::replay::Replay;
use super::theme::Theme;
use crate::report::order;
use lockstorm_base::Stop;
use lockstorm_data::facts::{Event, EventKind};
use lockstorm_data::history::DoubleHold;
use lockstorm_data::model::{HostId, Target};
use lockstorm_data::scenario::Scenario;
use lockstorm_run::{ArmView, Phase, Snapshot};
use lockstorm_run::{Command, Record, RunError};

/// What can happen to the console.
#[derive(Debug)]
pub enum Message {
    /// A key was pressed.
    Key(KeyEvent),
    /// A button or the wheel of the mouse was used.
    Mouse(MouseEvent),
    /// The terminal was resized.
    Resize,
    /// The terminal is gone.
    TerminalLost,
    /// A signal arrived.
    Stop(Stop),
    /// The process is to be suspended (SIGTSTP), which the owner of the terminal does.
    Suspend,
    /// The process goes on (SIGCONT); others may have used the terminal meanwhile.
    Continued,
    /// A scenario was read, or could not be read.
    Loaded(Result<Box<Scenario>, String>),
    /// The run published a new snapshot.
    Snapshot(Arc<Snapshot>),
    /// The run and its lab have ended.
    Finished(Result<Box<Record>, RunError>),
    /// So much time has passed; a record that plays goes on.
    Passed(Duration),
    /// A summary was written to this path, or could not be written.
    Saved(Result<String, String>),
}

/// Something that the console wants done.
#[derive(Debug)]
pub enum Intent {
    /// Send a command to the run.
    Command(Command),
    /// Read the scenario with this name.
    Load(String),
    /// Start a run.
    Launch(Box<Scenario>),
    /// Write a summary.
    Save(Saving),
    /// Leave.
    Quit,
}

/// The source of a summary.
#[derive(Debug)]
pub enum Saving {
    /// The record of a run that is over.
    Record(Arc<Record>),
    /// A snapshot of a run that goes on.
    Snapshot(Arc<Snapshot>),
}

/// The stage of the console's run.
#[derive(Debug)]
pub(super) enum RunStage {
    /// There is no run yet.
    Picking,
    /// The run goes on.
    Running,
    /// The run was told to stop, and its lab is not down yet.
    Stopping(AfterStop),
    /// The run is over, and its lab is down.
    Over,
}

/// What comes after a run that is being stopped.
#[derive(Debug)]
pub(super) enum AfterStop {
    Quit,
    Launch(Box<Scenario>),
}

/// The views of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// A row for each lock, and what happened.
    Dashboard,
    /// The figures of all arms, and the latency of one.
    Charts,
    /// One large figure for each arm.
    Scoreboard,
    /// The event log alone.
    Events,
    /// What each arm did; only after the end of the run.
    Summary,
}

/// The scenario picker.
#[derive(Debug, Default)]
pub(super) struct Picker {
    pub selected: usize,
    pub error: Option<String>,
}

/// What was typed, and which of what fits is chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Palette {
    pub typed: String,
    pub chosen: usize,
}

/// What the mouse can hit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Hit {
    /// The row of an arm.
    Arm(usize),
    /// A host or an app server.
    Target(Target),
    /// A chart.
    Axis(TimeAxis),
}

/// The double hold that is shown as lanes, and the position of its arm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lanes {
    pub arm: usize,
    pub double: DoubleHold,
}

/// The state of the console.
#[derive(Debug)]
pub struct App {
    pub(super) theme: Theme,
    /// Whether to draw with ASCII characters only.
    pub(super) ascii: bool,
    pub(super) catalogue: Vec<(String, String)>,
    pub(super) stage: RunStage,
    pub(super) scenario: Option<Arc<Scenario>>,
    pub(super) newest: Option<Arc<Snapshot>>,
    /// The frozen snapshot.
    frozen: Option<Arc<Snapshot>>,
    pub(super) record: Option<Arc<Record>>,
    pub(super) failure: Option<String>,
    earlier_record: Option<Arc<Record>>,
    /// The record that is shown instead of a run, and the instant in it.
    pub(super) replay: Option<Replay>,
    pub(super) view: View,
    pub(super) overlay: Option<Overlay>,
    /// The palette of faults, if it is open.
    pub(super) palette: Option<Palette>,
    /// What an event must have to be shown.
    pub(super) filter: String,
    /// Whether the filter is being typed.
    pub(super) typing_filter: bool,
    pub(super) lanes: Option<Lanes>,
    /// Whether lanes were shown in this run.
    pub(super) lanes_seen: bool,
    /// The second of the run that the charts tell about.
    pub(super) cursor: Option<f64>,
    /// The length of a column of the chart in seconds, and what of the last drawn screen the mouse can hit. The views know it, and the
    /// keys and the mouse need it.
    pub(super) column_length: Cell<f64>,
    pub(super) hits: RefCell<Vec<(Rect, Hit)>>,
    pub(super) picker: Option<Picker>,
    /// The scenario that is told about over the picker, before it starts.
    pub(super) briefing: Option<Box<Scenario>>,
    /// Whether scenarios are told about before they start.
    briefs: bool,
    pub(super) selected: Target,
    /// Whether the digits select app servers.
    pub(super) digits_pick_servers: bool,
    pub(super) arm: usize,
    /// Which of the [`WINDOWS`](super::axis::WINDOWS) the charts show.
    pub(super) window: usize,
    pub(super) fault_seen: bool,
    /// A line about the last key; it stays until the next one.
    pub(super) status: Option<String>,
    /// When it was last said.
    said_at: Instant,
    /// Whether that line is gone once something happens.
    pub(super) passing: bool,
    /// Whether that line is about an order under way.
    pub(super) receipt: bool,
    /// What keys have ordered and no snapshot shows as done.
    pub(super) orders: Orders,
    /// The knobs as the keys have turned them.
    pub(super) knobs: OrderedKnobs,
    /// A fault that needs a second press of the same key, because the view doesn't show what it would hit.
    pub(super) asked: Option<Act>,
    /// Whether the run was told twice to stop, so that it waits for nothing.
    pub(super) hurried: bool,
    /// The console's own log, with the second of the run.
    pub(super) notes: VecDeque<(f64, String)>,
    pub(super) scroll: usize,
    /// How far the last drawn view can scroll. The view knows it, and the keys need it.
    pub(super) scroll_most: Cell<usize>,
    /// The signal that ends the console, if it is not a key.
    stop: Option<Stop>,
    /// Whether it knows that the terminal is gone.
    pub(super) hung_up: bool,
    dirty: bool,
}

/// How many notes are kept.
const NOTES: usize = 50;

/// How long a line about a key stays, unless another key is pressed.
const SAID: Duration = Duration::from_secs(8);

impl App {
    /// A console without a run: it shows the picker.
    pub fn new(catalogue: Vec<(String, String)>, options: &ConsoleOptions) -> Self {
        Self {
            theme: Theme::new(options.theme, options.colours),
            ascii: options.ascii,
            catalogue,
            stage: RunStage::Picking,
            scenario: None,
            newest: None,
            frozen: None,
            record: None,
            failure: None,
            earlier_record: None,
            replay: None,
            view: View::Dashboard,
            overlay: None,
            palette: None,
            filter: String::new(),
            typing_filter: false,
            lanes: None,
            lanes_seen: false,
            cursor: None,
            column_length: Cell::new(1.0),
            hits: RefCell::default(),
            picker: Some(Picker::default()),
            briefing: None,
            briefs: options.briefing,
            selected: Target::Host(HostId(1)),
            digits_pick_servers: false,
            arm: 0,
            window: WINDOWS.len() - 1,
            fault_seen: false,
            status: None,
            said_at: Instant::now(),
            passing: false,
            receipt: false,
            orders: Orders::default(),
            knobs: OrderedKnobs::default(),
            asked: None,
            hurried: false,
            notes: VecDeque::new(),
            scroll: 0,
            scroll_most: Cell::new(0),
            stop: None,
            hung_up: false,
            dirty: true,
        }
    }

    /// Takes in a message, and returns what is to be done.
    pub fn update(&mut self, message: Message) -> Option<Intent> {
        match message {
            Message::Key(key) if key.kind == KeyEventKind::Release => {}
            Message::Key(key) => {
                self.dirty = true;
                (self.status, self.said_at) = (None, Instant::now());
                self.passing = false;
                self.receipt = false;
                return self.key(&key);
            }
            Message::Mouse(event) => {
                self.dirty = true;
                self.mouse(event);
            }
            Message::Resize | Message::Suspend | Message::Continued => self.dirty = true,
            // The signal for it has already come, or will come.
            Message::TerminalLost | Message::Stop(Stop::HangUp) if self.hung_up => {}
            Message::TerminalLost => return self.stop_by(Stop::HangUp),
            Message::Stop(stop) => return self.stop_by(stop),
            Message::Loaded(Ok(scenario)) => return self.open(scenario),
            Message::Loaded(Err(error)) => {
                self.dirty = true;
                self.picker.get_or_insert_default().error = Some(error);
            }
            Message::Snapshot(snapshot) => self.take(snapshot),
            Message::Finished(result) => return self.finished(result),
            Message::Passed(time) => self.pass(time),
            Message::Saved(Ok(path)) => self.note(format!("saved {path}")),
            Message::Saved(Err(error)) => self.note(format!("not saved: {error}")),
        }
        None
    }

    /// Tells about a scenario that was chosen, or starts it.
    pub(super) fn open(&mut self, scenario: Box<Scenario>) -> Option<Intent> {
        if !self.briefs {
            return self.launch(scenario);
        }
        self.dirty = true;
        self.scroll = 0;
        let selected = self.place_of(&scenario.name);
        self.picker = Some(Picker { selected, error: None });
        self.briefing = Some(scenario);
        None
    }

    /// Starts this scenario once the present run is down.
    pub fn launch(&mut self, scenario: Box<Scenario>) -> Option<Intent> {
        match self.stage {
            RunStage::Running => Some(self.stop(AfterStop::Launch(scenario))),
            RunStage::Stopping(AfterStop::Launch(_)) => self.hurry(),
            RunStage::Stopping(AfterStop::Quit) => None,
            RunStage::Picking | RunStage::Over => Some(self.launch_now(scenario)),
        }
    }

    fn launch_now(&mut self, scenario: Box<Scenario>) -> Intent {
        self.dirty = true;
        self.stage = RunStage::Running;
        self.scenario = Some(Arc::new(scenario.as_ref().clone()));
        self.earlier_record = self.record.take().or(self.earlier_record.take());
        self.newest = None;
        self.frozen = None;
        self.failure = None;
        self.picker = None;
        self.briefing = None;
        self.overlay = None;
        self.filter.clear();
        (self.typing_filter, self.lanes_seen, self.cursor) = (false, false, None);
        self.fault_seen = false;
        self.orders.clear();
        self.knobs = OrderedKnobs::default();
        self.notes.clear();
        self.scroll = 0;
        if self.view == View::Summary {
            self.view = View::Dashboard;
        }
        Intent::Launch(scenario)
    }

    pub(super) fn stop(&mut self, then: AfterStop) -> Intent {
        self.dirty = true;
        self.picker = None;
        self.briefing = None;
        self.overlay = None;
        // The stopping screen has a countdown, so it must not stay frozen.
        self.frozen = None;
        self.hurried = false;
        self.stage = RunStage::Stopping(then);
        Intent::Command(Command::Stop)
    }

    /// Tells a run that is being stopped to wait for nothing more.
    fn hurry(&mut self) -> Option<Intent> {
        self.dirty = true;
        if std::mem::replace(&mut self.hurried, true) {
            return None;
        }
        Some(Intent::Command(Command::Stop))
    }

    /// Ends the console by a signal. The first one says how the console ended; the others only make it end sooner.
    pub(super) fn stop_by(&mut self, stop: Stop) -> Option<Intent> {
        self.hung_up |= stop == Stop::HangUp;
        self.stop.get_or_insert(stop);
        self.quit()
    }

    /// Ends the run and leaves: in good order the first time, without waiting for the workers the second time, and at once
    /// without the summary the third time.
    pub(super) fn quit(&mut self) -> Option<Intent> {
        match self.stage {
            RunStage::Picking | RunStage::Over => Some(Intent::Quit),
            RunStage::Running => Some(self.stop(AfterStop::Quit)),
            RunStage::Stopping(AfterStop::Launch(_)) => {
                self.dirty = true;
                self.stage = RunStage::Stopping(AfterStop::Quit);
                None
            }
            RunStage::Stopping(AfterStop::Quit) if self.hurried => Some(Intent::Quit),
            RunStage::Stopping(AfterStop::Quit) => self.hurry(),
        }
    }

    fn finished(&mut self, result: Result<Box<Record>, RunError>) -> Option<Intent> {
        self.dirty = true;
        match result {
            Ok(record) => self.record = Some(Arc::from(record)),
            // Stopped as asked, so not a failure.
            Err(RunError::Stopped) => {}
            Err(error) => {
                self.failure = Some(error.to_string());
                // A frozen display would hide it, and so would a palette.
                (self.frozen, self.palette) = (None, None);
            }
        }
        match std::mem::replace(&mut self.stage, RunStage::Over) {
            RunStage::Stopping(AfterStop::Quit) => Some(Intent::Quit),
            RunStage::Stopping(AfterStop::Launch(scenario)) => Some(self.launch_now(scenario)),
            RunStage::Picking | RunStage::Running | RunStage::Over => None,
        }
    }

    pub(super) fn take(&mut self, snapshot: Arc<Snapshot>) {
        if self.newest.is_none() {
            self.arm = order(&snapshot.scenario).first().copied().unwrap_or(0);
        }
        self.arm = self.arm.min(snapshot.scenario.arms.len().saturating_sub(1));
        if !target_exists(&snapshot, self.selected) {
            self.selected = Target::Host(HostId(1));
        }
        let is_fault = |event: &Event| matches!(event.kind, EventKind::Fault { .. });
        self.fault_seen |= snapshot.events.iter().any(is_fault);
        let is_over = |phase: &Phase| matches!(phase, Phase::Finished { .. });
        let just_over = is_over(&snapshot.phase) && !self.newest.as_ref().is_some_and(|old| is_over(&old.phase));
        if just_over {
            self.overlay = None;
            self.view = View::Summary;
            self.scroll = 0;
        }
        if matches!(snapshot.phase, Phase::Failed(_)) {
            self.frozen = None;
        }
        // What was said of a lab that was starting is not so any more.
        let sets_up = |snapshot: &Snapshot| matches!(snapshot.phase, Phase::SetUp(_));
        if self.newest.as_deref().is_some_and(sets_up) && !sets_up(&snapshot) {
            self.status = None;
        }
        let last = |snapshot: &Snapshot| snapshot.events.last().map(|event| event.id);
        if self.passing && self.newest.as_deref().and_then(last) != last(&snapshot) {
            self.status = None;
        }
        let is_old = self.said_at.elapsed() > SAID && self.asked.is_none();
        if is_old && !self.receipt && !self.typing_filter {
            self.status = None;
        }
        self.settle(&snapshot);
        self.show_first_lanes(&snapshot);
        self.newest = Some(snapshot);
        self.dirty |= self.frozen.is_none();
    }

    /// Forgets the orders that this snapshot shows as done. The status line about them goes too, unless the view doesn't
    /// show their result. A run whose load has ended carries out no more orders.
    fn settle(&mut self, snapshot: &Snapshot) {
        if !matches!(snapshot.phase, Phase::WarmUp | Phase::Running) {
            self.orders.clear();
            if std::mem::take(&mut self.receipt) {
                self.status = None;
            }
            return;
        }
        let Some(done) = self.orders.settle(&snapshot.events) else {
            return;
        };
        if self.receipt && (done.failed || self.orders.is_empty()) {
            self.receipt = false;
            self.status = (done.failed || self.frozen.is_some()).then_some(done.text);
            self.dirty = true;
        }
    }

    /// The snapshot that is shown: the newest, or the frozen one.
    pub(super) fn picture(&self) -> Option<&Arc<Snapshot>> {
        self.frozen.as_ref().or(self.newest.as_ref())
    }

    pub(super) const fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    pub(super) fn freeze_or_thaw(&mut self) -> Result<(), String> {
        if self.frozen.take().is_none() {
            let moving = self.newest.as_ref().filter(|_| self.is_moving());
            let newest = moving.ok_or("nothing moves here: Space freezes the display of a run")?;
            self.frozen = Some(newest.clone());
        }
        Ok(())
    }

    /// Whether the display changes by itself.
    fn is_moving(&self) -> bool {
        let moves = |phase: &Phase| matches!(phase, Phase::WarmUp | Phase::Running | Phase::Draining);
        matches!(self.stage, RunStage::Running) && self.newest.as_ref().is_some_and(|newest| moves(&newest.phase))
    }

    /// Whether the run accepts orders: its load is on, and it was not stopped.
    pub(super) fn is_live(&self) -> bool {
        let on = |snapshot: &Arc<Snapshot>| matches!(snapshot.phase, Phase::WarmUp | Phase::Running);
        matches!(self.stage, RunStage::Running) && self.newest.as_ref().is_some_and(on)
    }

    /// Where a key is pressed.
    pub(super) const fn place(&self) -> Place {
        match (&self.picker, &self.replay) {
            (Some(_), _) => Place::Picker,
            (None, Some(_)) => Place::Record,
            (None, None) => Place::Run,
        }
    }

    /// Notes what the mouse hits in this area.
    pub(super) fn hits(&self, area: Rect, hit: Hit) {
        self.hits.borrow_mut().push((area, hit));
    }

    /// The arm whose latency is charted.
    pub(super) fn charted<'a>(&self, snapshot: &'a Snapshot) -> Option<&'a ArmView> {
        snapshot.arms.get(self.arm).or(snapshot.arms.first())
    }

    /// The style of a target's name.
    pub(super) fn name_style(&self, target: Target) -> Style {
        if self.selected == target {
            self.theme.selected
        } else {
            self.theme.strong
        }
    }

    pub(super) fn note(&mut self, text: String) {
        self.dirty = true;
        // After the end events have later times than the run's last second.
        let now = |snapshot: &Arc<Snapshot>| {
            snapshot
                .events
                .iter()
                .map(|event| event.at)
                .fold(snapshot.elapsed, f64::max)
        };
        let at = self.newest.as_ref().map_or(0.0, now);
        (self.status, self.said_at) = (Some(text.clone()), Instant::now());
        self.notes.push_back((at, text));
        if self.notes.len() > NOTES {
            self.notes.pop_front();
        }
    }

    /// Whether the screen must be redrawn; asking clears the flag.
    pub fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.dirty)
    }

    /// The selected view.
    pub const fn view(&self) -> View {
        self.view
    }

    /// The target of the next fault key.
    pub const fn selected(&self) -> Target {
        self.selected
    }

    /// The line about the last key.
    pub fn status(&self) -> Option<&str> {
        self.status.as_deref()
    }

    pub(super) fn into_exit(self) -> super::options::Exit {
        let record = self.record.or(self.earlier_record).map(Arc::unwrap_or_clone);
        super::options::Exit {
            record,
            stop: self.stop,
            failure: self.failure,
        }
    }
}

pub(super) fn target_exists(snapshot: &Snapshot, target: Target) -> bool {
    match target {
        Target::Host(id) => id.0 >= 1 && id.0 <= snapshot.hosts.len(),
        Target::Server(id) => id.0 >= 1 && id.0 <= snapshot.servers.len(),
        // No key selects them.
        Target::Link(_) | Target::Client(_) => false,
    }
}
