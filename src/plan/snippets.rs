use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;

use super::answer::Plan;
use super::formulas::restart_delay;

/// The recommended settings, as one client or tool takes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Snippet {
    /// Of which client or tool.
    pub name: &'static str,
    /// The lines.
    pub text: String,
}

/// The recommended settings for the usual clients, and for the servers' restart; empty if nothing is recommended.
#[must_use]
pub fn snippets(plan: &Plan) -> Vec<Snippet> {
    let Some((row, timeouts)) = plan.choice.best().map(|best| &plan.rows[best]).zip(plan.timeouts) else {
        return Vec::new();
    };
    let values = Values {
        ttl: row.setting.ttl.as_millis(),
        renewal: row.setting.interval().map(millis),
        node: millis(timeouts.node),
        delay: millis(timeouts.retry_delay),
        retries: timeouts.retries,
        acquire: millis(timeouts.acquire),
    };
    let away = restart_delay(row.setting.ttl.as_secs_f64());
    let all = [
        ("lockstorm", values.lockstorm()),
        ("redsync (Go)", values.redsync()),
        ("Redisson (Java)", values.redisson()),
        ("RedLock.net (C#)", values.redlock_net()),
        ("rslock (Rust)", values.rslock()),
        ("node-redlock (JavaScript)", values.node_redlock()),
        ("systemd, for each Redis without persistence", systemd(away)),
    ];
    all.into_iter().map(|(name, text)| Snippet { name, text }).collect()
}

/// Whole milliseconds, at least one.
fn millis(seconds: f64) -> u128 {
    Duration::try_from_secs_f64(seconds.max(0.001)).map_or(u128::from(u64::MAX), |time| time.as_millis())
}

/// A systemd unit waits whole seconds here, rounded up: longer is safe.
fn systemd(away: f64) -> String {
    format!("[Service]\nRestart=always\nRestartSec={:.0}", away.ceil())
}

/// The settings in milliseconds.
struct Values {
    ttl: u128,
    renewal: Option<u128>,
    node: u128,
    delay: u128,
    retries: u32,
    acquire: u128,
}

impl Values {
    fn lockstorm(&self) -> String {
        let Self {
            ttl,
            node,
            delay,
            retries,
            acquire,
            ..
        } = self;
        let renew = self
            .renewal
            .map_or_else(|| "off".to_owned(), |renewal| format!("{renewal}ms"));
        format!(
            "[[arm]]\nttl = \"{ttl}ms\"\nrenew = \"{renew}\"\nnode_timeout = \"{node}ms\"\ntimeout = \"{acquire}ms\"\n\
             wait = {{ retries = {retries}, delay = \"{delay}ms\", jitter = \"{delay}ms\" }}"
        )
    }

    fn redsync(&self) -> String {
        let Self {
            ttl,
            delay,
            retries,
            node,
            ..
        } = self;
        let factor = *node as f64 / *ttl as f64;
        let mut text = format!(
            "mutex := rs.NewMutex(name,\n    redsync.WithExpiry({ttl}*time.Millisecond),\n    redsync.WithTries({}),\n    \
             redsync.WithTimeoutFactor({factor:.4}),\n    \
             redsync.WithRetryDelayFunc(func(int) time.Duration {{\n        \
             return time.Duration({delay}+rand.Intn({delay}+1)) * time.Millisecond\n    }}))",
            retries + 1
        );
        if let Some(renewal) = self.renewal {
            // `write!` to a String can't fail.
            let _ = write!(
                text,
                "\n// redsync does not renew by itself: call mutex.ExtendContext(ctx) every {renewal} ms,\n// and stop the work when it fails."
            );
        }
        text
    }

    fn redisson(&self) -> String {
        let Self { ttl, acquire, .. } = self;
        match self.renewal {
            Some(_) => format!(
                "config.setLockWatchdogTimeout({ttl}); // it renews every third of this\n\
                 lock.tryLock({acquire}, -1, TimeUnit.MILLISECONDS);"
            ),
            None => format!("lock.tryLock({acquire}, {ttl}, TimeUnit.MILLISECONDS);"),
        }
    }

    fn redlock_net(&self) -> String {
        let Self {
            ttl, delay, acquire, ..
        } = self;
        let of = |ms: &u128| format!("TimeSpan.FromMilliseconds({ms})");
        format!(
            "// It always renews, every half of the expiry.\nawait using var redLock = await factory.CreateLockAsync(\n    name, {}, {}, {});",
            of(ttl),
            of(acquire),
            of(delay)
        )
    }

    fn rslock(&self) -> String {
        let Self {
            ttl, delay, retries, ..
        } = self;
        let mut text = format!(
            "manager.set_retry({retries}, Duration::from_millis({}));\nmanager.lock(name, Duration::from_millis({ttl})).await?;",
            // It waits between none and all of it.
            3 * delay
        );
        if let Some(renewal) = self.renewal {
            let _ = write!(
                text,
                "\n// rslock does not renew by itself: call manager.extend(&lock, ttl) every {renewal} ms."
            );
        }
        text
    }

    fn node_redlock(&self) -> String {
        let Self {
            ttl, delay, retries, ..
        } = self;
        // It extends once so much is left.
        let left = self.renewal.map_or(0, |renewal| ttl.saturating_sub(renewal));
        let call = match self.renewal {
            Some(_) => format!("await redlock.using([name], {ttl}, async (signal) => {{ … }});"),
            None => format!("const lock = await redlock.acquire([name], {ttl});"),
        };
        format!(
            "const redlock = new Redlock(clients, {{\n  retryCount: {retries}, retryDelay: {delay}, retryJitter: {delay},\n  \
             automaticExtensionThreshold: {left},\n}});\n{call}"
        )
    }
}
