use super::cost;
use super::estimate::{Amount, Needs};
use super::machine::Machine;
use lockstorm_data::metrics::units::count;

/// The result of comparing needs with a machine, a line each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Room {
    /// What does not fit: nothing may be started.
    pub refusals: Vec<String>,
    /// What is tight.
    pub warnings: Vec<String>,
}

/// More than 7/10 of what is available is tight.
const TIGHT: [u64; 2] = [7, 10];

/// Compares what a scenario needs with what is available.
pub fn compare(needs: &Needs, machine: &Machine) -> Room {
    let of_node = machine.files.map_or(cost::MOST_CLIENTS, |files| {
        cost::MOST_CLIENTS.min(files.saturating_sub(cost::FILES_RESERVED_BY_A_NODE))
    });
    let cure_of_files = format!(
        "raise the limit (ulimit -n {}), or lower swarm.servers, database.pool or the number of arms",
        // High enough that it is not tight any more.
        needs.files.saturating_mul(TIGHT[1]).div_ceil(TIGHT[0])
    );
    let cure_of_memory = match needs.memory.grows() {
        true => "lower duration, swarm.rate or the number of arms",
        false => "lower swarm.workers, swarm.servers, database.pool, workload.products or the number of arms",
    };
    let cure_of_disk = match needs.disk.grows() {
        true => "lower duration, swarm.rate or the number of arms, or set TMPDIR to a larger disk",
        false => {
            "lower workload.products, the keys of the caches or the number of arms, or set TMPDIR to a larger disk"
        }
    };
    let fixed = |need| Amount { sure: need, most: need };
    let mut room = Room::default();
    room.check("open files", fixed(needs.files), machine.files, count, &cure_of_files);
    room.check(
        "connections to one server of the lab",
        fixed(needs.clients),
        Some(of_node),
        count,
        "raise the limit of open files (ulimit -n), or lower swarm.servers or the number of arms",
    );
    let cure = "lower swarm.servers, database.pool or the number of arms";
    room.check("threads", fixed(needs.threads), machine.threads, count, cure);
    room.check("of memory", needs.memory, machine.memory, bytes, cure_of_memory);
    room.check("of disk below TMPDIR", needs.disk, machine.disk, bytes, cure_of_disk);
    room
}

impl Room {
    fn check(&mut self, what: &str, need: Amount, there: Option<u64>, show: fn(u64) -> String, cure: &str) {
        let Some(there) = there else { return };
        let Amount { sure, most } = need;
        let (needed, has) = (show(most.max(sure)), show(there));
        let [tight, whole] = TIGHT;
        if sure > there {
            self.refusals.push(format!(
                "this scenario needs about {needed} {what}, but only {has} are available: {cure}"
            ));
        } else if most > there {
            self.warnings.push(format!(
                "this scenario may need {needed} {what}, but only {has} are available: {cure}"
            ));
        } else if most.saturating_mul(whole) > there.saturating_mul(tight) {
            self.warnings.push(format!(
                "this scenario may need {needed} of {has} {what}, which leaves little room: {cure}"
            ));
        }
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
        (room.refusals, room.warnings)
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
            assert!(at(advice - 1).warnings[0].contains(&format!("(ulimit -n {advice})")));
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
