//! What each key does to the state, and why it sometimes can't.

use ratatui::crossterm::event::KeyEvent;

use super::app::{App, Order, Overlay, Picker, Saving, Stage, Then, View, target_exists};
use super::keys::{self, Act, Step};
use super::knobs;
use super::theme::Theme;
use crate::metrics::{HostStatus, Phase, ServerStatus, Snapshot};
use crate::model::{Action as Fault, HostId, ServerId, Target};
use crate::run::{Command, Knob};

/// Lines that a page key moves by.
const PAGE: usize = 10;

impl App {
    pub(super) fn key(&mut self, key: &KeyEvent) -> Vec<Order> {
        let Some(act) = keys::find(key, self.picker.is_some()) else {
            return Vec::new();
        };
        // An overlay hides what a key would act on, so the first key only takes it away.
        let through = matches!(
            act,
            Act::Help
                | Act::Expectations
                | Act::Close
                | Act::Quit
                | Act::Interrupt
                | Act::NextTheme
                | Act::Scroll(_)
                | Act::Page(_)
                | Act::End(_)
        );
        if self.overlay.is_some() && !through {
            self.show(None);
            return Vec::new();
        }
        self.act(act).unwrap_or_else(|why| {
            self.status = Some(why);
            Vec::new()
        })
    }

    fn act(&mut self, act: Act) -> Result<Vec<Order>, String> {
        match act {
            Act::Quit => return Ok(self.quit()),
            Act::Interrupt if matches!(self.stage, Stage::Stopping(Then::Quit)) => return Ok(vec![Order::Quit]),
            Act::Interrupt => return Ok(self.quit()),
            Act::Fault(_) | Act::PauseOrResume | Act::Restore => return self.fault(act),
            Act::Turn(dial, turn) => {
                let knob = knobs::turn(dial, turn, self.live()?)?;
                self.status = Some(describe(knob));
                return Ok(vec![Order::Command(Command::Turn(knob))]);
            }
            Act::Reset => return self.reset(),
            Act::Start => return Ok(self.start()),
            Act::Save => return self.save(),
            Act::Select(number) => self.select(number)?,
            Act::SwitchDigits => self.switch_digits()?,
            Act::Neighbour(step) => self.neighbour(step),
            Act::Arm(step) => {
                let arms = self.newest.as_ref().map_or(1, |snapshot| snapshot.arms.len().max(1));
                self.arm = (self.arm + if step == Step::Forth { 1 } else { arms - 1 }) % arms;
            }
            Act::NextView => self.next_view(),
            Act::NextWindow => self.window = self.window.next(),
            Act::Freeze => self.freeze_or_thaw(),
            Act::Expectations => self.toggle(Overlay::Expectations),
            Act::Help => self.toggle(Overlay::Help),
            Act::NextTheme => self.theme = Theme::new(self.theme.name.next(), self.theme.colours),
            Act::Pick => {
                self.show(None);
                self.picker = Some(Picker {
                    selected: self.present(),
                    error: None,
                });
            }
            Act::Close if self.overlay.is_some() => self.show(None),
            // Without a run there is nothing behind the picker.
            Act::Close if !matches!(self.stage, Stage::Picking) => self.picker = None,
            Act::Close => {}
            Act::Scroll(step) => self.scroll_by(step, 1),
            Act::Page(step) => self.scroll_by(step, PAGE),
            Act::End(step) => self.scroll_by(step, usize::MAX),
        }
        Ok(Vec::new())
    }

    /// The newest snapshot of a run that takes orders. A frozen picture changes nothing about that.
    fn live(&self) -> Result<&Snapshot, String> {
        let snapshot = self.newest.as_deref().ok_or("the lab is still starting")?;
        match &snapshot.phase {
            _ if matches!(self.stage, Stage::Stopping(_)) => Err("the run is being stopped".to_owned()),
            Phase::SetUp(_) => Err("the lab is still starting".to_owned()),
            Phase::WarmUp | Phase::Running => Ok(snapshot),
            Phase::Draining => Err("the load has ended; the workers finish".to_owned()),
            Phase::Finished { .. } | Phase::Failed(_) => Err("the run is over: R runs it again".to_owned()),
        }
    }

    fn fault(&self, act: Act) -> Result<Vec<Order>, String> {
        let target = self.selected;
        let snapshot = self.live()?;
        let action = match target {
            Target::Host(id) => {
                let host = snapshot
                    .hosts
                    .get(id.index())
                    .ok_or_else(|| format!("there is no {id}"))?;
                host_fault(act, &host.state, &target)?
            }
            Target::Server(id) => {
                let server = snapshot
                    .servers
                    .get(id.index())
                    .ok_or_else(|| format!("there is no {id}"))?;
                server_fault(act, server.state, &target)?
            }
        };
        Ok(vec![Order::Command(Command::Fault { action, target })])
    }

    fn reset(&mut self) -> Result<Vec<Order>, String> {
        let scenario = self.scenario.as_deref().cloned().ok_or("no scenario has run yet")?;
        Ok(self.launch(Box::new(scenario)))
    }

    fn start(&mut self) -> Vec<Order> {
        let Some(picker) = &self.picker else { return Vec::new() };
        let chosen = self.catalogue.get(picker.selected);
        chosen.map(|(name, _)| Order::Load(name.clone())).into_iter().collect()
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
        match &self.newest {
            Some(snapshot) if !target_exists(snapshot, target) => Err(format!("there is no {target}")),
            _ => {
                self.selected = target;
                Ok(())
            }
        }
    }

    fn switch_digits(&mut self) -> Result<(), String> {
        self.digits_pick_servers = !self.digits_pick_servers;
        self.select(1)
    }

    fn neighbour(&mut self, step: Step) {
        let Some(snapshot) = &self.newest else { return };
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
    }

    fn next_view(&mut self) {
        let over = self
            .newest
            .as_ref()
            .is_some_and(|snapshot| matches!(snapshot.phase, Phase::Finished { .. }));
        self.scroll = 0;
        self.view = match self.view {
            View::Summary => View::Dashboard,
            View::Dashboard => View::Scoreboard,
            View::Scoreboard => View::Events,
            View::Events if over => View::Summary,
            View::Events => View::Dashboard,
        };
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

    fn scroll_by(&mut self, step: Step, lines: usize) {
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
            _ => self.scroll = moved(self.scroll, self.scroll_most.get()),
        }
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

fn host_fault(act: Act, state: &HostStatus, target: &Target) -> Result<Fault, String> {
    match (act, state) {
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
        Knob::Workers(workers) => format!("{workers} workers on each app server for each arm"),
    }
}
