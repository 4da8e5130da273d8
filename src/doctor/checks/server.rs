//! What one server shows by itself.

use std::time::Duration;

use crate::doctor::facts::{Facts, Server};
use crate::doctor::finding::{Check, Finding};
use crate::doctor::settings::Settings;

/// The oldest version that has what locks need.
const OLDEST: (u32, u32) = (6, 2);
/// Clocks that differ by more are not kept by NTP.
const CLOCK_LIMIT_US: i64 = 500_000;
/// What to do if the server does not show something.
const SHOW: &str = "allow the user to read it (`ACL SETUSER … +info +config|get`), or look at it on the server";

/// The findings of one server.
pub(in crate::doctor) fn of_server(facts: &Facts, settings: &Settings) -> Vec<Finding> {
    let server = match &facts.server {
        Ok(server) => server,
        Err(why) => {
            let cure = "check address, user and password, and that the server runs and listens there";
            return vec![Finding::bad(Check::Reach, why, cure)];
        }
    };
    let mut findings = vec![Finding::good(Check::Reach, "it answers")];
    match &server.info {
        Ok(_) => findings.extend([
            version(server),
            kind(server),
            replication(server),
            eviction(server),
            persistence(server, settings.ttl),
        ]),
        Err(why) => findings.push(Finding::unknown(
            Check::Kind,
            format!("it does not answer INFO: {why}"),
            SHOW,
        )),
    }
    findings.extend(server.lock.as_ref().map(|tried| permission(tried, settings)));
    findings.extend([round_trip(server, settings), clock(server), access(facts, server)]);
    findings
}

fn version(server: &Server) -> Finding {
    let (name, text) = match (server.info("valkey_version"), server.info("redis_version")) {
        (Some(text), _) => ("Valkey", text),
        (None, Some(text)) => ("Redis", text),
        (None, None) => {
            return Finding::unknown(
                Check::Version,
                "INFO does not name one",
                "name a Redis or Valkey server",
            );
        }
    };
    let mut numbers = text.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    match version >= OLDEST {
        true => Finding::good(Check::Version, format!("{name} {text}")),
        false => Finding::bad(Check::Version, format!("{name} {text}"), "install 6.2 or newer"),
    }
}

fn kind(server: &Server) -> Finding {
    if server.info("redis_mode") == Some("sentinel") || server.info("server_mode") == Some("sentinel") {
        return Finding::bad(
            Check::Kind,
            "it is a Sentinel, which keeps no locks",
            "name the server that it watches (`SENTINEL GET-MASTER-ADDR-BY-NAME`), usually at port 6379",
        );
    }
    if server.info("cluster_enabled") == Some("1") {
        return Finding::bad(
            Check::Kind,
            "it is a node of a cluster: a key is on one of its masters only, and a cluster is one vote",
            "use servers without cluster mode (`cluster-enabled no`)",
        );
    }
    match (server.info("run_id"), server.second_run_id.as_deref()) {
        (Some(first), Some(second)) if first != second => Finding::bad(
            Check::Kind,
            "two connections reached two servers: a proxy or load balancer stands in between",
            "name the servers themselves",
        ),
        (Some(_), Some(_)) => Finding::good(Check::Kind, "one server, without cluster mode"),
        _ => Finding::unknown(
            Check::Kind,
            "INFO has no run_id, as behind some proxies",
            "name the server itself",
        ),
    }
}

fn replication(server: &Server) -> Finding {
    let replicas = server.number("connected_slaves").unwrap_or(0);
    let least = server
        .config("min-replicas-to-write")
        .and_then(|text| text.parse::<u64>().ok());
    match server.info("role") {
        Some("master") if replicas == 0 => Finding::good(Check::Replication, "a master without replicas"),
        Some("master") => {
            let kept = match least {
                Some(0) => ", and takes writes without any (min-replicas-to-write 0)".to_owned(),
                Some(least) => format!(", and takes writes only with {least} (min-replicas-to-write)"),
                None => String::new(),
            };
            Finding::warning(
                Check::Replication,
                format!(
                    "a master with {replicas} replica{}{kept}",
                    if replicas == 1 { "" } else { "s" }
                ),
                "use independent masters for locks; if somebody may fail over, `min-replicas-to-write 1` with a short \
                 min-replicas-max-lag keeps an old master from granting locks for ever, but a lock can still be lost",
            )
        }
        Some("slave") => Finding::bad(
            Check::Replication,
            "it is a replica, which takes no writes",
            "name its master, or make it one (`REPLICAOF NO ONE`)",
        ),
        _ => Finding::unknown(Check::Replication, "INFO does not say its role", SHOW),
    }
}

