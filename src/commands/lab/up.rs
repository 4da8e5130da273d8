use std::process::ExitCode;

use lockstorm_base::{Stop, Stops};
use lockstorm_lab::kept::{End, KeptError, LabOrder, Launched, Service, Status, launch, turn};
use lockstorm_lab::{Containers, LabOptions, ServerBinary, StartLock, check_temp_dir};

use super::refused::{failure, status_of_kept};
use super::text;
use crate::cli::{Look, UpArgs};
use crate::commands::print::{print_for_people, signalled};
use crate::commands::server::{self, wait_for};
use crate::failure::{Failure, tell};

/// The fewest hosts that a replicated lab has: otherwise there is no majority of Sentinels without one of them.
const REPLICATED_HOSTS: u8 = 3;

/// Starts a lab and keeps it, in the background or here.
pub fn up(args: &UpArgs, look: Look) -> Result<ExitCode, Failure> {
    if args.replicated && args.hosts < REPLICATED_HOSTS {
        return Err(Failure::usage(format!(
            "--replicated needs {REPLICATED_HOSTS} hosts or more, because Sentinels decide by majority; --hosts is {}",
            args.hosts
        )));
    }
    check_temp_dir().map_err(Failure::usage)?;
    let turn = turn(|| tell("another lab is just being started: waiting until it is up")).map_err(failure)?;
    let server = server::find(&args.nodes)?;
    let order = LabOrder {
        hosts: args.hosts.into(),
        port: (args.port > 0).then_some(args.port),
        persistence: args.persistence,
        replicated: args.replicated,
        network: args.network,
        preload: args.preload,
        password: !args.no_password,
        server: server.path.clone(),
        image: match &server.containers {
            Some(Containers::Of(image)) => Some(image.clone()),
            Some(Containers::In(_)) => {
                return Err(Failure::usage(
                    "a stack is kept by Compose: `docker compose -f docker/compose.yaml up -d`; leave out --lab compose",
                ));
            }
            None => None,
        },
    };
    if let Some(status) = status_of_kept()? {
        return already(&order, &status, look);
    }
    if args.foreground {
        foreground(&order, turn, look)
    } else {
        background(&order, server, look)
    }
}

/// A lab is kept already. That is as good as a new one if it was ordered in the same way.
fn already(order: &LabOrder, status: &Status, look: Look) -> Result<ExitCode, Failure> {
    if status.order != *order {
        return Err(Failure::error(format!(
            "a lab is kept already, and it was ordered in another way ({}, {}): use it (`lockstorm lab status`), or take it down \
             first with `lockstorm lab down`",
            text::order(&status.order),
            status.server
        )));
    }
    print_for_people(format!("a lab is kept already\n\n{}", text::how_to_use(status)), look)
}

fn background(order: &LabOrder, server: ServerBinary, look: Look) -> Result<ExitCode, Failure> {
    let program = LabOptions::new(server).map_err(Failure::error)?.keeper;
    match launch(order, &program, tell).map_err(failure)? {
        Launched::Ready(status) => print_for_people(text::how_to_use(&status), look),
        Launched::Stopped(stop) => Ok(stopped(stop)),
    }
}

fn foreground(order: &LabOrder, turn: StartLock, look: Look) -> Result<ExitCode, Failure> {
    wait_for(async {
        let mut stops =
            Stops::listen().map_err(|error| Failure::error(format!("cannot listen for signals: {error}")))?;
        let service = tokio::select! {
            service = Service::up(order.clone(), tell) => service.map_err(failure)?,
            // The keeper ends what has been started, a moment later.
            stop = stops.next() => return Ok(stopped(stop)),
        };
        // From now on it is found at its socket.
        drop(turn);
        let text = text::how_to_use(&service.status().await);
        // The lab is kept whether or not somebody reads this.
        if let Err(unread) = print_for_people(text, look) {
            unread.report();
        }
        match service.serve(&mut stops).await {
            End::Asked | End::Signal(_) => {
                tell("the lab is down");
                Ok(ExitCode::SUCCESS)
            }
            End::Removed => Err(failure(KeptError::Ended(
                "somebody has removed its run directory; it is down".to_owned(),
            ))),
            End::KeeperGone(why) => Err(failure(KeptError::Ended(format!(
                "its keeper is gone ({why}), and all hosts with it"
            )))),
        }
    })?
}

fn stopped(stop: Stop) -> ExitCode {
    tell("stopped before the lab was up; nothing is left of it");
    signalled(stop)
}
