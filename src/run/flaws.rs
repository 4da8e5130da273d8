/// Why a run proves nothing, or less than it should.
#[derive(Debug, Default)]
pub(super) struct Flaws {
    /// What makes all figures worthless: the machine's wall clock stepped, or the run itself stood still.
    pub void: Vec<String>,
    /// What the run needs and has lost.
    pub lost: Vec<String>,
    /// What could not be read or finished, besides what the arms list themselves.
    pub missing: Vec<String>,
    /// The scheduled faults that had no effect, and why; known at the end.
    pub unmet: Vec<String>,
}

impl Flaws {
    /// Why the whole run can prove nothing good: losses, what voids it, scheduled faults without effect.
    pub fn reasons(&self) -> Vec<String> {
        [&self.lost, &self.void, &self.unmet]
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }
}
