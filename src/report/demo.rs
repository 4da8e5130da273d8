//! The record that comes with the program: a run of `failover`. `make demo` makes it anew.

use std::io::{self, Read as _};

use flate2::read::GzDecoder;

use lockstorm_run::Record;

static PACKED: &[u8] = include_bytes!("demo.json.gz");

/// The record that comes with the program.
///
/// # Errors
/// It is not of the format of this program, which a test looks after.
pub fn demo() -> io::Result<Record> {
    let mut text = Vec::new();
    GzDecoder::new(PACKED).read_to_end(&mut text)?;
    Ok(serde_json::from_slice::<Record>(&text)?.concluded())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_run_is_of_this_format_and_shows_what_it_is_for() {
        let renew = "the format of records has changed: `make demo` records the run anew";
        let record = demo().unwrap_or_else(|error| panic!("{renew}: {error}"));
        assert_eq!(record.format, Record::FORMAT, "{renew}");
        assert!(!record.interrupted && record.inconclusive.is_empty() && record.partial.is_empty());
        assert_eq!(record.scenario.name, "failover");
        let held_twice = |name: &str| {
            let arm = record.arms.iter().find(|arm| arm.name == name);
            arm.map(|arm| arm.figures.double_holds > 0 && !arm.evidence.is_empty())
        };
        let broken = [
            ("single", true),
            ("sentinel", true),
            ("sentinel wait 2", true),
            ("redlock", false),
        ];
        for (name, is_broken) in broken {
            assert_eq!(held_twice(name), Some(is_broken), "{name}");
        }
        assert!(PACKED.len() < 200_000, "{} bytes", PACKED.len());
    }
}
