//! The lab that the cases run on: one at a time, another one when a case needs other nodes.

use super::case::Case;
use super::error::BenchError;
use super::options::BenchOptions;
use crate::lab::{Lab, LabError, LabOptions};
use crate::scenario::{LabSpec, Password, Persistence};

/// What cases need of a lab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    hosts: usize,
    tls: bool,
}

/// Starts labs and ends them.
pub(super) struct Labs<'a> {
    options: &'a BenchOptions,
    up: Option<(Shape, Lab)>,
}

/// The answer to a case.
pub(super) enum Found<'a> {
    /// A lab for it. `new`: no case before it ran there.
    Lab { lab: &'a Lab, new: bool },
    /// There can't be one here, and why.
    None(String),
}

impl<'a> Labs<'a> {
    pub const fn new(options: &'a BenchOptions) -> Self {
        Self { options, up: None }
    }

    /// The lab for a case.
    ///
    /// # Errors
    /// When one does not start although nothing speaks against it.
    pub async fn of(&mut self, case: &Case) -> Result<Found<'_>, BenchError> {
        if let (true, Err(why)) = (case.tls, &self.options.tls) {
            return Ok(Found::None(why.clone()));
        }
        let shape = Shape {
            hosts: case.hosts,
            tls: case.tls,
        };
        let (up, new) = match self.up.take() {
            Some(up) if up.0 == shape => (up, false),
            other => {
                self.up = other;
                self.down().await;
                match self.start(case).await {
                    Ok(lab) => ((shape, lab), true),
                    // Only in this way does a server tell that it is built without TLS.
                    Err(error @ LabError::StartFailed { .. }) if case.tls => return Ok(Found::None(error.to_string())),
                    Err(error) => return Err(error.into()),
                }
            }
        };
        let (_, lab) = self.up.insert(up);
        Ok(Found::Lab { lab, new })
    }

    /// Ends the lab that is up, and returns when nothing of it is left.
    pub async fn down(&mut self) {
        // Taken away afterwards: who is interrupted here can come again.
        if let Some((_, lab)) = &self.up {
            lab.down().await;
        }
        self.up = None;
    }

    async fn start(&self, case: &Case) -> Result<Lab, LabError> {
        let mut options = LabOptions::new(self.options.server.clone())?;
        if let Some(keeper) = &self.options.keeper {
            options.keeper.clone_from(keeper);
        }
        if case.tls {
            options.tls = self.options.tls.clone().ok();
        }
        let spec = LabSpec {
            hosts: case.hosts,
            persistence: Persistence::None,
            port: None,
            password: Password::Random,
        };
        Lab::up(&spec, options).await
    }
}
