//! The only judge of invariants: what the ledger proves about an arm's stock, or its accounts.

use std::collections::BTreeMap;

use crate::store::Order;
use lockstorm_data::metrics::{Timeline, When};
use lockstorm_data::scenario::OrdersOf;

/// The books of one arm: the append-only order ledger, read in order. The ledger is the truth.
///
/// Each order notes how many units its sale left. A sale must leave one unit fewer than the sale before it. If it leaves more,
/// it was made from an outdated reading and has overwritten the sales in between: those updates are lost. If it leaves fewer,
/// it makes up for some. The net sum is orders + units left − initial units.
///
/// Of a payment the payer's order must leave one unit fewer than the order before it on that account, and the payee's one more. What is
/// above that is made from nothing, what is below is lost; nothing is netted. So the units of all accounts = those at the start + made − lost.
#[derive(Debug, Clone)]
pub struct StockAudit {
    initial: u64,
    products: Vec<Product>,
    /// Products with units left.
    unsold: usize,
    /// The books so far.
    pub books: Books,
    /// What was added since the last call of [`StockAudit::news`].
    news: News,
}

#[derive(Debug, Clone, Copy)]
struct Product {
    orders: u64,
    left: u64,
    /// Updates that measured sales lost, minus those that they made up for.
    lost: i64,
    /// Measured orders beyond the initial stock; of an account the money lost.
    oversold: u64,
}

/// The books of the measured part, summed over the products.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Books {
    /// What the orders are. Of a tick that runs again no update is lost, it is only run again.
    pub of: OrdersOf,
    /// Orders; of payments those of the payers.
    pub orders: u64,
    /// Orders beyond the initial stock of their product; of payments the money lost.
    pub oversold: u64,
    /// Orders + units left − initial units, where positive: sales whose write was overwritten. A later stale write can make
    /// up for one, so it can fall. Of payments the money made, which can't.
    pub lost_updates: u64,
    /// Its highest value so far.
    pub lost_updates_peak: u64,
    /// How many updates at most were lost to sales that this machine held up until their lock had expired: those that such a sale
    /// overwrote, and itself.
    pub lost_by_stalls: u64,
    /// When the first update was lost, in microseconds since second 0.
    pub first_lost_us: Option<i64>,
    /// Whether no product has a unit left, wherever it was sold (in the warm-up too). Only then can unsold stock not hide
    /// overselling.
    pub sold_out: bool,
    /// The product that was oversold most, and by how many units.
    pub worst: Option<(usize, u64)>,
}

/// Orders of the measured part in the order in which they were added, by tenths of a second and by app server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct News {
    /// By the time of the sale.
    pub tenths: BTreeMap<When, Sales>,
    /// By app server, from 1.
    pub servers: BTreeMap<usize, u64>,
}

/// Sales of a tenth of a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sales {
    /// The number of orders.
    pub orders: u64,
    /// Those beyond the initial stock.
    pub oversold: u64,
    /// Updates that they lost, without subtracting those that they made up for.
    pub lost_updates: u64,
}

impl News {
    /// Adds later sales.
    pub fn add(&mut self, later: Self) {
        for (when, more) in later.tenths {
            let sales = self.tenths.entry(when).or_default();
            sales.orders += more.orders;
            sales.oversold += more.oversold;
            sales.lost_updates += more.lost_updates;
        }
        for (server, orders) in later.servers {
            *self.servers.entry(server).or_default() += orders;
        }
    }
}

impl StockAudit {
    /// Books of `products` with `initial` units each and no orders.
    pub fn new(products: u64, initial: u64) -> Self {
        let products = usize::try_from(products).unwrap_or(usize::MAX);
        let product = Product {
            orders: 0,
            left: initial,
            lost: 0,
            oversold: 0,
        };
        let unsold = if initial > 0 { products } else { 0 };
        Self {
            initial,
            products: vec![product; products],
            unsold,
            books: Books {
                sold_out: unsold == 0,
                ..Books::default()
            },
            news: News::default(),
        }
    }

