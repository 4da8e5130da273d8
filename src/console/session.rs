//! The loop: messages into the state, orders out of it, a frame when something changed.

use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::app::{App, Message, Order};
use super::terminal::Screen;
use super::{ConsoleError, ConsoleOptions, Exit, inputs, save, views};
use crate::run::{Command, RunHandle};
use crate::scenario::Scenario;

/// How often it is seen whether the terminal has shown the last frame, or has gone.
const LOOK: Duration = Duration::from_millis(50);

/// Opens the terminal and plays runs until the user quits; a run under way is ended, and its lab is down, when this returns.
///
/// `first` is the scenario to start with; none opens the picker, which offers the `catalogue` of names and titles. `load`
/// reads one of them, `launch` starts a run.
///
/// # Errors
/// When the terminal can't be used, or a thread can't be started.
pub fn open(
    first: Option<Scenario>,
    catalogue: Vec<(String, String)>,
    load: impl Fn(&str) -> Result<Scenario, String>,
    launch: impl Fn(Scenario) -> RunHandle,
    options: ConsoleOptions,
) -> Result<Exit, ConsoleError> {
    let mut app = App::new(catalogue, &options);
    let (sender, receiver) = mpsc::channel();
    let listening = inputs::listen(&sender)?;
    let mut session = Session {
        sender,
        commands: None,
        load,
        launch,
        options,
        hung_up: false,
        quit: false,
    };
    let screen = Screen::open().map_err(ConsoleError::Terminal)?;
    let orders = first.map(|scenario| app.launch(Box::new(scenario))).unwrap_or_default();
    let played = session.play(&mut app, orders, screen, &receiver);
    drop(listening);
    played.map(|()| app.into_exit())
}

struct Session<L, R> {
    sender: Sender<Message>,
    /// Where the run under way takes its commands.
    commands: Option<UnboundedSender<Command>>,
    load: L,
    launch: R,
    options: ConsoleOptions,
    /// Whether the loss of the terminal has been told.
    hung_up: bool,
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
        orders: Vec<Order>,
        mut screen: Screen,
        messages: &Receiver<Message>,
    ) -> Result<(), ConsoleError> {
        let result = self.turn_round(app, orders, &mut screen, messages);
        drop(screen);
        if result.is_err() {
            self.wait_for_the_lab(messages);
        }
        result
    }

    fn turn_round(
        &mut self,
        app: &mut App,
        orders: Vec<Order>,
        screen: &mut Screen,
        messages: &Receiver<Message>,
    ) -> Result<(), ConsoleError> {
        self.carry_out(app, orders)?;
        while !self.quit {
            if screen.is_ready() && app.take_dirty() {
                screen.draw(|frame| views::render(frame, app));
            }
            let first = if screen.is_lost() && !self.hung_up {
                self.hung_up = true;
                Message::TerminalLost
            } else if screen.is_ready() {
                // The session keeps a sender of its own, so the channel can't be closed.
                let Ok(message) = messages.recv() else { break };
                message
            } else {
                let Ok(message) = messages.recv_timeout(LOOK) else {
                    continue;
                };
                message
            };
            // Everything that has piled up makes one frame.
            for message in std::iter::once(first).chain(messages.try_iter()) {
                match message {
                    Message::Suspend => Screen::suspend(),
                    Message::Continued => screen.resume(),
                    _ => {}
                }
                let orders = app.update(message);
                self.carry_out(app, orders)?;
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, app: &mut App, orders: Vec<Order>) -> Result<(), ConsoleError> {
        let mut orders = VecDeque::from(orders);
        while let Some(order) = orders.pop_front() {
            match order {
                Order::Command(command) => {
                    if let Some(commands) = &self.commands {
                        // A run that has ended takes no commands; its end is on its way to us.
                        let _ = commands.send(command);
                    }
                }
                Order::Load(name) => {
                    let loaded = (self.load)(&name).map(Box::new);
                    orders.extend(app.update(Message::Loaded(loaded)));
                }
                Order::Launch(scenario) => {
                    let handle = (self.launch)(*scenario);
                    self.commands = Some(handle.commands.clone());
                    inputs::follow(handle, &self.sender)?;
                }
                Order::Save(saving) => {
                    let (sender, dir) = (self.sender.clone(), self.options.save_dir.clone());
                    thread::spawn(move || sender.send(Message::Saved(save::save(&saving, &dir))));
                }
                Order::Quit => self.quit = true,
            }
        }
        Ok(())
    }

    /// After an error of ours: the run is still ended in good order.
    fn wait_for_the_lab(&self, messages: &Receiver<Message>) {
        let Some(commands) = &self.commands else { return };
        if commands.send(Command::Stop).is_err() {
            return;
        }
        let over = |message: Message| matches!(message, Message::Finished(_) | Message::Stop(_));
        while messages.recv().is_ok_and(|message| !over(message)) {}
    }
}
