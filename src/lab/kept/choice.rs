use serde::{Deserialize, Serialize};

use lockstorm_data::model::{HostId, Link, Target, TargetKind};

/// How hosts are written.
const FORMS: &str = "write the numbers of hosts, like 1, 1,3 or 1-2, or minority, majority or all; or a link, like link:1-2, replication or sentinels";

/// Some hosts, or a link, of a lab whose size is not known yet.
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
    /// Connections between hosts.
    Link(Link),
}

impl Choice {
    /// Reads hosts as people write them, in one or several words: `1`, `1,3`, `1 3`, `1-2`, `minority`, `majority`, `all`; or a link as
    /// in scenarios: `link:1-2`, `replication`, `sentinels`.
    ///
    /// # Errors
    /// What is wrong, and how to write it.
    pub fn read(words: &[String]) -> Result<Self, String> {
        if let [word] = words
            && let Some(link) = link(word)
        {
            return Ok(Self::Link(link));
        }
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

    /// Those of a lab that has so many hosts.
    ///
    /// # Errors
    /// The lab has no such hosts.
    pub fn of(&self, hosts: usize) -> Result<Vec<Target>, String> {
        let majority = hosts / 2 + 1;
        let first = |count: usize| (0..count).map(HostId::from_index).map(Target::Host).collect();
        match self {
            Self::Link(Link::Between(one, other)) if one.0.max(other.0) > hosts => {
                Err(format!("there is no such link: the lab has hosts 1 to {hosts}"))
            }
            Self::Link(link) => Ok(vec![Target::Link(*link)]),
            Self::Numbers(numbers) => match numbers.iter().find(|number| !(1..=hosts).contains(*number)) {
                Some(number) if hosts == 1 => Err(format!("there is no host {number}: the lab has only host 1")),
                Some(number) => Err(format!("there is no host {number}: the lab has hosts 1 to {hosts}")),
                None => Ok(numbers.iter().copied().map(HostId).map(Target::Host).collect()),
            },
            Self::Minority if hosts < 3 => Err(format!("{hosts} hosts have no minority: name the host, like 1")),
            Self::Minority => Ok(first(hosts - majority)),
            Self::Majority => Ok(first(majority)),
            Self::All => Ok(first(hosts)),
        }
    }
}

/// The link of this name, if it is one.
fn link(word: &str) -> Option<Link> {
    if let Some(group) = Link::GROUPS.into_iter().find(|link| link.word() == Some(word)) {
        return Some(group);
    }
    let (one, other) = word
        .strip_prefix(TargetKind::Link.word())?
        .strip_prefix(':')?
        .split_once('-')?;
    let number = |text: &str| text.parse().ok().filter(|number| (1..=9).contains(number)).map(HostId);
    let (one, other) = (number(one)?, number(other)?);
    (one != other).then_some(Link::Between(one, other))
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
            let of_five: Vec<_> = of_five.iter().map(|host| Target::Host(HostId(*host))).collect();
            assert_eq!(hosts, of_five, "{text}");
        }
        assert_eq!(Choice::Minority.of(4).unwrap(), [Target::Host(HostId(1))]);
        let between = Link::Between(HostId(2), HostId(3));
        assert_eq!(read("link:2-3").unwrap().of(3).unwrap(), [Target::Link(between)]);
        assert!(read("link:2-3").unwrap().of(2).unwrap_err().contains("no such link"));
        assert_eq!(read("replication").unwrap(), Choice::Link(Link::Replication));
    }

    #[test]
    fn what_is_no_host_is_told() {
        for wrong in [
            "",
            "0",
            "x",
            "host:1",
            "link:1-1",
            "link:1",
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
