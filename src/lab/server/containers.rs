use std::fmt;
use std::io;

/// The word for [`Containers::Of`] and [`Containers::In`] in the arguments of a keeper.
const OF: &str = "of";
const IN: &str = "in";

/// The containers that are the nodes of a lab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Containers {
    /// New ones, of this image.
    Of(String),
    /// Those of this Compose project, which is up already.
    In(String),
}

impl Containers {
    /// As arguments of a keeper.
    pub(crate) fn arguments(&self) -> [&str; 2] {
        match self {
            Self::Of(image) => [OF, image],
            Self::In(project) => [IN, project],
        }
    }

    /// Reads what [`Containers::arguments`] has written.
    pub(crate) fn from_arguments((word, name): (String, String)) -> io::Result<Self> {
        match word.as_str() {
            OF => Ok(Self::Of(name)),
            IN => Ok(Self::In(name)),
            _ => Err(io::Error::other(format!("a keeper keeps no containers \"{word}\""))),
        }
    }

    /// Whether somebody else has made them.
    #[must_use]
    pub const fn are_found(&self) -> bool {
        matches!(self, Self::In(_))
    }
}

impl fmt::Display for Containers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Of(image) => write!(f, "the image {image}"),
            Self::In(project) => write!(f, "the stack {project}"),
        }
    }
}
