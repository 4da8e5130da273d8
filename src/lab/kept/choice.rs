use serde::{Deserialize, Serialize};

use lockstorm_data::model::HostId;

/// How hosts are written.
const FORMS: &str = "write the numbers of hosts, like 1, 1,3 or 1-2, or minority, majority or all";

/// Some hosts of a lab whose size is not known yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// Those with these numbers.
    Numbers(Vec<usize>),
    /// Fewer than half, as many as possible, from the first one on.
    Minority,
    /// More than half, as few as possible, from the first one on.
    Majority,
    /// All of them.
    All,
}

impl Choice {
    /// Reads hosts as people write them, in one or several words: `1`, `1,3`, `1 3`, `1-2`, `minority`, `majority`, `all`.
    ///
    /// # Errors
    /// What is wrong, and how to write it.
    pub fn read(words: &[String]) -> Result<Self, String> {
        match words {
            [word] if word == "minority" => return Ok(Self::Minority),
            [word] if word == "majority" => return Ok(Self::Majority),
            [word] if word == "all" => return Ok(Self::All),
            _ => {}
        }
        let mut numbers = Vec::new();
        for part in words.iter().flat_map(|word| word.split(',')) {
            let wrong = || format!("\"{part}\" is not a host; {FORMS}");
            let number = |text: &str| {
                text.trim()
                    .parse::<usize>()
                    .ok()
                    .filter(|number| (1..=9).contains(number))
            };
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to) = number(from).zip(number(to)).ok_or_else(wrong)?;
            if from > to {
                return Err(wrong());
            }
            for number in from..=to {
                if numbers.contains(&number) {
                    return Err(format!("host {number} is named twice"));
                }
                numbers.push(number);
            }
        }
        match numbers.is_empty() {
            true => Err(format!("no host is named; {FORMS}")),
            false => Ok(Self::Numbers(numbers)),
        }
    }

    /// These hosts of a lab that has so many.
    ///
    /// # Errors
    /// The lab has no such hosts.
    pub fn of(&self, hosts: usize) -> Result<Vec<HostId>, String> {
        let majority = hosts / 2 + 1;
        let first = |count: usize| (0..count).map(HostId::from_index).collect();
        match self {
            Self::Numbers(numbers) => match numbers.iter().find(|number| !(1..=hosts).contains(*number)) {
                Some(number) if hosts == 1 => Err(format!("there is no host {number}: the lab has only host 1")),
                Some(number) => Err(format!("there is no host {number}: the lab has hosts 1 to {hosts}")),
                None => Ok(numbers.iter().copied().map(HostId).collect()),
            },
            Self::Minority if hosts < 3 => Err(format!("{hosts} hosts have no minority: name the host, like 1")),
            Self::Minority => Ok(first(hosts - majority)),
            Self::Majority => Ok(first(majority)),
            Self::All => Ok(first(hosts)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Choice, String> {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        Choice::read(&words)
    }

    #[test]
    fn hosts_are_read_as_people_write_them() {
        for (text, of_five) in [
            ("1", &[1][..]),
            ("1 3", &[1, 3]),
            ("3,1", &[3, 1]),
            ("1-3", &[1, 2, 3]),
            ("1-2,5", &[1, 2, 5]),
            ("minority", &[1, 2]),
            ("majority", &[1, 2, 3]),
            ("all", &[1, 2, 3, 4, 5]),
        ] {
            let hosts = read(text).unwrap().of(5).unwrap();
            assert_eq!(hosts.iter().map(|host| host.0).collect::<Vec<_>>(), of_five, "{text}");
        }
        assert_eq!(Choice::Minority.of(4).unwrap(), [HostId(1)]);
    }

    #[test]
    fn what_is_no_host_is_told() {
        for wrong in [
            "",
            "0",
            "x",
            "host:1",
            "1,",
            "2-1",
            "1-x",
            "-1",
            "all 1",
            "10",
            "99999999999999999999",
        ] {
            let error = read(wrong).unwrap_err();
            assert!(error.contains(" is not a host; write the numbers"), "{wrong}: {error}");
        }
        assert_eq!(read("1 1").unwrap_err(), "host 1 is named twice");
        assert_eq!(
            read("9").unwrap().of(3).unwrap_err(),
            "there is no host 9: the lab has hosts 1 to 3"
        );
        assert!(Choice::Minority.of(2).unwrap_err().contains("no minority"));
    }
}
