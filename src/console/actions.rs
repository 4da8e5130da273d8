//! What each key does to the state, and why it sometimes does nothing.

use std::time::Duration;

use ratatui::crossterm::event::KeyEvent;

use super::app::{App, Intent, Palette, Picker, RunStage, Saving, View, target_exists};
use super::axis::WINDOWS;
use super::keys::{self, Act, Overlay, Place, Step};
use super::knobs::{self, KnobKind, Turn};
use super::orders::Expected;
use super::theme::Theme;
use super::ttls;
use crate::report::order;
use lockstorm_data::facts::NextStep;
use lockstorm_data::model::{
    Action, Condition, Conditions, Fault, HostId, Lack, Obstacle, ReplicationRole, ServerId, Target, TargetKind,
};
use lockstorm_run::{Command, HostView, Knob, Phase, Snapshot};

impl App {
    pub(super) fn key(&mut self, key: &KeyEvent) -> Option<Intent> {
        let asked = self.asked.take();
        let key = &keys::typed(*key);
        if self.palette.is_some() && !matches!(keys::find(key, Place::Run), Some(Act::Stop(_))) {
            return self.palette_key(key).unwrap_or_else(|why| {
                self.status = Some(why);
                None
            });
        }
        if self.typing_filter && !matches!(keys::find(key, Place::Run), Some(Act::Stop(_))) {
            self.filter_key(key);
            return None;
        }
        let done = match self.meant_by(key) {
            None => Err(format!("no key '{}' here: ? lists them", keys::name(key))),
            // The help covers what a key would act on.
            Some(act) if self.overlay == Some(Overlay::Help) && !is_of_overlay(act) && act != Act::Palette => {
                self.show(None);
                Err(format!("the help is closed now: press {} again", keys::name(key)))
            }
            Some(act) => self.act(act, asked == Some(act)),
        };
        done.unwrap_or_else(|why| {
            self.status = Some(why);
            None
        })
    }

    /// The act of a key here. What scrolls a window on top goes on doing so in a record, and lanes keep their arrows.
    fn meant_by(&self, key: &KeyEvent) -> Option<Act> {
        let in_run = keys::find(key, Place::Run);
        match (self.overlay, in_run) {
            (Some(_), Some(Act::Scroll(..))) | (Some(Overlay::Lanes), Some(Act::Neighbour(_))) => in_run,
            _ => keys::find(key, self.place()),
        }
    }

    /// Carries out an act; `again` says whether the last key was the same and asked for confirmation.
    fn act(&mut self, act: Act, again: bool) -> Result<Option<Intent>, String> {
        match act {
            Act::Quit => return Ok(self.quit()),
            Act::Stop(stop) => return Ok(self.stop_by(stop)),
            _ if self.replay.is_some() && act.needs_a_run() => {
                return Err("this is a record: nothing can be broken, turned or started in it".to_owned());
            }
            Act::Fault(_) | Act::Bounce | Act::PauseOrResume | Act::Restore => {
                return self.fault(act, self.selected, again);
            }
            Act::Turn(kind, turn) => return self.turn(kind, turn),
            // It stands beside the key that restores a host.
            Act::Reset if !again && self.is_live() => {
                self.asked = Some(act);
                return Err("R ends this run and plays it again: press R once more".to_owned());
            }
            Act::Reset => return self.reset(),
            Act::Start => return self.start(),
            Act::Hold => return self.hold(),
            // What is shown by itself is to be read first.
            Act::Next if self.overlay == Some(Overlay::Lanes) => self.show(None),
            Act::Next if self.newest.as_ref().is_some_and(|newest| newest.held) => return self.step(),
            Act::Next => return self.act(Act::Show(Overlay::Lock), again),
            Act::Save => return self.save(),
            Act::Select(number) => self.select(number)?,
            Act::SwitchDigits => self.switch_digits()?,
            Act::Neighbour(step) if self.overlay == Some(Overlay::Lanes) => self.next_lanes(step)?,
            Act::Neighbour(step) if self.view == View::Charts => self.move_cursor(step)?,
            Act::Neighbour(step) => self.neighbour(step)?,
            Act::Palette => {
                // It opens even if nothing can happen: what is typed into it are no keys.
                self.show(None);
                self.palette = Some(Palette::default());
                self.live()?;
            }
            Act::Filter => self.open_filter()?,
            Act::Charts => {
                self.begun()?;
                self.scroll = 0;
                self.view = if self.view == View::Charts {
                    View::Dashboard
                } else {
                    View::Charts
                };
            }
            Act::NextView => self.next_view()?,
            Act::NextWindow => {
                self.charted_view()?;
                let next = self.zoomed(Step::Forth);
                let first = self.windows().next().unwrap_or(0);
                self.window = if next == self.window { first } else { next };
                self.say(format!("the time axis shows the {}", WINDOWS[self.window].1));
            }
            Act::Freeze => self.freeze_or_thaw()?,
            Act::Play | Act::Speed(_) | Act::Seek(..) | Act::ToEvent(_) | Act::ToDoubleHold(_) => self.scrub(act)?,
            Act::Show(overlay) if self.overlay == Some(overlay) => self.show(None),
            Act::Show(Overlay::Lanes) => self.show_lanes()?,
            Act::Show(overlay) => {
                self.has_content(overlay)?;
                self.show(Some(overlay));
            }
            Act::NextTheme if !self.theme.colours => return Err("themes need colours, and colours are off".to_owned()),
            Act::NextTheme => self.theme = Theme::new(self.theme.name.next(), self.theme.colours),
            Act::Pick if matches!(self.stage, RunStage::Stopping(_)) => {
                return Err("the run is being stopped".to_owned());
            }
            Act::Pick => {
                self.show(None);
                self.open_picker();
            }
            Act::Close if self.overlay.is_some() => self.show(None),
            Act::Close if self.briefing.is_some() => self.briefing = None,
            // Without a run there is nothing behind the picker.
            Act::Close if self.picker.is_some() && !matches!(self.stage, RunStage::Picking) => self.picker = None,
            Act::Close if self.view == View::Events && !self.filter.is_empty() => self.filter.clear(),
            Act::Close if self.view == View::Charts && self.cursor.is_some() => self.cursor = None,
            Act::Close => return Err("nothing is open on top: q quits".to_owned()),
            Act::Scroll(step, lines) => self.scroll_by(step, lines)?,
        }
        Ok(None)
    }

