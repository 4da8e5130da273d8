use std::fmt;

use serde::{Deserialize, Serialize};

/// The containers that are the nodes of a lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Containers {
    /// New ones, of this image.
    Of(String),
    /// Those of this Compose project, which is up already.
    In(String),
}

impl Containers {
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
