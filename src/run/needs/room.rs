use std::fmt;

use super::cost;
use super::estimate::{Amount, Needs};
use super::machine::Machine;
use lockstorm_data::metrics::units::count;

/// The result of comparing needs with a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Room {
    /// What does not fit: nothing may be started.
    pub refusals: Vec<Lack>,
    /// What is tight.
    pub warnings: Vec<Lack>,
}

/// What there is too little of, or hardly enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lack {
    /// What.
    pub resource: Resource,
    /// How much is needed.
    pub need: Amount,
    /// How much is available.
    pub available: u64,
}

/// What a scenario needs of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Files that one process may have open.
    Files,
    /// Connections to one server of the lab.
    Connections,
    /// Threads.
    Threads,
    /// Memory, in bytes.
    Memory,
    /// The disk of the run's directory, in bytes.
    Disk,
}

/// More than 7/10 of what is available is tight.
const TIGHT: [u64; 2] = [7, 10];

/// Compares what a scenario needs with what is available.
pub fn compare(needs: &Needs, machine: &Machine) -> Room {
    let of_node = machine.files.map_or(cost::MOST_CLIENTS, |files| {
        cost::MOST_CLIENTS.min(files.saturating_sub(cost::FILES_RESERVED_BY_A_NODE))
    });
    let fixed = |need| Amount { sure: need, most: need };
    let mut room = Room::default();
    for (resource, need, available) in [
        (Resource::Files, fixed(needs.files), machine.files),
        (Resource::Connections, fixed(needs.clients), Some(of_node)),
        (Resource::Threads, fixed(needs.threads), machine.threads),
        (Resource::Memory, needs.memory, machine.memory),
        (Resource::Disk, needs.disk, machine.disk),
    ] {
        let Some(available) = available else { continue };
        let lack = Lack {
            resource,
            need,
            available,
        };
        let [tight, whole] = TIGHT;
        if need.sure > available {
            room.refusals.push(lack);
        } else if need.most.saturating_mul(whole) > available.saturating_mul(tight) {
            room.warnings.push(lack);
        }
    }
    room
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            resource,
            need: Amount { sure, most },
            available,
        } = *self;
        let show: fn(u64) -> String = match resource {
            Resource::Files | Resource::Connections | Resource::Threads => count,
            Resource::Memory | Resource::Disk => bytes,
        };
        let (needed, has) = (show(most.max(sure)), show(available));
        if sure > available {
            write!(
                f,
                "this scenario needs about {needed} {resource}, but only {has} are available: "
            )?;
        } else if most > available {
            write!(
                f,
                "this scenario may need {needed} {resource}, but only {has} are available: "
            )?;
        } else {
            write!(
                f,
                "this scenario may need {needed} of {has} {resource}, which leaves little room: "
            )?;
        }
        let cure = match resource {
            Resource::Files => {
                // High enough that it is not tight any more.
                let limit = most.saturating_mul(TIGHT[1]).div_ceil(TIGHT[0]);
                write!(f, "raise the limit (ulimit -n {limit}), or ")?;
                "lower swarm.servers, database.pool or the number of arms"
            }
            Resource::Connections => {
                "raise the limit of open files (ulimit -n), or lower swarm.servers or the number of arms"
            }
            Resource::Threads => "lower swarm.servers, database.pool or the number of arms",
            Resource::Memory if self.need.grows() => "lower duration, swarm.rate or the number of arms",
            Resource::Memory => {
                "lower swarm.workers, swarm.servers, database.pool, workload.products or the number of arms"
            }
            Resource::Disk if self.need.grows() => {
                "lower duration, swarm.rate or the number of arms, or set TMPDIR to a larger disk"
            }
            Resource::Disk => {
                "lower workload.products, the keys of the caches or the number of arms, or set TMPDIR to a larger disk"
            }
        };
        f.write_str(cure)
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Files => "open files",
            Self::Connections => "connections to one server of the lab",
            Self::Threads => "threads",
            Self::Memory => "of memory",
            Self::Disk => "of disk below TMPDIR",
        })
    }
}

/// `35 MiB`, `1.2 GiB`.
fn bytes(bytes: u64) -> String {
    let mib = bytes as f64 / cost::MIB as f64;
    if mib < 1024.0 {
        format!("{mib:.0} MiB")
    } else {
        format!("{:.1} GiB", mib / 1024.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEEDS: Needs = Needs {
        files: 1_904,
        clients: 200,
        threads: 900,
        memory: Amount {
            sure: 100 * cost::MIB,
            most: 200 * cost::MIB,
        },
        disk: Amount {
            sure: cost::MIB,
            most: cost::MIB,
        },
    };

    fn lines(machine: Machine) -> (Vec<String>, Vec<String>) {
        let room = compare(&NEEDS, &machine);
        let text = |lacks: Vec<Lack>| lacks.iter().map(Lack::to_string).collect();
        (text(room.refusals), text(room.warnings))
    }

    #[test]
    fn unknown_limits_give_no_message() {
        assert_eq!(compare(&NEEDS, &Machine::default()), Room::default());
    }

    #[test]
    fn a_need_that_does_not_fit_is_refused_with_both_numbers_and_the_cure() {
        let machine = Machine {
            files: Some(1_024),
            ..Machine::default()
        };
        let cure = "raise the limit (ulimit -n 2720), or lower swarm.servers, database.pool or the number of arms";
        let line = format!("this scenario needs about 1,904 open files, but only 1,024 are available: {cure}");
        assert_eq!(lines(machine), (vec![line], vec![]));
    }

    #[test]
    fn tight_and_growing_needs_give_warnings() {
        let machine = Machine {
            threads: Some(1_000),
            memory: Some(150 * cost::MIB),
            ..Machine::default()
        };
        let (refusals, warnings) = lines(machine);
        assert_eq!(refusals, Vec::<String>::new());
        assert!(
            warnings[0].starts_with("this scenario may need 900 of 1,000 threads, which leaves little room: lower"),
            "{warnings:?}"
        );
        assert!(
            warnings[1].starts_with(
                "this scenario may need 200 MiB of memory, but only 150 MiB are available: lower duration"
            )
        );
        assert_eq!(warnings.len(), 2);
    }

    #[test]
    fn the_advice_ends_the_warning() {
        for files in [1, 216, NEEDS.files] {
            let needs = Needs {
                files,
                clients: 0,
                ..NEEDS
            };
            let at = |limit: u64| {
                let machine = Machine {
                    files: Some(limit),
                    ..Machine::default()
                };
                compare(&needs, &machine)
            };
            let advice = (files * 10).div_ceil(7);
            assert!(
                at(advice - 1).warnings[0]
                    .to_string()
                    .contains(&format!("(ulimit -n {advice})"))
            );
            assert_eq!(at(advice), Room::default());
        }
    }

    #[test]
    fn a_server_of_the_lab_takes_as_many_connections_as_its_files_allow() {
        let machine = Machine {
            files: Some(220),
            ..Machine::default()
        };
        let (refusals, _) = lines(machine);
        assert!(refusals[1].starts_with(
            "this scenario needs about 200 connections to one server of the lab, but only 188 are available"
        ));
    }
}
