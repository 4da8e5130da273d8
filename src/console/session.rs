//! The loop: messages go into the state, what it intends is carried out, and a frame is drawn when something has changed.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use super::app::{App, Intent, Message};
use super::options::{ConsoleError, ConsoleOptions, Exit};
use super::terminal::Screen;
use super::{inputs, save, views};
use lockstorm_data::scenario::Scenario;
use lockstorm_run::{Command, Record, RunHandle, RunOptions, start};

/// How often the loop checks whether the terminal has shown the last frame, or is gone, and how often a record that plays goes on.
const LOOK: Duration = Duration::from_millis(50);

/// Opens the terminal and plays runs until the user quits. When this returns, a run under way has been ended and its lab
/// is down.
///
/// `first` is the scenario to start with; `None` opens the picker, which offers the `catalogue` of names and titles.
/// `load` reads one of them, and `launch` starts a run.
///
/// # Errors
/// The terminal can't be used, or a thread can't be started.
pub fn open(
    first: Option<Scenario>,
    catalogue: Vec<(String, String)>,
    load: impl Fn(&str) -> Result<Scenario, String>,
    launch: impl Fn(Scenario) -> RunHandle,
    options: ConsoleOptions,
) -> Result<Exit, ConsoleError> {
    let app = App::new(catalogue, &options);
    in_terminal(
        app,
        |app| first.and_then(|scenario| app.open(Box::new(scenario))),
        load,
        launch,
        options,
    )
}

/// Opens the terminal and plays a record, from its beginning, until the user quits. Nothing is started.
///
/// # Errors
/// The terminal can't be used, or a thread can't be started.
pub fn view(record: Record, options: ConsoleOptions) -> Result<Exit, ConsoleError> {
    let app = App::new(Vec::new(), &options);
    let show = |app: &mut App| {
        app.play(record);
        None
    };
    // No key of a record asks for these.
    let load = |name: &str| Err(format!("{name} can't be started from a record"));
    in_terminal(
        app,
        show,
        load,
        |scenario| start(scenario, RunOptions::default()),
        options,
    )
}

fn in_terminal(
    mut app: App,
    begin: impl FnOnce(&mut App) -> Option<Intent>,
    load: impl Fn(&str) -> Result<Scenario, String>,
    launch: impl Fn(Scenario) -> RunHandle,
    options: ConsoleOptions,
) -> Result<Exit, ConsoleError> {
    let (sender, receiver) = mpsc::channel();
    let listening = inputs::listen(&sender)?;
    let mut session = Session {
        sender,
        commands: None,
        load,
        launch,
        options,
        quit: false,
    };
    let mut screen = Screen::open(session.options.cast.clone()).map_err(ConsoleError::Terminal)?;
    let intent = begin(&mut app);
    let played = session.play(&mut app, intent, &mut screen, &receiver);
    drop(screen);
    if played.is_err() {
        session.wait_for_the_lab(&receiver);
    }
    drop(listening);
    played.map(|()| app.into_exit())
}

struct Session<L, R> {
    sender: Sender<Message>,
    /// The channel for commands to the present run.
    commands: Option<UnboundedSender<Command>>,
    load: L,
    launch: R,
    options: ConsoleOptions,
    quit: bool,
}

impl<L, R> Session<L, R>
where
    L: Fn(&str) -> Result<Scenario, String>,
    R: Fn(Scenario) -> RunHandle,
{
    fn play(
        &mut self,
        app: &mut App,
        intent: Option<Intent>,
        screen: &mut Screen,
        messages: &Receiver<Message>,
    ) -> Result<(), ConsoleError> {
        self.carry_out(app, intent, screen)?;
        while !self.quit {
            let (since, plays) = (Instant::now(), app.plays());
            if screen.is_ready() && app.take_dirty() {
                screen.draw(|frame| views::render(frame, app));
                // Who goes to a marker sees what it is about.
                if let (Some(cast), Some(newest)) = (&self.options.cast, &app.newest) {
                    cast.mark(&newest.events);
                }
            }
            let first = if screen.is_lost() && !app.hung_up {
                Some(Message::TerminalLost)
            } else if screen.is_ready() && !plays {
                // The session keeps a sender of its own, so the channel is never closed.
                let Ok(message) = messages.recv() else { break };
                Some(message)
            } else {
                messages.recv_timeout(LOOK).ok()
            };
            if plays {
                app.update(Message::Passed(since.elapsed()));
            }
            // All messages that have piled up lead to one frame.
            for message in first.into_iter().chain(messages.try_iter()) {
                match message {
                    Message::Suspend => Screen::suspend(),
                    Message::Continued => screen.resume(),
                    _ => {}
                }
                let intent = app.update(message);
                self.carry_out(app, intent, screen)?;
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, app: &mut App, mut intent: Option<Intent>, screen: &Screen) -> Result<(), ConsoleError> {
        while let Some(wanted) = intent.take() {
            match wanted {
                Intent::Command(command) => {
                    if let Some(commands) = &self.commands {
                        // A run that has ended takes no commands; the message about its end is on its way.
                        let _ = commands.send(command);
                    }
                }
                Intent::Load(name) => {
                    let loaded = (self.load)(&name).map(Box::new);
                    intent = app.update(Message::Loaded(loaded));
                }
                Intent::Launch(scenario) => {
                    if let Some(cast) = &self.options.cast {
                        cast.next_run();
                    }
                    let handle = (self.launch)(*scenario);
                    self.commands = Some(handle.commands.clone());
                    inputs::follow(handle, &self.sender)?;
                }
                Intent::Save(saving) => {
                    let (sender, dir) = (self.sender.clone(), self.options.save_dir.clone());
                    let picture = screen.picture(|frame| views::render(frame, app));
                    thread::spawn(move || sender.send(Message::Saved(save::save(&saving, &picture, &dir))));
                }
                Intent::Quit => self.quit = true,
            }
        }
        Ok(())
    }

    /// Waits for a run to end in good order after an error of our own.
    fn wait_for_the_lab(&self, messages: &Receiver<Message>) {
        let Some(commands) = &self.commands else { return };
        if commands.send(Command::Stop).is_err() {
            return;
        }
        let over = |message: Message| matches!(message, Message::Finished(_) | Message::Stop(_));
        while messages.recv().is_ok_and(|message| !over(message)) {}
    }
}
