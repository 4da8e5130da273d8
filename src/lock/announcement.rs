//! What app servers tell each other about those who wait for a key.

use std::time::Duration;

/// What app servers tell each other on the channel of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Announcement {
    /// Who says it.
    pub(super) id: u64,
    /// The sender counts them, since they come from several nodes.
    pub(super) number: u64,
    /// How long the first of those waits who will ask for the lock; none if nobody waits any more. Not since when: no two
    /// clocks are compared.
    pub(super) waited: Option<Duration>,
}

impl Announcement {
    pub(super) fn write(&self) -> String {
        let waited = self
            .waited
            .map_or("-".to_owned(), |waited| waited.as_micros().to_string());
        format!("waiting {:016x} {} {waited}", self.id, self.number)
    }

    pub(super) fn read(message: &str) -> Option<Self> {
        let mut words = message.strip_prefix("waiting ")?.split(' ');
        let announcement = Self {
            id: u64::from_str_radix(words.next()?, 16).ok()?,
            number: words.next()?.parse().ok()?,
            waited: match words.next()? {
                "-" => None,
                micros => Some(Duration::from_micros(micros.parse().ok()?)),
            },
        };
        words.next().is_none().then_some(announcement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announcements_are_read_as_they_were_written_and_nothing_else_is() {
        for waited in [None, Some(0), Some(123_456)] {
            let waited = waited.map(Duration::from_micros);
            let announcement = Announcement {
                id: u64::MAX,
                number: 9,
                waited,
            };
            assert_eq!(Announcement::read(&announcement.write()), Some(announcement));
        }
        for other in [
            "00000000000000000000000000000005",
            "",
            "waiting",
            "waiting x 1 2",
            "waiting 1 2 -1",
            "waiting 1 2 3 4",
        ] {
            assert_eq!(Announcement::read(other), None, "{other}");
        }
    }
}
