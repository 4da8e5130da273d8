//! What one server shows by itself.

use std::time::Duration;

use crate::doctor::facts::{Facts, Refused, Server, Trial, TtlSeen, Unreached, is_unknown_command};
use crate::doctor::finding::{Check, Finding, Seen, bad, good, unknown, warning};
use crate::doctor::lock_use::LockUse;
use crate::server::version::{OLDEST, Version};
use lockstorm_data::metrics::{ClockRate, systemd_lines};

/// Clocks that differ by more are not kept by NTP.
const CLOCK_LIMIT_US: i64 = 500_000;
/// The share of its memory beyond which a server is about to be full.
const FULL: f64 = 0.9;
/// What to do if the server does not say something in `INFO`.
const LOOK: &str = "look at it on the server itself";
/// What to do about an error that says by itself what is wrong.
const REPAIR: &str = "repair what the server complains of, and look again";

/// What to do so that a command is run to which the server has answered with this error; `rules` allow it to a user.
fn cure_of(error: &str, rules: &str) -> String {
    match error {
        _ if error.contains("NOPERM") => format!("allow it to the user (`ACL SETUSER … {rules}`)"),
        _ if is_unknown_command(error) => {
            "the command is renamed or switched off there (rename-command): give it back its name, or look at this on the server itself"
                .to_owned()
        }
        _ if error.contains("OOM") => "make room, or raise maxmemory; keep caches on another server".to_owned(),
        _ if error.contains("BUSY") => {
            "wait for the script, or end it (SCRIPT KILL works until it has written something), and look again".to_owned()
        }
        _ if error.contains("LOADING") => "wait until it has loaded its data, and look again".to_owned(),
        _ if error.contains("read-only") => "it is a replica: name its master".to_owned(),
        _ if error.contains("MASTERDOWN") => "connect it with its master again, or make it one (`REPLICAOF NO ONE`)".to_owned(),
        _ if error.contains("MISCONF") => "see its log: it can't save, perhaps because its disk is full".to_owned(),
        _ => REPAIR.to_owned(),
    }
}

/// How a setting is changed there.
fn set(server: &Server, setting: &str) -> String {
    match &server.config {
        Err(why) if is_unknown_command(why) => {
            format!("set `{setting}` in its configuration and start it again: it has no CONFIG command")
        }
        _ => format!("CONFIG SET {setting}, also in redis.conf"),
    }
}

/// The findings of one server.
pub(in crate::doctor) fn of_server(facts: &Facts, lock_use: &LockUse) -> Vec<Finding> {
    let server = match &facts.server {
        Ok(server) => server,
        Err(why) => return vec![Finding::new(Check::Reach, unreached(why))],
    };
    if let Err(why) = &server.info
        && why.starts_with("NOAUTH")
    {
        return vec![Finding::new(Check::Reach, unreached(&Unreached::Denied(why.clone())))];
    }
    let mut found = vec![(Check::Reach, good("it answers"))];
    match &server.info {
        Ok(_) => {
            found.extend([
                (Check::Version, version(server)),
                (Check::Kind, kind(facts, server)),
                (Check::Replication, replication(server)),
                (Check::Eviction, eviction(server)),
                (Check::Persistence, persistence(server, lock_use.ttl)),
            ]);
        }
        Err(why) => {
            let seen = format!("it does not answer INFO: {why}");
            found.push((Check::Kind, unknown(seen, cure_of(why, "+info"))));
        }
    }
    if let Some(tried) = &server.trial {
        found.push((Check::Permission, permission(server, tried, lock_use)));
        found.extend(keys(tried).map(|judgement| (Check::Keys, judgement)));
    }
    found.extend([
        (Check::RoundTrip, round_trip(server, lock_use)),
        (Check::Clock, clock(server)),
        (Check::Access, access(facts, server)),
    ]);
    if is_sentinel(server) {
        // It keeps no locks, so nothing else matters.
        found.retain(|(check, _)| matches!(check, Check::Reach | Check::Version | Check::Kind));
    }
    let finding = |(check, judgement)| Finding::new(check, judgement);
    found.into_iter().map(finding).collect()
}

