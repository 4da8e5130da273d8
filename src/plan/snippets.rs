use serde::Serialize;

use super::answer::Plan;
use super::client_timeouts::{waits, whole};
use super::formulas::restart_delay;
use lockstorm_data::metrics::systemd_lines;
use lockstorm_data::metrics::units::rounded;

/// The recommended settings, as one client or tool takes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Snippet {
    /// Of which client or tool.
    pub name: &'static str,
    /// The lines.
    pub text: String,
}

/// The recommended settings for the usual clients, and for the servers' restart; empty if nothing is recommended.
pub fn snippets(plan: &Plan) -> Vec<Snippet> {
    let Some((row, timeouts)) = plan.choice.best().map(|best| &plan.rows[best]).zip(plan.timeouts) else {
        return Vec::new();
    };
    let ttl = row.setting.ttl.as_secs_f64();
    let values = Values {
        nodes: plan.question.nodes,
        ttl: millis(ttl),
        free: millis(whole(restart_delay(ttl))),
        renewal: row.setting.interval().map(millis),
        node: millis(timeouts.node),
        delay: millis(timeouts.retry_delay),
    };
    let all = [
        ("lockstorm", values.lockstorm()),
        ("redsync (Go)", values.redsync()),
        ("Redisson (Java)", values.redisson()),
        ("RedLock.net (C#)", values.redlock_net()),
        ("rslock (Rust)", values.rslock()),
        ("node-redlock 5 (JavaScript)", values.node_redlock()),
        ("redis-py (Python)", values.redis_py()),
        ("pottery (Python)", values.pottery()),
        ("systemd, for each Redis without persistence", systemd(ttl)),
    ];
    all.into_iter().map(|(name, text)| Snippet { name, text }).collect()
}

/// Whole milliseconds, at least one; what a float is off by does not matter.
fn millis(seconds: f64) -> u64 {
    rounded((seconds * 1e3 + 1e-6).floor()).max(1)
}

/// Seconds, for Python's clients: they take a thousand times as many milliseconds and drop what is behind the point, which must not
/// make a TTL shorter.
fn seconds(millis: u64) -> f64 {
    let (millis, seconds) = (millis as f64, millis as f64 / 1e3);
    if seconds * 1e3 < millis {
        seconds.next_up()
    } else {
        seconds
    }
}

fn systemd(ttl: f64) -> String {
    let [restart, wait, limit] = systemd_lines(ttl);
    format!("[Service]\n{restart}\n# Also after a reboot or a restart by hand:\n{wait}\n{limit}")
}

/// The settings in milliseconds. Each client has its own rule for how often and how long it asks for a lock that somebody has; what
/// is printed outlasts the TTL of a holder that crashed, by that rule (the tests in `waiters` play it).
struct Values {
    nodes: usize,
    ttl: u64,
    /// After so long a crashed holder's lock has expired, by any clock that is good enough.
    free: u64,
    renewal: Option<u64>,
    node: u64,
    delay: u64,
}

impl Values {
    /// When to give up: after the end of a crashed holder's lock, the longest wait between two attempts, and one more attempt with what it gives back.
    fn acquire(&self, longest: u64) -> u64 {
        self.free + longest + 2 * self.node
    }

    /// The waits of the clients that wait for the delay and up to as much again.
    fn waits(&self) -> u64 {
        waits(self.free, [self.delay, 2 * self.delay])
    }

    /// What to say of clients that leave the renewal to their users.
    fn by_hand(&self, comment: &str, call: &str) -> String {
        self.renewal.map_or_else(String::new, |renewal| {
            format!(
                "\n{comment} It does not renew by itself: {call} every {renewal} ms. Where that fails, try again,\n\
                 {comment} and stop the work when none has succeeded for {} ms.",
                self.ttl.saturating_sub(self.ttl.div_ceil(100) + 2)
            )
        })
    }

