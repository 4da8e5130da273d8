//! How long a server without persistence must stay away after a crash.

/// How long a node that lost its memory must stay away, from its crash on, so that every lock that it had voted for has expired, in
/// seconds: the longest TTL, with the allowance of locks for clocks that differ (the delayed restarts of Redlock).
pub fn restart_delay(ttl: f64) -> f64 {
    ttl * 1.01 + 0.002
}

/// The lines of a systemd unit, below `[Service]`, with which a server stays away for so long, in whole seconds, rounded up: longer is
/// safe. `RestartSec` would not hold after a reboot or a restart by hand.
pub fn systemd_lines(ttl: f64) -> [String; 3] {
    [
        "Restart=always".to_owned(),
        format!("ExecStartPre=/bin/sleep {:.0}", restart_delay(ttl).ceil()),
        "TimeoutStartSec=infinity".to_owned(),
    ]
}
