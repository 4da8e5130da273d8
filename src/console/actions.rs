//! What each key does to the state, and why it sometimes can't.

use ratatui::crossterm::event::KeyEvent;

use super::app::{App, Order, Overlay, Picker, Saving, Stage, View, target_exists};
use super::keys::{self, Act, Step};
use super::knobs;
use super::orders::Expected;
use super::theme::Theme;
use crate::metrics::{HostStatus, Phase, ServerStatus, Snapshot, units};
use crate::model::{Action as Fault, HostId, ServerId, Target};
use crate::run::{Command, Knob, Stop};

/// Lines that a page key moves by.
const PAGE: usize = 10;

impl App {
    pub(super) fn key(&mut self, key: &KeyEvent) -> Vec<Order> {
        let asked = self.asked.take();
        let done = match keys::find(key, self.picker.is_some()) {
            None => Err(format!("no key '{}' here: ? lists them", keys::name(key))),
            // The help hides what a key would act on.
            Some(act) if self.overlay == Some(Overlay::Help) && !is_of_overlay(act) => {
                self.show(None);
                Err(format!("the help is closed: press {} again", keys::name(key)))
            }
            Some(act) => self.act(act, asked == Some(act)),
        };
        done.unwrap_or_else(|why| {
            self.status = Some(why);
            Vec::new()
        })
    }

    /// Does it; `again` says whether the last key asked for the same and was asked back.
    fn act(&mut self, act: Act, again: bool) -> Result<Vec<Order>, String> {
        match act {
            Act::Quit => return Ok(self.quit()),
            Act::Interrupt => return Ok(self.stop_by(Stop::Interrupt)),
            Act::SigQuit => return Ok(self.stop_by(Stop::Quit)),
            Act::Fault(_) | Act::Bounce | Act::PauseOrResume | Act::Restore => return self.fault(act, again),
            Act::Turn(dial, turn) => {
                let knob = knobs::turn(dial, turn, self.live()?)?;
                self.status = Some(describe(knob));
                return Ok(vec![Order::Command(Command::Turn(knob))]);
            }
            Act::Reset => return self.reset(),
            Act::Start => return self.start(),
            Act::Save => return self.save(),
            Act::Select(number) => self.select(number)?,
            Act::SwitchDigits => self.switch_digits()?,
            Act::Neighbour(step) => self.neighbour(step)?,
            Act::Arm(step) => {
                let arms = self.charted_view()?.arms.len();
                if arms < 2 {
                    return Err("there is no other arm to chart".to_owned());
                }
                self.arm = (self.arm + if step == Step::Forth { 1 } else { arms - 1 }) % arms;
            }
            Act::NextView => self.next_view()?,
            Act::NextWindow => {
                self.charted_view()?;
                self.window = self.window.next();
            }
            Act::Freeze => self.freeze_or_thaw()?,
            Act::Expectations if self.overlay != Some(Overlay::Expectations) => {
                if self.begun()?.scenario.expect.is_empty() {
                    return Err("this scenario expects nothing: it only shows".to_owned());
                }
                self.show(Some(Overlay::Expectations));
            }
            Act::Expectations => self.show(None),
            Act::Help => self.toggle(Overlay::Help),
            Act::NextTheme if !self.theme.colours => return Err("a theme is colours, and they are off".to_owned()),
            Act::NextTheme => self.theme = Theme::new(self.theme.name.next(), self.theme.colours),
            Act::Pick if matches!(self.stage, Stage::Stopping(_)) => {
                return Err("the run is being stopped".to_owned());
            }
            Act::Pick => {
                self.show(None);
                self.picker = Some(Picker {
                    selected: self.present(),
                    error: None,
                });
            }
            Act::Close if self.overlay.is_some() => self.show(None),
            // Without a run there is nothing behind the picker.
            Act::Close if self.picker.is_some() && !matches!(self.stage, Stage::Picking) => self.picker = None,
            Act::Close => return Err("nothing lies on top: q quits".to_owned()),
            Act::Scroll(step) => self.scroll_by(step, 1)?,
            Act::Page(step) => self.scroll_by(step, PAGE)?,
            Act::End(step) => self.scroll_by(step, usize::MAX)?,
        }
        Ok(Vec::new())
    }

