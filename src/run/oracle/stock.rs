//! The only judge of invariants: what the ledger proves about an arm's stock, or its accounts.

use std::collections::BTreeMap;

use crate::store::Order;
use lockstorm_data::metrics::{Entries, OrdersOf, Timeline, When};

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
    of: OrdersOf,
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
    /// Measured damage beyond the stock, or money lost.
    beyond: u64,
}

/// The books of the measured part, summed over the products.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Books {
    /// What the orders are; `None` if there is no ledger, or nothing of it was read.
    pub of: Option<OrdersOf>,
    /// What was counted, under the names of the workload.
    pub entries: Entries,
    /// How much of the damage at most was done by orders that this machine held up until their lock had expired: what such an order
    /// overwrote, and itself.
    pub lost_by_stalls: u64,
    /// When an order first overwrote another one, in microseconds since second 0.
    pub first_lost_us: Option<i64>,
    /// Whether no product has a unit left, wherever it was sold (in the warm-up too). Only then can unsold stock not hide
    /// overselling.
    pub sold_out: bool,
    /// The product with the most damage beyond its stock, and how much.
    pub worst: Option<(usize, u64)>,
}

/// Orders of the measured part in the order in which they were added, by tenths of a second and by app server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct News {
    /// What was counted, by the time of the order. What orders made up for is not subtracted from what others overwrote.
    pub tenths: BTreeMap<When, Entries>,
    /// Orders by app server, from 1.
    pub servers: BTreeMap<usize, u64>,
}

impl News {
    /// Adds later sales.
    pub fn add(&mut self, later: Self) {
        for (when, more) in later.tenths {
            self.tenths.entry(when).or_default().add(&more);
        }
        for (server, orders) in later.servers {
            *self.servers.entry(server).or_default() += orders;
        }
    }
}

