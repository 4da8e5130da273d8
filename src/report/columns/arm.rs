use lockstorm_data::metrics::units::{count, short_count};
use lockstorm_data::metrics::{Count, Figures, Group, Series};
use lockstorm_data::scenario::{ArmSpec, Scenario};
use lockstorm_judge::ArmJudgement;
use lockstorm_run::{ArmView, Health, Record, Snapshot};

/// The data behind an arm's cells, from a record or from a run under way.
pub(crate) struct Arm<'a> {
    pub name: &'a str,
    pub figures: &'a Figures,
    /// What the judge finds of it.
    pub judged: ArmJudgement,
    /// How many nodes its lock uses.
    pub nodes: usize,
    /// The groups of figures that it can't have.
    pub lacks: Vec<Group>,
    /// Requests that ended after the load; from a record.
    pub after_end: u64,
    /// What it did second by second; `None` in tests.
    pub series: Option<&'a Series>,
    /// Its present state; from a run under way.
    pub now: Option<&'a ArmView>,
    /// Whether counts may have at most five columns.
    pub is_narrow: bool,
}

impl<'a> Arm<'a> {
    /// The arms of a record.
    pub fn all_of_record(record: &'a Record) -> Vec<Self> {
        // All three are in the order of the scenario.
        let judged = record.judge().arms;
        let arms = record.arms.iter().zip(&record.scenario.arms).zip(judged);
        let arms = arms.map(|((arm, spec), judged)| Self {
            judged,
            after_end: arm.after_end.counts[Count::Completed],
            series: Some(&arm.series),
            ..Self::new(&arm.name, &arm.figures, spec, &record.scenario)
        });
        arms.collect()
    }

    /// The arms of a run under way.
    pub fn all_of_snapshot(snapshot: &'a Snapshot) -> Vec<Self> {
        let judged = snapshot.judge().arms;
        let arms = snapshot.arms.iter().zip(&snapshot.scenario.arms).zip(judged);
        let arms = arms.map(|((arm, spec), judged)| Self {
            judged,
            series: Some(arm.series.as_ref()),
            now: Some(arm),
            ..Self::new(&arm.name, &arm.figures, spec, &snapshot.scenario)
        });
        arms.collect()
    }

    fn new(name: &'a str, figures: &'a Figures, spec: &ArmSpec, scenario: &Scenario) -> Self {
        Self {
            name,
            figures,
            judged: ArmJudgement::default(),
            nodes: spec.voters(&scenario.lab).len(),
            lacks: scenario.lacks(spec),
            after_end: 0,
            series: None,
            now: None,
            is_narrow: false,
        }
    }

    /// An arm with a lock of three nodes and these figures.
    #[cfg(test)]
    pub fn of_figures(figures: &'a Figures) -> Self {
        Self {
            name: "",
            figures,
            judged: ArmJudgement::default(),
            nodes: 3,
            lacks: vec![Group::Masters, Group::Clients],
            after_end: 0,
            series: None,
            now: None,
            is_narrow: false,
        }
    }

    /// This arm for tables with narrow counts.
    pub fn narrow(self) -> Self {
        Self {
            is_narrow: true,
            ..self
        }
    }

    /// Whether it has the figures of this group.
    pub fn has(&self, group: Group) -> bool {
        match group {
            Group::Now => self.now.is_some(),
            _ => !self.lacks.contains(&group),
        }
    }

    /// Whether nothing good can be said about it.
    pub const fn is_doubted(&self) -> bool {
        !self.judged.doubts.is_empty()
    }

    /// Whether it is stuck: it can't work although it has something to do.
    pub fn is_stuck(&self) -> bool {
        self.now.is_some_and(|now| now.live.health != Health::Well && !now.done)
    }

    /// A count in the style of this table.
    pub fn count(&self, n: u64) -> String {
        if self.is_narrow { short_count(n) } else { count(n) }
    }
}