fn eviction(server: &Server) -> Finding {
    let evicted = server.number("evicted_keys").unwrap_or(0);
    let (Some(limit), Some(policy)) = (server.number("maxmemory"), server.info("maxmemory_policy")) else {
        return Finding::unknown(Check::Eviction, "INFO does not say the policy", SHOW);
    };
    let cure = "CONFIG SET maxmemory-policy noeviction, also in redis.conf; keep caches on another server";
    let has_evicted = match evicted {
        0 => String::new(),
        some => format!("; it has evicted {some} keys"),
    };
    match (limit, policy) {
        (_, "noeviction") if evicted == 0 => Finding::good(Check::Eviction, "noeviction"),
        (_, "noeviction") => Finding::warning(
            Check::Eviction,
            format!("noeviction now{has_evicted}"),
            "see that it stays so in redis.conf",
        ),
        (0, policy) => Finding::warning(
            Check::Eviction,
            format!("{policy}, without a limit of memory{has_evicted}"),
            cure,
        ),
        (_, policy) => Finding::bad(
            Check::Eviction,
            format!("{policy} beyond {limit} bytes{has_evicted}"),
            cure,
        ),
    }
}

fn persistence(server: &Server, ttl: Duration) -> Finding {
    let longest = humantime::format_duration(Duration::from_millis(
        u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX),
    ));
    let cure = format!(
        "let it come back only when all locks have expired: `RestartSec={}` in its systemd unit, for TTLs up to {longest} (or \
         `appendonly yes` with `appendfsync always`, at the cost of each write)",
        ttl.as_secs() + 1
    );
    let aof = server.info("aof_enabled") == Some("1");
    match (aof, server.config("appendfsync")) {
        (true, Some("always")) => Finding::good(Check::Persistence, "each write is on disk before it is answered"),
        (true, None) => Finding::unknown(Check::Persistence, "it does not say how often its file is synced", SHOW),
        (true, Some(often)) => Finding::warning(
            Check::Persistence,
            format!("appendfsync {often}: the last second is lost with the machine"),
            cure,
        ),
        (false, _) => Finding::warning(Check::Persistence, "no append-only file: a restart forgets locks", cure),
    }
}

fn permission(tried: &Result<(), String>, settings: &Settings) -> Finding {
    match tried {
        Ok(()) => Finding::good(Check::Permission, "a lock was acquired, extended and released"),
        Err(why) => Finding::bad(
            Check::Permission,
            why,
            format!(
                "ACL SETUSER … ~{}* &lockstorm:* +set +get +del +pexpire +eval +evalsha +script|load +hello +ping +publish +subscribe",
                settings.prefix
            ),
        ),
    }
}

fn round_trip(server: &Server, settings: &Settings) -> Finding {
    let (Some(median), Some(p99)) = (server.round_trip(0.5), server.round_trip(0.99)) else {
        return Finding::unknown(
            Check::RoundTrip,
            "it does not answer PING",
            "allow the user PING (`ACL SETUSER … +ping`)",
        );
    };
    let millis = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    let limit = settings.node_timeout;
    let seen = format!(
        "median {}, p99 {}; the node timeout is {}",
        millis(median),
        millis(p99),
        millis(limit)
    );
    let cure = "use servers that are nearer, or a longer node timeout (see what `lockstorm plan` says of the TTL then)";
    if median >= limit {
        Finding::bad(Check::RoundTrip, seen, cure)
    } else if p99 * 2 >= limit {
        Finding::warning(Check::RoundTrip, seen, cure)
    } else {
        Finding::good(Check::RoundTrip, seen)
    }
}

fn clock(server: &Server) -> Finding {
    let Some(clock) = server.clock else {
        return Finding::unknown(
            Check::Clock,
            "it does not tell its TIME",
            "allow the user TIME (`ACL SETUSER … +time`)",
        );
    };
    let seen = format!(
        "{:.2} ms {} ours, give or take {:.2} ms",
        clock.ahead_us.abs() as f64 / 1e3,
        if clock.ahead_us < 0 { "behind" } else { "ahead of" },
        clock.within_us as f64 / 1e3
    );
    if clock.ahead_us.abs() - clock.within_us > CLOCK_LIMIT_US {
        let cure = "let chrony or another NTP client keep the clocks, by slewing (chrony: `makestep 1 3`): a clock that is off will be \
                    set one day, and what it skips is taken off every TTL";
        return Finding::warning(Check::Clock, seen, cure);
    }
    Finding::good(Check::Clock, seen)
}

fn access(facts: &Facts, server: &Server) -> Finding {
    let cure = "give the server a password (requirepass, or ACL users with `ACL SETUSER default off`), and name it as \
                redis://user:password@host";
    match (facts.is_loopback, server.is_open, facts.uses_tls) {
        (false, true, _) => Finding::bad(
            Check::Access,
            "everybody who reaches it over the network may take and delete locks",
            cure,
        ),
        (false, false, false) => Finding::warning(
            Check::Access,
            "the password goes over the network in plain text",
            "use TLS: rediss://, with tls-port on the server",
        ),
        (true, true, _) => Finding::warning(
            Check::Access,
            "everybody on this machine may take and delete locks",
            cure,
        ),
        (_, false, true) => Finding::good(Check::Access, "a password, over TLS"),
        (true, false, false) => Finding::good(Check::Access, "a password, on this machine"),
    }
}
