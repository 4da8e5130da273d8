use crate::scenario::WorkloadSpec;

/// What the tables of an arm hold at the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Initial {
    /// Products in the stock, numbered from 0.
    pub products: u64,
    /// Units of each.
    pub stock: u64,
    /// What the caches are filled from.
    pub catalogue: Vec<Catalogue>,
}

/// The rows behind one cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    /// The name of the cache.
    pub cache: String,
    /// Its keys, numbered from 0.
    pub keys: u64,
    /// Pages of each value, numbered from 1; none: one object.
    pub pages: Option<u32>,
}

impl From<&WorkloadSpec> for Initial {
    fn from(workload: &WorkloadSpec) -> Self {
        match workload {
            WorkloadSpec::Inventory(inventory) => Self {
                products: inventory.products,
                stock: inventory.stock,
                catalogue: Vec::new(),
            },
            WorkloadSpec::CacheFill { caches } => Self {
                catalogue: caches
                    .iter()
                    .map(|cache| Catalogue {
                        cache: cache.name.clone(),
                        keys: cache.keys,
                        pages: cache.pages,
                    })
                    .collect(),
                ..Self::default()
            },
        }
    }
}