    /// The same, with these orders.
    #[must_use]
    pub const fn of(mut self, of: OrdersOf) -> Self {
        self.books.of = of;
        self
    }

    /// Adds the next order of the ledger.
    pub fn add(&mut self, order: &Order, timeline: &Timeline) {
        let index = usize::try_from(order.product).ok();
        let Some(product) = index.and_then(|index| self.products.get_mut(index)) else {
            return;
        };
        // Stocks are far below 2^63.
        let step = if order.is_added() { 1 } else { -1 };
        let above = order.units.cast_signed() - product.left.cast_signed() - step;
        product.orders += 1;
        let (lost, beyond) = match self.books.of {
            OrdersOf::Sales => (above, u64::from(product.orders > self.initial)),
            OrdersOf::Ticks => (0, u64::from(product.orders > self.initial)),
            OrdersOf::Payments => (above.max(0), above.min(0).unsigned_abs()),
        };
        self.unsold -= usize::from(product.left > 0 && order.units == 0);
        self.unsold += usize::from(product.left == 0 && order.units > 0);
        product.left = order.units;
        let books = &mut self.books;
        books.sold_out = self.unsold == 0;
        if !order.measured {
            return;
        }
        product.oversold += beyond;
        if product.oversold > books.worst.map_or(0, |(_, most)| most) {
            books.worst = index.map(|index| (index, product.oversold));
        }
        let before = product.lost.max(0).cast_unsigned();
        product.lost += lost;
        books.orders += u64::from(!order.is_added());
        books.oversold += beyond;
        books.lost_updates = books.lost_updates + product.lost.max(0).cast_unsigned() - before;
        books.lost_updates_peak = books.lost_updates_peak.max(books.lost_updates);
        if order.is_stalled() {
            let damage = if books.of == OrdersOf::Payments {
                above
            } else {
                lost.max(0)
            };
            books.lost_by_stalls += damage.unsigned_abs() + 1;
        }
        if books.lost_updates > 0 || books.of == OrdersOf::Payments && beyond > 0 {
            books.first_lost_us.get_or_insert(order.at_us);
        }
        let sales = self.news.tenths.entry(timeline.when_micros(order.at_us)).or_default();
        sales.orders += u64::from(!order.is_added());
        sales.oversold += beyond;
        sales.lost_updates += lost.max(0).cast_unsigned();
        if let Some(server) = server(&order.buyer).filter(|_| !order.is_added()) {
            *self.news.servers.entry(server).or_default() += 1;
        }
    }

    /// What was added since the last call.
    pub fn news(&mut self) -> News {
        std::mem::take(&mut self.news)
    }

    /// A product whose units are not what its last order left, with both numbers: somebody else has written the stock, or
    /// an order is missing. `sold`: pairs of product and units of all that have other units than at the start, in the order
    /// of the products, read when nobody sells any more.
    pub fn contradiction(&self, sold: &[(u64, u64)]) -> Option<(u64, u64, u64)> {
        let mut sold = sold.iter().peekable();
        for (product, noted) in (0..).zip(&self.products) {
            let found = sold.next_if(|(other, _)| *other == product);
            let units = found.map_or(self.initial, |(_, units)| *units);
            if noted.left != units {
                return Some((product, noted.left, units));
            }
        }
        None
    }
}

