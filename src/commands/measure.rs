//! `lockstorm doctor --measure`: round trips, silences and clocks of servers, and stalls of this process.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use lockstorm::report::{RecordFile, measuring_bar, render_measurement};
use lockstorm_base::{Stop, Stops};
use lockstorm_lab::doctor;
use lockstorm_lock::NodeAddress;
use tokio::time::{Instant, interval, sleep_until};

use super::print::{ended, keep, print_result};
use super::server::wait_for;
use crate::cli::{DoctorArgs, Look};
use crate::exit_code;
use crate::failure::Failure;

/// Measures the servers, until the time is over or somebody asks for the end; writes it to the file, and prints it.
pub fn measure(addresses: &[NodeAddress], path: &Path, args: &DoctorArgs, look: Look) -> Result<ExitCode, Failure> {
    let file = RecordFile::check(path).map_err(Failure::usage)?;
    let bar = measuring_bar(addresses.len(), args.time, args.quiet);
    let (measurement, stop) = wait_for(async {
        let mut stops = Stops::listen().map_err(Failure::error)?;
        let end = async {
            let (begun, mut second) = (Instant::now(), interval(Duration::from_secs(1)));
            loop {
                tokio::select! {
                    () = sleep_until(begun + args.time) => return None::<Stop>,
                    stop = stops.next() => return Some(stop),
                    _ = second.tick() => bar.set_position(begun.elapsed().as_secs()),
                }
            }
        };
        doctor::measure(addresses, args.time, end).await.map_err(Failure::error)
    })??;
    bar.finish_and_clear();
    let written = keep(Some(&file), &measurement);
    // What was measured is shown even if the file could not be written.
    let printed = print_result(
        args.json,
        &measurement,
        |paint| render_measurement(&measurement, path, paint),
        look,
    );
    written.map_err(Failure::error)?;
    if measurement.is_silent() && stop.is_none() {
        return Err(Failure::error(
            "a server never answered, so a plan can't use this measurement; see `lockstorm doctor` without --measure",
        ));
    }
    let printed = printed.map(|code| match measurement.clock_fault() {
        Some(_) => ExitCode::from(exit_code::NO),
        None => code,
    });
    ended(stop, printed)
}
