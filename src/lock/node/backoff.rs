use std::time::Duration;

use crate::cause::Cause;

/// The longest pause before another attempt at a node that does not let us in.
const LONGEST_DENIED: Duration = Duration::from_secs(5);

/// The pauses between attempts to connect. A node that is away is tried again soon, since it must be usable soon when it is back. One
/// that does not let us in (a wrong password, say) has to be mended by somebody, and is tried half as often each time.
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
        let is_denied = matches!(cause, Cause::NoPermission(_) | Cause::Tls(_));
        let pause = if is_denied { self.denied } else { self.usual };
        self.denied = if is_denied { pause * 2 } else { pause }.min(LONGEST_DENIED);
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
    }
}