/// The app server of a buyer called `s1w3`.
fn server(buyer: &str) -> Option<usize> {
    buyer.strip_prefix('s')?.split('w').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    struct Ledger {
        audit: StockAudit,
        timeline: Timeline,
        orders: i64,
    }

    impl Ledger {
        fn new(products: u64, initial: u64) -> Self {
            Self {
                audit: StockAudit::new(products, initial),
                timeline: Timeline::from(Instant::now()),
                orders: 0,
            }
        }

        /// A sale of `product` that leaves `units`, a tenth of a second after the one before.
        fn sale(&mut self, product: u64, units: u64) -> Books {
            self.part(product, units, true)
        }

        fn part(&mut self, product: u64, units: u64, measured: bool) -> Books {
            let buyer = format!("s{}w7", (self.orders + 1) % 2 + 1);
            self.by(product, units, measured, &buyer)
        }

        fn by(&mut self, product: u64, units: u64, measured: bool, buyer: &str) -> Books {
            self.orders += 1;
            let order = Order {
                id: self.orders,
                product,
                units,
                at_us: self.orders * 100_000,
                measured,
                buyer: buyer.to_owned(),
            };
            self.audit.add(&order, &self.timeline);
            self.audit.books
        }
    }

    #[test]
    fn honest_sales_leave_clean_books() {
        let mut ledger = Ledger::new(2, 2);
        ledger.sale(0, 1);
        ledger.sale(1, 1);
        let books = ledger.sale(0, 0);
        let clean = Books {
            orders: 3,
            ..Books::default()
        };
        assert_eq!(books, clean);
        assert_eq!(ledger.audit.books.worst, None);
        assert!(ledger.sale(1, 0).sold_out);
        assert_eq!(ledger.audit.contradiction(&[(0, 0), (1, 0)]), None);
        assert_eq!(ledger.audit.contradiction(&[(0, 0), (1, 1)]), Some((1, 0, 1)));
        assert_eq!(
            ledger.audit.contradiction(&[(0, 0)]),
            Some((1, 0, 2)),
            "as many as at the start, and the ledger has orders"
        );
    }

    #[test]
    fn a_tick_that_runs_again_is_run_again_and_loses_no_update() {
        let mut ledger = Ledger::new(3, 1);
        ledger.audit = ledger.audit.of(OrdersOf::Ticks);
        ledger.sale(0, 0);
        assert_eq!(ledger.sale(1, 0).oversold, 0);
        let books = ledger.sale(0, 0);
        assert_eq!((books.orders, books.oversold, books.lost_updates), (3, 1, 0));
        assert_eq!(ledger.by(0, 0, true, "s1w7!").lost_by_stalls, 1);
        assert_eq!(ledger.audit.contradiction(&[(0, 0), (1, 0)]), None);
    }

    #[test]
    fn what_accounts_have_is_what_they_had_and_what_was_made_without_what_was_lost() {
        let mut ledger = Ledger::new(3, 10);
        ledger.audit = ledger.audit.of(OrdersOf::Payments);
        // 0 pays 1, and 1 pays 2.
        ledger.sale(0, 9);
        ledger.by(1, 11, true, "s1w7+");
        ledger.sale(1, 10);
        let books = ledger.by(2, 11, true, "s1w7+");
        assert_eq!((books.orders, books.lost_updates, books.oversold), (2, 0, 0));
        assert_eq!(books.first_lost_us, None);
        // Somebody who had read 10 on both adds to 2, whose money is lost, and takes from 0, which had less.
        ledger.by(2, 11, true, "s2w1+");
        let books = ledger.by(0, 9, true, "s2w1!");
        assert_eq!((books.orders, books.lost_updates, books.oversold), (3, 1, 1));
        assert_eq!(books.lost_by_stalls, 2);
        assert_eq!(books.first_lost_us, Some(500_000));
        let sum = 9 + 10 + 11;
        assert_eq!(sum, 3 * 10 + books.lost_updates - books.oversold);
        // Held up, it would have overwritten what the last payment to 2 added.
        assert_eq!(ledger.by(2, 11, true, "s2w1+!").lost_by_stalls, 4);
        // What goes wrong once more does not make up for it.
        let books = ledger.sale(0, 5);
        assert_eq!((books.lost_updates, books.oversold), (1, 5));
        assert_eq!(ledger.audit.news().servers.values().sum::<u64>(), 4);
        // The warm-up moves the money and counts for nothing.
        assert_eq!(ledger.part(0, 9, false).lost_updates, 1);
        assert_eq!(ledger.sale(0, 8).lost_updates, 1);
    }

    #[test]
    fn an_overwritten_sale_is_a_lost_update_before_it_can_be_oversold() {
        let mut ledger = Ledger::new(1, 10);
        ledger.sale(0, 9);
        ledger.sale(0, 8);
        // Two more read 8 and both leave 7.
        ledger.sale(0, 7);
        let books = ledger.sale(0, 7);
        assert_eq!((books.orders, books.lost_updates, books.oversold), (4, 1, 0));
        assert_eq!(books.first_lost_us, Some(400_000));
    }

    #[test]
    fn a_stalled_sale_explains_what_it_overwrites_and_that_it_may_be_overwritten() {
        let mut ledger = Ledger::new(2, 10);
        let held_up = |ledger: &mut Ledger, product, units| ledger.by(product, units, true, "s1w7!");
        ledger.sale(0, 9);
        ledger.sale(0, 8);
        // It had read 10.
        assert_eq!(held_up(&mut ledger, 0, 9).lost_by_stalls, 3);
        // It is overwritten by one that had read 10 as well.
        assert_eq!(held_up(&mut ledger, 1, 9).lost_by_stalls, 4);
        let books = ledger.sale(1, 9);
        assert_eq!((books.lost_updates, books.lost_by_stalls), (3, 4));
        // Others' damage is not explained.
        assert_eq!(ledger.sale(1, 9).lost_by_stalls, 4);
        // One that makes up for two explains itself only.
        assert_eq!(held_up(&mut ledger, 1, 6).lost_by_stalls, 5);
        assert_eq!(ledger.audit.news().servers.len(), 2, "it is an order of app server 1");
    }

    #[test]
    fn lost_updates_can_be_made_up_for_and_their_peak_stays() {
        let mut ledger = Ledger::new(1, 10);
        ledger.sale(0, 9);
        ledger.sale(0, 8);
        // A late write by a buyer who read 10, then one by a buyer who had read 8.
        assert_eq!(ledger.sale(0, 9).lost_updates, 2);
        let books = ledger.sale(0, 7);
        assert_eq!((books.lost_updates, books.lost_updates_peak), (1, 2));
        assert_eq!(
            (books.orders + 7).saturating_sub(10),
            books.lost_updates,
            "orders + left − initial"
        );
        assert_eq!(books.first_lost_us, Some(300_000));
    }

    #[test]
    fn a_surplus_of_one_product_does_not_hide_the_damage_of_another() {
        let mut ledger = Ledger::new(2, 2);
        for units in [1, 1, 1, 0] {
            ledger.sale(0, units);
        }
        // This one leaves less than it should.
        let books = ledger.sale(1, 0);
        assert_eq!((books.oversold, books.lost_updates), (2, 2));
        assert_eq!(ledger.audit.books.worst, Some((0, 2)));
        assert!(books.sold_out);
    }

    #[test]
    fn the_warm_up_moves_the_stock_and_counts_for_nothing() {
        let mut ledger = Ledger::new(1, 2);
        ledger.part(0, 1, false);
        assert_eq!(ledger.part(0, 1, false), Books::default());
        assert_eq!(ledger.audit.news(), News::default());
        let books = ledger.sale(0, 0);
        assert_eq!(
            (books.orders, books.lost_updates, books.oversold),
            (1, 0, 1),
            "the third of two"
        );
    }

    #[test]
    fn news_is_reported_once_by_the_time_of_the_sale() {
        let mut ledger = Ledger::new(1, 10);
        ledger.sale(0, 9);
        ledger.sale(0, 9);
        let news = ledger.audit.news();
        let sales = |orders, lost_updates| Sales {
            orders,
            oversold: 0,
            lost_updates,
        };
        assert_eq!(
            news.tenths.into_iter().collect::<Vec<_>>(),
            [(When::Tenth(1), sales(1, 0)), (When::Tenth(2), sales(1, 1))]
        );
        assert_eq!(news.servers.into_iter().collect::<Vec<_>>(), [(1, 1), (2, 1)]);
        assert_eq!(ledger.audit.news(), News::default());
    }
}