    /// The newest snapshot of a run that takes orders. A frozen picture changes nothing about that.
    fn live(&self) -> Result<&Snapshot, String> {
        if self.failure.is_some() {
            return Err("the run failed: R runs it again".to_owned());
        }
        let snapshot = self.newest.as_deref().ok_or("the lab is still starting")?;
        match &snapshot.phase {
            _ if matches!(self.stage, Stage::Stopping(_)) => Err("the run is being stopped".to_owned()),
            Phase::SetUp(_) => Err("the lab is still starting".to_owned()),
            Phase::WarmUp | Phase::Running => Ok(snapshot),
            Phase::Draining => Err("the load has ended; the workers finish".to_owned()),
            Phase::Finished { .. } | Phase::Failed(_) => Err("the run is over: R runs it again".to_owned()),
        }
    }

    /// The snapshot of a run whose load has begun.
    fn begun(&self) -> Result<&Snapshot, String> {
        let failed = || "the run failed: it has nothing to show".to_owned();
        match self.newest.as_deref() {
            _ if self.failure.is_some() => Err(failed()),
            None => Err("the lab is still starting".to_owned()),
            Some(snapshot) => match snapshot.phase {
                Phase::SetUp(_) => Err("the lab is still starting".to_owned()),
                Phase::Failed(_) => Err(failed()),
                _ => Ok(snapshot),
            },
        }
    }

    /// The same, while the view with the charts is on.
    fn charted_view(&self) -> Result<&Snapshot, String> {
        let snapshot = self.begun()?;
        if self.view == View::Dashboard {
            Ok(snapshot)
        } else {
            Err("the charts are on the dashboard: v goes there".to_owned())
        }
    }

    fn fault(&mut self, act: Act, again: bool) -> Result<Vec<Order>, String> {
        let target = self.selected;
        let snapshot = self.live()?;
        let action = self.wanted(act, target, snapshot)?;
        let (command, steps, verb) = match (act, target) {
            (Act::Bounce, Target::Host(id)) => {
                let steps = vec![Fault::Kill, Fault::Restart];
                (Command::Bounce(id), steps, ["bounce", "bouncing"])
            }
            _ => (Command::Fault { action, target }, vec![action], verb(action)),
        };
        // The other views show the hosts and what becomes of them.
        if matches!(self.view, View::Events | View::Summary) && !again {
            let key = keys::label(act);
            self.asked = Some(act);
            return Err(format!(
                "this view shows no hosts: press {key} again to {} {target}",
                verb[0]
            ));
        }
        let events = snapshot.events.clone();
        self.orders.add(target, &steps, &events);
        self.status = Some(format!("{} {target} …", verb[1]));
        self.receipt = true;
        Ok(vec![Order::Command(command)])
    }

    /// What a key means for the target as it is now.
    fn wanted(&self, act: Act, target: Target, snapshot: &Snapshot) -> Result<Fault, String> {
        if self.orders.expected(target) == Some(Expected::Bounce) {
            return Err(format!("{target} is being bounced: it comes back by itself"));
        }
        let missing = || format!("there is no {target}");
        let action = match target {
            Target::Host(id) => {
                let state = &snapshot.hosts.get(id.index()).ok_or_else(missing)?.state;
                host_fault(act, &self.host_now(target, state), &target)?
            }
            Target::Server(id) => {
                let state = snapshot.servers.get(id.index()).ok_or_else(missing)?.state;
                server_fault(act, self.server_now(target, state), &target)?
            }
        };
        // The run does what is scheduled in its measured part only, and the way back is.
        if act == Act::Bounce && snapshot.phase == Phase::WarmUp {
            return Err("nothing counts yet: b works once the warm-up is over".to_owned());
        }
        Ok(action)
    }

