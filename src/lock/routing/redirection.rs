//! The error with which a node of a cluster names the node that has a key.

use crate::node::place::Spot;

/// Where a command is to be sent instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Redirection {
    /// This node has the slot from now on.
    Moved { slot: u16, spot: Spot },
    /// This node may have the key already, since the slot is on its way to it: it alone is to be asked, this once.
    Ask { spot: Spot },
}

impl Redirection {
    /// Reads `MOVED slot host:port` or `ASK slot host:port`. A node that does not know the host leaves it out: it is then that
    /// of the node which answered.
    pub(super) fn read(error: &str, answered: &Spot) -> Option<Self> {
        let mut words = error.split(' ');
        let (code, slot, address) = (words.next()?, words.next()?, words.next()?);
        let (host, port) = address.rsplit_once(':')?;
        let spot = Spot {
            host: if matches!(host, "" | "?") { &answered.host } else { host }.to_owned(),
            port: port.parse().ok().filter(|port| *port != 0)?,
        };
        let slot = slot.parse().ok()?;
        match code {
            "MOVED" => Some(Self::Moved { slot, spot }),
            "ASK" => Some(Self::Ask { spot }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(host: &str, port: u16) -> Spot {
        Spot {
            host: host.into(),
            port,
        }
    }

    #[test]
    fn redirections_are_read_and_nothing_else_is() {
        let read = |error| Redirection::read(error, &spot("here", 1));
        let moved = |host, port| {
            let spot = spot(host, port);
            Some(Redirection::Moved { slot: 3999, spot })
        };
        assert_eq!(read("MOVED 3999 127.0.0.1:6381"), moved("127.0.0.1", 6381));
        assert_eq!(read("MOVED 3999 ::1:6381"), moved("::1", 6381));
        assert_eq!(read("MOVED 3999 :6381"), moved("here", 6381));
        assert_eq!(read("MOVED 3999 ?:6381"), moved("here", 6381));
        let there = spot("node-2", 7);
        assert_eq!(read("ASK 1 node-2:7"), Some(Redirection::Ask { spot: there }));
        for other in [
            "",
            "MOVED",
            "MOVED 1",
            "MOVED x h:1",
            "MOVED 1 h",
            "MOVED 1 h:0",
            "MOVED 1 h:x",
            "ASKING 1 h:1",
            "ERR MOVED 1 h:1",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
