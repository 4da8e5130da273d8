//! The settings of `payment`, and what the rest of the program asks of it.

use std::time::Duration;

use super::super::super::forms::{read_service_time, write_service_time};
use super::super::super::reader::Reader;
use super::super::super::spec::{AccountLocks, ArmSpec, DatabaseSpec, ServiceTime};
use super::super::super::value;
use super::super::super::writer::Writer;
use super::super::kind::{CacheKeys, Display, Initial, Ledger, Row, Section, StockIn, WorkloadKind};
use super::shown;
use crate::metrics::{Figures, Group, OrdersOf};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) const ROW: Row = Row {
    keys: &["accounts", "money", "hold"],
    arm_keys: &["locks"],
};

/// The accounts, and how they are paid from. A payment moves 1 from one account to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PaymentSpec {
    /// How many accounts, 2 or more; one account is one lock.
    pub accounts: u64,
    /// The money on each at the start.
    pub money: u64,
    /// The time between reading both balances and writing them.
    pub hold: ServiceTime,
}

impl WorkloadKind for PaymentSpec {
    fn groups(&self) -> &'static [Group] {
        &[Group::Payment]
    }

    fn write(&self, out: &mut Writer) {
        out.pair("accounts", self.accounts);
        out.pair("money", self.money);
        out.pair("hold", write_service_time(self.hold));
    }

    fn check_arm(&self, arm: &ArmSpec, table: &Reader<'_>) {
        if arm.locks != AccountLocks::default() && !arm.lock.is_some() && table.sound(&["lock"]) {
            table.complain("locks", "there is no lock to take; leave it out, or choose a lock");
        }
    }

    fn section(&self) -> Section {
        Section {
            reads: 2,
            hold: self.hold,
        }
    }

    fn live_time(&self, _database: &DatabaseSpec) -> ServiceTime {
        self.hold
    }

    fn initial(&self) -> Initial {
        Initial {
            products: self.accounts,
            stock: self.money,
            catalogue: Vec::new(),
        }
    }

    fn ledger(&self) -> Option<Ledger> {
        Some(Ledger {
            products: self.accounts,
            stock: self.money,
            stock_in: StockIn::Database,
            of: OrdersOf::Payments,
        })
    }

    fn lock_names(&self) -> Box<dyn Iterator<Item = String> + '_> {
        Box::new((0..self.accounts).map(Self::lock_name))
    }

    fn cache_keys(&self) -> CacheKeys {
        CacheKeys::default()
    }

    fn display(&self) -> Display {
        shown::display()
    }

    fn clauses(&self, figures: &Figures, is_doubted: bool) -> Vec<String> {
        shown::clauses(self.accounts.saturating_mul(self.money), figures, is_doubted)
    }
}

impl PaymentSpec {
    /// The name of the lock of an account.
    pub fn lock_name(account: u64) -> String {
        format!("account:{account}")
    }
}

pub(crate) fn read(reader: &mut Reader<'_>) -> PaymentSpec {
    let accounts = reader.need("accounts", 2, "32", value::whole(reader.range("accounts")));
    let money = reader.need("money", 1, "100", value::whole(reader.range("money")));
    if !reader.has("hold") {
        let why = "is missing; the time between reading two balances and writing them, for example \"5ms\"";
        reader.complain("hold", why);
    }
    let hold = read_service_time(reader, "hold", value::positive);
    PaymentSpec {
        accounts,
        money,
        hold: hold.unwrap_or(ServiceTime::constant(Duration::from_millis(5))),
    }
}
