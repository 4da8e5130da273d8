//! Plays what `snippets` prints: clients wait, each by the rule that its source has, for a lock whose holder crashed right after
//! its acquire, so that its key stays for the whole TTL, by a clock that is slow. Times are in milliseconds.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, LogNormal};

use super::answer::Plan;
use super::formulas::restart_delay;
use super::question::Question;
use super::setting::{Renewal, Setting};
use super::snippets::{Snippet, snippets};
use super::spread::Spread;

/// The medians and sigmas of `--rtt same-az` and `--rtt cross-region`, in seconds.
const SAME_AZ: (f64, f64) = (0.000_4, 0.4);
const CROSS_REGION: (f64, f64) = (0.065, 0.15);

/// What is printed for each client; nothing if no setting is recommended.
struct Printed(Vec<Snippet>);

impl Printed {
    fn of(ttl: Duration, renewal: Renewal, hold: f64, (median, sigma): (f64, f64), nodes: usize) -> Self {
        let round_trip = Spread::LogNormal { median, sigma };
        let mut question = Question::new(Spread::Constant(hold), round_trip, nodes);
        question.goal.overlaps_per_day = f64::MAX;
        Self(snippets(&Plan::of(question, &[Setting { ttl, renewal }])))
    }

    fn text(&self, client: &str) -> &str {
        let mut all = self.0.iter().filter(|snippet| snippet.name.starts_with(client));
        &all.next().unwrap_or_else(|| panic!("nothing for {client}")).text
    }

    /// The number that follows these words for the nth time, from 0 on.
    fn number(&self, client: &str, words: &str, nth: usize) -> f64 {
        let text = self.text(client);
        let rest = text.split(words).nth(nth + 1);
        let rest = rest.unwrap_or_else(|| panic!("no {words} in {text}"));
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        rest[..end]
            .parse()
            .unwrap_or_else(|_| panic!("no number after {words} in {text}"))
    }
}

/// How a client asks again and again.
struct Rule {
    client: &'static str,
    /// All attempts.
    tries: f64,
    /// No attempt begins later.
    until: f64,
    /// The round trips of an attempt that is refused: most clients wait until they have given back what they got.
    trips: u32,
    /// The least and the most of a wait, evenly drawn; of a client that draws whole milliseconds, of those.
    wait: [f64; 2],
    whole: bool,
}

impl Rule {
    /// Whether a waiter has an attempt left when the key has expired.
    fn outlasts(&self, ttl: f64, round_trip: &LogNormal<f64>, random: &mut SmallRng) -> bool {
        let [least, most] = self.wait;
        // One that goes by time alone does not depend on what was long ago.
        let begin = if self.tries.is_finite() {
            0.0
        } else {
            (ttl - 100.0 * most).max(0.0)
        };
        let (mut now, mut tries) = (begin, 0.0);
        while now < ttl {
            tries += 1.0;
            now += (0..self.trips).map(|_| 1e3 * round_trip.sample(random)).sum::<f64>();
            let wait = least + random.random::<f64>() * (most - least + f64::from(u8::from(self.whole)));
            now += if self.whole { wait.floor() } else { wait };
            if tries >= self.tries || now >= self.until {
                return false;
            }
        }
        true
    }
}

