use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use tokio::time::sleep;

use super::guests::Guest;
use crate::client::Slot;
use crate::error::LabError;
use crate::findings::{Found, verified};
use crate::lab::Lab;
use crate::preload::control::Control;
use crate::protocol::{NodeOrder, Start};
use crate::server::node::last_lines;
use lockstorm_data::model::{
    Action, Condition, Conditions, Fault, Finding, Lack, Observer, Obstacle, ServerId, Skew, Target, TargetKind,
    Verified,
};

/// How long the kernel may take to stop, continue or end one.
const LIMIT: Duration = Duration::from_secs(10);
/// How often it is looked whether one has read its clock.
const LOOK_PAUSE: Duration = Duration::from_millis(5);

impl Lab {
    /// Starts a program for an app server, in the working directory of this process. Its stdin and stdout are a connection to the socket
    /// `talk`, at which somebody must listen; its stderr goes to a file beside that. A name without a slash is looked for on PATH.
    ///
    /// # Errors
    /// It could not be started, or this lab is one of containers.
    pub async fn start_guest(&self, server: ServerId, command: &[String], talk: PathBuf) -> Result<Guest, LabError> {
        if self.nodes.plan.options.binary.containers.is_some() {
            let why = "lock = \"client\" needs nodes that are processes: play this scenario with --lab process";
            return Err(LabError::Other(why.to_owned()));
        }
        let [program, args @ ..] = command else {
            return Err(LabError::Other("a client needs a command".to_owned()));
        };
        let dir = std::env::current_dir().map_err(|error| LabError::Other(format!("no working directory: {error}")))?;
        let library = self.nodes.plan.preload.as_ref();
        let control = library.map(|library| Control::create(library, talk.with_extension("preload")));
        let start = Start {
            id: self.site.client.another(),
            program: program.into(),
            args: args.to_vec(),
            dir,
            log: talk.with_extension("log"),
            talk: Some(talk),
            control: control.transpose()?.map(Box::new),
        };
        let guest = Guest::new(server, start);
        self.begin(&guest).await?;
        self.guests.add(guest.clone());
        Ok(guest)
    }

    async fn begin(&self, guest: &Guest) -> Result<(), LabError> {
        let started = self.site.client.start_guest(guest.start.clone()).await?;
        started.map_err(|why| LabError::Other(format!("{} did not start: {why}", guest.start.program.display())))?;
        guest.set_killed(false);
        Ok(())
    }

    /// Its process id, while it runs.
    pub fn guest_pid(&self, guest: &Guest) -> Option<u32> {
        self.site.client.slot(guest.start.id).pid
    }

    /// What is wrong with the guests of an app server, and since when; `None` if it has none.
    pub fn guest_conditions(&self, server: ServerId) -> Option<Conditions<Instant>> {
        let all = self.guests.of(server);
        all.iter()
            .map(|guest| self.conditions_of(guest))
            .reduce(|mut all, other| {
                all.join(other);
                all
            })
    }

    fn conditions_of(&self, guest: &Guest) -> Conditions<Instant> {
        let mut conditions = self.site.client.slot(guest.start.id).state.conditions;
        conditions.join(guest.imposed.conditions());
        conditions
    }

    /// How a guest ended that nobody has killed, with the last lines that it wrote to stderr; `None` if it runs, or was killed on order.
    pub fn guest_death(&self, guest: &Guest) -> Option<String> {
        let slot = self.site.client.slot(guest.start.id);
        let how = slot.state.ended().filter(|_| !guest.is_killed())?;
        Some(format!("{how}{}", tail(&guest.start.log)))
    }

    /// How often a guest was killed on order.
    pub fn guest_kills(&self, guest: &Guest) -> u64 {
        guest.kills()
    }

    /// What a guest has written to stderr last.
    pub fn guest_log(&self, guest: &Guest) -> String {
        tail(&guest.start.log)
    }

    /// Carries out an action on all guests of an app server for which it makes sense, and returns when the keeper has reported its effect.
    ///
    /// # Errors
    /// There are none, the action makes sense for none of them, or it failed.
    pub async fn apply_to_guests(&self, action: Action, server: ServerId) -> Result<Verified<Instant>, LabError> {
        let _turn = self.guests.turn.lock().await;
        let admit = |guest: &Guest| self.admit(action, Target::Client(server), &self.conditions_of(guest));
        let guests = self.guests.of(server);
        let fit: Vec<&Guest> = guests.iter().filter(|guest| admit(guest).is_ok()).collect();
        if fit.is_empty() {
            guests.first().map_or(Ok(()), admit)?;
            return Err(LabError::Other(format!("{server} has no client")));
        }
        let found = try_join_all(fit.iter().map(|guest| self.apply_to_guest(action, guest))).await;
        if let (Err(_), Action::Fault(Fault::Clock(_))) = (&found, action) {
            // What was not shown on all of them is left on none.
            for guest in fit {
                let control = guest.start.control.as_ref();
                // One that can not be set right is still known to be wrong.
                if control.is_some_and(|control| control.set(Skew::NONE).is_ok()) {
                    guest.imposed.undergo(Action::Undo(Condition::Skewed), Instant::now());
                }
            }
        }
        Ok(verified(found?))
    }