fn unreached(why: &Unreached) -> Seen {
    let (text, cure) = match why {
        Unreached::Silent(text) => (
            text.as_str(),
            "check the address, and that the server runs and listens there",
        ),
        Unreached::Stalled(text) => (
            text.as_str(),
            "the server is stalled or paused: see whether its process is stopped (state T in `ps`; `kill -CONT` resumes it), whether it \
             runs a slow command, and whether CLIENT PAUSE holds clients back (it ends after its time)",
        ),
        Unreached::Denied(text) if text.starts_with("NOAUTH") => (
            text.as_str(),
            "put user and password into the URL: redis://user:password@host",
        ),
        Unreached::Denied(text) if text.contains("max number of clients") => (
            text.as_str(),
            "raise maxclients there, or find in CLIENT LIST which clients keep so many connections open",
        ),
        Unreached::Denied(text) if text.starts_with("DENIED") => (
            "protected-mode refuses clients on other machines, since the default user has no password",
            "set one there (requirepass), and put it into the URL: redis://:password@host",
        ),
        Unreached::Denied(text) => (text.as_str(), "check user, password and database in the URL"),
        Unreached::Closed => (
            "it closes the connection",
            "see its log: it may speak TLS only (write rediss://), have as many clients as it allows (maxclients), or let nobody in \
             from here (bind, protected-mode)",
        ),
        Unreached::Tls(text) => (
            text.as_str(),
            "check that the port speaks TLS, that its certificate names the host of the URL and is valid, and that this machine trusts \
             who signed it (SSL_CERT_FILE names another authority)",
        ),
    };
    bad(text, cure)
}

fn is_sentinel(server: &Server) -> bool {
    ["redis_mode", "server_mode"]
        .into_iter()
        .any(|field| server.info(field) == Some("sentinel"))
}

fn version(server: &Server) -> Seen {
    let Some(version) = server.version() else {
        return unknown("INFO does not name one", "name a Redis or Valkey server");
    };
    let name = server.info("valkey_version").map_or("Redis", |_| "Valkey");
    match Version::parse(version) >= Some(OLDEST) {
        true => good(format!("{name} {version}")),
        false => bad(format!("{name} {version}"), "install 6.2 or newer"),
    }
}

fn kind(facts: &Facts, server: &Server) -> Seen {
    if is_sentinel(server) {
        return bad(
            "it is a Sentinel, which keeps no locks",
            "name the server that it watches (`SENTINEL GET-MASTER-ADDR-BY-NAME`), usually at port 6379",
        );
    }
    if server.info("cluster_enabled") == Some("1") {
        return bad(
            "it is a node of a cluster: a key is on one of its masters only, and a cluster is one vote",
            "use servers without cluster mode (`cluster-enabled no`)",
        );
    }
    let said = server.number("tcp_port");
    match (server.info("run_id"), server.second_run_id.as_deref()) {
        (Some(first), Some(second)) if first != second => bad(
            "two connections reached two servers: a proxy or load balancer stands in between",
            "name the servers themselves",
        ),
        (Some(_), Some(_))
            if facts
                .port
                .zip(said)
                .is_some_and(|(asked, said)| u64::from(asked) != said) =>
        {
            warning(
                format!(
                    "it listens on port {} by its own account, so something stands in between",
                    said.unwrap_or_default()
                ),
                "name the server itself: a proxy may lead somewhere else tomorrow; a mapped port of its container does no harm",
            )
        }
        (Some(_), Some(_)) => good("the same server on both connections, without cluster mode"),
        _ => unknown("INFO has no run_id, as behind some proxies", "name the server itself"),
    }
}