/// The rules of the clients whose tries are counted or timed, as read in their sources, with what is printed for them.
fn rules(printed: &Printed) -> Vec<Rule> {
    let rule = |client, [tries, until]: [f64; 2], trips, wait, whole| Rule {
        client,
        tries,
        until,
        trips,
        wait,
        whole,
    };
    let always = f64::INFINITY;
    let number = |client, words| printed.number(client, words, 0);
    // protocol/acquire.rs, on_refused.
    let delay = number("lockstorm", "delay = \"");
    let own = [
        1.0 + number("lockstorm", "retries = "),
        number("lockstorm", "\ntimeout = \""),
    ];
    let most = delay + number("lockstorm", "jitter = \"");
    let mut all = vec![rule("lockstorm", own, 1, [delay, most], false)];
    // mutex.go, lockContext (4.9): all nodes answer, and all are asked to release.
    let least = number("redsync", "time.Duration(");
    let most = least + number("redsync", "rand.Intn(") - 1.0;
    all.push(rule(
        "redsync",
        [number("redsync", "WithTries("), always],
        2,
        [least, most],
        true,
    ));
    // lock.rs, exec_or_retry (0.10): random_range(0..retry_delay), after an unlock; the count is of all attempts.
    let most = number("rslock", "from_millis(") - 1.0;
    all.push(rule(
        "rslock",
        [number("rslock", "set_retry("), always],
        2,
        [0.0, most],
        true,
    ));
    // index.ts, acquire (5.0): one that fails is released; the loop around it is printed.
    let delay = number("node-redlock", "setTimeout(again, ");
    let until = number("node-redlock", "Date.now() + ");
    all.push(rule("node-redlock", [always, until], 2, [delay, 2.0 * delay], false));
    // RedLock.cs, StartAsync (2.3): an attempt, an unlock, the retry time, at least 10 ms.
    let sharp = |nth| printed.number("RedLock.net", "FromMilliseconds(", nth);
    all.push(rule(
        "RedLock.net",
        [always, sharp(1)],
        2,
        [sharp(2).max(10.0); 2],
        false,
    ));
    // redlock.py, acquire (3.0): an attempt, a release, and up to _RETRY_DELAY.
    let until = 1e3 * number("pottery", "context_manager_timeout=");
    all.push(rule("pottery", [always, until], 2, [0.0, 200.0], false));
    if printed.text("redis-py").contains("sleep=") {
        // lock.py, acquire (8.1): always the same sleep.
        let sleep = 1e3 * number("redis-py", "sleep=");
        let until = 1e3 * number("redis-py", "blocking_timeout=");
        all.push(rule("redis-py", [always, until], 1, [sleep; 2], false));
    }
    all
}

/// RedissonLock.tryLock (4.x) for one node: asks, subscribes, asks again, and sleeps for what is left of the key.
fn redisson_locks(now: &mut f64, most: f64, ttl: f64, trip: &mut impl FnMut() -> f64) -> bool {
    let until = *now + most;
    for ask in 0.. {
        let (asked, there) = (*now, trip() / 2.0);
        *now += 2.0 * there;
        if asked + there >= ttl {
            return true;
        }
        *now += if ask == 0 {
            trip()
        } else {
            (ttl - asked - there).min(until - *now)
        };
        if *now >= until {
            return false;
        }
    }
    unreachable!("it asks until it returns")
}

/// RedissonMultiLock.tryLock with the limits of `RedissonRedLock`: one node after another.
fn redisson_outlasts(nodes: usize, wait: f64, ttl: f64, mut trip: impl FnMut() -> f64) -> bool {
    if nodes == 1 {
        return redisson_locks(&mut 0.0, wait, ttl, &mut trip);
    }
    let limit = nodes - (nodes / 2 + 1);
    let (mut now, mut locked, mut may_fail, mut node) = (0.0, 0, limit, 0);
    while node < nodes {
        node += 1;
        let most = (wait / nodes as f64).floor().max(1.0).min(wait - now);
        if redisson_locks(&mut now, most, ttl, &mut trip) {
            locked += 1;
        } else if nodes - locked == limit {
            break;
        } else if may_fail > 0 {
            may_fail -= 1;
        } else {
            now += trip();
            (locked, may_fail, node) = (0, limit, 0);
        }
        if now >= wait {
            return false;
        }
    }
    true
}

/// How long a key with this TTL may stay.
fn life(ttl: Duration) -> f64 {
    1e3 * restart_delay(ttl.as_secs_f64())
}

/// The part of `WAITERS` waiters of this rule that outlast the TTL.
fn part(rule: &Rule, ttl: Duration, (median, sigma): (f64, f64), random: &mut SmallRng) -> f64 {
    const WAITERS: u32 = 4000;
    let round_trip = LogNormal::new(median.ln(), sigma).expect("a sigma");
    let ttl = life(ttl);
    let outlasted = (0..WAITERS).filter(|_| rule.outlasts(ttl, &round_trip, random));
    outlasted.count() as f64 / f64::from(WAITERS)
}

fn cases() -> impl Iterator<Item = (Duration, (f64, f64), usize)> {
    let ttls = [50, 3000, 30_000, 600_000, 3_600_000].map(Duration::from_millis);
    let each = ttls.map(|ttl| [SAME_AZ, CROSS_REGION].map(|network| [1, 3, 5].map(|nodes| (ttl, network, nodes))));
    each.into_iter().flatten().flatten()
}