    /// The newest snapshot of a run that accepts orders, even if the display is frozen.
    pub(super) fn live(&self) -> Result<&Snapshot, String> {
        if self.failure.is_some() {
            return Err("the run failed: R runs it again".to_owned());
        }
        let snapshot = self.newest.as_deref().ok_or("the lab is still starting")?;
        match &snapshot.phase {
            _ if matches!(self.stage, RunStage::Stopping(_)) => Err("the run is being stopped".to_owned()),
            Phase::SetUp(_) => Err("the lab is still starting".to_owned()),
            Phase::WarmUp | Phase::Running => Ok(snapshot),
            Phase::Draining => Err("the load has ended; the workers finish".to_owned()),
            Phase::Finished { .. } | Phase::Failed(_) => Err("the run is over: R runs it again".to_owned()),
        }
    }

    /// The snapshot of a run whose load has begun.
    pub(super) fn begun(&self) -> Result<&Snapshot, String> {
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

    /// The snapshot of a run whose load has begun, if the view with the charts is shown.
    fn charted_view(&self) -> Result<&Snapshot, String> {
        let snapshot = self.begun()?;
        match self.view {
            View::Dashboard | View::Charts => Ok(snapshot),
            _ => Err("this view has no time axis: v goes to one that has".to_owned()),
        }
    }

    fn turn(&mut self, kind: KnobKind, turn: Turn) -> Result<Option<Intent>, String> {
        let snapshot = self.live()?;
        let now = self.knobs.values(snapshot);
        let knob = knobs::turn(kind, turn, &now, &snapshot.scenario)?;
        let meaning = now.turn_of(knob, &snapshot.scenario).to_string();
        let outlasting = match knob {
            Knob::Ttl(ttl) => ttls::hint(snapshot, self.arm, ttl),
            Knob::Workers(_) | Knob::Rate(_) | Knob::Hold(_) => None,
        };
        self.knobs.order(knob, now);
        let parts: Vec<String> = [Some(meaning), outlasting].into_iter().flatten().collect();
        self.status = Some(parts.join(" · "));
        Ok(Some(Intent::Command(Command::Turn(knob))))
    }

    pub(super) fn fault(&mut self, act: Act, target: Target, again: bool) -> Result<Option<Intent>, String> {
        let snapshot = self.live()?;
        let action = self.wanted(act, target, snapshot)?;
        let order = self.orders.next();
        let (command, steps, verb): (_, Vec<Action>, _) = match (act, target) {
            (Act::Bounce, Target::Host(id)) => {
                let undo = action.undo(target.kind());
                let steps = [Some(action), undo].into_iter().flatten().collect();
                (Command::Bounce { host: id, order }, steps, ["bounce", "bouncing"])
            }
            _ => {
                let [verb, under_way, _] = action.verbs();
                let command = Command::Fault { action, target, order };
                (command, vec![action], [verb, under_way])
            }
        };
        // The other views show the hosts, and so the effect.
        if matches!(self.view, View::Events | View::Summary) && !again {
            let key = keys::label(act);
            self.asked = Some(act);
            return Err(format!(
                "this view shows no hosts: press {key} again to {} {target}",
                verb[0]
            ));
        }
        self.orders.add(target, &steps);
        self.status = Some(format!("{} {target} …", verb[1]));
        self.receipt = true;
        Ok(Some(Intent::Command(command)))
    }

    /// The action that a key means for the target in its present state.
    pub(super) fn wanted(&self, act: Act, target: Target, snapshot: &Snapshot) -> Result<Action, String> {
        if self.orders.expected(target) == Some(Expected::Bounce) {
            return Err(format!("{target} is being bounced: it comes back by itself"));
        }
        let shown = match target {
            Target::Host(id) => snapshot.hosts.get(id.index()).map(|host| &host.conditions),
            Target::Server(id) => snapshot.servers.get(id.index()).map(|server| &server.conditions),
            Target::Client(id) => snapshot
                .servers
                .get(id.index())
                .and_then(|server| server.clients.as_ref()),
            Target::Link(_) => None,
        };
        if let Target::Client(id) = target
            && snapshot
                .servers
                .get(id.index())
                .is_some_and(|server| server.conditions.has(Condition::Down))
        {
            return Err(format!(
                "{id} was killed with its clients and does not come back: R starts a new run"
            ));
        }
        let mut now = shown.ok_or_else(|| format!("there is no {target}"))?.clone();
        // An action that was ordered but not done yet counts as done.
        if let Some(Expected::After(action)) = self.orders.expected(target) {
            now.undergo(action, Duration::ZERO);
        }
        // Scenarios that cut hosts off have containers, and the lab knows whether others do.
        let [has_proxy, has_library] = [Lack::Proxy, Lack::Preload].map(|lack| snapshot.scenario.needs(lack));
        let lacks = snapshot.scenario.lab.lacks(has_proxy, has_proxy, has_library);
        let action = meant(act, target, &lacks, &now)?;
        if let (Action::Fault(Fault::Failover { .. }), Target::Host(host)) = (action, target) {
            can_lead(host, snapshot)?;
        }
        // The run follows the schedule only in its measured part, and a bounce needs it to bring the host back.
        if act == Act::Bounce && snapshot.phase == Phase::WarmUp {
            return Err("b works only after the warm-up".to_owned());
        }
        Ok(action)
    }

    fn reset(&mut self) -> Result<Option<Intent>, String> {
        let scenario = self.scenario.as_deref().cloned().ok_or("no scenario has run yet")?;
        Ok(self.launch(Box::new(scenario)))
    }

    fn hold(&mut self) -> Result<Option<Intent>, String> {
        let hold = !self.live()?.held;
        let what = if hold {
            "the schedule is held, its end too: Enter lets the next thing happen"
        } else {
            "the schedule goes on"
        };
        self.status = Some(what.to_owned());
        Ok(Some(Intent::Command(Command::Hold(hold))))
    }

    fn step(&self) -> Result<Option<Intent>, String> {
        let snapshot = self.live()?;
        if snapshot.phase == Phase::WarmUp {
            return Err("the warm-up is not over: nothing can happen yet".to_owned());
        }
        match &snapshot.next {
            None => Err("the last step is still under way".to_owned()),
            Some(next) if next.step == NextStep::LoadEnds => Ok(Some(Intent::Command(Command::End))),
            Some(_) => Ok(Some(Intent::Command(Command::Step))),
        }
    }

    fn start(&mut self) -> Result<Option<Intent>, String> {
        if let Some(scenario) = self.briefing.take() {
            return Ok(self.launch(scenario));
        }
        let chosen = self
            .picker
            .as_ref()
            .and_then(|picker| self.catalogue.get(picker.selected));
        let (name, _) = chosen.ok_or("there is no scenario to start")?;
        Ok(Some(Intent::Load(name.clone())))
    }

    fn save(&self) -> Result<Option<Intent>, String> {
        if let Some(record) = &self.record {
            return Ok(Some(Intent::Save(Saving::Record(record.clone()))));
        }
        let snapshot = self.newest.as_ref().ok_or("there is nothing to save yet")?;
        match snapshot.phase {
            Phase::SetUp(_) => Err("there is nothing to save yet".to_owned()),
            Phase::Failed(_) => Err("the run failed: there is no record".to_owned()),
            _ => Ok(Some(Intent::Save(Saving::Snapshot(snapshot.clone())))),
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
        self.say(format!("{target} is selected"));
        Ok(())
    }

    /// Says what a key has done, until something happens.
    pub(super) fn say(&mut self, words: String) {
        self.status = Some(words);
        self.passing = true;
    }

    fn switch_digits(&mut self) -> Result<(), String> {
        self.begun()?;
        self.digits_pick_servers = !self.digits_pick_servers;
        self.select(1)?;
        let what = if self.digits_pick_servers {
            "app servers"
        } else {
            "hosts"
        };
        self.say(format!("digits select {what} now"));
        Ok(())
    }

    fn neighbour(&mut self, step: Step) -> Result<(), String> {
        let snapshot = self.begun()?;
        let (number, of) = match self.selected {
            Target::Server(id) => (id.0, snapshot.servers.len()),
            Target::Host(id) => (id.0, snapshot.hosts.len()),
            Target::Link(_) | Target::Client(_) => (1, snapshot.hosts.len()),
        };
        let of = of.max(1);
        let next = match step {
            Step::Forth => number % of + 1,
            Step::Back => (number + of).saturating_sub(2) % of + 1,
        };
        self.selected = match self.selected {
            Target::Host(_) | Target::Link(_) | Target::Client(_) => Target::Host(HostId(next)),
            Target::Server(_) => Target::Server(ServerId(next)),
        };
        Ok(())
    }

    fn next_view(&mut self) -> Result<(), String> {
        let over = matches!(self.begun()?.phase, Phase::Finished { .. });
        self.scroll = 0;
        self.view = match self.view {
            View::Summary | View::Charts => View::Dashboard,
            View::Dashboard => View::Scoreboard,
            View::Scoreboard => View::Events,
            View::Events if over => View::Summary,
            View::Events => View::Dashboard,
        };
        Ok(())
    }

    /// Whether a window would show anything of this run.
    fn has_content(&self, overlay: Overlay) -> Result<(), String> {
        match overlay {
            Overlay::Lock | Overlay::Target => self.begun().map(|_| ()),
            Overlay::Ttls if self.replay.is_some() => {
                Err("a record is not compared with other TTLs here: lockstorm plan RECORD does that".to_owned())
            }
            Overlay::Expectations if self.begun()?.scenario.expect.is_empty() => {
                Err("this scenario has no expectations".to_owned())
            }
            Overlay::Ttls if !self.begun()?.scenario.arms.iter().any(|arm| arm.lock.uses_nodes()) => {
                Err("no arm here has a lock with a TTL".to_owned())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn show(&mut self, overlay: Option<Overlay>) {
        self.overlay = overlay;
        self.scroll = 0;
    }

    pub(super) fn scroll_by(&mut self, step: Step, lines: usize) -> Result<(), String> {
        let moved = |from: usize, most: usize| match step {
            Step::Forth => from.saturating_add(lines).min(most),
            Step::Back => from.min(most).saturating_sub(lines),
        };
        let last = self.catalogue.len().saturating_sub(1);
        if self.overlay.is_none() && self.picker.is_none() && self.has_rows() {
            return self.choose_arm(step);
        }
        match &mut self.picker {
            Some(picker) if self.overlay.is_none() && self.briefing.is_none() => {
                picker.selected = moved(picker.selected, last);
                picker.error = None;
            }
            _ if self.scroll_most.get() == 0 => {
                return Err("everything is shown: there is nothing to scroll".to_owned());
            }
            _ => self.scroll = moved(self.scroll, self.scroll_most.get()),
        }
        Ok(())
    }

    /// Whether the view has a row for each arm.
    fn has_rows(&self) -> bool {
        matches!(self.view, View::Dashboard | View::Charts) && self.begun().is_ok()
    }

    /// Chooses the arm above or below.
    fn choose_arm(&mut self, step: Step) -> Result<(), String> {
        let order = order(&self.charted_view()?.scenario);
        let now = order.iter().position(|arm| *arm == self.arm).unwrap_or(0);
        let next = match step {
            Step::Forth => now + 1,
            Step::Back => now.wrapping_sub(1),
        };
        self.arm = *order.get(next).ok_or("there is no other lock there")?;
        Ok(())
    }

    /// Opens the picker, with the present scenario selected.
    fn open_picker(&mut self) {
        let (selected, error) = (
            self.scenario.as_ref().map_or(0, |present| self.place_of(&present.name)),
            None,
        );
        self.picker = Some(Picker { selected, error });
    }

    /// The position of a scenario in the catalogue.
    pub(super) fn place_of(&self, name: &str) -> usize {
        let mut names = self.catalogue.iter();
        names.position(|(listed, _)| listed == name).unwrap_or(0)
    }
}

/// Whether an act applies to an overlay, or to everything.
const fn is_of_overlay(act: Act) -> bool {
    matches!(
        act,
        Act::Show(_) | Act::Close | Act::Quit | Act::Stop(_) | Act::NextTheme | Act::Scroll(..)
    )
}

/// Why a host can't be made to have the master.
fn can_lead(host: HostId, snapshot: &Snapshot) -> Result<(), String> {
    let is_master = |host: &&HostView| matches!(host.role, Some(ReplicationRole::Master { .. }));
    let masters: Vec<HostId> = snapshot.hosts.iter().filter(is_master).map(|host| host.id).collect();
    if masters == [host] {
        return Err(format!("{host} has the master already: select another host"));
    }
    Ok(())
}

/// The action of a key on a target in these conditions, or why it does nothing.
fn meant(act: Act, target: Target, lacks: &[Lack], now: &Conditions<Duration>) -> Result<Action, String> {
    let kind = target.kind();
    let action = match act {
        Act::Fault(fault) => Action::Fault(fault),
        Act::Bounce => Action::Fault(Fault::Kill),
        Act::PauseOrResume if now.has(Condition::Paused) => Action::Undo(Condition::Paused),
        Act::PauseOrResume => Action::Fault(Fault::Pause),
        _ => match now.first_to_undo() {
            Some(ongoing) => Action::Undo(ongoing.condition),
            None => return Err(format!("{target} is up")),
        },
    };
    if act == Act::Bounce && kind != TargetKind::Host {
        return Err("only hosts can be bounced: k kills an app server, p pauses it".to_owned());
    }
    // A bounce makes sense only for a host that is up.
    let is_broken = now.first().filter(|_| act == Act::Bounce);
    let obstacle = action.obstacle(kind, lacks, now);
    let obstacle = obstacle.or_else(|| Some(Obstacle::First(is_broken?.condition, None)));
    let Some(obstacle) = obstacle else { return Ok(action) };
    Err(match obstacle {
        Obstacle::Lacks(Lack::OwnHosts) => {
            let done = match act {
                Act::Bounce => "bounced",
                Act::PauseOrResume => "paused",
                _ => action.verbs()[2],
            };
            format!("{target} is not ours, so it can't be {done}: s and a digit pick an app server")
        }
        Obstacle::Lacks(Lack::Replicas) => {
            "nothing to fail over: no arm of this scenario has replicated nodes".to_owned()
        }
        Obstacle::Lacks(Lack::Proxy | Lack::Containers) => {
            "only where a fault of the scenario lags or cuts: then there is a proxy".to_owned()
        }
        Obstacle::Lacks(Lack::Preload) => {
            "only in a scenario with a fault of clocks or power: only then the servers have our library".to_owned()
        }
        Obstacle::NotFor(action, _) => {
            format!("{target} can't be {}: k kills it, p pauses it", action.verbs()[2])
        }
        Obstacle::Already(condition, _) | Obstacle::First(condition, _) if condition.is_undone_on(kind) => {
            let undo = Action::Undo(condition).verbs()[0];
            // No key is for clients.
            if kind == TargetKind::Client {
                return Err(format!("{target} are {}: {undo} them first", condition.word()));
            }
            format!("{target} is {}: r {undo}s it", condition.word())
        }
        Obstacle::Already(condition, how) | Obstacle::First(condition, how) | Obstacle::ForGood(condition, how) => {
            let how = how.map_or_else(|| condition.word().to_owned(), |how| how.to_string());
            format!("{target} was {how} and does not come back: R starts a new run")
        }
        Obstacle::Not(condition) => format!("{target} is not {}", condition.word()),
    })
}
