use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::metrics::Timeline;
use crate::oracle::{Books, News, StockAudit};
use crate::scenario::{InventorySpec, StockIn};
use crate::store::{Order, Store, StoreError};
use crate::workload::{Cache, CacheError, orders_in_cache, stock_sold_in_cache};

/// How often the books are looked at while the load runs.
const EVERY: Duration = Duration::from_millis(250);

/// Books that can't be read for so long are lost.
const LOST: Duration = Duration::from_secs(2);
/// How long the last looks of all arms may take.
pub(super) const CLOSING: Duration = Duration::from_secs(30);
/// How long one may take if the look before it failed already.
const LAST_TRY: Duration = Duration::from_secs(1);

/// Reads one arm's ledger with a connection of its own, never one of the workers'.
#[derive(Debug)]
pub(super) struct Auditor {
    ledger: Ledger,
    spec: InventorySpec,
    audit: StockAudit,
    timeline: Arc<Timeline>,
    last_order: i64,
}

/// Where stock and orders are.
#[derive(Debug)]
enum Ledger {
    Database(Store),
    /// The cache node, when the stock lives there.
    Redis(Cache),
}

/// An auditor at work, and what it found last.
#[derive(Debug)]
pub(super) struct LiveAudit {
    found: Arc<Mutex<Found>>,
    /// Since when every look has failed, and why the first of them did.
    failing: Arc<Mutex<Option<(Instant, String)>>>,
    task: JoinHandle<()>,
    auditor: Arc<tokio::sync::Mutex<Auditor>>,
}

/// What a look found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub books: Books,
    /// What was added to them since it was last taken.
    pub news: News,
    /// The product that was oversold most, with its surplus.
    pub worst: Option<(usize, u64)>,
}

/// Why the books could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum AuditError {
    #[error("the ledger: {0}")]
    Store(#[from] StoreError),
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error("product {product} has {units} units, but its last order in the ledger left {noted}: somebody else wrote")]
    Contradiction { product: u64, noted: u64, units: u64 },
    #[error("no answer within {}", humantime::format_duration(*.0))]
    Silent(Duration),
}

impl Auditor {
    pub fn new(spec: &InventorySpec, store: Store, cache: Cache, timeline: Arc<Timeline>) -> Self {
        Self {
            ledger: match spec.stock_in {
                StockIn::Database => Ledger::Database(store),
                StockIn::Redis => Ledger::Redis(cache),
            },
            audit: StockAudit::new(spec.products, spec.stock),
            spec: spec.clone(),
            timeline,
            last_order: 0,
        }
    }

    /// Reads what is new in the ledger.
    async fn look(&mut self) -> Result<(), AuditError> {
        let orders: Vec<Order> = match &self.ledger {
            Ledger::Database(store) => store.orders_since(self.last_order).await?,
            Ledger::Redis(cache) => orders_in_cache(self.last_order, cache).await?,
        };
        for order in &orders {
            self.audit.add(order, &self.timeline);
            self.last_order = self.last_order.max(order.id);
        }
        Ok(())
    }

    /// Reads the rest of the ledger and holds the stock against it, once nobody sells any more.
    async fn close(&mut self) -> Result<(), AuditError> {
        self.look().await?;
        let left = match &self.ledger {
            Ledger::Database(store) => store.stock_other_than(self.spec.stock).await?,
            Ledger::Redis(cache) => stock_sold_in_cache(&self.spec, cache).await?,
        };
        match self.audit.contradiction(&left) {
            None => Ok(()),
            Some((product, noted, units)) => Err(AuditError::Contradiction { product, noted, units }),
        }
    }

    /// Starts looking again and again, on the present runtime.
    pub fn start(self) -> LiveAudit {
        let auditor = Arc::new(tokio::sync::Mutex::new(self));
        let found = Arc::new(Mutex::new(Found::default()));
        let failing = Arc::new(Mutex::new(None));
        let task = tokio::spawn({
            let (auditor, found, failing) = (auditor.clone(), found.clone(), failing.clone());
            async move {
                loop {
                    let mut auditor = auditor.lock().await;
                    // A look that fails under load is made again; the last one, after the load, must not fail.
                    let looked = auditor.look().await;
                    tell(&mut auditor, &found);
                    drop(auditor);
                    note(&failing, looked.err());
                    tokio::time::sleep(EVERY).await;
                }
            }
        });
        LiveAudit {
            found,
            failing,
            task,
            auditor,
        }
    }
}

/// Keeps since when every look has failed.
fn note(failing: &Mutex<Option<(Instant, String)>>, error: Option<AuditError>) {
    let mut failing = failing.lock().unwrap_or_else(PoisonError::into_inner);
    match error {
        None => *failing = None,
        Some(error) => {
            failing.get_or_insert_with(|| (Instant::now(), error.to_string()));
        }
    }
}

fn tell(auditor: &mut Auditor, found: &Mutex<Found>) {
    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
    found.books = auditor.audit.books();
    found.news.add(auditor.audit.news());
    found.worst = auditor.audit.worst();
}

impl LiveAudit {
    /// What the last look found; its news are given once.
    pub fn found(&self) -> Found {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        Found {
            books: found.books,
            news: std::mem::take(&mut found.news),
            worst: found.worst,
        }
    }

    /// Why the books can't be read, if they could not for so long that the database, or the cache node that keeps the
    /// stock, must be lost.
    pub fn lost(&self) -> Option<String> {
        let failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, why) = failing.as_ref()?;
        (since.elapsed() >= LOST).then(|| why.clone())
    }

    /// Ends the looking and reads the rest of the ledger, until `limit` at most.
    pub async fn close(self, limit: Instant) -> Result<Found, AuditError> {
        self.task.abort();
        let failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let left = limit.saturating_duration_since(Instant::now());
        let patience = if failing { left.min(LAST_TRY) } else { left };
        let mut auditor = self.auditor.lock().await;
        timeout(patience, auditor.close())
            .await
            .map_err(|_| AuditError::Silent(patience))??;
        tell(&mut auditor, &self.found);
        drop(auditor);
        Ok(self.found())
    }
}
