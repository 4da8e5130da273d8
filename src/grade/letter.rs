use lockstorm_data::model::CheckResult;
use serde::Serialize;

/// The answer to what was asked of a client, from good to bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Letter {
    /// It was not asked: the client can't do that, or does not claim to.
    #[serde(rename = "-")]
    NotAsked,
    /// As it should be.
    A,
    /// Good, with something that its users should know.
    B,
    /// It does what its algorithm can, and that is not enough here.
    C,
    /// Its users suffer, and an error or a wait tells them.
    D,
    /// It breaks its promise, or somebody waits for ever.
    F,
    /// It was not shown.
    #[serde(rename = "?")]
    Unknown,
}

impl Letter {
    /// Whether a promise was kept: only an F is a no.
    pub const fn result(self) -> CheckResult {
        match self {
            Self::NotAsked | Self::A | Self::B | Self::C | Self::D => CheckResult::Held,
            Self::Unknown => CheckResult::Inconclusive,
            Self::F => CheckResult::Failed,
        }
    }

    /// As it is written.
    pub const fn text(self) -> &'static str {
        match self {
            Self::NotAsked => "–",
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
            Self::F => "F",
            Self::Unknown => "?",
        }
    }
}
