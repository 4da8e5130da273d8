//! What is wrong with the network. Everything that is known of a connection is a path, and one function makes the state of
//! each path from the faults: another fault is another field of the state.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::server::node_name::{NodeName, Role};
use lockstorm_data::model::{Condition, Direction, Fault, Link, ServerId, Target};

/// One direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OneWay {
    /// Who made the connection; `None` for app servers, which are on no host, and for the run itself.
    pub caller: Option<NodeName>,
    /// The app server that alone makes it, if it has a door of its own.
    pub server: Option<ServerId>,
    /// Whom it leads to.
    pub callee: NodeName,
    /// Whether what the callee sends takes it.
    pub is_back: bool,
}

/// What happens to whatever takes a path; nothing by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Hindrance {
    /// How much later it arrives.
    pub delay: Duration,
    /// Whether it does not arrive at all.
    pub cut: bool,
    /// Whether no connection can be made.
    pub refused: bool,
    /// How many bytes a second can take it, if that is limited.
    pub speed: Option<u64>,
}

/// The faults of a network, by their target and the condition that they bring.
#[derive(Debug, Clone, Default)]
pub(crate) struct Network(BTreeMap<(Target, Condition), Fault>);

impl Network {
    /// Lets this fault act on a target. It replaces one of the same kind.
    pub(crate) fn enter(&mut self, target: Target, fault: Fault) {
        if let Some(condition) = fault.brings() {
            self.0.insert((target, condition), fault);
        }
    }

    /// Ends the fault that brought this condition.
    pub(crate) fn leave(&mut self, target: Target, condition: Condition) {
        self.0.remove(&(target, condition));
    }

    /// What happens on this path: the delays of all faults that act there, and a cut if one of them is.
    pub(crate) fn state(&self, path: &OneWay) -> Hindrance {
        let mut state = Hindrance::default();
        for ((target, _), fault) in &self.0 {
            let Some(taken) = path.way_of(*target) else { continue };
            match *fault {
                Fault::Lag { delay, direction } if direction.includes(taken) => state.delay += delay,
                Fault::Cut { direction } if direction.includes(taken) => state.cut = true,
                Fault::Refuse => state.refused = true,
                Fault::SlowLink { bytes_per_second } => {
                    state.speed = Some(
                        state
                            .speed
                            .map_or(bytes_per_second, |speed| speed.min(bytes_per_second)),
                    );
                }
                _ => {}
            }
        }
        state
    }
}

impl OneWay {
    /// The opposite direction of the same connection.
    pub(crate) const fn opposite(self) -> Self {
        Self {
            is_back: !self.is_back,
            ..self
        }
    }