    fn lockstorm(&self) -> String {
        let Self { ttl, node, delay, .. } = self;
        let renew = self
            .renewal
            .map_or_else(|| "off".to_owned(), |renewal| format!("{renewal}ms"));
        format!(
            "[[arm]]\nttl = \"{ttl}ms\"\nrenew = \"{renew}\"\nnode_timeout = \"{node}ms\"\ntimeout = \"{}ms\"\n\
             wait = {{ retries = {}, delay = \"{delay}ms\", jitter = \"{delay}ms\" }}",
            self.acquire(2 * delay),
            self.waits()
        )
    }

    fn redsync(&self) -> String {
        let Self { ttl, node, delay, .. } = self;
        let call = format!("call mutex.ExtendContext, with a context of {node} ms,");
        format!(
            "mutex := rs.NewMutex(name,\n    redsync.WithExpiry({ttl}*time.Millisecond),\n    redsync.WithTries({}),\n    \
             redsync.WithTimeoutFactor({node}.001/{ttl}), // {node} ms for a node; .001 since it is rounded down\n    \
             redsync.WithRetryDelayFunc(func(int) time.Duration {{\n        \
             return time.Duration({delay}+rand.Intn({})) * time.Millisecond\n    }}))\n\
             // go-redis keeps to these {node} ms only with ContextTimeoutEnabled: true.{}",
            self.waits() + 1,
            delay + 1,
            self.by_hand("//", &call)
        )
    }

    fn redisson(&self) -> String {
        let Self { ttl, delay, nodes, .. } = self;
        let (lock, wait) = match nodes {
            1 => (
                "RLock lock = redisson.getLock(name);".to_owned(),
                self.acquire(2 * delay),
            ),
            _ => (
                format!(
                    "// Of Redisson's locks only this one is granted by a majority (a MultiLock needs all nodes). It is deprecated:\n\
                     // Redisson advises an RLock or RFencedLock on one master with replicas, which is another plan (--nodes 1).\n\
                     // It asks one node after another, and waits for a silent one for Config's timeout, 3 s.\n\
                     RLock lock = new RedissonRedLock(redisson1.getLock(name), …, redisson{nodes}.getLock(name));"
                ),
                // Up to four round trips with the node that it waits for, then one with each of the others.
                self.acquire(2 * delay) + (*nodes as u64 + 2) * self.node,
            ),
        };
        match self.renewal {
            Some(_) => format!(
                "config.setLockWatchdogTimeout({ttl}); // it renews every third of this\n{lock}\n\
                 lock.tryLock({wait}, -1, TimeUnit.MILLISECONDS);"
            ),
            None => format!("{lock}\nlock.tryLock({wait}, {ttl}, TimeUnit.MILLISECONDS);"),
        }
    }

    fn redlock_net(&self) -> String {
        let Self { ttl, node, .. } = self;
        // It takes no shorter ones.
        let delay = self.delay.max(10);
        let of = |ms: u64| format!("TimeSpan.FromMilliseconds({ms})");
        format!(
            "// It always renews, every half of the expiry. Set SyncTimeout = {node} (ms for a node) on each RedLockEndPoint; CreateLockAsync\n\
             // notices only at a heartbeat, every second, that a node is silent.\n\
             var factory = RedLockFactory.Create(endPoints, new RedLockRetryConfiguration(retryCount: 1));\n\
             await using var redLock = await factory.CreateLockAsync(\n    name, {}, {}, {});",
            of(*ttl),
            of(self.acquire(delay)),
            of(delay)
        )
    }

    fn rslock(&self) -> String {
        let ttl = self.ttl;
        // It waits for less than this, down to nothing: never longer than the others.
        let most = 2 * self.delay;
        let tries = waits(self.free, [0, most - 1]) + 1;
        // A lost lock would be noticed only after as many attempts.
        let renewer = self.renewal.map_or(
            "",
            |_| "let mut renewer = manager.clone();\nrenewer.set_retry(1, Duration::from_millis(1));\n",
        );
        format!(
            "manager.set_retry({tries}, Duration::from_millis({most})); // the attempts in all\n\
             let lock = manager.lock(name, Duration::from_millis({ttl})).await?;\n{renewer}\
             // It waits 500 ms for a silent node, which can't be set; an attempt that takes longer than the TTL is an error.{}",
            self.by_hand(
                "//",
                &format!("call renewer.extend(&lock, Duration::from_millis({ttl}))")
            )
        )
    }

