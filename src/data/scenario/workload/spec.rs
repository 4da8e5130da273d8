//! The settings of a workload, whatever its kind.

use std::collections::BTreeSet;

use super::super::belonging::belongs;
use super::super::reader::Reader;
use super::super::suggest;
use super::super::value;
use super::super::words::Words;
use super::super::writer::Writer;
use super::cache_fill::CacheFillSpec;
use super::inventory::InventorySpec;
use super::job::JobSpec;
use super::kind::{Row, WorkloadKind};
use super::payment::PaymentSpec;
use super::reported::ReportedSpec;
use super::{cache_fill, inventory, job, payment, reported};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{EnumDiscriminants, VariantArray};

/// The work that workers do inside the lock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, EnumDiscriminants)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[strum_discriminants(
    name(WorkloadName),
    vis(pub),
    doc = "The word after `kind`.",
    derive(Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum WorkloadSpec {
    /// Sells stock.
    Inventory(InventorySpec),
    /// Reads through caches that expire.
    CacheFill(CacheFillSpec),
    /// Runs jobs that are due on all app servers at once.
    Job(JobSpec),
    /// Moves money between accounts.
    Payment(PaymentSpec),
    /// What another program did: nothing plays it, so no scenario can name it.
    Reported(ReportedSpec),
}

/// Those that a scenario can name.
impl VariantArray for WorkloadName {
    const VARIANTS: &'static [Self] = &[Self::Inventory, Self::CacheFill, Self::Job, Self::Payment];
}

impl WorkloadSpec {
    /// The interface of this workload.
    pub fn about(&self) -> &dyn WorkloadKind {
        match self {
            Self::CacheFill(spec) => spec,
            Self::Inventory(spec) => spec,
            Self::Job(spec) => spec,
            Self::Payment(spec) => spec,
            Self::Reported(spec) => spec,
        }
    }

    /// The word after `kind`.
    pub fn name(&self) -> WorkloadName {
        self.into()
    }
}

impl WorkloadName {
    pub const fn row(self) -> Row {
        match self {
            Self::CacheFill => cache_fill::ROW,
            Self::Inventory => inventory::ROW,
            Self::Job => job::ROW,
            Self::Payment => payment::ROW,
            Self::Reported => reported::ROW,
        }
    }
}

/// Reads `[workload]`.
pub fn read(mut reader: Reader<'_>) -> WorkloadSpec {
    // Without a kind, the keys show which one is meant, so that the rest can be checked.
    let has_own_key = |name: &&WorkloadName| name.row().keys.iter().any(|key| reader.has(key));
    let meant = WorkloadName::VARIANTS.iter().find(has_own_key);
    let meant = meant.copied().unwrap_or(WorkloadName::Inventory);
    let words: Vec<String> = WorkloadName::words().iter().map(|word| format!("\"{word}\"")).collect();
    let name = reader.need("kind", meant, &suggest::list(&words), value::one_of);
    // Two of them may share a key.
    let keys: BTreeSet<&'static str> = WorkloadName::VARIANTS
        .iter()
        .flat_map(|name| name.row().keys.iter().copied())
        .collect();
    for key in &keys {
        if let Err(why) = belongs("kind", name, |name| name.row().keys.contains(key)) {
            reader.refuse(&[*key], &why);
        }
    }
    let workload = match name {
        WorkloadName::Inventory => WorkloadSpec::Inventory(inventory::read(&mut reader)),
        WorkloadName::CacheFill => WorkloadSpec::CacheFill(cache_fill::read(&mut reader)),
        WorkloadName::Job => WorkloadSpec::Job(job::read(&mut reader)),
        WorkloadName::Payment => WorkloadSpec::Payment(payment::read(&mut reader)),
        // It has no word.
        WorkloadName::Reported => WorkloadSpec::Reported(ReportedSpec {}),
    };
    reader.finish();
    workload
}

/// Writes `[workload]`.
pub fn write(workload: &WorkloadSpec, out: &mut Writer) {
    out.header("[workload]");
    out.word("kind", workload.name());
    workload.about().write(out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::builtin;

    /// Tests of what is shown of a workload take them from there.
    #[test]
    fn a_built_in_scenario_has_each() {
        for name in WorkloadName::words() {
            let kind = format!("= \"{name}\"");
            assert!(builtin::ALL.iter().any(|one| one.text.contains(&kind)), "{kind}");
        }
    }
}
