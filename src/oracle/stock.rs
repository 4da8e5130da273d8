/// The books of one arm: the append-only order ledger against the stock that is left. The ledger is the truth.
#[derive(Debug, Clone)]
pub struct StockAudit {
    initial: u64,
    orders: Vec<u64>,
    left: Vec<u64>,
}

/// What the books say, summed over the products.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Books {
    /// Orders.
    pub orders: u64,
    /// Orders beyond the initial stock of their product.
    pub oversold: u64,
    /// Orders + units left − initial units, where positive: sales whose write was overwritten.
    pub lost_updates: u64,
    /// Whether no product has a unit left: only then can overselling not be hidden by unsold stock.
    pub sold_out: bool,
}

impl StockAudit {
    /// Books of `products` with `initial` units each and no orders.
    #[must_use]
    pub fn new(products: u64, initial: u64) -> Self {
        let products = usize::try_from(products).unwrap_or(usize::MAX);
        Self {
            initial,
            orders: vec![0; products],
            left: vec![initial; products],
        }
    }

    /// Adds new orders of the ledger: pairs of product (from 0) and count.
    pub fn add_orders(&mut self, orders: &[(u64, u64)]) {
        for &(product, count) in orders {
            if let Some(total) = index(product).and_then(|product| self.orders.get_mut(product)) {
                *total += count;
            }
        }
    }

    /// Replaces all orders by the whole ledger.
    pub fn set_orders(&mut self, orders: &[(u64, u64)]) {
        self.orders.fill(0);
        self.add_orders(orders);
    }

    /// Replaces the units left: pairs of product and units. To be read *after* the orders while the load runs: a sale in
    /// between then hides damage for a moment instead of inventing some.
    pub fn set_left(&mut self, left: &[(u64, u64)]) {
        for &(product, units) in left {
            if let Some(slot) = index(product).and_then(|product| self.left.get_mut(product)) {
                *slot = units;
            }
        }
    }

    /// Closes the books.
    #[must_use]
    pub fn books(&self) -> Books {
        let mut books = Books {
            sold_out: true,
            ..Books::default()
        };
        for (&orders, &left) in self.orders.iter().zip(&self.left) {
            books.orders += orders;
            books.oversold += orders.saturating_sub(self.initial);
            books.lost_updates += (orders + left).saturating_sub(self.initial);
            books.sold_out &= left == 0;
        }
        books
    }

    /// The product that was oversold most, and by how many units.
    #[must_use]
    pub fn worst(&self) -> Option<(usize, u64)> {
        let (product, orders) = self.orders.iter().enumerate().max_by_key(|(_, orders)| **orders)?;
        let over = orders.saturating_sub(self.initial);
        (over > 0).then_some((product, over))
    }
}

fn index(product: u64) -> Option<usize> {
    usize::try_from(product).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn honest_sales_leave_clean_books() {
        let mut audit = StockAudit::new(2, 10);
        audit.add_orders(&[(0, 10), (1, 4)]);
        audit.set_left(&[(0, 0), (1, 6)]);
        assert_eq!(
            audit.books(),
            Books {
                orders: 14,
                oversold: 0,
                lost_updates: 0,
                sold_out: false
            }
        );
        assert_eq!(audit.worst(), None);
    }

    #[test]
    fn an_overwritten_sale_is_a_lost_update_before_it_can_be_oversold() {
        let mut audit = StockAudit::new(1, 10);
        audit.add_orders(&[(0, 5)]);
        audit.set_left(&[(0, 7)]);
        assert_eq!(
            audit.books(),
            Books {
                orders: 5,
                oversold: 0,
                lost_updates: 2,
                sold_out: false
            }
        );
    }

    #[test]
    fn a_surplus_of_one_product_does_not_hide_the_damage_of_another() {
        let mut audit = StockAudit::new(2, 10);
        audit.add_orders(&[(0, 13), (1, 1)]);
        audit.set_left(&[(0, 0), (1, 5)]);
        let books = audit.books();
        assert_eq!((books.oversold, books.lost_updates), (3, 3));
        assert_eq!(audit.worst(), Some((0, 3)));
    }

    #[test]
    fn the_whole_ledger_replaces_what_was_added_bit_by_bit() {
        let mut audit = StockAudit::new(1, 2);
        audit.add_orders(&[(0, 1)]);
        audit.add_orders(&[(0, 1)]);
        audit.set_orders(&[(0, 3)]);
        audit.set_left(&[(0, 0)]);
        assert_eq!(
            audit.books(),
            Books {
                orders: 3,
                oversold: 1,
                lost_updates: 1,
                sold_out: true
            }
        );
    }
}
