use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::oracle::{Books, StockAudit};
use crate::scenario::{InventorySpec, StockIn};
use crate::store::{Store, StoreError};
use crate::workload::{Cache, CacheError, stock_in_cache};

/// How often the books are looked at while the load runs.
const EVERY: Duration = Duration::from_millis(250);

/// Books that can't be read for so long are lost.
const LOST: Duration = Duration::from_secs(2);
/// How long the last look may take: all orders of the run are read.
const CLOSING: Duration = Duration::from_secs(30);

/// Reads one arm's ledger and stock with a connection of its own, never one of the workers'.
#[derive(Debug)]
pub(super) struct Auditor {
    store: Store,
    /// The cache node, when the stock lives there.
    stock_in_redis: Option<Cache>,
    spec: InventorySpec,
    audit: StockAudit,
    last_order: i64,
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

/// What a look found: the books, and the product that was oversold most with its surplus.
pub(super) type Found = (Books, Option<(usize, u64)>);

/// Why the books could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum AuditError {
    #[error("the ledger: {0}")]
    Store(#[from] StoreError),
    #[error(transparent)]
    Cache(#[from] CacheError),
    #[error("no answer within {CLOSING:?}")]
    Silent,
}

impl Auditor {
    pub fn new(spec: &InventorySpec, store: Store, cache: Cache) -> Self {
        let stock_in_redis = (spec.stock_in == StockIn::Redis).then_some(cache);
        let audit = StockAudit::new(spec.products, spec.stock);
        Self {
            store,
            stock_in_redis,
            spec: spec.clone(),
            audit,
            last_order: 0,
        }
    }

    /// Reads what is new in the ledger, then the stock: in this order a sale in between invents no damage.
    async fn look(&mut self) -> Result<(), AuditError> {
        let (last, orders) = self.store.orders_since(self.last_order).await?;
        self.last_order = last;
        self.audit.add_orders(&orders);
        self.read_stock().await
    }

    /// Reads the whole ledger: the truth, once nobody writes any more.
    async fn close(&mut self) -> Result<(), AuditError> {
        let orders = self.store.orders().await?;
        self.audit.set_orders(&orders);
        self.read_stock().await
    }

    async fn read_stock(&mut self) -> Result<(), AuditError> {
        let left = match &self.stock_in_redis {
            None => self.store.stock().await?,
            Some(cache) => stock_in_cache(&self.spec, cache).await?,
        };
        self.audit.set_left(&left);
        Ok(())
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
                    if looked.is_ok() {
                        *found.lock().unwrap_or_else(PoisonError::into_inner) =
                            (auditor.audit.books(), auditor.audit.worst());
                    }
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

impl LiveAudit {
    /// What the last look found.
    pub fn found(&self) -> Found {
        *self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the books can't be read, if they could not for so long that the database, or the cache node that keeps the
    /// stock, must be lost.
    pub fn lost(&self) -> Option<String> {
        let failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, why) = failing.as_ref()?;
        (since.elapsed() >= LOST).then(|| why.clone())
    }

    /// Looks now.
    pub async fn look(&self) -> Result<Books, AuditError> {
        let mut auditor = self.auditor.lock().await;
        auditor.look().await?;
        Ok(auditor.audit.books())
    }

    /// Ends the looking and reads the whole ledger a last time.
    pub async fn close(self) -> Result<Books, AuditError> {
        self.task.abort();
        let mut auditor = self.auditor.lock().await;
        timeout(CLOSING, auditor.close())
            .await
            .map_err(|_| AuditError::Silent)??;
        Ok(auditor.audit.books())
    }
}
