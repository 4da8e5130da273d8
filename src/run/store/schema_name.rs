//! The names of our schemas. A statement with a schema in it is made from such a name and from nothing else.

use std::fmt;

/// The name of the schema of one arm of one run: `lockstorm_run_0a1b2c3d_0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SchemaName(String);

impl SchemaName {
    /// That of the arm at position `arm`. The run's id is the name of its directory, `run-0a1b2c3d`; `None` if it is not.
    pub fn of_arm(run_id: &str, arm: usize) -> Option<Self> {
        Self::read(format!("lockstorm_{}_{arm}", run_id.replacen('-', "_", 1)))
    }

    /// The name of a schema that was found, if runs give such names.
    pub fn read(name: String) -> Option<Self> {
        let (id, arm) = name.strip_prefix("lockstorm_run_")?.split_once('_')?;
        let is_id = id.len() == 8 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let is_arm = !arm.is_empty() && arm.bytes().all(|byte| byte.is_ascii_digit());
        (is_id && is_arm).then_some(Self(name))
    }

    /// As it is, for comparisons and as a value.
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// As SQL writes it. No character of such a name has a meaning inside quotes.
impl fmt::Display for SchemaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_run_is_called_is_a_name() {
        let name = SchemaName::of_arm("run-0a1b2c3d", 12).unwrap();
        assert_eq!(name.text(), "lockstorm_run_0a1b2c3d_12");
        assert_eq!(name.to_string(), "\"lockstorm_run_0a1b2c3d_12\"");
        assert_eq!(SchemaName::read(name.text().to_owned()), Some(name));
        for id in [
            "",
            "run-",
            "run-0a1b2c3",
            "run-0a1b2c3d4",
            "run-0A1B2C3D",
            "run-0a1b2c3g",
            "0a1b2c3d",
            "arms",
        ] {
            assert_eq!(SchemaName::of_arm(id, 0), None, "{id}");
        }
        for name in [
            "prod",
            "Prod",
            "LOCKSTORM_run_0a1b2c3d_0",
            "lockstorm_run_0a1b2c3d",
            "lockstorm_run_0a1b2c3d_",
            "lockstorm_run_0a1b2c3d_0_1",
            "lockstorm_run_0a1b2c3d_0 ",
            "lockstorm_run_0a1b2c3d_0\"",
            "lockstorm_run_0a1b2c3d_٣",
            "xlockstorm_run_0a1b2c3d_0",
        ] {
            assert_eq!(SchemaName::read(name.to_owned()), None, "{name}");
        }
    }
}