fn replication(server: &Server) -> Seen {
    let replicas = server.number("connected_slaves");
    let least = server
        .config("min-replicas-to-write")
        .and_then(|text| text.parse::<u64>().ok());
    match server.info("role") {
        role if role == Some("active-replica") || server.config("active-replica") == Some("yes") => bad(
            "it is an active replica (KeyDB), and so is its other side: both grant the same lock",
            "use independent masters for locks (`active-replica no`)",
        ),
        Some("master") if replicas == Some(0) => good("a master without replicas"),
        Some("master") if replicas.is_some() => {
            let replicas = replicas.unwrap_or_default();
            let kept = match least {
                Some(0) => ", and takes writes without any (min-replicas-to-write 0)".to_owned(),
                Some(least) => format!(", and takes writes only with {least} (min-replicas-to-write)"),
                None => String::new(),
            };
            warning(
                format!(
                    "a master with {replicas} replica{}{kept}",
                    if replicas == 1 { "" } else { "s" }
                ),
                "use independent masters for locks; if somebody may fail over, `min-replicas-to-write 1` with a short \
                 min-replicas-max-lag keeps an old master from granting locks for ever, but a lock can still be lost",
            )
        }
        Some("slave") => bad(
            match server.info("slave_read_only") {
                Some("0") => {
                    "it is a replica that takes writes (replica-read-only no): its master never has them, and they are lost when it \
                     syncs with it again"
                }
                _ => "it is a replica, which takes no writes",
            },
            "name its master, or make it one (`REPLICAOF NO ONE`)",
        ),
        _ => unknown("INFO does not say its role and its replicas", LOOK),
    }
}

fn eviction(server: &Server) -> Seen {
    let (Some(limit), Some(policy), Some(evicted)) = (
        server.number("maxmemory"),
        server.info("maxmemory_policy"),
        server.number("evicted_keys"),
    ) else {
        return unknown("INFO does not say the policy", LOOK);
    };
    let cure = format!(
        "{}; keep caches on another server",
        set(server, "maxmemory-policy noeviction")
    );
    let used = server.number("used_memory").unwrap_or_default();
    // Output buffers of replicas don't count.
    let used = used.saturating_sub(server.number("mem_not_counted_for_evict").unwrap_or_default());
    let share = used as f64 / limit as f64;
    let has_evicted = match evicted {
        0 => String::new(),
        some => format!("; it has evicted {some} keys"),
    };
    match (limit, policy) {
        (1.., "noeviction") if share >= FULL => warning(
            format!(
                "noeviction, and {:.0} % of {limit} bytes are in use: a server that is full sets no key{has_evicted}",
                share * 100.0
            ),
            "make room, or raise maxmemory; keep caches on another server",
        ),
        (_, "noeviction") if evicted == 0 => good("noeviction"),
        (_, "noeviction") => warning(
            format!("noeviction now{has_evicted}"),
            "see that it stays so in redis.conf",
        ),
        (0, policy) => warning(format!("{policy}, without a limit of memory{has_evicted}"), cure),
        (_, policy) => bad(format!("{policy} beyond {limit} bytes{has_evicted}"), cure),
    }
}

fn persistence(server: &Server, ttl: Duration) -> Seen {
    let longest = humantime::format_duration(Duration::from_millis(
        u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX),
    ));
    let lines = systemd_lines(ttl.as_secs_f64())
        .map(|line| format!("`{line}`"))
        .join(", ");
    let cure = format!(
        "let it come back only when all locks have expired: {lines} under [Service] in its systemd unit, for TTLs up to {longest} (or \
         `appendonly yes` with `appendfsync always`, at the cost of each write)"
    );
    let aof = server.info("aof_enabled") == Some("1");
    if aof
        && server
            .info("aof_last_write_status")
            .is_some_and(|status| status != "ok")
    {
        return bad(
            "its last write to the append-only file failed",
            "see its log; the disk may be full",
        );
    }
    match (aof, server.config("appendfsync")) {
        (true, Some("always")) if server.config("no-appendfsync-on-rewrite") == Some("yes") => warning(
            "each write is on disk before it is answered, but not while the file is rewritten",
            set(server, "no-appendfsync-on-rewrite no"),
        ),
        (true, Some("always")) => good("each write is on disk before it is answered"),
        (true, None) => unknown(
            "it does not say how often its file is synced",
            match &server.config {
                Err(why) => cure_of(why, "+config|get"),
                Ok(_) => LOOK.to_owned(),
            },
        ),
        (true, Some("no")) => warning(
            "appendfsync no: what the kernel has not written yet, often half a minute, is lost with the machine",
            cure,
        ),
        (true, Some(often)) => warning(
            format!("appendfsync {often}: the last second is lost with the machine"),
            cure,
        ),
        (false, _) => warning("no append-only file: a restart forgets locks", cure),
    }
}

