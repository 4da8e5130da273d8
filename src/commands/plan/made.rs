//! When and by what a page was made.

use std::ffi::OsString;
use std::time::SystemTime;

/// This moment in UTC, to the second.
pub fn when() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// The command line with these arguments, as a shell reads it. What may contain a password is left out: URLs, and what has an @.
pub fn command(arguments: impl Iterator<Item = OsString>) -> String {
    let shown = arguments.map(|argument| shown(&argument.to_string_lossy()));
    std::iter::once("lockstorm".to_owned())
        .chain(shown)
        .collect::<Vec<_>>()
        .join(" ")
}

fn shown(argument: &str) -> String {
    // Of `--option=value` the name can stay.
    let (name, value) = match argument.split_once('=') {
        Some((name, value)) if name.starts_with('-') => (format!("{name}="), value),
        _ => (String::new(), argument),
    };
    let may_be_secret = |text: &str| text.contains("://") || text.contains('@');
    if may_be_secret(value) || may_be_secret(&name) {
        return format!("{}…", if may_be_secret(&name) { "" } else { &name });
    }
    let is_plain = |c: char| c.is_alphanumeric() || "-_.,:/%+".contains(c);
    match !value.is_empty() && value.chars().all(is_plain) {
        true => name + value,
        false => format!("{name}'{}'", value.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &[&str]) -> String {
        command(words.iter().map(OsString::from))
    }

    #[test]
    fn a_command_line_can_be_repeated() {
        assert_eq!(
            said(&[
                "plan",
                "--hold",
                "lognormal:20ms,0.6",
                "--risk=1e-6/day",
                "my run.json",
                "it's",
                ""
            ]),
            r"lockstorm plan --hold lognormal:20ms,0.6 --risk=1e-6/day 'my run.json' 'it'\''s' ''"
        );
    }

    #[test]
    fn nothing_that_may_be_a_password_is_shown() {
        for (words, shown) in [
            (&["--from", "redis://app:s3cret@host"][..], "lockstorm --from …"),
            (&["--from=rediss://:s3cret@host:1/2"], "lockstorm --from=…"),
            (&["--from", "redis://a redis://b:s3cret@c"], "lockstorm --from …"),
            (&["--from", "app:s3cret@host"], "lockstorm --from …"),
            (&["-x@s3cret=1"], "lockstorm …"),
        ] {
            assert_eq!(said(words), shown);
        }
    }
}
