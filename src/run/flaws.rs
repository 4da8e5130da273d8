/// What makes a run prove nothing, or less than it should.
#[derive(Debug, Default)]
pub(super) struct Flaws {
    /// Whether the host's wall clock stepped.
    pub clock_stepped: bool,
    /// What was lost that the run can't do without.
    pub lost: Vec<String>,
    /// What could not be read or finished, besides what the arms miss.
    pub missing: Vec<String>,
    /// Why scheduled faults took no effect, known at the end.
    pub unmet: Vec<String>,
}

impl Flaws {
    /// Why the whole run proves nothing good: losses, a clock that stepped, scheduled faults without effect.
    pub fn reasons(&self) -> Vec<String> {
        let clock = self.clock_stepped.then(|| "the host's clock stepped".to_owned());
        let lost = self.lost.iter().cloned();
        lost.chain(clock).chain(self.unmet.iter().cloned()).collect()
    }
}