fn permission(server: &Server, trial: &Trial, lock_use: &LockUse) -> Seen {
    let keys = match lock_use.prefix.as_str() {
        "" => "~PREFIX*",
        prefix => &format!("~{prefix}*"),
    };
    let prefix = match lock_use.prefix.is_empty() {
        true => "; if the user may use keys with a prefix only, name it with --prefix",
        false => "",
    };
    let rules = format!(
        "{keys} &lockstorm:released:* +set +get +del +pexpire +pttl +eval +evalsha +script|load +publish +subscribe +unsubscribe +ping"
    );
    let allow = |error: &str| match error.contains("NOPERM") {
        true => format!("ACL SETUSER … {rules}{prefix}"),
        false => cure_of(error, &rules),
    };
    match &trial.lock {
        Ok(()) if trial.missing.is_empty() => good("a lock was acquired, extended and released"),
        Ok(()) => {
            let (names, errors): (Vec<&str>, Vec<&str>) = trial
                .missing
                .iter()
                .map(|(name, error)| (name.as_str(), error.as_str()))
                .unzip();
            warning(
                format!(
                    "the user can lock, but not {}: waiting for a lock takes longer",
                    names.join(", ")
                ),
                allow(errors[0]),
            )
        }
        Err(_) if !trial.unknown.is_empty() => {
            let names = trial.unknown.join(", ");
            bad(
                format!(
                    "a lock needs {names}, which the server does not know: renamed or switched off (rename-command)"
                ),
                format!("remove `rename-command` of {names} from its configuration and start it again"),
            )
        }
        Err(Refused::NotPermitted(why)) => bad(why, allow(why)),
        Err(Refused::Late) => unknown(
            "a lock was tried, and the server did not answer in 3 s",
            "look again when it is not busy, or from a machine that is nearer",
        ),
        Err(Refused::Failed(why)) if why.contains("NOREPLICAS") => bad(
            format!("no lock could be acquired: {why}"),
            format!(
                "attach the replicas that it waits for, or {}",
                set(server, "min-replicas-to-write 0")
            ),
        ),
        Err(Refused::Failed(why)) => bad(format!("no lock could be acquired: {why}"), allow(why)),
    }
}

/// How it keeps keys; nothing if no lock could be acquired, which says why that was not seen.
fn keys(trial: &Trial) -> Option<Seen> {
    let keys = &trial.keys;
    let mut wrong = Vec::new();
    if keys.second_refused == Some(false) {
        wrong.push("a second SET NX of the same key was granted".to_owned());
    }
    if let Some(TtlSeen { set, said, within }) = keys.ttl
        // PTTL may be rounded either way.
        && (said > set + 1 || said + within + 1 < set)
    {
        wrong.push(format!(
            "PTTL of a key that was set with {set} ms is {said} within {within} ms"
        ));
    }
    if let Some((all, lost @ 1..)) = keys.lost {
        wrong.push(format!("of {all} keys {lost} were gone before their time"));
    }
    if !wrong.is_empty() {
        return Some(bad(
            wrong.join("; "),
            "use a Redis or Valkey itself: this server, or what stands in front of it, does not do what it says",
        ));
    }
    match (keys.second_refused, keys.ttl, keys.lost) {
        (Some(_), Some(_), Some((all, _))) => Some(good(format!(
            "a second SET NX was refused, PTTL is right, and {all} keys were kept"
        ))),
        _ if trial.lock.is_err() => None,
        _ => Some(unknown(
            "it could not be seen whether keys are kept for their TTL",
            keys.error.as_ref().map_or_else(
                || "look from a machine that is nearer".to_owned(),
                |error| cure_of(error, "+set +get +pttl"),
            ),
        )),
    }
}

fn round_trip(server: &Server, lock_use: &LockUse) -> Seen {
    if let Err(why) = &server.round_trips {
        return unknown(format!("it does not answer PING: {why}"), cure_of(why, "+ping"));
    }
    let (Some(median), Some(p99)) = (server.round_trip(0.5), server.round_trip(0.99)) else {
        return unknown(
            "it has answered no PING in time",
            "look at it from a machine that is nearer",
        );
    };
    let millis = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    let limit = lock_use.node_timeout;
    let seen = format!(
        "median {}, p99 {}; the node timeout is {}",
        millis(median),
        millis(p99),
        millis(limit)
    );
    let cure = "use servers that are nearer, or a longer node timeout (see what `lockstorm plan` says of the TTL then)";
    if lock_use.ttl <= limit {
        let ttl = humantime::format_duration(lock_use.ttl);
        let seen = format!("{seen}, and the TTL of {ttl} is not longer: a lock may have expired when its votes are in");
        return bad(seen, "choose a TTL of many node timeouts");
    }
    if median >= limit {
        bad(seen, cure)
    } else if p99 * 2 >= limit || p99 * 10 >= lock_use.ttl {
        warning(seen, cure)
    } else {
        good(seen)
    }
}

