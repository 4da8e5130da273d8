//! What can be done to a kept lab, as sub-commands: one for each kind of fault of hosts and links, with its parameters as options.

use std::ops::RangeInclusive;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command, Error, FromArgMatches, Subcommand};
use lockstorm_data::model::{Action, Fault, Lack, Parameters, TargetKind};
use lockstorm_data::scenario::{Words, keys, parse_clock_rate, parse_shift};
use lockstorm_lab::kept::Deed;
use lockstorm_run::Command as RunCommand;

use crate::glossary;

/// A kill after which the host comes back by itself.
const BOUNCE: &str = "bounce";
/// The opposite of all others.
const RESTORE: &str = "restore";
/// The option of how long a fault lasts, and the hosts.
const FOR: &str = "for";
const ON: &str = "HOST";
const CODES: &str = "Exit codes: 0 the effect was verified, or it was so before, 1 error, 2 usage, or this lab can't do it, 5 not \
                     verified in time.";

/// What is to be done to whom.
#[derive(Debug)]
pub struct DeedArgs {
    /// What is done.
    pub deed: Deed,
    /// The hosts or the link, as they were written.
    pub on: Vec<String>,
}

/// The faults that hosts or links can have.
fn faults() -> impl Iterator<Item = Fault> {
    let can_have = |fault: &Fault| {
        [TargetKind::Host, TargetKind::Link]
            .iter()
            .any(|kind| fault.meaning_for(*kind).is_some())
    };
    Fault::kinds().filter(can_have)
}

/// The fault of a sub-command.
fn fault(name: &str) -> Option<Fault> {
    let word = if name == BOUNCE {
        Action::Fault(Fault::Kill).word()
    } else {
        name
    };
    faults().find(|fault| Action::Fault(*fault).word() == word)
}

fn names() -> impl Iterator<Item = &'static str> {
    faults()
        .map(|fault| Action::Fault(fault).word())
        .chain([BOUNCE, RESTORE])
}

/// A sub-command with its help.
fn command(name: &'static str) -> Command {
    let meaning = glossary::meaning(name).unwrap_or_default();
    let on = Arg::new(ON)
        .required(true)
        .num_args(1..)
        .help("The numbers of the hosts (1, 1 3, 1,3 or 1-2), or minority, majority or all");
    let command = Command::new(name).arg(match fault(name) {
        Some(fault) if fault.meaning_for(TargetKind::Link).is_none() => on,
        _ => on.help(
            "The hosts (1, 1 3, 1,3, 1-2, minority, majority or all), or a link (link:1-2, replication or sentinels)",
        ),
    });
    let Some(fault) = fault(name) else {
        return command
            .about("Restore hosts of the kept lab: undo whatever is wrong with them; with `all` the links, too")
            .after_help(format!(
                "Examples:\n  lockstorm lab {name} 1\n  lockstorm lab {name} all\n\n{CODES}"
            ));
    };
    let mut options = Options(command);
    let _ = fault.map_parameters(&mut options);
    let mut command = options.0;
    if Action::Fault(fault).undo(TargetKind::Host).is_some() {
        let lasts = Arg::new(FOR)
            .long(FOR)
            .value_name("DURATION")
            .value_parser(humantime::parse_duration);
        command = command.arg(match name {
            BOUNCE => lasts.help(format!(
                "How long after its verified death it is started again [default: {}]",
                humantime::format_duration(RunCommand::BOUNCE)
            )),
            _ => lasts.help("Undo it so long after its verified effect, and return then. Left out: it stays"),
        });
    }
    let verb = Action::Fault(fault).verbs()[0];
    let verb = if name == BOUNCE { name } else { verb };
    command
        .about(format!(
            "{}{} hosts of the kept lab: {meaning}",
            verb[..1].to_uppercase(),
            &verb[1..]
        ))
        .after_help(format!("Examples:\n{}\n\n{CODES}", examples(name, fault)))
}

/// What can be done in a lab, or with which options it can.
fn examples(name: &str, fault: Fault) -> String {
    let line = |(on, needs): (&str, Vec<Lack>)| {
        let options: Vec<&str> = needs.into_iter().filter_map(Lack::option).collect();
        match options.as_slice() {
            [] => format!("  lockstorm lab {name} {on}"),
            options => format!(
                "  lockstorm lab {name} {on:18}needs `lockstorm lab up {}`",
                options.join(" ")
            ),
        }
    };
    fault.examples().map(line).collect::<Vec<_>>().join("\n")
}

/// A sub-command that gets the parameters of a fault as options.
struct Options(Command);