    /// The state that a host will have been brought to by what was ordered of it.
    fn host_now(&self, target: Target, shown: &HostStatus) -> HostStatus {
        match self.orders.expected(target) {
            Some(Expected::After(Fault::Kill)) => HostStatus::Down("killed".to_owned()),
            Some(Expected::After(Fault::Shutdown)) => HostStatus::Down("shut down".to_owned()),
            Some(Expected::After(Fault::Pause)) => HostStatus::Paused,
            Some(Expected::After(Fault::Resume | Fault::Restart)) => HostStatus::Up,
            Some(Expected::Bounce) | None => shown.clone(),
        }
    }

    /// The same of an app server.
    fn server_now(&self, target: Target, shown: ServerStatus) -> ServerStatus {
        match self.orders.expected(target) {
            Some(Expected::After(Fault::Kill)) => ServerStatus::Killed,
            Some(Expected::After(Fault::Pause)) => ServerStatus::Paused,
            Some(Expected::After(Fault::Resume)) => ServerStatus::Up,
            _ => shown,
        }
    }

    fn reset(&mut self) -> Result<Vec<Order>, String> {
        let scenario = self.scenario.as_deref().cloned().ok_or("no scenario has run yet")?;
        Ok(self.launch(Box::new(scenario)))
    }

    fn start(&self) -> Result<Vec<Order>, String> {
        let chosen = self
            .picker
            .as_ref()
            .and_then(|picker| self.catalogue.get(picker.selected));
        let (name, _) = chosen.ok_or("there is no scenario to start")?;
        Ok(vec![Order::Load(name.clone())])
    }

    fn save(&self) -> Result<Vec<Order>, String> {
        if let Some(record) = &self.record {
            return Ok(vec![Order::Save(Saving::Record(record.clone()))]);
        }
        let snapshot = self.newest.as_ref().ok_or("there is nothing to save yet")?;
        match snapshot.phase {
            Phase::SetUp(_) => Err("there is nothing to save yet".to_owned()),
            Phase::Failed(_) => Err("the run failed: there is no record".to_owned()),
            _ => Ok(vec![Order::Save(Saving::Snapshot(snapshot.clone()))]),
        }
    }

    fn select(&mut self, number: usize) -> Result<(), String> {
        let target = if self.digits_pick_servers {
            Target::Server(ServerId(number))
        } else {
            Target::Host(HostId(number))
        };
        if !target_exists(self.begun()?, target) {
            return Err(format!("there is no {target}"));
        }
        self.selected = target;
        Ok(())
    }

    fn switch_digits(&mut self) -> Result<(), String> {
        self.begun()?;
        self.digits_pick_servers = !self.digits_pick_servers;
        self.select(1)
    }

    fn neighbour(&mut self, step: Step) -> Result<(), String> {
        let snapshot = self.begun()?;
        let (number, of) = match self.selected {
            Target::Host(id) => (id.0, snapshot.hosts.len()),
            Target::Server(id) => (id.0, snapshot.servers.len()),
        };
        let of = of.max(1);
        let next = match step {
            Step::Forth => number % of + 1,
            Step::Back => (number + of).saturating_sub(2) % of + 1,
        };
        self.selected = match self.selected {
            Target::Host(_) => Target::Host(HostId(next)),
            Target::Server(_) => Target::Server(ServerId(next)),
        };
        Ok(())
    }

    fn next_view(&mut self) -> Result<(), String> {
        let over = matches!(self.begun()?.phase, Phase::Finished { .. });
        self.scroll = 0;
        self.view = match self.view {
            View::Summary => View::Dashboard,
            View::Dashboard => View::Scoreboard,
            View::Scoreboard => View::Events,
            View::Events if over => View::Summary,
            View::Events => View::Dashboard,
        };
        Ok(())
    }

    fn toggle(&mut self, overlay: Overlay) {
        self.show(if self.overlay == Some(overlay) {
            None
        } else {
            Some(overlay)
        });
    }

    fn show(&mut self, overlay: Option<Overlay>) {
        self.overlay = overlay;
        self.scroll = 0;
    }