    /// Does to the guests of an app server what is done to the app server itself: they are parts of one program.
    ///
    /// # Errors
    /// It failed. That there is none, or that one is so already, is no error.
    pub async fn guests_follow(&self, action: Action, server: ServerId) -> Result<(), LabError> {
        match self.apply_to_guests(action, server).await {
            Ok(_) | Err(LabError::Impossible { .. }) => Ok(()),
            Err(_) if self.guests.of(server).is_empty() => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn apply_to_guest(&self, action: Action, guest: &Guest) -> Result<Found, LabError> {
        let id = guest.start.id;
        let target = Target::Client(guest.server);
        let not_for = Obstacle::NotFor(action, TargetKind::Client);
        let (order, finding) = match action {
            Action::Fault(Fault::Kill) => (NodeOrder::Kill, Finding::ProcessGone),
            Action::Fault(Fault::Pause) => (NodeOrder::Pause, Finding::ProcessStopped),
            Action::Undo(Condition::Paused) => (NodeOrder::Continue, Finding::ProcessRuns),
            Action::Fault(Fault::Clock(skew)) => return self.set_clock(guest, action, skew).await,
            Action::Undo(Condition::Skewed) => return self.set_clock(guest, action, Skew::NONE).await,
            Action::Undo(Condition::Down) => {
                self.begin(guest).await?;
                return Ok(found(guest, Finding::ProcessRuns));
            }
            _ => return Err(LabError::of(action, target, not_for)),
        };
        if order == NodeOrder::Kill {
            guest.set_killed(true);
        }
        self.site.client.order(id, order)?;
        let is_so = |slot: &Slot| match action {
            Action::Fault(Fault::Kill) => slot.state.conditions.has(Condition::Down),
            Action::Fault(_) => !slot.state.is_up(),
            Action::Undo(_) => !slot.state.conditions.has(Condition::Paused),
        };
        let seen = |slot: &Slot| match &slot.error {
            _ if is_so(slot) => Some(Ok(())),
            error => error.clone().map(Err),
        };
        let late = || Err(format!("no effect within {LIMIT:?}"));
        let seen = self.site.client.wait_slot(id, LIMIT, seen).await?.unwrap_or_else(late);
        seen.map_err(|why| unverified(action, guest, &why))?;
        Ok(found(guest, finding))
    }

    /// Shifts the wall clock that a guest reads, and waits until it has read it.
    async fn set_clock(&self, guest: &Guest, action: Action, skew: Skew) -> Result<Found, LabError> {
        let fails = |error: io::Error| unverified(action, guest, &error.to_string());
        let not_for = || LabError::of(action, Target::Client(guest.server), Obstacle::Lacks(Lack::Preload));
        let control = guest.start.control.as_ref().ok_or_else(not_for)?;
        control.set(skew).map_err(fails)?;
        // It can be undone while nobody has read it.
        guest.imposed.undergo(action, Instant::now());
        let (end, mut seen) = (Instant::now() + LIMIT, None);
        loop {
            if let Some((ahead_us, at)) = control.first_reading().map_err(fails)? {
                let finding = Finding::Clock { ahead_us };
                if control.agrees(skew, ahead_us, at).map_err(fails)? {
                    let now = Instant::now();
                    let since = now.checked_sub(at.elapsed().unwrap_or_default()).unwrap_or(now);
                    let mut found = Found::on(Target::Client(guest.server).to_string());
                    found.add_since(since, finding, Observer::Process);
                    return Ok(found);
                }
                // A clock that runs too fast is right at first.
                control.note_again().map_err(fails)?;
                seen = Some(finding);
            }
            let is_gone = self.guest_pid(guest).is_none();
            if Instant::now() >= end || is_gone {
                let seen = match seen {
                    Some(finding) => finding.to_string(),
                    None if control.reader().map_err(fails)?.is_none() => {
                        let why = "no program of it has loaded the library that shifts it: it is linked statically, or sets LD_PRELOAD itself";
                        return Err(unverified(action, guest, why));
                    }
                    None => "it has not read its wall clock".to_owned(),
                };
                let when = if is_gone {
                    "before it ended".to_owned()
                } else {
                    format!("within {LIMIT:?}")
                };
                return Err(unverified(action, guest, &format!("{seen} {when}")));
            }
            sleep(LOOK_PAUSE).await;
        }
    }
}

fn found(guest: &Guest, finding: Finding) -> Found {
    let mut found = Found::on(Target::Client(guest.server).to_string());
    found.add(finding, Observer::Keeper);
    found
}

fn unverified(action: Action, guest: &Guest, why: &str) -> LabError {
    let on = action.on(Target::Client(guest.server));
    LabError::Other(format!("{on} could not be verified: {why}"))
}

/// Its last lines, each on a line of its own.
fn tail(log: &Path) -> String {
    last_lines(log, 0).iter().map(|line| format!("\n  {line}")).collect()
}
