//! The text format of the announcements between app servers on the channel of a key.

use std::time::Duration;

use crate::protocol::WaitAnnouncement;

/// Writes the announcement of how long this app server has waited.
pub(crate) fn write(waited: &WaitAnnouncement) -> String {
    let WaitAnnouncement { id, number, waited } = waited;
    let waited = waited.map_or("-".to_owned(), |waited| waited.as_micros().to_string());
    format!("waiting {id:016x} {number} {waited}")
}

/// Reads an announcement of an app server; `None` if the message is something else.
pub(crate) fn read(message: &str) -> Option<WaitAnnouncement> {
    let mut words = message.strip_prefix("waiting ")?.split(' ');
    let waited = WaitAnnouncement {
        id: u64::from_str_radix(words.next()?, 16).ok()?,
        number: words.next()?.parse().ok()?,
        waited: match words.next()? {
            "-" => None,
            micros => Some(Duration::from_micros(micros.parse().ok()?)),
        },
    };
    words.next().is_none().then_some(waited)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announcements_are_read_as_they_were_written_and_nothing_else_is() {
        for waited in [None, Some(0), Some(123_456)] {
            let waited = waited.map(Duration::from_micros);
            let waited = WaitAnnouncement {
                id: u64::MAX,
                number: 9,
                waited,
            };
            assert_eq!(read(&write(&waited)), Some(waited));
        }
        for other in [
            "00000000000000000000000000000005",
            "",
            "waiting",
            "waiting x 1 2",
            "waiting 1 2 -1",
            "waiting 1 2 3 4",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
