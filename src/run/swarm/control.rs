//! Commands to the thread of an app server, and the faults among them: one at a time, each until its effect is verified.

use std::sync::mpsc as gate;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{Mutex as Turn, mpsc, oneshot, watch};

use super::error::SwarmError;
use lockstorm_data::model::{
    Action, Condition, Conditions, Fault, Finding, Observer, Obstacle, Proof, ServerId, TargetKind, Verified,
};

/// A command to an app server's thread.
#[derive(Debug)]
pub(super) enum ServerCommand {
    Begin,
    Workers(usize),
    Pause {
        blocked: oneshot::Sender<Instant>,
        gate: gate::Receiver<()>,
        resumed: oneshot::Sender<Instant>,
    },
    Kill,
    /// End once all workers have.
    Drain,
}

/// Sends commands to an app server's thread. It is shared with the tasks that carry out faults.
#[derive(Debug)]
pub struct Control {
    id: ServerId,
    commands: mpsc::UnboundedSender<ServerCommand>,
    /// When its last task ran; known once its runtime is gone.
    pub(super) ended: watch::Receiver<Option<Instant>>,
    conditions: Mutex<Conditions<Instant>>,
    /// Held while an action is under way; contains the pause that another action would end.
    turn: Turn<Option<Pause>>,
}

#[derive(Debug)]
struct Pause {
    /// The thread goes on when this is dropped or used.
    gate: gate::Sender<()>,
    resumed: oneshot::Receiver<Instant>,
}

impl Control {
    pub(super) fn new(
        id: ServerId,
        commands: mpsc::UnboundedSender<ServerCommand>,
        ended: watch::Receiver<Option<Instant>>,
    ) -> Self {
        Self {
            id,
            commands,
            ended,
            conditions: Mutex::default(),
            turn: Turn::default(),
        }
    }

    pub(super) fn send(&self, command: ServerCommand) {
        // A dead app server takes no commands; its conditions show that it is dead.
        let _ = self.commands.send(command);
    }

    /// What is wrong with the app server, and since when.
    pub fn conditions(&self) -> Conditions<Instant> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Conditions<Instant>> {
        self.conditions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out an action after those that were ordered before, and returns when its effect is verified. Nothing happens until
    /// the future is polled.
    ///
    /// # Errors
    /// [`SwarmError::Impossible`] if the action makes no sense in the present condition.
    pub async fn apply(&self, action: Action) -> Result<Verified<Instant>, SwarmError> {
        let mut pause = self.turn.lock().await;
        let id = self.id;
        let impossible = |obstacle| SwarmError::Impossible { action, id, obstacle };
        if let Some(obstacle) = action.obstacle(TargetKind::Server, &[], &self.conditions()) {
            return Err(impossible(obstacle));
        }
        let (at, finding) = match action {
            Action::Fault(Fault::Kill) => (self.kill(&mut pause).await?, Finding::RuntimeGone),
            Action::Fault(Fault::Pause) => (self.pause(&mut pause).await?, Finding::ThreadBlocked),
            Action::Undo(Condition::Paused) => (self.resume(&mut pause).await?, Finding::ThreadRuns),
            // What is for hosts alone has met its obstacle above.
            _ => return Err(impossible(Obstacle::NotFor(action, TargetKind::Server))),
        };
        self.lock().undergo(action, at);
        let proof = Proof {
            finding,
            by: Observer::AppServer,
            of: id.to_string(),
            at,
        };
        Ok(Verified { at, proof: vec![proof] })
    }

    /// Blocks the thread. Returns once it has stopped, with the time since when.
    async fn pause(&self, pause: &mut Option<Pause>) -> Result<Instant, SwarmError> {
        let (blocked, at) = oneshot::channel();
        let (open, gate) = gate::channel();
        let (resumed, back) = oneshot::channel();
        self.send(ServerCommand::Pause { blocked, gate, resumed });
        let at = at.await.map_err(|_| SwarmError::Ended(self.id))?;
        *pause = Some(Pause {
            gate: open,
            resumed: back,
        });
        Ok(at)
    }

    /// Lets a paused thread go on. Returns when it has.
    async fn resume(&self, pause: &mut Option<Pause>) -> Result<Instant, SwarmError> {
        let pause = pause.take().ok_or(SwarmError::Ended(self.id))?;
        let _ = pause.gate.send(());
        pause.resumed.await.map_err(|_| SwarmError::Ended(self.id))
    }

    /// Drops the runtime with all its tasks, and returns when it is gone. It sends nothing more, so its locks keep their
    /// TTL.
    async fn kill(&self, pause: &mut Option<Pause>) -> Result<Instant, SwarmError> {
        self.send(ServerCommand::Kill);
        // Once the gate is gone, a paused thread finds the command before any other task runs.
        *pause = None;
        let mut ended = self.ended.clone();
        let at = ended.wait_for(Option::is_some).await;
        at.ok().and_then(|at| *at).ok_or(SwarmError::Ended(self.id))
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Carries out the commands of a fault, as an app server's thread does.
    fn follow(mut commands: mpsc::UnboundedReceiver<ServerCommand>, ended: &watch::Sender<Option<Instant>>) {
        while let Some(command) = commands.blocking_recv() {
            if let ServerCommand::Pause { blocked, gate, resumed } = command {
                blocked.send(Instant::now()).unwrap();
                if gate.recv().is_ok() {
                    resumed.send(Instant::now()).unwrap();
                }
            } else {
                ended.send_replace(Some(Instant::now()));
            }
        }
    }

    #[test]
    fn every_action_for_app_servers_can_be_done_to_one() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let actions: Vec<Action> = Action::kinds()
            .filter(|action| action.is_for(TargetKind::Server))
            .collect();
        for action in &actions {
            let (commands, inbox) = mpsc::unbounded_channel();
            let (ended, when) = watch::channel(None);
            let thread = thread::spawn(move || follow(inbox, &ended));
            let control = Control::new(ServerId(1), commands, when);
            let needs = Fault::kinds().map(Action::Fault);
            let first = needs
                .filter(|fault| fault.undo(TargetKind::Server) == Some(*action))
                .take(1);
            runtime.block_on(async {
                for action in first.chain([*action]) {
                    let effect = control.apply(action).await;
                    assert!(effect.is_ok(), "an app server does not {action}: {effect:?}");
                }
            });
            drop(control);
            thread.join().unwrap();
        }
        assert_eq!(actions.len(), 3);
    }
}
