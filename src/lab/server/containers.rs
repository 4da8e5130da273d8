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

impl fmt::Display for Containers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Of(image) => write!(f, "the image {image}"),
            Self::In(project) => write!(f, "the stack {project}"),
        }
    }
}