fn clock(server: &Server) -> Seen {
    let clock = match &server.clock {
        Ok(clock) => clock,
        Err(why) => {
            return unknown(format!("it does not tell its TIME: {why}"), cure_of(why, "+time"));
        }
    };
    if let Some(fault) = server.rate.and_then(ClockRate::fault) {
        return bad(
            format!("it {fault}: keys live longer or shorter than their TTL"),
            "repair the clock of that machine (of a virtual one its clock source); if all servers show this, it may be ours",
        );
    }
    let seen = format!(
        "{:.2} ms {} ours, give or take {:.2} ms",
        clock.ahead_us.abs() as f64 / 1e3,
        if clock.ahead_us < 0 { "behind" } else { "ahead of" },
        clock.within_us as f64 / 1e3
    );
    if clock.ahead_us.abs() - clock.within_us > CLOCK_LIMIT_US {
        let cure = "let chrony or another NTP client keep the clocks, by slewing (chrony: `makestep 1 3`): a clock that is off will be \
                    set one day, and what it skips is taken off every TTL";
        return warning(seen, cure);
    }
    if clock.within_us > CLOCK_LIMIT_US {
        return unknown(seen, "look at it from a machine that is nearer");
    }
    good(seen)
}

fn access(facts: &Facts, server: &Server) -> Seen {
    let cure = "give the server a password (requirepass, or ACL users with `ACL SETUSER default off`), and name it as \
                redis://user:password@host";
    let Some(is_open) = server.is_open else {
        return unknown(
            "it could not be told whether clients without a password may take locks",
            "see what `ACL GETUSER default` says on the server; `ACL SETUSER default off` closes it",
        );
    };
    match (facts.is_loopback, is_open, facts.uses_tls) {
        (false, true, _) => bad(
            "everybody who reaches it over the network may take and delete locks",
            cure,
        ),
        (false, false, false) => warning(
            "the password goes over the network in plain text",
            "use TLS: rediss://, with tls-port on the server",
        ),
        (true, true, _) => warning("everybody on this machine may take and delete locks", cure),
        (_, false, true) => good("a password, over TLS"),
        (true, false, false) => good("a password, on this machine"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::doctor::facts::Keys;
    use lockstorm_data::metrics::Clock;
    use lockstorm_data::model::CheckResult;

    fn map(fields: &[(&str, &str)]) -> BTreeMap<String, String> {
        fields
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect()
    }

    /// A server as it should be, in another place.
    fn sound() -> Facts {
        Facts {
            name: "10.0.0.1:6379".to_owned(),
            is_loopback: false,
            uses_tls: true,
            port: Some(6379),
            server: Ok(Server {
                info: Ok(map(&[
                    ("redis_version", "7.0.15"),
                    ("redis_mode", "standalone"),
                    ("run_id", "a"),
                    ("tcp_port", "6379"),
                    ("role", "master"),
                    ("connected_slaves", "0"),
                    ("maxmemory", "0"),
                    ("maxmemory_policy", "noeviction"),
                    ("evicted_keys", "0"),
                    ("aof_enabled", "1"),
                ])),
                config: Ok(map(&[("appendfsync", "always")])),
                second_run_id: Some("a".to_owned()),
                is_open: Some(false),
                round_trips: Ok(vec![Duration::from_millis(1); 50]),
                clock: Ok(Clock {
                    ahead_us: -900,
                    within_us: 400,
                }),
                rate: Some(ClockRate {
                    least: 0.99,
                    most: 1.01,
                }),
                trial: Some(Trial {
                    lock: Ok(()),
                    unknown: Vec::new(),
                    missing: Vec::new(),
                    keys: kept(),
                }),
            }),
        }
    }

    /// Keys as they should be.
    fn kept() -> Keys {
        Keys {
            second_refused: Some(true),
            ttl: Some(TtlSeen {
                set: 10_000,
                said: 9_998,
                within: 2,
            }),
            lost: Some((100, 0)),
            error: None,
        }
    }

    /// All advice that is given to this server.
    fn advice(change: impl FnOnce(&mut Server)) -> String {
        let mut facts = sound();
        let mut server = facts.server.clone().unwrap();
        change(&mut server);
        facts.server = Ok(server);
        let lock_use = LockUse {
            ttl: Duration::from_secs(10),
            node_timeout: Duration::from_millis(40),
            prefix: String::new(),
        };
        let findings = of_server(&facts, &lock_use).into_iter();
        findings
            .filter_map(|finding| finding.cure)
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn advice_works_on_that_server() {
        const RENAMED: &str = "ERR unknown command 'CONFIG', with args beginning with: 'GET'";
        const MISCONF: &str =
            "MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist";
        let refuses = |error: &'static str| {
            advice(move |server| {
                server.config = Err(error.to_owned());
                server.round_trips = Err(error.to_owned());
                server.clock = Err(error.to_owned());
                let trial = server.trial.as_mut().unwrap();
                trial.lock = Err(Refused::Failed(error.to_owned()));
                trial.missing = vec![("PUBLISH".to_owned(), error.to_owned())];
                server
                    .info
                    .as_mut()
                    .unwrap()
                    .insert("maxmemory_policy".to_owned(), "allkeys-lru".to_owned());
            })
        };
        let denied = refuses("NOPERM this user has no permissions");
        assert!(
            denied.contains("+config|get") && denied.contains("+ping") && denied.contains("+time"),
            "{denied}"
        );
        let renamed = refuses(RENAMED);
        assert!(!renamed.contains("ACL") && !renamed.contains("CONFIG SET"), "{renamed}");
        assert!(
            renamed.contains("rename-command") && renamed.contains("it has no CONFIG command"),
            "{renamed}"
        );
        for (error, cure) in [
            ("read-only", "name its master"),
            (
                "BUSY Redis is busy running a script. You can only call SCRIPT KILL",
                "wait for the script",
            ),
            (
                "LOADING Redis is loading the dataset in memory",
                "wait until it has loaded",
            ),
            (
                "OOM command not allowed when used memory > 'maxmemory'.",
                "raise maxmemory",
            ),
        ] {
            let advice = refuses(error);
            assert!(advice.contains(cure) && !advice.contains(REPAIR), "{advice}");
        }
        let full = refuses(MISCONF);
        assert!(!full.contains("ACL") && full.contains("it can't save"), "{full}");
    }

    #[test]
    fn a_clock_that_does_not_run_as_ours_is_bad_and_an_uncertain_one_is_not() {
        let of = |least, most| found(|_, server| server.rate = Some(ClockRate { least, most }));
        let bad = [(Check::Clock, CheckResult::Failed)];
        assert_eq!(of(0.0, 0.0), bad);
        assert_eq!(of(1.9, 2.1), bad);
        assert_eq!(of(0.4, 0.6), bad);
        assert_eq!(of(0.5, 1.5), []);
        assert_eq!(found(|_, server| server.rate = None), []);
    }

    #[test]
    fn keys_are_judged_by_what_became_of_them() {
        let of = |change: fn(&mut Keys)| found(|_, server| change(&mut server.trial.as_mut().unwrap().keys));
        let said = |said| TtlSeen {
            set: 10_000,
            said,
            within: 5,
        };
        let bad = [(Check::Keys, CheckResult::Failed)];
        assert_eq!(of(|keys| keys.second_refused = Some(false)), bad);
        assert_eq!(of(|keys| keys.lost = Some((100, 1))), bad);
        for wrong in [-1, -2, 200, 9_993, 10_002] {
            let found = found(|_, server| server.trial.as_mut().unwrap().keys.ttl = Some(said(wrong)));
            assert_eq!(found, bad, "{wrong}");
        }
        for right in [9_994, 9_998, 10_000, 10_001] {
            let found = found(|_, server| server.trial.as_mut().unwrap().keys.ttl = Some(said(right)));
            assert_eq!(found, [], "{right}");
        }
        let unknown = [(Check::Keys, CheckResult::Inconclusive)];
        assert_eq!(of(|keys| keys.second_refused = None), unknown);
        assert_eq!(of(|keys| keys.ttl = None), unknown);
        assert_eq!(of(|keys| keys.lost = None), unknown);
    }

    /// What is not good after this change.
    fn found(change: impl FnOnce(&mut Facts, &mut Server)) -> Vec<(Check, CheckResult)> {
        let mut facts = sound();
        let mut server = facts.server.clone().unwrap();
        change(&mut facts, &mut server);
        facts.server = Ok(server);
        let lock_use = LockUse {
            ttl: Duration::from_secs(10),
            node_timeout: Duration::from_millis(40),
            prefix: String::new(),
        };
        let findings = of_server(&facts, &lock_use).into_iter();
        let not_good = findings.filter(|finding| !finding.is_good());
        not_good.map(|finding| (finding.check, finding.result)).collect()
    }

    fn with(field: &str, value: &str) -> Vec<(Check, CheckResult)> {
        found(|_, server| {
            server.info.as_mut().unwrap().insert(field.to_owned(), value.to_owned());
        })
    }

    fn without(field: &str) -> Vec<(Check, CheckResult)> {
        found(|_, server| {
            server.info.as_mut().unwrap().remove(field).unwrap();
        })
    }

    #[test]
    fn a_sound_server_gives_no_cause_for_complaint() {
        assert_eq!(found(|_, _| {}), []);
    }

    #[test]
    fn what_is_said_is_judged() {
        let bad = |check| vec![(check, CheckResult::Failed)];
        assert_eq!(with("redis_version", "6.0.16"), bad(Check::Version));
        assert_eq!(with("redis_version", "10.0.0"), []);
        let sentinel = found(|facts, server| {
            let fields = server.info.as_mut().unwrap();
            fields.insert("redis_mode".to_owned(), "sentinel".to_owned());
            server.clock = Err("ERR unknown command 'TIME'".to_owned());
            (facts.is_loopback, server.is_open) = (true, Some(true));
        });
        assert_eq!(sentinel, bad(Check::Kind), "it has no locks that could be taken");
        assert_eq!(with("cluster_enabled", "1"), bad(Check::Kind));
        assert_eq!(with("run_id", "b"), bad(Check::Kind));
        assert_eq!(with("role", "slave"), bad(Check::Replication));
        assert_eq!(with("aof_last_write_status", "err"), bad(Check::Persistence));
        assert_eq!(with("role", "active-replica"), bad(Check::Replication));
        let warning = |check| vec![(check, CheckResult::Held)];
        assert_eq!(with("tcp_port", "6380"), warning(Check::Kind));
        assert_eq!(without("tcp_port"), []);
        assert_eq!(with("connected_slaves", "2"), warning(Check::Replication));
        assert_eq!(with("evicted_keys", "5"), warning(Check::Eviction));
        assert_eq!(with("aof_enabled", "0"), warning(Check::Persistence));
    }

    #[test]
    fn what_is_not_said_is_unknown() {
        let unknown = |check| vec![(check, CheckResult::Inconclusive)];
        for (field, check) in [
            ("redis_version", Check::Version),
            ("run_id", Check::Kind),
            ("role", Check::Replication),
            ("connected_slaves", Check::Replication),
            ("maxmemory", Check::Eviction),
            ("maxmemory_policy", Check::Eviction),
            ("evicted_keys", Check::Eviction),
        ] {
            assert_eq!(without(field), unknown(check), "{field}");
        }
        assert_eq!(
            found(|_, server| server.clock = Err("NOPERM".to_owned())),
            unknown(Check::Clock)
        );
        assert_eq!(found(|_, server| server.is_open = None), unknown(Check::Access));
        assert_eq!(
            found(|_, server| server.round_trips = Err("MISCONF".to_owned())),
            unknown(Check::RoundTrip)
        );
        assert_eq!(
            found(|_, server| server.config = Err("NOPERM".to_owned())),
            unknown(Check::Persistence)
        );
    }

    #[test]
    fn a_clock_is_judged_by_what_is_sure() {
        let of = |ahead_us, within_us| found(|_, server| server.clock = Ok(Clock { ahead_us, within_us }));
        assert_eq!(of(2_000_000, 1_000), [(Check::Clock, CheckResult::Held)]);
        assert_eq!(of(-2_000_000, 1_000), [(Check::Clock, CheckResult::Held)]);
        assert_eq!(of(600_000, 200_000), []);
        assert_eq!(of(600_000, 700_000), [(Check::Clock, CheckResult::Inconclusive)]);
    }

    #[test]
    fn who_may_come_in_matters_more_over_a_network() {
        let of = |is_loopback, is_open, uses_tls| {
            let found = found(|facts, server| {
                (facts.is_loopback, facts.uses_tls) = (is_loopback, uses_tls);
                server.is_open = Some(is_open);
            });
            found.first().map(|found| found.1)
        };
        assert_eq!(of(false, true, true), Some(CheckResult::Failed));
        assert_eq!(of(false, false, false), Some(CheckResult::Held));
        assert_eq!(of(true, true, false), Some(CheckResult::Held));
        assert_eq!(of(true, false, false), None);
    }

    #[test]
    fn slow_servers_are_judged_by_the_timeout_and_the_ttl() {
        let of = |slow: usize, millis: u64| {
            found(|_, server| {
                let round_trips = server.round_trips.as_mut().unwrap();
                let count = round_trips.len();
                round_trips[count - slow..].fill(Duration::from_millis(millis));
            })
        };
        assert_eq!(of(50, 40), [(Check::RoundTrip, CheckResult::Failed)]);
        assert_eq!(of(1, 20), [(Check::RoundTrip, CheckResult::Held)]);
        assert_eq!(of(1, 19), []);
    }

    #[test]
    fn a_ttl_that_the_node_timeout_uses_up_is_bad() {
        let of = |ttl| {
            let lock_use = LockUse {
                ttl: Duration::from_millis(ttl),
                node_timeout: Duration::from_millis(40),
                prefix: String::new(),
            };
            let found = of_server(&sound(), &lock_use).into_iter();
            found
                .filter(|found| found.check == Check::RoundTrip)
                .map(|found| found.result)
                .collect::<Vec<_>>()
        };
        assert_eq!((of(40), of(41)), (vec![CheckResult::Failed], vec![CheckResult::Held]));
    }

    #[test]
    fn what_a_lock_met_is_told_with_its_cure() {
        let of = |lock| {
            let mut facts = sound();
            let mut server = facts.server.clone().unwrap();
            server.trial = Some(Trial {
                lock: Err(lock),
                unknown: Vec::new(),
                missing: Vec::new(),
                keys: Keys::default(),
            });
            facts.server = Ok(server);
            let lock_use = LockUse {
                ttl: Duration::from_secs(10),
                node_timeout: Duration::from_millis(40),
                prefix: String::new(),
            };
            let found = of_server(&facts, &lock_use).into_iter();
            let found: Vec<_> = found.filter(|found| found.check == Check::Permission).collect();
            (found[0].result, found[0].cure.clone().unwrap())
        };
        assert_eq!(of(Refused::Late).0, CheckResult::Inconclusive);
        let (result, cure) = of(Refused::Failed("not ready: NOREPLICAS Not enough".to_owned()));
        assert!(
            result == CheckResult::Failed && cure.contains("min-replicas-to-write"),
            "{cure}"
        );
        let (result, cure) = of(Refused::NotPermitted("NOPERM".to_owned()));
        assert!(result == CheckResult::Failed && cure.contains("ACL SETUSER"), "{cure}");
    }

    #[test]
    fn a_server_that_was_not_reached_has_one_finding_with_a_cure_of_its_own() {
        let mut cures = std::collections::BTreeSet::new();
        for why in [
            Unreached::Silent("x".to_owned()),
            Unreached::Stalled("x".to_owned()),
            Unreached::Denied("x".to_owned()),
            Unreached::Denied("NOAUTH x".to_owned()),
            Unreached::Denied("ERR max number of clients reached".to_owned()),
            Unreached::Denied("DENIED Redis is running in protected mode".to_owned()),
            Unreached::Closed,
            Unreached::Tls("x".to_owned()),
        ] {
            let finding = Finding::new(Check::Reach, unreached(&why));
            assert_eq!((finding.check, finding.result), (Check::Reach, CheckResult::Failed));
            cures.insert(finding.cure.unwrap());
        }
        assert_eq!(cures.len(), 8);
    }
}
