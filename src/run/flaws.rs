/// Why a run proves nothing, or less than it should.
#[derive(Debug, Default)]
pub(super) struct Flaws {
    /// Whether the machine's wall clock stepped.
    pub clock_stepped: bool,
    /// What the run needs and has lost.
    pub lost: Vec<String>,
    /// What could not be read or finished, besides what the arms list themselves.
    pub missing: Vec<String>,
    /// The scheduled faults that had no effect, and why; known at the end.
    pub unmet: Vec<String>,
}

impl Flaws {
    /// Why the whole run can prove nothing good: losses, a clock that stepped, scheduled faults without effect.
    pub fn reasons(&self) -> Vec<String> {
        let clock = self
            .clock_stepped
            .then(|| "the machine's wall clock stepped".to_owned());
        let lost = self.lost.iter().cloned();
        lost.chain(clock).chain(self.unmet.iter().cloned()).collect()
    }
}