#[test]
fn the_waiters_of_each_client_outlast_a_holder_that_crashed() {
    let random = &mut SmallRng::seed_from_u64(1);
    for (ttl, network, nodes) in cases() {
        let hold = ttl.as_secs_f64() / 30.0;
        let printed = Printed::of(ttl, Renewal::Off, hold, network, nodes);
        // Nobody can have a lock for 50 ms if it takes 65 to get it.
        let is_too_short = ttl.as_millis() == 50 && network == CROSS_REGION;
        assert_eq!(printed.0.is_empty(), is_too_short, "{ttl:?}");
        if is_too_short {
            continue;
        }
        for rule in rules(&printed) {
            let part = part(&rule, ttl, network, random);
            assert!(part >= 0.999, "{} {ttl:?} {network:?}: {part}", rule.client);
        }
        let wait = printed.number("Redisson", "tryLock(", 0);
        let round_trip = LogNormal::new(network.0.ln(), network.1).expect("a sigma");
        for _ in 0..4000 {
            let mut trip = || 1e3 * round_trip.sample(random);
            assert!(
                redisson_outlasts(nodes, wait, life(ttl), &mut trip),
                "Redisson {ttl:?} {network:?} {nodes}"
            );
        }
    }
}

#[test]
fn as_many_tries_as_the_mean_wait_goes_into_the_ttl_are_too_few() {
    let random = &mut SmallRng::seed_from_u64(2);
    let ttl = Duration::from_secs(3);
    let printed = Printed::of(ttl, Renewal::Off, 0.1, SAME_AZ, 3);
    for mut rule in rules(&printed) {
        if rule.tries.is_finite() {
            rule.tries = (3000.0 / rule.wait.iter().sum::<f64>() * 2.0).ceil();
        }
        rule.until = rule.until.min(3000.0);
        let part = part(&rule, ttl, SAME_AZ, random);
        assert!(part < 0.9, "{}: {part}", rule.client);
    }
    assert!(!redisson_outlasts(3, 3000.0, 3000.0, || 0.4));
}

#[test]
fn nothing_that_is_printed_is_zero_or_refused_by_its_client() {
    let steps = [
        30, 50, 70, 100, 150, 200, 570, 1000, 3000, 10_000, 50_000, 99_999, 600_000, 3_600_000, 86_400_000,
    ];
    let renewals = [
        Renewal::Off,
        Renewal::Fraction(2),
        Renewal::Fraction(3),
        Renewal::Every(Duration::from_millis(20)),
    ];
    let each = steps.map(|ttl| renewals.map(|renewal| [1, 3, 9].map(|nodes| (ttl, renewal, nodes))));
    for (ttl, renewal, nodes) in each.into_iter().flatten().flatten() {
        let setting = Duration::from_millis(ttl);
        let printed = Printed::of(setting, renewal, 0.002, SAME_AZ, nodes);
        for snippet in &printed.0 {
            let numbers = snippet.text.split(|c: char| !c.is_ascii_digit() && c != '.');
            let numbers: Vec<f64> = numbers.filter_map(|number| number.parse().ok()).collect();
            let zeros = numbers.iter().filter(|number| **number <= 0.0).count();
            assert_eq!(zeros, snippet.text.matches("retryCount: 0").count(), "{}", snippet.text);
            assert!(
                numbers.iter().all(|number| *number < 2_147_483_648.0),
                "{}",
                snippet.text
            );
        }
        let ttl = ttl as f64;
        let number = |client, words| printed.number(client, words, 0);
        // Go multiplies the factor with nanoseconds and drops what is behind the point.
        let wished = number("lockstorm", "node_timeout = \"");
        let factor = number("redsync", "WithTimeoutFactor(") / ttl;
        let node = (ttl * 1e6 * factor).floor();
        assert!(
            node >= wished * 1e6 && node < (wished + 0.1) * 1e6,
            "{node} for {wished}"
        );
        assert!(wished >= 5.0 && wished < ttl);
        // Python's int(seconds * 1000).
        let python = (number("pottery", "auto_release_time=") * 1e3).floor();
        assert!((python - ttl).abs() < 0.5, "{python} for {ttl}");
        // scenario/forms.rs.
        assert!(number("lockstorm", "retries = ") <= 1e6);
        let node_redlock = printed.text("node-redlock");
        if node_redlock.contains("using(") && !node_redlock.contains("using() throws") {
            // index.ts: it throws if the threshold is above the duration less 100; it counts from the expiration.
            let threshold = number("node-redlock", "automaticExtensionThreshold: ");
            assert!(threshold <= ttl - 100.0);
            let interval = ttl - (0.01 * ttl).round() - 2.0 - threshold;
            let wished = Setting { ttl: setting, renewal }.interval().unwrap_or_default() * 1e3;
            assert!((interval - wished).abs() < 1.0, "{interval} for {wished}");
        } else {
            assert!(matches!(renewal, Renewal::Off) || ttl <= 300.0 || matches!(renewal, Renewal::Every(_)));
        }
    }
}
