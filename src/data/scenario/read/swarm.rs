//! `[swarm]`.

use std::time::Duration;

use super::super::reader::Reader;
use super::super::spec::SwarmSpec;
use super::super::value;

/// The most workers in all arms together: each is a task with its own buffers.
const MOST_WORKERS: usize = 100_000;

pub(super) fn read(mut reader: Reader<'_>, duration: Duration, arms: usize) -> SwarmSpec {
    let servers = reader.listed_whole("servers");
    let workers = reader.listed_whole("workers");
    let total = servers * workers * arms;
    if total > MOST_WORKERS && reader.sound(&["servers", "workers"]) {
        let sum = format!("{servers} servers × {workers} workers × {arms} arms are {total} workers");
        reader.complain("workers", format!("{sum}; {MOST_WORKERS} at most"));
    }
    let rate = reader.get("rate", value::rate);
    let balance = reader.listed("balance", value::one_of);
    let arrivals = reader.listed("arrivals", value::one_of);
    for key in ["balance", "arrivals"] {
        if rate.is_none() && reader.has(key) && reader.sound(&["rate", key]) {
            let why = "needs rate: in a closed loop each worker takes its own requests; set rate, or leave it out";
            reader.complain(key, why);
        }
    }
    let requests = reader.whole("requests");
    let ramp = reader.listed("ramp", value::duration);
    let think = reader.listed("think", value::duration);
    if ramp > duration {
        let (ramp, duration) = (value::show(ramp), value::show(duration));
        reader.complain("ramp", format!("a ramp of {ramp} is longer than the run of {duration}"));
    }
    if rate.is_some() && !think.is_zero() {
        let why =
            "contradicts rate: requests at a rate start when they are due; leave one of them out, or set think to 0s";
        reader.complain("think", why);
    }
    let turns = reader.get("turns", value::duration);
    if turns.is_some_and(|turns| turns.is_zero() || turns.subsec_nanos() > 0) {
        reader.complain(
            "turns",
            "can't be divided: a record counts by the second; write whole seconds, for example \"1s\"",
        );
    }
    if rate.is_some() && turns.is_some() {
        let why =
            "contradicts rate: what is due in the turn of another arm would wait for seconds; leave one of them out";
        reader.complain("turns", why);
    }
    reader.finish();
    SwarmSpec {
        servers,
        workers,
        rate,
        balance,
        arrivals,
        requests,
        ramp,
        think,
        turns,
    }
}