    fn scroll_by(&mut self, step: Step, lines: usize) -> Result<(), String> {
        let moved = |from: usize, most: usize| match step {
            Step::Forth => from.saturating_add(lines).min(most),
            Step::Back => from.min(most).saturating_sub(lines),
        };
        let last = self.catalogue.len().saturating_sub(1);
        match &mut self.picker {
            Some(picker) if self.overlay.is_none() => {
                picker.selected = moved(picker.selected, last);
                picker.error = None;
            }
            _ if self.scroll_most.get() == 0 => return Err("all of it is shown: there is nothing to scroll".to_owned()),
            _ => self.scroll = moved(self.scroll, self.scroll_most.get()),
        }
        Ok(())
    }

    /// Where in the catalogue the present scenario is.
    fn present(&self) -> usize {
        let name = self.scenario.as_ref().map(|scenario| scenario.name.as_str());
        self.catalogue
            .iter()
            .position(|(listed, _)| Some(listed.as_str()) == name)
            .unwrap_or(0)
    }
}

/// Whether a key acts on what lies on top, or on everything.
const fn is_of_overlay(act: Act) -> bool {
    matches!(
        act,
        Act::Help
            | Act::Expectations
            | Act::Close
            | Act::Quit
            | Act::Interrupt
            | Act::SigQuit
            | Act::NextTheme
            | Act::Scroll(_)
            | Act::Page(_)
            | Act::End(_)
    )
}

/// What doing it is called, and its being under way.
const fn verb(action: Fault) -> [&'static str; 2] {
    match action {
        Fault::Kill => ["kill", "killing"],
        Fault::Shutdown => ["shut down", "shutting down"],
        Fault::Pause => ["pause", "pausing"],
        Fault::Resume => ["resume", "resuming"],
        Fault::Restart => ["restart", "restarting"],
    }
}

fn host_fault(act: Act, state: &HostStatus, target: &Target) -> Result<Fault, String> {
    match (act, state) {
        (Act::Bounce, HostStatus::Up) => Ok(Fault::Kill),
        (Act::Bounce, HostStatus::Paused) => Err(format!("{target} is paused: r resumes it, then b bounces it")),
        (Act::Fault(Fault::Shutdown), HostStatus::Paused) => Err(format!(
            "{target} is paused and can't shut down: r resumes it, k kills it"
        )),
        (Act::Fault(fault), HostStatus::Up | HostStatus::Paused) => Ok(fault),
        (Act::PauseOrResume, HostStatus::Up) => Ok(Fault::Pause),
        (Act::PauseOrResume | Act::Restore, HostStatus::Paused) => Ok(Fault::Resume),
        (Act::Restore, HostStatus::Down(_)) => Ok(Fault::Restart),
        (Act::Restore, HostStatus::Up) => Err(format!("{target} is up")),
        (_, _) => Err(format!("{target} is down: r restarts it")),
    }
}

fn server_fault(act: Act, state: ServerStatus, target: &Target) -> Result<Fault, String> {
    match (act, state) {
        (Act::Bounce, _) => Err("only hosts are bounced: k kills an app server, p pauses it".to_owned()),
        (_, ServerStatus::Killed) => Err(format!("{target} was killed and stays dead: R starts the run anew")),
        (Act::Fault(Fault::Shutdown), _) => Err("only hosts are shut down: k kills an app server".to_owned()),
        (Act::PauseOrResume, ServerStatus::Up) => Ok(Fault::Pause),
        (Act::PauseOrResume | Act::Restore, ServerStatus::Paused) => Ok(Fault::Resume),
        (Act::Fault(fault), _) => Ok(fault),
        (_, ServerStatus::Up | ServerStatus::Paused) => Err(format!("{target} is up")),
    }
}

fn describe(knob: Knob) -> String {
    match knob {
        Knob::Ttl(ttl) => format!("TTL {}", super::text::setting(ttl)),
        Knob::Hold(hold) => format!("hold {}", super::text::setting(hold)),
        Knob::Rate(rate) => format!("{} requests/s for each arm", super::text::rate(rate)),
        Knob::Workers(workers) => format!(
            "{} workers on each app server for each arm",
            units::count(workers as u64)
        ),
    }
}
