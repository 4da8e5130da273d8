//! What Sentinels are asked, and how their replies are read.

use super::opinions::Opinion;
use crate::cause::Cause;
use crate::node::greeting::SessionError;
use crate::node::place::Spot;
use crate::node::reply::Reply;
use crate::node::session::Session;

/// Asks a Sentinel where the master of this name is, and for its epoch.
///
/// `SENTINEL MASTER` alone would not do: the Sentinel that leads a failover raises the epoch in it at once, but names the old
/// address until the other replicas follow the new master. A Sentinel runs commands that arrive together one after the other,
/// so both replies belong together.
pub(super) async fn ask(sentinel: &mut Session, master: &str) -> Result<Opinion, SessionError> {
    let address: &[&str] = &["SENTINEL", "GET-MASTER-ADDR-BY-NAME", master];
    let replies = sentinel.ask_all(&[address, &["SENTINEL", "MASTER", master]]).await?;
    Ok(opinion(replies))
}

/// What the replies say, of which the first has the address and the second the epoch.
fn opinion(replies: Vec<Reply>) -> Opinion {
    if let [Reply::Array(address), Reply::Array(master)] = &replies[..] {
        return match (spot(address), epoch(master)) {
            (Some(spot), Some(epoch)) => Opinion::Names { spot, epoch },
            _ => Opinion::Silent,
        };
    }
    match replies.into_iter().find(|reply| !matches!(reply, Reply::Array(_))) {
        Some(Reply::Nil) => Opinion::KnowsNone,
        Some(Reply::Error(error)) => match Cause::of_error(error) {
            cause @ Cause::NoPermission(_) => Opinion::Refused(cause),
            // It says so with an error that has no code of its own.
            _ => Opinion::KnowsNone,
        },
        _ => Opinion::Silent,
    }
}

/// Host and port.
fn spot(words: &[Reply]) -> Option<Spot> {
    let [Reply::Text(host), Reply::Text(port)] = words else {
        return None;
    };
    let port = port.parse().ok().filter(|port| *port != 0)?;
    (!host.is_empty()).then(|| Spot {
        host: host.clone(),
        port,
    })
}

fn epoch(fields: &[Reply]) -> Option<u64> {
    Reply::field(fields, "config-epoch")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(words: &[&str]) -> Reply {
        Reply::Array(words.iter().map(|&word| Reply::Text(word.into())).collect())
    }

    #[test]
    fn a_master_is_read_from_both_replies() {
        let address = texts(&["10.0.0.1", "6379"]);
        let master = texts(&[
            "name",
            "m",
            "ip",
            "10.0.0.9",
            "port",
            "1",
            "config-epoch",
            "7",
            "flags",
            "master",
        ]);
        let spot = Spot {
            host: "10.0.0.1".into(),
            port: 6379,
        };
        assert_eq!(
            opinion(vec![address.clone(), master.clone()]),
            Opinion::Names { spot, epoch: 7 }
        );
        for bad in [
            texts(&["10.0.0.1"]),
            texts(&["10.0.0.1", "0"]),
            texts(&["", "6379"]),
            Reply::Ok,
        ] {
            assert_eq!(opinion(vec![bad, master.clone()]), Opinion::Silent);
        }
        for bad in [texts(&["ip", "10.0.0.1"]), texts(&["config-epoch", "x"]), Reply::Int(1)] {
            assert_eq!(opinion(vec![address.clone(), bad]), Opinion::Silent);
        }
    }

    #[test]
    fn an_unknown_master_and_a_refusal_are_told_apart() {
        let unknown = Reply::Error("ERR No such master with that name".into());
        assert_eq!(opinion(vec![Reply::Nil, unknown.clone()]), Opinion::KnowsNone);
        let address = texts(&["10.0.0.1", "6379"]);
        assert_eq!(opinion(vec![address, unknown]), Opinion::KnowsNone);
        let text = "NOAUTH Authentication required.";
        let denied = Reply::Error(text.into());
        assert_eq!(
            opinion(vec![denied.clone(), denied]),
            Opinion::Refused(Cause::NoPermission(text.into()))
        );
    }
}
