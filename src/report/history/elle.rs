use std::collections::HashMap;

use serde_json::json;

use lockstorm_data::history::Sale;

/// The sales of an arm as transactions on lists: a product is the list of the orders that its stock knows of, and a sale reads the list
/// and appends its own order. A sale that overwrites others has read a list without them, and two that have read the same list are a lost
/// update.
///
/// The stock is only a number, so which list a buyer has read follows from the ledger: that of the last order before its own that left as
/// many units as it read. Each transaction is over before the next one begins, in the order of the ledger: with one list to a transaction
/// that adds no anomaly where no update is lost.
pub(super) fn json(sales: &[Sale], stock: u64) -> String {
    let mut sales: Vec<&Sale> = sales.iter().collect();
    sales.sort_by_key(|sale| sale.order);
    // The same row.
    sales.dedup_by_key(|sale| sale.order);
    // By product and units: the last order that left so many.
    let mut left: HashMap<(u64, u64), i64> = HashMap::new();
    // For each order the one before it in its list.
    let mut before: HashMap<i64, Option<i64>> = HashMap::new();
    let mut events = Vec::new();
    for sale in sales {
        let last = left.get(&(sale.product, sale.read)).copied();
        left.insert((sale.product, sale.written), sale.order);
        before.insert(sale.order, last);
        let mut list: Vec<i64> = std::iter::successors(last, |order| before.get(order).copied().flatten()).collect();
        list.reverse();
        let process = sale.client.server * 1_000_000 + sale.client.worker;
        // Somebody else has left what it read.
        let is_known = last.is_some() || sale.read == stock;
        let (kind, read) = if is_known {
            ("ok", json!(list))
        } else {
            ("info", json!(null))
        };
        for (kind, read) in [("invoke", json!(null)), (kind, read)] {
            let value = json!([["r", sale.product, read], ["append", sale.product, sale.order]]);
            let index = events.len();
            events.push(json!({ "index": index, "process": process, "type": kind, "f": "txn", "value": value, "time": sale.at }).to_string());
        }
    }
    format!("[{}]\n", events.join(",\n"))
}
