use super::{Machine, Needs, cost};

/// What a comparison of needs with a machine found, a line each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Room {
    /// What cannot fit: nothing is to be started.
    pub refusals: Vec<String>,
    /// What is tight.
    pub warnings: Vec<String>,
}

/// From this share of what there is on it is tight.
const TIGHT: f64 = 0.7;

/// Holds what a scenario needs against what there is.
#[must_use]
pub fn compare(needs: &Needs, machine: &Machine) -> Room {
    let mut room = Room::default();
    let cure = format!(
        "raise it (ulimit -n {}), or lower swarm.servers, database.pool or the number of arms",
        needs.files + needs.files / 4
    );
    room.hold("open files", [needs.files; 2], machine.files, number, &cure);
    let most = machine.files.map_or(cost::MOST_CLIENTS, |files| {
        cost::MOST_CLIENTS.min(files.saturating_sub(cost::FILES_OF_ITS_OWN))
    });
    let cure = "raise the limit of open files (ulimit -n), or lower swarm.servers or the number of arms";
    room.hold(
        "connections to one server of the lab",
        [needs.clients; 2],
        Some(most),
        number,
        cure,
    );
    let cure = "lower swarm.servers, database.pool or the number of arms";
    room.hold("threads", [needs.threads; 2], machine.threads, number, cure);
    let cure = match &needs.memory {
        memory if memory.grows() => "lower duration, swarm.rate or the number of arms",
        _ => "lower swarm.workers, swarm.servers, database.pool, workload.products or the number of arms",
    };
    room.hold(
        "of memory",
        [needs.memory.sure, needs.memory.most],
        machine.memory,
        bytes,
        cure,
    );
    let cure = match &needs.disk {
        disk if disk.grows() => "lower duration, swarm.rate or the number of arms, or set TMPDIR to a larger disk",
        _ => "lower workload.products, the keys of the caches or the number of arms, or set TMPDIR to a larger disk",
    };
    room.hold(
        "of disk below TMPDIR",
        [needs.disk.sure, needs.disk.most],
        machine.disk,
        bytes,
        cure,
    );
    room
}

impl Room {
    fn hold(&mut self, what: &str, [sure, most]: [u64; 2], there: Option<u64>, show: fn(u64) -> String, cure: &str) {
        let Some(there) = there else { return };
        let has = format!("{} {what} and there are {}", show(most.max(sure)), show(there));
        if sure > there {
            self.refusals.push(format!("this scenario needs about {has}: {cure}"));
        } else if share(most, there) > TIGHT {
            self.warnings.push(format!("this scenario may need {has}: {cure}"));
        }
    }
}

#[allow(clippy::cast_precision_loss)] // a share
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn number(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|group| std::str::from_utf8(group).ok())
        .collect();
    groups.join(",")
}

/// `35 MiB`, `1.2 GiB`.
#[allow(clippy::cast_precision_loss)] // shown with two digits
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
    use super::super::Amount;
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
        (room.refusals, room.warnings)
    }

    #[test]
    fn what_is_not_known_is_not_spoken_of() {
        assert_eq!(compare(&NEEDS, &Machine::default()), Room::default());
    }

    #[test]
    fn what_cannot_fit_is_refused_with_both_numbers_and_the_cure() {
        let machine = Machine {
            files: Some(1_024),
            ..Machine::default()
        };
        let cure = "raise it (ulimit -n 2380), or lower swarm.servers, database.pool or the number of arms";
        let line = format!("this scenario needs about 1,904 open files and there are 1,024: {cure}");
        assert_eq!(lines(machine), (vec![line], vec![]));
    }

    #[test]
    fn what_is_tight_and_what_may_grow_too_large_are_warned_of() {
        let machine = Machine {
            threads: Some(1_000),
            memory: Some(150 * cost::MIB),
            ..Machine::default()
        };
        let (refusals, warnings) = lines(machine);
        assert_eq!(refusals, Vec::<String>::new());
        assert!(
            warnings[0].starts_with("this scenario may need 900 threads and there are 1,000: lower"),
            "{warnings:?}"
        );
        assert!(
            warnings[1].starts_with("this scenario may need 200 MiB of memory and there are 150 MiB: lower duration")
        );
        assert_eq!(warnings.len(), 2);
    }

    #[test]
    fn a_server_of_the_lab_takes_as_many_connections_as_its_files_allow() {
        let machine = Machine {
            files: Some(220),
            ..Machine::default()
        };
        let (refusals, _) = lines(machine);
        assert!(
            refusals[1]
                .starts_with("this scenario needs about 200 connections to one server of the lab and there are 188")
        );
    }
}
