use std::time::Duration;

use crate::cause::Cause;

/// The longest pause before another attempt at a node that does not let us in.
const LONGEST_DENIED: Duration = Duration::from_secs(5);

/// The longest before another attempt at one that is a replica.
const LONGEST_READ_ONLY: Duration = Duration::from_secs(1);

/// The pauses between attempts to connect. A node that is away is tried again soon, since it must be usable soon when it is back. One
/// that does not let us in (a wrong password, say) has to be mended by somebody, and is tried half as often each time; so is one that is
/// a replica, until its name leads to the master.
#[derive(Debug)]
pub(crate) struct Backoff {
    usual: Duration,
    denied: Duration,
}

impl Backoff {
    /// With this pause for nodes that are away, and the first one for those that do not let us in.
    pub(crate) const fn new(usual: Duration) -> Self {
        Self { usual, denied: usual }
    }

    /// The pause after an attempt that failed for this cause.
    pub(crate) fn after(&mut self, cause: &Cause) -> Duration {
        let longest = match cause {
            Cause::NoPermission(_) | Cause::Tls(_) => LONGEST_DENIED,
            Cause::ReadOnly => LONGEST_READ_ONLY,
            _ => {
                self.denied = self.usual;
                return self.usual;
            }
        };
        let pause = self.denied.min(longest);
        self.denied = pause * 2;
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_who_are_not_let_in_wait_longer_each_time() {
        let usual = Duration::from_millis(50);
        let mut backoff = Backoff::new(usual);
        let denied = [Cause::NoPermission("WRONGPASS".into()), Cause::Tls("expired".into())];
        let pauses: Vec<_> = (0..10).map(|n| backoff.after(&denied[n % 2]).as_millis()).collect();
        assert_eq!(pauses, [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
        assert_eq!(
            (backoff.after(&Cause::Refused), backoff.after(&Cause::Refused)),
            (usual, usual)
        );
        assert_eq!(backoff.after(&denied[0]), usual);
        let read_only: Vec<_> = (0..6).map(|_| backoff.after(&Cause::ReadOnly).as_millis()).collect();
        assert_eq!(read_only, [100, 200, 400, 800, 1000, 1000]);
    }
}