impl Parameters for Options {
    fn duration(&mut self, key: &'static str, now: Duration, range: RangeInclusive<Duration>) -> Duration {
        let [least, most] = [*range.start(), *range.end()].map(humantime::format_duration);
        let parse = move |text: &str| match humantime::parse_duration(text) {
            Ok(duration) if range.contains(&duration) => Ok(duration),
            Ok(_) => Err(format!("it must be {least} to {most}")),
            Err(_) => Err("write it with its unit, for example 50ms".to_owned()),
        };
        let option = Arg::new(key)
            .long(key)
            .value_name("DURATION")
            .required(true)
            .value_parser(parse);
        self.add(option);
        now
    }

    fn number(&mut self, key: &'static str, now: u64, range: RangeInclusive<u64>, left_out: Option<u64>) -> u64 {
        let parser = clap::value_parser!(u64).range(range);
        let option = Arg::new(key).long(key).value_name("NUMBER");
        self.add(option.required(left_out.is_none()).value_parser(parser));
        now
    }

    fn shift(&mut self, key: &'static str, now: i64) -> i64 {
        let option = Arg::new(key).long(key).value_name("DURATION").allow_hyphen_values(true);
        self.add(option.value_parser(parse_shift));
        now
    }

    fn rate(&mut self, key: &'static str, now: u32) -> u32 {
        let option = Arg::new(key).long(key).value_name("NUMBER");
        self.add(option.value_parser(parse_clock_rate));
        now
    }

    fn word<T: Words>(&mut self, key: &'static str, now: T) -> T {
        let words = T::words();
        let help = format!("{} [default: {}]", words.join(", "), now.word());
        let parse = move |text: &str| match words.iter().any(|word| word == text) {
            true => Ok(text.to_owned()),
            false => Err(format!("write {}", words.join(" or "))),
        };
        let option = Arg::new(key).long(key).value_name("WORD").value_parser(parse);
        self.0 = std::mem::take(&mut self.0).arg(option.help(help));
        now
    }
}

impl Options {
    /// Adds an option that means what the table of keys says.
    fn add(&mut self, option: Arg) {
        let row =
            keys().find(|row| row.section == "[[fault]]" && row.each().any(|name| name == option.get_id().as_str()));
        let option = match row {
            Some(row) => {
                // "of a lag: how much later …"
                let what = row.what.split_once(": ").map_or(row.what, |(_, what)| what);
                let default = match row.left_out {
                    "" | "required there" => String::new(),
                    left_out => format!(" [default: {left_out}]"),
                };
                option.help(format!("{}{}{default}", what[..1].to_uppercase(), &what[1..]))
            }
            None => option,
        };
        self.0 = std::mem::take(&mut self.0).arg(option);
    }
}

/// The parameters of a fault as they were given.
struct Given<'a>(&'a ArgMatches);

impl Parameters for Given<'_> {
    fn duration(&mut self, key: &'static str, now: Duration, _: RangeInclusive<Duration>) -> Duration {
        self.0.get_one(key).copied().unwrap_or(now)
    }

    fn number(&mut self, key: &'static str, now: u64, _: RangeInclusive<u64>, left_out: Option<u64>) -> u64 {
        self.0.get_one(key).copied().or(left_out).unwrap_or(now)
    }

    fn shift(&mut self, key: &'static str, now: i64) -> i64 {
        self.0.get_one(key).copied().unwrap_or(now)
    }

    fn rate(&mut self, key: &'static str, now: u32) -> u32 {
        self.0.get_one(key).copied().unwrap_or(now)
    }

    fn word<T: Words>(&mut self, key: &'static str, now: T) -> T {
        self.0
            .get_one::<String>(key)
            .and_then(|word| T::of_word(word))
            .unwrap_or(now)
    }
}

impl FromArgMatches for DeedArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let (name, given) = matches
            .subcommand()
            .ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        let on = given.get_many::<String>(ON).unwrap_or_default().cloned().collect();
        let fault = fault(name).map(|fault| fault.map_parameters(&mut Given(given)));
        if let Some(why) = fault.and_then(Fault::lacks) {
            let why = format!("lab {name} {why}: `lockstorm lab {name} --help` has examples\n");
            return Err(Error::raw(ErrorKind::MissingRequiredArgument, why));
        }
        let deed = match fault {
            Some(fault) => Deed::Do {
                action: fault.into(),
                lasts: match given.try_get_one(FOR).ok().flatten() {
                    None if name == BOUNCE => Some(RunCommand::BOUNCE),
                    lasts => lasts.copied(),
                },
            },
            None => Deed::Restore,
        };
        Ok(Self { deed, on })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for DeedArgs {
    fn augment_subcommands(lab: Command) -> Command {
        lab.subcommands(names().map(command))
    }

    fn augment_subcommands_for_update(lab: Command) -> Command {
        Self::augment_subcommands(lab)
    }

    fn has_subcommand(name: &str) -> bool {
        names().any(|one| one == name)
    }
}
