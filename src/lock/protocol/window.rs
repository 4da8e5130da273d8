//! How many commands may be under way on a connection.

use std::time::Duration;

use super::time::Time;

/// The most commands on a connection without an answer; the rest waits in the queue, where it can still be withdrawn. So no
/// more than these pile up for a stopped node.
pub const WINDOW: usize = 1 << 11;

/// With how many a connection begins. The number doubles with each round trip while the node answers soon.
const FIRST: usize = 1 << 6;

/// The fewest: less would wait for each single answer of a node that has just been slow.
const LEAST: usize = 4;

/// As many commands as the node, and the way to it, can answer in half of the time that they may take: with more under way a
/// slow link or a busy machine answers nothing in time, and what was asked in vain is asked again, for ever. The number follows the
/// round trips that are measured, by Little's law (what is under way is the rate times the round trip), as congestion control by
/// delay does (<https://doi.org/10.1145/190314.190317>). The time in which we ourselves did not look for answers does not count: an app
/// server with thousands of tasks looks seldom, and would look no more often with less under way.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    size: usize,
    most: usize,
    /// Whether the number was reached since it was changed.
    full: bool,
    /// When the number was changed: commands that were written before say nothing of it.
    changed: Time,
    shortest: Duration,
    round_trip: Duration,
    /// When we last looked for answers, and there were no more.
    looked: Time,
}

impl Window {
    /// For a connection made at `now`, on which never more than `most` commands may be under way.
    #[must_use]
    pub fn new(most: usize, now: Time) -> Self {
        Self {
            size: FIRST.min(most),
            most,
            full: false,
            changed: now,
            shortest: Duration::MAX,
            round_trip: Duration::ZERO,
            looked: now,
        }
    }

    /// How many commands may be under way.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size
    }

    /// The last round trip; zero before the first.
    #[must_use]
    pub const fn round_trip(&self) -> Duration {
        self.round_trip
    }

    /// A command was written, with which so many are under way.
    pub const fn on_written(&mut self, under_way: usize) {
        self.full |= under_way >= self.size;
    }

    /// At `now` there are no more answers.
    pub const fn on_looked(&mut self, now: Time) {
        self.looked = now;
    }

    /// The command that was written at `written` was answered by `now`, and may have taken `timeout`.
    pub fn on_answer(&mut self, written: Time, now: Time, timeout: Duration) {
        self.round_trip = now - written;
        // It took as long at least, and there was nobody to see whether it took longer.
        let taken = self.looked - written;
        self.shortest = self.shortest.min(taken);
        if written < self.changed {
            return;
        }
        let shortest = self.shortest.min(timeout);
        // Half of what is left beyond the way itself.
        let target = (shortest + timeout) / 2;
        if taken > target {
            let part = (target.as_secs_f64() / taken.as_secs_f64()).max(0.5);
            // The number is at most 2,048, and less after this.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss
            )]
            let size = (self.size as f64 * part) as usize;
            self.size = size.max(LEAST.min(self.most));
        } else if self.full {
            let more = if taken < target / 2 {
                self.size
            } else {
                self.size / 32 + 1
            };
            self.size = (self.size + more).min(self.most);
        } else {
            return;
        }
        (self.full, self.changed) = (false, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_millis(40);

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    /// A link that carries one command in `each` microseconds, after a way of `way` microseconds there and back, and always has
    /// more to carry. Returns the longest round trip and the number of commands that were answered in the second half of a minute.
    fn carry(each: u64, way: u64) -> (Duration, u64) {
        let mut window = Window::new(WINDOW, at(0));
        let (mut now, mut free, mut longest, mut carried) = (0, 0, Duration::ZERO, 0);
        let mut under_way = std::collections::VecDeque::new();
        let minute = 60_000_000;
        while now < minute {
            while under_way.len() < window.size() {
                free = std::cmp::max(free, now) + each;
                under_way.push_back((now, free + way));
                window.on_written(under_way.len());
            }
            let Some((written, answered)) = under_way.pop_front() else {
                break;
            };
            window.on_looked(at(now.max(answered - 1)));
            now = answered;
            window.on_answer(at(written), at(now), TIMEOUT);
            if now > minute / 2 {
                carried += 1;
                longest = longest.max(window.round_trip());
            }
        }
        (longest, carried)
    }

    #[test]
    fn links_of_any_speed_are_used_up_and_answer_in_time() {
        for (each, way) in [
            (1, 50),
            (20, 50),
            (125, 50),
            (125, 10_000),
            (1_000, 100),
            (125, 30_000),
            (20, 45_000),
        ] {
            let (longest, carried) = carry(each, way);
            let most = 30_000_000 / each;
            let in_time = TIMEOUT.max(Duration::from_micros(way + 40 * each));
            assert!(longest < in_time, "{each} µs, way {way} µs: {longest:?}");
            // A long way needs more under way than a window has.
            let needed = way.div_ceil(each);
            if needed < WINDOW as u64 / 2 && way < 40_000 {
                assert!(
                    carried * 100 >= most * 95,
                    "{each} µs, way {way} µs: {carried} of {most}"
                );
            }
        }
    }

    #[test]
    fn a_stop_halves_the_window_and_short_answers_double_it() {
        let mut window = Window::new(WINDOW, at(0));
        window.on_looked(at(8_999_999));
        window.on_answer(at(0), at(9_000_000), TIMEOUT);
        assert_eq!(window.size(), FIRST / 2);
        // Written before the change.
        window.on_answer(at(8_999_999), at(9_000_001), TIMEOUT);
        window.on_written(FIRST / 2);
        window.on_answer(at(8_999_999), at(9_000_001), TIMEOUT);
        assert_eq!(window.size(), FIRST / 2);
        window.on_answer(at(9_000_002), at(9_000_100), TIMEOUT);
        assert_eq!(window.size(), FIRST);
        // It was not full since.
        window.on_answer(at(9_000_102), at(9_000_200), TIMEOUT);
        assert_eq!(window.size(), FIRST);
        for _ in 0..9 {
            let start = 20_000_000;
            window.on_looked(at(start + 999_999));
            window.on_answer(at(start), at(start + 1_000_000), TIMEOUT);
            window.changed = at(0);
        }
        assert_eq!(window.size(), LEAST);
        assert_eq!(Window::new(1, at(0)).size(), 1);
    }

    #[test]
    fn an_app_server_that_looks_seldom_is_not_held_up_by_that() {
        let mut window = Window::new(WINDOW, at(0));
        for turn in 0..10 {
            // It writes, does something else for 100 ms, and finds all answered.
            let now = at(turn * 100_000);
            window.on_looked(now);
            window.on_written(window.size());
            window.on_answer(now, at((turn + 1) * 100_000), TIMEOUT);
        }
        assert_eq!(
            (window.size(), window.round_trip()),
            (WINDOW, Duration::from_millis(100))
        );
    }
}
