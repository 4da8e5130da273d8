//! What one node of a cluster says of it, and how it is asked.

use std::collections::HashMap;

use super::slot::SLOTS;
use crate::cause::Cause;
use crate::node::place::Spot;
use crate::node::reply::Reply;

/// A range of slots, first and last, and the master that has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) master: Spot,
    /// The configuration epoch of that master: of two that claim a slot, the one with the higher epoch has it.
    pub(super) epoch: u64,
}

/// What one node says of its cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct View {
    pub(super) ranges: Vec<Range>,
    /// All nodes that have slots, masters and replicas.
    pub(super) nodes: Vec<Spot>,
}

/// Asks for the slots and for the epochs. `CLUSTER SLOTS` names nodes as clients shall reach them, but has no epochs;
/// these are in `CLUSTER NODES`. A node runs commands that arrive together one after the other, so both replies belong together.
pub(super) const QUESTION: &[&[&str]] = &[&["CLUSTER", "SLOTS"], &["CLUSTER", "NODES"]];

/// Reads the replies to [`QUESTION`], which the node on this host gave; if they are none, why.
pub(super) fn read(replies: Vec<Reply>, host: &str) -> Result<View, Cause> {
    let mut usable = Vec::new();
    for reply in replies {
        match reply {
            Reply::Error(_) => return Err(reply.cause()),
            reply => usable.push(reply),
        }
    }
    let view = match &usable[..] {
        [Reply::Array(slots), Reply::Text(nodes)] => view(slots, nodes, host),
        _ => None,
    };
    view.ok_or_else(|| Cause::of_error("ERR the reply to CLUSTER SLOTS or CLUSTER NODES can't be read".into()))
}

fn view(slots: &[Reply], nodes: &str, host: &str) -> Option<View> {
    let epochs = epochs(nodes);
    let mut view = View::default();
    for range in slots {
        let Reply::Array(range) = range else { return None };
        let [Reply::Int(first), Reply::Int(last), holders @ ..] = &range[..] else {
            return None;
        };
        let mut master = None;
        for holder in holders {
            let Reply::Array(holder) = holder else { return None };
            let (spot, id) = spot(holder, host)?;
            if !view.nodes.contains(&spot) {
                view.nodes.push(spot.clone());
            }
            master.get_or_insert((spot, id));
        }
        let (master, id) = master?;
        let (first, last) = (u16::try_from(*first).ok()?, u16::try_from(*last).ok()?);
        if first > last || last >= SLOTS {
            return None;
        }
        let epoch = epochs.get(id).copied()?;
        view.ranges.push(Range {
            first,
            last,
            master,
            epoch,
        });
    }
    Some(view)
}

/// Where a node is, by `host, port, id, …`, and its id. A node that does not know its own host, or is not to tell, is on the
/// host at which it was asked.
fn spot<'a>(fields: &'a [Reply], asked: &str) -> Option<(Spot, &'a str)> {
    let [host, Reply::Int(port), Reply::Text(id), ..] = fields else {
        return None;
    };
    let host = match host {
        Reply::Text(host) if !matches!(host.as_str(), "" | "?") => host,
        Reply::Text(_) | Reply::Nil => asked,
        _ => return None,
    };
    let spot = Spot {
        host: host.to_owned(),
        port: u16::try_from(*port).ok().filter(|port| *port != 0)?,
    };
    Some((spot, id))
}

/// The configuration epochs by the ids of nodes: the first and the seventh word of each line.
fn epochs(nodes: &str) -> HashMap<&str, u64> {
    let epoch = |line: &'_ str| line.split(' ').nth(6)?.parse().ok();
    let line = |line| Some((<str>::split(line, ' ').next()?, epoch(line)?));
    nodes.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(host: &str, port: i64, id: &str) -> Reply {
        let metadata = Reply::Array(Vec::new());
        Reply::Array(vec![
            Reply::Text(host.into()),
            Reply::Int(port),
            Reply::Text(id.into()),
            metadata,
        ])
    }

    fn range(first: i64, last: i64, holders: Vec<Reply>) -> Reply {
        Reply::Array([vec![Reply::Int(first), Reply::Int(last)], holders].concat())
    }

    const NODES: &str = "aa 10.0.0.1:7000@17000 myself,master - 0 0 1 connected 0-99 [93->-bb]\n\
        bb 10.0.0.2:7000@17000,name master - 0 1700000000000 12 connected 100-16383\n\
        cc 10.0.0.3:7000@17000 slave aa 0 1700000000000 1 connected\n";

    fn spot(host: &str) -> Spot {
        Spot {
            host: host.into(),
            port: 7000,
        }
    }

    #[test]
    fn slots_and_epochs_are_put_together() {
        let slots = Reply::Array(vec![
            range(0, 99, vec![texts("", 7000, "aa"), texts("10.0.0.3", 7000, "cc")]),
            range(100, 16_383, vec![texts("10.0.0.2", 7000, "bb")]),
        ]);
        let view = read(vec![slots, Reply::Text(NODES.into())], "10.0.0.1").unwrap();
        let range = |first, last, host, epoch| Range {
            first,
            last,
            master: spot(host),
            epoch,
        };
        assert_eq!(
            view.ranges,
            [range(0, 99, "10.0.0.1", 1), range(100, 16_383, "10.0.0.2", 12)]
        );
        assert_eq!(view.nodes, ["10.0.0.1", "10.0.0.3", "10.0.0.2"].map(spot));
        let none = read(vec![Reply::Array(Vec::new()), Reply::Text(NODES.into())], "h");
        assert_eq!(none, Ok(View::default()));
    }

    #[test]
    fn what_is_not_the_view_of_a_node_is_a_cause() {
        let disabled = "ERR This instance has cluster support disabled";
        let refused = read(vec![Reply::Error(disabled.into()), Reply::Error(disabled.into())], "h");
        assert_eq!(refused, Err(Cause::Error(disabled.into())));
        for slots in [
            Reply::Ok,
            Reply::Array(vec![Reply::Int(1)]),
            Reply::Array(vec![range(0, 99, vec![])]),
            Reply::Array(vec![range(9, 8, vec![texts("h", 1, "aa")])]),
            Reply::Array(vec![range(0, 16_384, vec![texts("h", 1, "aa")])]),
            Reply::Array(vec![range(0, 1, vec![texts("h", 0, "aa")])]),
            Reply::Array(vec![range(0, 1, vec![texts("h", 1, "unknown")])]),
        ] {
            let read = read(vec![slots.clone(), Reply::Text(NODES.into())], "h");
            assert!(matches!(read, Err(Cause::Error(_))), "{slots:?}");
        }
    }
}