    fn node_redlock(&self) -> String {
        let Self { ttl, node, delay, .. } = self;
        // What it takes off for drift. It extends once the threshold is left of the rest.
        let drift = (ttl + 50) / 100 + 2;
        let threshold = |renewal| ttl.saturating_sub(drift + renewal).max(*node);
        let (mut more, mut after) = (String::new(), String::new());
        let call = match self.renewal.map(threshold) {
            Some(left) if left + 100 <= *ttl => {
                more = format!("\n  automaticExtensionThreshold: {left},");
                format!(
                    "await redlock.using([name], {ttl}, {{ retryCount: 0 }}, async (signal) => {{ lock = signal; … }});"
                )
            }
            renewal => {
                if renewal.is_some() {
                    after += "\n// using() throws here: its automaticExtensionThreshold must be 100 ms below the TTL.";
                }
                after += &self.by_hand("//", &format!("call lock = await lock.extend({ttl})"));
                format!("lock = await redlock.acquire([name], {ttl}, {{ retryCount: 0 }});")
            }
        };
        format!(
            "const clients = hosts.map((host) => new Redis({{ host, commandTimeout: {node} }}));\n\
             const redlock = new Redlock(clients, {{\n  \
             retryCount: 1, retryDelay: {node}, retryJitter: 1, // of extensions and releases{more}\n}});\n\
             // No retries of its own: 5.0.0-beta.2 counts a lock's time from the first attempt, so after a long wait it is over at once.\n\
             const until = Date.now() + {};\nlet lock;\nwhile (!lock) {{\n  try {{\n    {call}\n  }} catch (error) {{\n    \
             if (lock || Date.now() >= until) throw error;\n    \
             await new Promise((again) => setTimeout(again, {delay} + Math.random() * {delay}));\n  }}\n}}{after}",
            self.acquire(2 * delay)
        )
    }

    /// A node, as redis-py takes it, for which it waits for so long; by default it would ask a silent node again.
    fn redis_node(millis: u64) -> String {
        let timeout = seconds(millis);
        format!("Redis(host, socket_timeout={timeout}, socket_connect_timeout={timeout}, retry=None)")
    }

    fn redis_py(&self) -> String {
        if self.nodes > 1 {
            return "# Its Lock is on one node and no Redlock: on several take pottery's.".to_owned();
        }
        let call = "call lock.reacquire() (extend() adds to what is left)";
        // Its token is kept for one thread, and another one renews.
        let thread = self.renewal.map_or("", |_| ", thread_local=False");
        format!(
            "redis = {}\nlock = redis.lock(name, timeout={}, sleep={}, blocking_timeout={}{thread})\n\
             if not lock.acquire(): …{}",
            // Its acquire raises when its node is silent: late, up to its default, since no other node can grant the lock.
            Self::redis_node(self.node.max(5000.min(self.ttl / 4))),
            seconds(self.ttl),
            seconds(self.delay),
            seconds(self.acquire(self.delay)),
            self.by_hand("#", call)
        )
    }

    fn pottery(&self) -> String {
        /// Its waits are up to 200 ms, and that cannot be set.
        const LONGEST: u64 = 200;
        // By default it lets itself be extended three times.
        let extensions = self.renewal.map_or("", |_| ", num_extensions=sys.maxsize");
        format!(
            "masters = [{} for host in hosts]\n\
             lock = Redlock(key=name, masters=masters, auto_release_time={}{extensions}, context_manager_timeout={})\n\
             with lock: … # asks again after up to {LONGEST} ms, and in the end raises QuorumNotAchieved{}",
            Self::redis_node(self.node),
            seconds(self.ttl),
            seconds(self.acquire(LONGEST)),
            self.by_hand("#", "call lock.extend()")
        )
    }
}
