//! `lockstorm selftest`: broken locks that the oracles must catch.

use std::process::ExitCode;

use lockstorm::report::render_selftest;
use lockstorm_lab::{ServerBinary, check_temp_dir};
use lockstorm_selftest::{Flaw, names, selftest as play};

use super::print::{ended, print_result};
use super::server;
use crate::cli::{Look, SelfTestArgs};
use crate::exit_code;
use crate::failure::{Failure, tell};

/// Plays the triggers of the broken locks, one after the other.
pub fn selftest(args: &SelfTestArgs, look: Look) -> Result<ExitCode, Failure> {
    let only = args.only.iter().map(String::as_str);
    let named = if args.only.is_empty() { names() } else { only.collect() };
    let wanted: Result<Vec<Flaw>, _> = named.into_iter().map(Flaw::find).collect();
    let wanted = wanted.map_err(Failure::usage)?;
    check_temp_dir().map_err(Failure::usage)?;
    let server = ServerBinary::find(args.server.server_bin.as_deref()).map_err(Failure::error)?;
    let show = |title: &str| {
        if !args.quiet {
            tell(title);
        }
    };
    let played = play(&wanted, &server::options(&server), show);
    let (result, stop) = played.map_err(Failure::error)?;
    let printed = print_result(args.json, &result, |paint| render_selftest(&result, paint), look);
    let worst = result.rows.iter().map(|row| row.result).max();
    ended(stop, printed.map(|_| worst.map_or(0, exit_code::of).into()))
}
