use std::collections::BTreeMap;
use std::io::BufRead;

use lockstorm_data::history::{Answer, HistoryError, Holder, Line, Operation, Reader, Sale, Section, Sections};

/// A whole history in memory, since checkers want it sorted.
#[derive(Debug, Default)]
pub(super) struct Whole {
    /// How many units of each product there were.
    pub stock: u64,
    /// What was done with each lock, by arm and key.
    pub locks: BTreeMap<String, BTreeMap<String, Vec<LockUse>>>,
    /// By arm.
    pub sales: BTreeMap<String, Vec<Sale>>,
}

/// An operation on a lock.
#[derive(Debug, Clone, Copy)]
pub(super) struct LockUse {
    pub client: Holder,
    pub releases: bool,
    pub call: i64,
    pub returned: i64,
    pub answer: Answer,
}

impl Whole {
    /// Reads it. A hold in which nobody could rely on the lock is left out, and so is one that was cut off.
    pub fn read(mut reader: Reader<impl BufRead>) -> Result<Self, HistoryError> {
        let mut whole = Self {
            stock: reader.head.stock.unwrap_or(0),
            ..Self::default()
        };
        let mut sections = Sections::default();
        while let Some(line) = reader.next() {
            let Line::Operation(operation) = line? else { continue };
            match operation {
                Operation::Sale(sale) => whole.sales.entry(sale.arm.clone()).or_default().push(sale),
                Operation::Acquire(refused) if refused.result != Answer::Ok => {
                    whole.note(
                        &refused.arm,
                        &refused.key,
                        [LockUse {
                            client: refused.client,
                            releases: false,
                            call: refused.call,
                            returned: refused.returned,
                            answer: refused.result,
                        }],
                    );
                }
                operation => {
                    if let Some(section) = sections.take(operation).map_err(|why| reader.wrong(&why))? {
                        whole.hold(&section);
                    }
                }
            }
        }
        Ok(whole)
    }

    fn hold(&mut self, section: &Section) {
        let Some([from, until]) = section.belief() else { return };
        let acquire = &section.acquire;
        let both = [(false, acquire.call, from), (true, until, section.release.returned)];
        let uses = both.map(|(releases, call, returned)| LockUse {
            client: acquire.client,
            releases,
            call,
            returned,
            answer: Answer::Ok,
        });
        self.note(&acquire.arm, &acquire.key, uses);
    }

    fn note(&mut self, arm: &str, key: &str, uses: impl IntoIterator<Item = LockUse>) {
        let of_arm = self.locks.entry(arm.to_owned()).or_default();
        of_arm.entry(key.to_owned()).or_default().extend(uses);
    }
}
