//! `lockstorm doctor`: whether servers are fit for locks.

use std::env;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use lockstorm::report::{examination_bar, render_diagnosis};
use lockstorm_lab::doctor::{Diagnosis, LockUse, PARTS, examine};
use lockstorm_lock::NodeAddress;
use tokio::task::JoinSet;

use super::measure::measure;
use super::print::print_result;
use super::server::wait_for;
use crate::cli::{DoctorArgs, Look};
use crate::exit_code;
use crate::failure::Failure;

/// Asks all servers at once, and prints what was found.
pub fn doctor(args: &DoctorArgs, look: Look) -> Result<ExitCode, Failure> {
    let addresses = addresses(args)?;
    if let Some(path) = &args.measure {
        return measure(&addresses, path, args, look);
    }
    let lock_use = LockUse {
        ttl: args.ttl,
        node_timeout: args.node_timeout,
        prefix: args.prefix.clone(),
    };
    let diagnosis = diagnose(addresses, &lock_use, args.quiet)?;
    print_result(args.json, &diagnosis, |paint| render_diagnosis(&diagnosis, paint), look)?;
    Ok(exit_code::of(diagnosis.result).into())
}

/// Asks all servers at once. Unless it is to be quiet, a bar on a terminal shows how far that has got.
pub fn diagnose(addresses: Vec<NodeAddress>, lock_use: &LockUse, quiet: bool) -> Result<Diagnosis, Failure> {
    let bar = examination_bar(addresses.len(), quiet);
    let facts = wait_for(async {
        let mut asked = JoinSet::new();
        for (place, address) in addresses.into_iter().enumerate() {
            let (lock_use, bar) = (lock_use.clone(), bar.clone());
            asked.spawn(async move {
                let told = AtomicU64::new(0);
                let done = || {
                    told.fetch_add(1, Ordering::Relaxed);
                    bar.inc(1);
                };
                let facts = examine(&address, &lock_use, done).await;
                // Whoever can't be asked is done sooner.
                bar.inc(PARTS - told.into_inner().min(PARTS));
                (place, facts)
            });
        }
        let mut facts = asked.join_all().await;
        facts.sort_by_key(|(place, _)| *place);
        facts.into_iter().map(|(_, facts)| facts).collect::<Vec<_>>()
    })?;
    bar.finish_and_clear();
    Ok(Diagnosis::of(&facts, lock_use))
}

fn addresses(args: &DoctorArgs) -> Result<Vec<NodeAddress>, Failure> {
    let urls = match &args.urls_env {
        None => args.urls.clone(),
        Some(name) => {
            let text = env::var(name).map_err(|_| {
                Failure::usage(format!(
                    "the environment variable {name}, named by --urls-env, is not set: put the URLs into it"
                ))
            })?;
            let between = |c: char| c.is_whitespace() || c == ',';
            text.split(between)
                .filter(|url| !url.is_empty())
                .map(str::to_owned)
                .collect()
        }
    };
    if urls.is_empty() {
        return Err(Failure::usage(
            "there is no URL: name the servers, for example redis://127.0.0.1:6379",
        ));
    }
    if args.ttl.is_zero() || args.node_timeout.is_zero() || args.time.is_zero() {
        return Err(Failure::usage("--ttl, --node-timeout and --for must be longer than 0"));
    }
    // Not the text itself: a piece of a password may look like a URL of its own.
    let read = (1..)
        .zip(&urls)
        .map(|(n, url)| NodeAddress::parse(url).map_err(|error| Failure::usage(format!("URL {n}: {}", error.why))));
    read.collect()
}