    /// Which way of a target this path takes; `None` if it has nothing to do with it. What stays within a host takes none.
    fn way_of(&self, target: Target) -> Option<Direction> {
        let way = |is_there| if is_there { Direction::There } else { Direction::Back };
        let (caller, callee) = (self.caller.and_then(|node| node.host), self.callee.host);
        if caller == callee {
            return None;
        }
        let (from, to) = if self.is_back {
            (callee, caller)
        } else {
            (caller, callee)
        };
        let is_of = |role| self.caller.is_some_and(|node| node.role == role);
        match target {
            Target::Host(host) if to == Some(host) => Some(Direction::There),
            Target::Host(host) if from == Some(host) => Some(Direction::Back),
            Target::Link(Link::Between(one, other)) if (from, to) == (Some(one), Some(other)) => Some(Direction::There),
            Target::Link(Link::Between(one, other)) if (from, to) == (Some(other), Some(one)) => Some(Direction::Back),
            Target::Link(Link::Route(server, host)) if (self.server, callee) == (Some(server), Some(host)) => {
                Some(way(!self.is_back))
            }
            // A replica calls its master, but the data go from the master to the replica.
            Target::Link(Link::Replication) if is_of(Role::Replicated) => Some(way(self.is_back)),
            Target::Link(Link::Sentinels) if is_of(Role::Sentinel) => Some(way(!self.is_back)),
            Target::Host(_) | Target::Server(_) | Target::Link(_) | Target::Client(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::model::HostId;

    const DELAY: Duration = Duration::from_millis(500);

    /// The connection of this caller to this callee, there and back.
    fn ends(caller: Option<(Role, usize)>, callee: (Role, usize)) -> [OneWay; 2] {
        let node = |(role, host)| NodeName::on(HostId(host), role);
        let there = OneWay {
            caller: caller.map(node),
            server: None,
            callee: node(callee),
            is_back: false,
        };
        [there, there.opposite()]
    }

    /// Whether each direction of each connection in [`paths`] is cut by a cut of this target.
    fn cut(target: Target, direction: Direction) -> Vec<&'static str> {
        let mut network = Network::default();
        network.enter(target, Fault::Cut { direction });
        let word = |path: &[OneWay; 2]| match path.map(|path| network.state(&path).cut) {
            [true, true] => "both",
            [true, false] => "there",
            [false, true] => "back",
            [false, false] => "-",
        };
        paths().iter().map(word).collect()
    }

    /// Host 1 has the master.
    fn paths() -> [[OneWay; 2]; 7] {
        let (data, sentinel, lock) = (Role::Replicated, Role::Sentinel, Role::Lock);
        [
            ends(None, (lock, 1)),
            ends(None, (data, 1)),
            ends(Some((data, 2)), (data, 1)),
            ends(Some((data, 3)), (data, 1)),
            ends(Some((sentinel, 1)), (data, 1)),
            ends(Some((sentinel, 1)), (sentinel, 2)),
            ends(Some((sentinel, 3)), (data, 1)),
        ]
    }

    #[test]
    fn a_target_decides_which_connections_are_hit_and_on_which_way() {
        let between = |one, other| Target::Link(Link::Between(HostId(one), HostId(other)));
        let table = [
            (
                between(1, 2),
                Direction::Both,
                ["-", "-", "both", "-", "-", "both", "-"],
            ),
            (
                between(1, 2),
                Direction::There,
                ["-", "-", "back", "-", "-", "there", "-"],
            ),
            (
                between(2, 1),
                Direction::There,
                ["-", "-", "there", "-", "-", "back", "-"],
            ),
            (
                between(2, 1),
                Direction::Back,
                ["-", "-", "back", "-", "-", "there", "-"],
            ),
            (between(2, 3), Direction::Both, ["-", "-", "-", "-", "-", "-", "-"]),
            (
                Target::Link(Link::Replication),
                Direction::Both,
                ["-", "-", "both", "both", "-", "-", "-"],
            ),
            (
                Target::Link(Link::Replication),
                Direction::There,
                ["-", "-", "back", "back", "-", "-", "-"],
            ),
            (
                Target::Link(Link::Sentinels),
                Direction::Both,
                ["-", "-", "-", "-", "-", "both", "both"],
            ),
            (
                Target::Link(Link::Sentinels),
                Direction::Back,
                ["-", "-", "-", "-", "-", "back", "back"],
            ),
            (
                Target::Host(HostId(1)),
                Direction::There,
                ["there", "there", "there", "there", "-", "back", "there"],
            ),
            (
                Target::Host(HostId(2)),
                Direction::Both,
                ["-", "-", "both", "-", "-", "both", "-"],
            ),
        ];
        for (target, direction, expected) in table {
            assert_eq!(cut(target, direction), expected, "{target}, {direction}");
        }
    }

    #[test]
    fn delays_add_up_and_each_fault_ends_by_itself() {
        let [there, back] = ends(Some((Role::Replicated, 2)), (Role::Replicated, 1));
        let (link, all) = (
            Target::Link(Link::Between(HostId(1), HostId(2))),
            Target::Link(Link::Replication),
        );
        let mut network = Network::default();
        let lag = |direction| Fault::Lag {
            delay: DELAY,
            direction,
        };
        network.enter(link, lag(Direction::Both));
        network.enter(all, lag(Direction::There));
        network.enter(
            all,
            Fault::Cut {
                direction: Direction::Back,
            },
        );
        let state = |network: &Network, path| {
            let Hindrance { delay, cut, .. } = network.state(path);
            (delay, cut)
        };
        assert_eq!(state(&network, &there), (DELAY, true));
        assert_eq!(state(&network, &back), (DELAY * 2, false));
        network.leave(all, Condition::Cut);
        network.leave(link, Condition::Lagging);
        assert_eq!(state(&network, &there), (Duration::ZERO, false));
        assert_eq!(state(&network, &back), (DELAY, false));
        network.leave(all, Condition::Lagging);
        assert_eq!(network.state(&back), Hindrance::default());
    }
}
