use lockstorm_data::metrics::units::{count, short_count};
use lockstorm_data::metrics::{Count, Figures, Group, Metric, Series};
use lockstorm_data::scenario::{ArmSpec, LockKind, Op, Scenario};
use lockstorm_run::{ArmView, Health, Record, Snapshot};

/// The data behind an arm's cells, from a record or from a run under way.
pub(crate) struct Arm<'a> {
    pub name: &'a str,
    pub figures: &'a Figures,
    /// Whether nothing good can be said about it.
    pub is_doubted: bool,
    /// Whether damage is proven in spite of that.
    pub damage_stands: bool,
    /// Whether the scenario predicts of its lock what has not shown, or no fault of the run has tested any lock.
    pub is_untested: bool,
    /// Whether the scenario has faults for its lock and none of them has tested it.
    pub meets_no_fault: bool,
    /// How many nodes its lock uses.
    pub nodes: usize,
    /// Whether it has a lock.
    pub locks: bool,
    /// Whether its lock is another program's.
    pub is_client: bool,
    /// Whose figures its workload has.
    pub groups: &'static [Group],
    /// Whether that is on a master that a replica may replace.
    pub has_master: bool,
    /// Whether its requests are due at a rate.
    pub has_rate: bool,
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
        // Both are in the order of the scenario.
        let arms = record.arms.iter().zip(&record.scenario.arms);
        let arms = arms.map(|(arm, spec)| Self {
            is_doubted: arm.doubt.is_some(),
            damage_stands: arm.damage_stands,
            after_end: arm.after_end.counts[Count::Completed],
            series: Some(&arm.series),
            ..Self::new(&arm.name, &arm.figures, spec, &record.scenario)
        });
        let is_untested = record.scenario.is_untested(record.arms.iter().map(|arm| &arm.figures));
        arms.map(|arm| arm.of_run(is_untested)).collect()
    }

    /// The arms of a run under way.
    pub fn all_of_snapshot(snapshot: &'a Snapshot) -> Vec<Self> {
        let arms = snapshot.arms.iter().zip(&snapshot.scenario.arms);
        let arms = arms.map(|(arm, spec)| Self {
            is_doubted: arm.doubt.is_some(),
            damage_stands: arm.damage_stands,
            series: Some(arm.series.as_ref()),
            now: Some(arm),
            ..Self::new(&arm.name, &arm.figures, spec, &snapshot.scenario)
        });
        let is_untested = snapshot
            .scenario
            .is_untested(snapshot.arms.iter().map(|arm| &arm.figures));
        arms.map(|arm| arm.of_run(is_untested)).collect()
    }

    /// This arm of a run in which no fault has tested any lock, or some have.
    fn of_run(self, is_untested: bool) -> Self {
        Self {
            is_untested: self.is_untested || self.meets_no_fault && is_untested,
            ..self
        }
    }

    fn new(name: &'a str, figures: &'a Figures, spec: &ArmSpec, scenario: &Scenario) -> Self {
        Self {
            name,
            figures,
            is_doubted: false,
            damage_stands: true,
            is_untested: is_untested(name, figures, scenario),
            meets_no_fault: scenario.is_to_test(spec) && figures.consequences.is_empty(),
            nodes: spec.voters(&scenario.lab).len(),
            locks: spec.lock.is_some(),
            is_client: spec.lock == LockKind::Client,
            groups: scenario.workload.about().groups(),
            has_master: spec.has_master(),
            has_rate: scenario.swarm.rate.is_some(),
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
            is_doubted: false,
            damage_stands: true,
            is_untested: false,
            meets_no_fault: false,
            nodes: 3,
            locks: true,
            is_client: false,
            groups: <Group as strum::VariantArray>::VARIANTS,
            has_master: false,
            has_rate: true,
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
            Group::Locks => self.locks,
            Group::LockNodes => self.nodes > 0,
            Group::Leases => self.nodes > 0 || self.has(Group::Reported),
            Group::Masters => self.has_master,
            Group::Clients => self.is_client,
            Group::OpenLoop => self.has_rate,
            Group::Now => self.now.is_some(),
            Group::Load => true,
            _ => self.groups.contains(&group),
        }
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

/// Whether the scenario predicts damage, or faults that meet held locks, and an arm's figures don't have it.
fn is_untested(arm: &str, figures: &Figures, scenario: &Scenario) -> bool {
    let shows = |metric: Metric| metric.is_damage() || matches!(metric, Metric::Covered | Metric::GrantedByOldMaster);
    let predicted = scenario
        .expect
        .iter()
        .filter(|expected| expected.arm == arm && shows(expected.metric));
    let mut least = predicted.filter(|expected| matches!(expected.op, Op::AtLeast | Op::Greater));
    least.any(|expected| !expected.op.holds(expected.metric.of(figures), expected.bound))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstorm_data::metrics::Entry;
    use lockstorm_data::scenario::{Overrides, Source, parse};

    #[test]
    fn who_has_not_met_what_the_scenario_predicts_was_not_tested() {
        let scenario = parse(
            &Source::open("failover").expect("it is built in"),
            &Overrides::default(),
        );
        let scenario = scenario.expect("it is valid");
        let untested = |arm: &str, figures: &Figures| is_untested(arm, figures, &scenario);
        let mut figures = Figures::default();
        let arms = ["single", "redlock", "no lock"];
        assert_eq!(arms.map(|arm| untested(arm, &figures)), [true, true, false]);
        figures.ledger[Entry::LostUpdates] = Some(5);
        (figures.double_holds, figures.covered) = (5, 10);
        assert_eq!(arms.map(|arm| untested(arm, &figures)), [false, false, false]);
    }
}
