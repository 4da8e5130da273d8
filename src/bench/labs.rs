//! The lab that the cases run on. There is one at a time, and a new one when a case needs other nodes.

use super::case::Case;
use super::error::BenchError;
use super::options::BenchOptions;
use lockstorm_data::scenario::LabSpec;
use lockstorm_lab::{Lab, LabError, LabOptions};

/// Starts labs and ends them.
pub(super) struct Labs<'a> {
    options: &'a BenchOptions,
    /// The present lab, with the case that it was started for.
    up: Option<(Case, Lab)>,
}

/// The lab for a case.
pub(super) enum Found<'a> {
    /// The lab. `new`: no case has run on it before.
    Lab { lab: &'a Lab, new: bool },
    /// There can be no such lab here, for this reason.
    None(String),
}

impl<'a> Labs<'a> {
    pub const fn new(options: &'a BenchOptions) -> Self {
        Self { options, up: None }
    }

    /// The lab for a case.
    ///
    /// # Errors
    /// The lab did not start, for another reason than missing TLS.
    pub async fn of(&mut self, case: &Case) -> Result<Found<'_>, BenchError> {
        if let (true, Err(why)) = (case.tls, &self.options.tls) {
            return Ok(Found::None(why.clone()));
        }
        let (up, new) = match self.up.take() {
            Some(up) if (up.0.hosts, up.0.tls) == (case.hosts, case.tls) => (up, false),
            other => {
                self.up = other;
                self.down().await;
                match self.start(case).await {
                    Ok(lab) => ((*case, lab), true),
                    // A server that was built without TLS shows that only by failing to start.
                    Err(error @ LabError::StartFailed { .. }) if case.tls => return Ok(Found::None(error.to_string())),
                    Err(error) => return Err(error.into()),
                }
            }
        };
        let (_, lab) = self.up.insert(up);
        Ok(Found::Lab { lab, new })
    }

    /// Ends the present lab, and returns once nothing of it is left.
    pub async fn down(&mut self) {
        // It is taken out afterwards, so that this can be called again if it is interrupted.
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
        // The contenders' clients learn the addresses once.
        options.ports_stay = true;
        if case.tls {
            options.tls = self.options.tls.clone().ok();
        }
        let spec = LabSpec::of(case.hosts);
        Lab::up(&spec, options).await
    }
}