impl StockAudit {
    /// Books of `products` with `initial` units each and no orders.
    pub fn new(of: OrdersOf, products: u64, initial: u64) -> Self {
        let products = usize::try_from(products).unwrap_or(usize::MAX);
        let product = Product {
            orders: 0,
            left: initial,
            lost: 0,
            beyond: 0,
        };
        let unsold = if initial > 0 { products } else { 0 };
        Self {
            of,
            initial,
            products: vec![product; products],
            unsold,
            books: Books {
                of: Some(of),
                sold_out: unsold == 0,
                ..Books::default()
            },
            news: News::default(),
        }
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
        let (names, moves_units) = (self.of.names(), self.of.moves_units());
        let (lost, beyond) = match names.overwritten {
            Some(_) if moves_units => (above.max(0), above.min(0).unsigned_abs()),
            Some(_) => (above, u64::from(product.orders > self.initial)),
            None => (0, u64::from(product.orders > self.initial)),
        };
        self.unsold -= usize::from(product.left > 0 && order.units == 0);
        self.unsold += usize::from(product.left == 0 && order.units > 0);
        product.left = order.units;
        let books = &mut self.books;
        books.sold_out = self.unsold == 0;
        if !order.measured {
            return;
        }
        product.beyond += beyond;
        if product.beyond > books.worst.map_or(0, |(_, most)| most) {
            books.worst = index.map(|index| (index, product.beyond));
        }
        let before = product.lost.max(0).cast_unsigned();
        product.lost += lost;
        let tenth = self.news.tenths.entry(timeline.when_micros(order.at_us)).or_default();
        for entries in [&mut books.entries, &mut *tenth] {
            entries[names.orders] += u64::from(!order.is_added());
            entries[names.beyond] += beyond;
        }
        if let Some(overwritten) = names.overwritten {
            tenth[overwritten] += lost.max(0).cast_unsigned();
            let all = books.entries[overwritten] + product.lost.max(0).cast_unsigned() - before;
            books.entries[overwritten] = all;
            if let Some(peak) = overwritten.peak() {
                books.entries[peak] = books.entries[peak].max(all);
            }
            if all > 0 || moves_units && beyond > 0 {
                books.first_lost_us.get_or_insert(order.at_us);
            }
        }
        if order.is_stalled() {
            let damage = if moves_units { above } else { lost.max(0) };
            books.lost_by_stalls += damage.unsigned_abs() + 1;
        }
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
    use lockstorm_data::metrics::Entry::{
        self, LostUpdates, LostUpdatesPeak, MoneyLost, MoneyMade, Orders, Oversold, Payments, RunAgain, Runs,
    };

    struct Ledger {
        audit: StockAudit,
        timeline: Timeline,
        orders: i64,
    }

    impl Ledger {
        fn new(products: u64, initial: u64) -> Self {
            Self::of(OrdersOf::Sales, products, initial)
        }

        fn of(of: OrdersOf, products: u64, initial: u64) -> Self {
            Self {
                audit: StockAudit::new(of, products, initial),
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

    fn numbers<const N: usize>(books: &Books, entries: [Entry; N]) -> [u64; N] {
        entries.map(|entry| books.entries[entry])
    }

    #[test]
    fn honest_sales_leave_clean_books() {
        let mut ledger = Ledger::new(2, 2);
        ledger.sale(0, 1);
        ledger.sale(1, 1);
        let books = ledger.sale(0, 0);
        let clean = Books {
            of: Some(OrdersOf::Sales),
            entries: [(Orders, 3)].into(),
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
        let mut ledger = Ledger::of(OrdersOf::Ticks, 3, 1);
        ledger.sale(0, 0);
        assert_eq!(ledger.sale(1, 0).entries[RunAgain], 0);
        let books = ledger.sale(0, 0);
        assert_eq!(numbers(&books, [Runs, RunAgain, LostUpdates]), [3, 1, 0]);
        assert_eq!(ledger.by(0, 0, true, "s1w7!").lost_by_stalls, 1);
        assert_eq!(ledger.audit.contradiction(&[(0, 0), (1, 0)]), None);
    }

    #[test]
    fn what_accounts_have_is_what_they_had_and_what_was_made_without_what_was_lost() {
        let mut ledger = Ledger::of(OrdersOf::Payments, 3, 10);
        // 0 pays 1, and 1 pays 2.
        ledger.sale(0, 9);
        ledger.by(1, 11, true, "s1w7+");
        ledger.sale(1, 10);
        let books = ledger.by(2, 11, true, "s1w7+");
        assert_eq!(numbers(&books, [Payments, MoneyMade, MoneyLost]), [2, 0, 0]);
        assert_eq!(books.first_lost_us, None);
        // Somebody who had read 10 on both adds to 2, whose money is lost, and takes from 0, which had less.
        ledger.by(2, 11, true, "s2w1+");
        let books = ledger.by(0, 9, true, "s2w1!");
        assert_eq!(numbers(&books, [Payments, MoneyMade, MoneyLost]), [3, 1, 1]);
        assert_eq!(books.lost_by_stalls, 2);
        assert_eq!(books.first_lost_us, Some(500_000));
        let sum = 9 + 10 + 11;
        assert_eq!(sum, 3 * 10 + books.entries[MoneyMade] - books.entries[MoneyLost]);
        // Held up, it would have overwritten what the last payment to 2 added.
        assert_eq!(ledger.by(2, 11, true, "s2w1+!").lost_by_stalls, 4);
        // What goes wrong once more does not make up for it.
        let books = ledger.sale(0, 5);
        assert_eq!(numbers(&books, [MoneyMade, MoneyLost]), [1, 5]);
        assert_eq!(ledger.audit.news().servers.values().sum::<u64>(), 4);
        // The warm-up moves the money and counts for nothing.
        assert_eq!(ledger.part(0, 9, false).entries[MoneyMade], 1);
        assert_eq!(ledger.sale(0, 8).entries[MoneyMade], 1);
    }

    #[test]
    fn an_overwritten_sale_is_a_lost_update_before_it_can_be_oversold() {
        let mut ledger = Ledger::new(1, 10);
        ledger.sale(0, 9);
        ledger.sale(0, 8);
        // Two more read 8 and both leave 7.
        ledger.sale(0, 7);
        let books = ledger.sale(0, 7);
        assert_eq!(numbers(&books, [Orders, LostUpdates, Oversold]), [4, 1, 0]);
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
        assert_eq!((books.entries[LostUpdates], books.lost_by_stalls), (3, 4));
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
        assert_eq!(ledger.sale(0, 9).entries[LostUpdates], 2);
        let books = ledger.sale(0, 7);
        assert_eq!(numbers(&books, [LostUpdates, LostUpdatesPeak]), [1, 2]);
        assert_eq!(
            (books.entries[Orders] + 7).saturating_sub(10),
            books.entries[LostUpdates],
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
        assert_eq!(numbers(&books, [Oversold, LostUpdates]), [2, 2]);
        assert_eq!(ledger.audit.books.worst, Some((0, 2)));
        assert!(books.sold_out);
    }

    #[test]
    fn the_warm_up_moves_the_stock_and_counts_for_nothing() {
        let mut ledger = Ledger::new(1, 2);
        ledger.part(0, 1, false);
        assert_eq!(ledger.part(0, 1, false).entries, Entries::default());
        assert_eq!(ledger.audit.news(), News::default());
        let books = ledger.sale(0, 0);
        assert_eq!(
            numbers(&books, [Orders, LostUpdates, Oversold]),
            [1, 0, 1],
            "the third of two"
        );
    }

    #[test]
    fn news_is_reported_once_by_the_time_of_the_sale() {
        let mut ledger = Ledger::new(1, 10);
        ledger.sale(0, 9);
        ledger.sale(0, 9);
        let news = ledger.audit.news();
        let sales = |orders, lost| Entries::from([(Orders, orders), (LostUpdates, lost)]);
        assert_eq!(
            news.tenths.into_iter().collect::<Vec<_>>(),
            [(When::Tenth(1), sales(1, 0)), (When::Tenth(2), sales(1, 1))]
        );
        assert_eq!(news.servers.into_iter().collect::<Vec<_>>(), [(1, 1), (2, 1)]);
        assert_eq!(ledger.audit.news(), News::default());
    }
}
