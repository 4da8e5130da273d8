//! The database: the same tests on SQLite and on PostgreSQL.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use lockstorm_data::scenario::{Catalogue, DatabaseSpec, Initial, ServiceTime};
use lockstorm_kit::postgres::{Database, Postgres};
use lockstorm_kit::runtime;
use lockstorm_run::store::{ArmDatabase, Mark, Order, Store, StoreError, Token};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tempfile::TempDir;

const NO_TIME: Duration = Duration::ZERO;

/// Longer than any machine needs.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

fn database(url: &str) -> DatabaseSpec {
    DatabaseSpec {
        url: url.parse().expect("a URL"),
        url_env: None,
        exposed: None,
        read: ServiceTime {
            median: NO_TIME,
            sigma: 0.0,
        },
        pool: 3,
    }
}

fn initial() -> Initial {
    let cache = |cache: &str, keys, pages| Catalogue {
        cache: cache.to_owned(),
        keys,
        pages,
    };
    Initial {
        products: 4,
        stock: 10,
        catalogue: vec![cache("offers", 3, None), cache("lists", 2, Some(5))],
    }
}

/// Names for one run: tests run beside each other, and on a PostgreSQL server that has run them before.
fn run_id(test: &str) -> String {
    let mut hasher = DefaultHasher::new();
    (test, std::process::id()).hash(&mut hasher);
    format!("run-{:08x}", hasher.finish() >> 32)
}

/// The schema of the first arm of such a run.
fn schema_of(run_id: &str) -> String {
    format!("lockstorm_{}_0", run_id.replace('-', "_"))
}

async fn place(url: &str, test: &str, dir: &std::path::Path) -> ArmDatabase {
    ArmDatabase::create(&database(url), 0, &run_id(test), dir, &initial())
        .await
        .expect("the tables are made")
}

/// The tables of an arm in a directory of their own, and a pool for them.
struct Tables {
    place: Arc<ArmDatabase>,
    store: Store,
    _dir: TempDir,
}

impl Tables {
    async fn with(url: &str, test: &str, initial: &Initial, pool: u32) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let place = ArmDatabase::create(&database(url), 0, &run_id(test), dir.path(), initial).await;
        let place = Arc::new(place.expect("the tables are made"));
        Self {
            store: place.open(pool).await.expect("a pool"),
            place,
            _dir: dir,
        }
    }

    async fn remove(self) {
        drop(self.store);
        let place = Arc::into_inner(self.place).expect("all app servers have ended");
        place.remove(TEST_TIMEOUT).await.expect("the schema goes");
    }
}

/// Three app servers as they are: threads with a runtime and a pool each. Each has four buyers.
fn app_servers<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    place: &Arc<ArmDatabase>,
    buy: fn(Store, String) -> F,
) -> Vec<JoinHandle<Vec<T>>> {
    let start = |server| {
        let place = Arc::clone(place);
        let serve = async move {
            let store = place.open(3).await.expect("a pool");
            let buyers = (0..4).map(|worker| tokio::spawn(buy(store.clone(), format!("s{server}w{worker}"))));
            let mut bought = Vec::new();
            for buyer in buyers.collect::<Vec<_>>() {
                bought.push(buyer.await.expect("a buyer"));
            }
            bought
        };
        std::thread::spawn(|| runtime().block_on(serve))
    };
    (0..3).map(start).collect()
}

fn total(rows: &[(u64, u64)]) -> u64 {
    rows.iter().map(|row| row.1).sum()
}

/// The fields of an order of which only the buyer matters.
const fn by(buyer: &str) -> Mark<'_> {
    Mark {
        buyer,
        stalled: false,
        at_us: 0,
        measured: true,
    }
}

/// The units of each of the four products.
async fn stock_of(store: &Store) -> [u64; 4] {
    let stock = store.stock_other_than(u64::MAX, 0..4).await.expect("stock");
    assert!(stock.iter().map(|row| row.0).eq(0..4), "{stock:?}");
    [0, 1, 2, 3].map(|product: usize| stock[product].1)
}

/// Orders after this one, counted by product, and the newest of them.
async fn since(store: &Store, last: i64) -> (i64, Vec<(u64, u64)>) {
    let orders = store.orders_since(last, u32::MAX).await.expect("orders");
    let mut products = std::collections::BTreeMap::new();
    for order in &orders {
        *products.entry(order.product).or_insert(0) += 1;
    }
    (
        orders.last().map_or(last, |order| order.id),
        products.into_iter().collect(),
    )
}

/// The whole ledger, counted by product.
async fn ledger(store: &Store) -> Vec<(u64, u64)> {
    since(store, 0).await.1
}

async fn reads_and_sells(url: &str) {
    let tables = Tables::with(url, "sells", &initial(), 3).await;
    let store = &tables.store;

    assert_eq!(
        store.provide("offers", 2, None, NO_TIME).await.expect("an object"),
        "offers 2.0"
    );
    assert_eq!(
        store.provide("lists", 0, Some(5), NO_TIME).await.expect("a page"),
        "lists 0.5"
    );
    for (cache, key, page) in [
        ("offers", 3, None),
        ("offers", 0, Some(1)),
        ("lists", 0, None),
        ("lists", 0, Some(6)),
    ] {
        let missing = store.provide(cache, key, page, NO_TIME).await;
        assert!(
            matches!(missing, Err(StoreError::NoValue { .. })),
            "{cache} {key} {page:?}: {missing:?}"
        );
    }

    assert_eq!(stock_of(store).await, [10, 10, 10, 10]);
    assert_eq!(store.orders_since(0, u32::MAX).await.expect("orders"), []);

    let warm_up = Mark {
        buyer: "o'brien",
        stalled: false,
        at_us: -1_500_000,
        measured: false,
    };
    store.sell(1, 9, warm_up).await.expect("a sale");
    store.sell(1, 9, by("s2w1")).await.expect("the same unit again");
    let later = Mark {
        at_us: 2_500_000,
        stalled: true,
        ..by("s1w1")
    };
    assert!(store.sell_one(2, later).await.expect("a sale"));
    assert_eq!(store.units(1, NO_TIME).await.expect("units"), 9);
    assert_eq!(stock_of(store).await, [10, 9, 9, 10]);
    assert_eq!(store.stock_other_than(10, 0..4).await.expect("stock"), [(1, 9), (2, 9)]);
    assert_eq!(store.stock_other_than(10, 2..4).await.expect("stock"), [(2, 9)]);
    let order = |id, product, units, mark: Mark<'_>| Order {
        id,
        product,
        units,
        at_us: mark.at_us,
        measured: mark.measured,
        buyer: mark.name(),
    };
    assert_eq!(
        store.orders_since(0, u32::MAX).await.expect("orders"),
        [
            order(1, 1, 9, warm_up),
            order(2, 1, 9, by("s2w1")),
            order(3, 2, 9, later)
        ],
        "each with the units that it left and its mark"
    );

    let (seen, orders) = since(store, 0).await;
    assert_eq!(orders, [(1, 2), (2, 1)]);
    store.sell(0, 9, by("s1w1")).await.expect("a sale");
    let (newest, orders) = since(store, seen).await;
    assert_eq!(orders, [(0, 1)]);
    assert_eq!(since(store, newest).await, (newest, vec![]));

    for result in [store.sell(4, 1, by("x")).await, store.units(4, NO_TIME).await.map(drop)] {
        assert!(matches!(result, Err(StoreError::NoProduct(_))), "{result:?}");
    }
    assert!(!store.sell_one(4, by("x")).await.expect("no such product is not sold"));
    assert_eq!(total(&ledger(store).await), 4, "what failed left no order");
    tables.remove().await;
}

/// They try to buy far more than there is.
async fn the_atomic_sale_never_oversells(url: &str) {
    let tables = Tables::with(url, "atomic", &initial(), 1).await;
    let servers = app_servers(&tables.place, buy);

    // The ledger is read while it grows: all orders must come, each once.
    let store = &tables.store;
    let (mut last, mut seen) = (0, 0);
    while servers.iter().any(|server| !server.is_finished()) {
        let (newest, orders) = since(store, last).await;
        (last, seen) = (newest, seen + total(&orders));
    }
    let reported: u64 = servers
        .into_iter()
        .flat_map(|server| server.join().expect("an app server"))
        .sum();
    seen += total(&since(store, last).await.1);

    assert_eq!(ledger(store).await, [(0, 10), (1, 10), (2, 10), (3, 10)]);
    assert_eq!((seen, reported), (40, 40));
    assert_eq!(stock_of(store).await.iter().sum::<u64>(), 0);
    tables.remove().await;
}

async fn buy(store: Store, by: String) -> u64 {
    let mut sold = 0;
    for round in 0..12 {
        sold += u64::from(store.sell_one(round % 4, self::by(&by)).await.expect("an answer"));
    }
    sold
}

/// Everybody pays everybody at once, which no two statements wait for in a circle: each payment leaves both of its orders.
async fn payments_leave_two_orders_each(url: &str) {
    let tables = Tables::with(url, "payments", &initial(), 1).await;
    for server in app_servers(&tables.place, pay) {
        server.join().expect("an app server");
    }
    let orders = tables.store.orders_since(0, u32::MAX).await.expect("orders");
    assert_eq!(orders.len(), 2 * 3 * 4 * 24);
    let added = |order: &&Order| order.is_added();
    assert_eq!(orders.iter().filter(added).count(), orders.len() / 2);
    let newest = |account| orders.iter().rev().find(|order| order.product == account);
    let noted = [0, 1, 2, 3].map(|account| newest(account).expect("it paid").units);
    assert_eq!(stock_of(&tables.store).await, noted);
    assert!(orders.iter().all(|order| order.worker().starts_with('s')), "{orders:?}");
    let missing = tables.store.pay((7, 1), (9, 1), by("nobody")).await;
    assert!(matches!(missing, Err(StoreError::NoProduct(_))), "{missing:?}");
    tables.remove().await;
}

async fn pay(store: Store, by: String) {
    for round in 0..24 {
        let (payer, payee) = (round % 4, (round + 1 + round / 4 % 3) % 4);
        let left = store.units(payer, NO_TIME).await.expect("an account").saturating_sub(1);
        let grown = store.units(payee, NO_TIME).await.expect("an account") + 1;
        let paid = store.pay((payer, left), (payee, grown), self::by(&by)).await;
        paid.expect("it is paid");
    }
}

fn refused<T>(answer: &Result<T, StoreError>) -> bool {
    matches!(answer, Err(StoreError::Fenced { .. }))
}

async fn the_fence_refuses_every_older_token(url: &str) {
    let tables = Tables::with(url, "fence", &initial(), 3).await;
    let store = &tables.store;
    let token = |number, owner| Token { number, owner };
    let sell = async |product, left, token| store.sell_fenced(product, left, token, by("s1w1")).await;

    for drawn in 1..=3 {
        assert_eq!(store.draw_token(1).await.expect("a token"), drawn);
    }
    assert_eq!(
        store.draw_token(0).await.expect("a token"),
        1,
        "each product has its own"
    );

    // At the write, older ones are refused, and of two equal ones the second owner.
    sell(1, 9, token(2, "a")).await.expect("the first to come");
    assert!(refused(&sell(1, 7, token(1, "b")).await), "it is older");
    assert!(refused(&sell(1, 7, token(2, "b")).await));
    sell(1, 8, token(2, "a")).await.expect("the same holder again");

    // At the read, which shuts out the holder before.
    let units = store.units_fenced(1, token(3, "b"), NO_TIME).await;
    assert_eq!(units.expect("it is newer"), 8);
    assert!(refused(&sell(1, 7, token(2, "a")).await));
    assert!(refused(&store.units_fenced(1, token(2, "a"), NO_TIME).await));
    assert!(refused(&store.units_fenced(1, token(3, "c"), NO_TIME).await));
    sell(1, 7, token(3, "b")).await.expect("it holds the fence");

    // A read without a token is never refused, and other products have their own fence.
    assert_eq!(store.units(1, NO_TIME).await.expect("units"), 7);
    sell(0, 9, token(1, "c")).await.expect("a sale");

    assert_eq!(
        ledger(store).await,
        [(0, 1), (1, 3)],
        "draws, reads and refusals append no order"
    );
    assert_eq!(stock_of(store).await, [9, 7, 10, 10]);
    for missing in [
        store.draw_token(4).await,
        store.units_fenced(4, token(1, "a"), NO_TIME).await,
        sell(4, 1, token(1, "a")).await.map(|()| 0),
    ] {
        assert!(matches!(missing, Err(StoreError::NoProduct(_))), "{missing:?}");
    }
    tables.remove().await;
}

/// Two holders of one lost lock: what a fence at the write alone detects, and what it can't.
async fn a_fence_at_the_write_misses_what_one_at_the_read_sees(url: &str) {
    let tables = Tables::with(url, "blind", &initial(), 3).await;
    let store = &tables.store;
    let draw = async |product, owner| Token {
        number: store.draw_token(product).await.expect("a token"),
        owner,
    };
    let sell = async |product, left, token| store.sell_fenced(product, left, token, by("s1w1")).await;
    let read = async |product| store.units(product, NO_TIME).await.expect("units") - 1;

    // The newer one writes first. The older one's write would undo its sale, and is refused.
    let (older, newer) = (draw(0, "a").await, draw(0, "b").await);
    let (left, same) = (read(0).await, read(0).await);
    sell(0, left, newer).await.expect("a sale");
    assert!(refused(&sell(0, same, older).await));

    // The older one writes first. Both tokens come in order, and an update is lost all the same.
    let (older, newer) = (draw(1, "a").await, draw(1, "b").await);
    let (left, same) = (read(1).await, read(1).await);
    sell(1, left, older).await.expect("a sale");
    sell(1, same, newer).await.expect("a sale");

    // With a check at the read too, the older one is out as soon as the newer one has read.
    let (older, newer) = (draw(2, "a").await, draw(2, "b").await);
    let left = store.units_fenced(2, older, NO_TIME).await.expect("units") - 1;
    let same = store.units_fenced(2, newer, NO_TIME).await.expect("units") - 1;
    assert!(refused(&sell(2, left, older).await));
    sell(2, same, newer).await.expect("a sale");

    assert_eq!(ledger(store).await, [(0, 1), (1, 2), (2, 1)]);
    assert_eq!(stock_of(store).await, [9, 9, 9, 10]);
    tables.remove().await;
}

/// Buyers without any lock: every sale that the fence accepts is in the stock.
async fn a_fence_at_read_and_write_needs_no_lock(url: &str) {
    let tables = Tables::with(url, "lockless", &initial(), 1).await;
    let servers = app_servers(&tables.place, buy_fenced).into_iter();
    let bought = servers.flat_map(|server| server.join().expect("an app server"));
    let mut drawn: Vec<u64> = bought.flatten().collect();
    drawn.sort_unstable();
    assert_eq!(drawn, (1..=240).collect::<Vec<_>>(), "each token is drawn once");
    let store = &tables.store;
    let sold = total(&ledger(store).await);
    let left = stock_of(store).await[0];
    assert!(sold > 0 && sold + left == 10, "{sold} orders, {left} units left");
    tables.remove().await;
}

/// Tries twenty times to buy a unit of product 0, and returns the tokens that it drew.
async fn buy_fenced(store: Store, by: String) -> Vec<u64> {
    let mut drawn = Vec::new();
    for _ in 0..20 {
        let number = store.draw_token(0).await.expect("a token");
        assert!(drawn.last().is_none_or(|last| *last < number));
        drawn.push(number);
        let token = Token { number, owner: &by };
        let sold = async {
            match store
                .units_fenced(0, token, Duration::from_millis(1))
                .await?
                .checked_sub(1)
            {
                Some(left) => store.sell_fenced(0, left, token, self::by(&by)).await,
                None => Ok(()),
            }
        };
        let answer = sold.await;
        assert!(answer.is_ok() || refused(&answer), "{answer:?}");
    }
    drawn
}

/// Runtimes are dropped in the middle of sales, like that of a killed app server. At every moment each unit that left the
/// stock has its order. Two buyers sell atomically, two through the fence.
async fn a_kill_tears_no_sale(url: &str) {
    let plenty = Initial {
        stock: 1_000_000,
        ..initial()
    };
    let tables = Tables::with(url, "kill", &plenty, 1).await;
    let store = &tables.store;
    let mut sold = 0;
    for kill in 0_u64..20 {
        let place = Arc::clone(&tables.place);
        std::thread::spawn(move || {
            runtime().block_on(async {
                let store = place.open(2).await.expect("a pool");
                for worker in 0..2 {
                    let store = store.clone();
                    tokio::spawn(async move { while store.sell_one(worker, by("s1w1")).await.expect("a sale") {} });
                }
                for worker in 2..4 {
                    let store = store.clone();
                    tokio::spawn(async move {
                        loop {
                            sell_fenced(&store, worker).await;
                        }
                    });
                }
                tokio::time::sleep(Duration::from_micros(500 + 173 * kill)).await;
            });
        })
        .join()
        .expect("an app server");
        // What was in flight may arrive between these two readings; then the next readings agree.
        loop {
            let before = total(&ledger(store).await);
            let left = stock_of(store).await.iter().sum::<u64>();
            sold = total(&ledger(store).await);
            if before == sold {
                assert_eq!(left + sold, 4_000_000, "kill {kill}");
                break;
            }
        }
    }
    assert!(sold > 0, "nothing was sold, so nothing was shown");
    tables.remove().await;
}

/// A sale by the only buyer of a product. What a killed buyer sent before may still arrive; then the fence refuses it.
async fn sell_fenced(store: &Store, product: u64) {
    let number = store.draw_token(product).await.expect("a token");
    let token = Token { number, owner: "s1w1" };
    let left = store.units_fenced(product, token, NO_TIME).await.expect("units") - 1;
    store
        .sell_fenced(product, left, token, by("s1w1"))
        .await
        .expect("a sale");
}

async fn a_stampede_queues_for_connections(url: &str) {
    let tables = Tables::with(url, "queue", &initial(), 2).await;
    let store = &tables.store;
    let service = Duration::from_millis(20);
    let began = std::time::Instant::now();
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.provide("offers", 0, None, service).await.map(drop) })
        })
        .collect();
    for call in calls {
        call.await.expect("a task").expect("a value");
    }
    // Ten calls over two connections: five services in a row on each.
    assert!(began.elapsed() >= 5 * service, "{:?}", began.elapsed());
    tables.remove().await;
}

macro_rules! on_sqlite {
    ($($test:ident),*) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $test() {
                super::$test("sqlite").await;
            })*
        }
    };
}
on_sqlite!(
    reads_and_sells,
    the_atomic_sale_never_oversells,
    payments_leave_two_orders_each,
    the_fence_refuses_every_older_token,
    a_fence_at_the_write_misses_what_one_at_the_read_sees,
    a_fence_at_read_and_write_needs_no_lock,
    a_kill_tears_no_sale,
    a_stampede_queues_for_connections
);

/// On one server, one after the other.
#[tokio::test]
#[ignore = "slow: .ci/long postgres"]
async fn all_of_them_on_postgresql() {
    let database = Database::start();
    let url = database.url();
    reads_and_sells(url).await;
    the_atomic_sale_never_oversells(url).await;
    payments_leave_two_orders_each(url).await;
    the_fence_refuses_every_older_token(url).await;
    a_fence_at_the_write_misses_what_one_at_the_read_sees(url).await;
    a_fence_at_read_and_write_needs_no_lock(url).await;
    a_kill_tears_no_sale(url).await;
    a_stampede_queues_for_connections(url).await;
}

/// The schemas of killed runs are dropped, and those of living runs stay untouched.
#[tokio::test]
#[ignore = "needs PostgreSQL: make test-postgres"]
async fn schemas_of_killed_runs_are_swept() {
    let database = Database::start();
    let url = database.url();
    let dir = tempfile::tempdir().expect("a directory");
    let mut connection = connect(url).await;
    let (killed, living) = (
        place(url, "killed", dir.path()).await,
        place(url, "living", dir.path()).await,
    );
    let names = ["killed", "living"].map(|test| schema_of(&run_id(test)));
    assert_eq!(there(&mut connection, &names).await, [true, true]);

    // Its connection ends like that of a killed process. The server notices that a little later.
    drop(killed);
    while there(&mut connection, &names).await[0] {
        next_run(url, dir.path()).await;
    }
    assert_eq!(there(&mut connection, &names).await, [false, true]);
    living.remove(TEST_TIMEOUT).await.expect("the schema goes");
    assert_eq!(there(&mut connection, &names).await, [false, false]);
}

async fn connect(url: &str) -> PgConnection {
    PgConnection::connect(url).await.expect("a connection")
}

async fn execute(connection: &mut PgConnection, statements: impl Into<String>) {
    let done = sqlx::raw_sql(AssertSqlSafe(statements.into()))
        .execute(connection)
        .await;
    done.expect("it is done");
}

/// Which of these schemas exist.
async fn there(connection: &mut PgConnection, names: &[String]) -> Vec<bool> {
    let mut there = Vec::new();
    for name in names {
        let found = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)")
            .bind(name)
            .fetch_one(&mut *connection);
        there.push(found.await.expect("an answer"));
    }
    there
}

/// A run that begins and ends.
async fn next_run(url: &str, dir: &std::path::Path) {
    let place = place(url, "next", dir).await;
    place.remove(TEST_TIMEOUT).await.expect("the schema goes");
}

const MARK: &str = "made by lockstorm for one run; safe to drop when it is over";

/// A server with two users who can make schemas; the first is who runs Lockstorm. The URLs of both, and a connection of each.
async fn two_users(server: &Postgres) -> ([String; 2], [PgConnection; 2]) {
    server.run(
        "CREATE ROLE mine LOGIN PASSWORD 'pass'; CREATE ROLE theirs LOGIN PASSWORD 'pass';
         GRANT CREATE ON DATABASE postgres TO mine, theirs; GRANT CREATE ON SCHEMA public TO theirs",
    );
    let urls = ["mine", "theirs"].map(|user| format!("postgres://{user}:pass@{}/postgres", server.addr()));
    let connections = [connect(&urls[0]).await, connect(&urls[1]).await];
    (urls, connections)
}

/// A schema of this name with a row in it, with a comment or without.
async fn make_schema(connection: &mut PgConnection, name: &str, comment: Option<&str>) {
    let quoted = format!("\"{}\"", name.replace('"', "\"\""));
    execute(
        connection,
        format!("CREATE SCHEMA {quoted}; CREATE TABLE {quoted}.rows AS SELECT 1 AS row"),
    )
    .await;
    if let Some(comment) = comment {
        execute(connection, format!("COMMENT ON SCHEMA {quoted} IS '{comment}'")).await;
    }
}

/// Another user names and marks schemas so that a run of ours might take a third one for its own.
#[tokio::test]
#[ignore = "needs PostgreSQL: make test-postgres"]
async fn a_run_drops_no_schema_that_is_not_its_users_own_and_marked() {
    let server = Postgres::start();
    let (urls, [mut mine, mut theirs]) = two_users(&server).await;
    let dir = tempfile::tempdir().expect("a directory");
    let mut names: Vec<String> = Vec::new();
    // What their marked names would mean without their quotes.
    for name in ["prod", "lockstorm_run_deadbeef_0", "lockstorm_run_00000001_0"] {
        make_schema(&mut mine, name, None).await;
        names.push(name.to_owned());
    }
    // Ours, but marked otherwise, or renamed by somebody who keeps it.
    make_schema(&mut mine, "lockstorm_run_00000002_0", Some("safe to keep")).await;
    make_schema(&mut mine, "kept", Some(MARK)).await;
    names.extend(["lockstorm_run_00000002_0", "kept"].map(str::to_owned));
    for name in [
        "Prod",
        "PROD",
        "lockstorm_run_DEADBEEF_0",
        "LOCKSTORM_RUN_00000001_0",
        "x\" CASCADE; DROP SCHEMA prod",
        "lockstorm_run_00000003_0",
        "lockstorm_run_00000003_0\", prod, \"Prod",
    ] {
        make_schema(&mut theirs, name, Some(MARK)).await;
        names.push(name.to_owned());
    }
    // Where the search path of our user leads first, nothing is what it seems to be.
    execute(&mut mine, "ALTER ROLE mine SET search_path TO public, pg_catalog").await;
    let false_mark = format!(
        "CREATE FUNCTION public.obj_description(oid, name) RETURNS text LANGUAGE sql AS $$ SELECT '{MARK}' $$;
         CREATE FUNCTION public.hashtext(text) RETURNS int LANGUAGE sql AS $$ SELECT (random() * 1e9)::int $$;
         CREATE FUNCTION public.pg_get_userbyid(oid) RETURNS name LANGUAGE sql AS $$ SELECT 'mine'::name $$;
         CREATE FUNCTION public.is(name, text) RETURNS bool LANGUAGE sql AS $$ SELECT true $$;
         CREATE OPERATOR public.= (LEFTARG = name, RIGHTARG = text, FUNCTION = public.is)"
    );
    execute(&mut theirs, false_mark).await;
    // Of a run that was killed.
    make_schema(&mut mine, "lockstorm_run_00000004_0", Some(MARK)).await;

    // The superuser may drop everything, and yet is not the owner.
    for url in [&urls[0], &server.url()] {
        next_run(url, dir.path()).await;
        let left: Vec<_> = there(&mut mine, &names).await.into_iter().zip(&names).collect();
        assert!(left.iter().all(|(there, _)| *there), "{left:?}");
    }
    let swept = ["lockstorm_run_00000004_0".to_owned()];
    assert_eq!(there(&mut mine, &swept).await, [false], "the sweep took place");
}

/// Of two names for which the lock has the same number, each is protected.
#[tokio::test]
#[ignore = "slow: .ci/long postgres"]
async fn names_that_share_a_lock_protect_each_other_s_schemas() {
    let server = Postgres::start();
    let url = &server.url();
    let mut connection = connect(url).await;
    let found = sqlx::query_as(
        "SELECT min(id), max(id) FROM (SELECT 'run-' || lpad(to_hex(n), 8, '0') AS id FROM generate_series(1, 500000) AS n) AS ids
         GROUP BY hashtext('lockstorm_' || replace(id, '-', '_') || '_0') HAVING count(*) > 1 LIMIT 1",
    );
    let (one, other): (String, String) = found.fetch_one(&mut connection).await.expect("two such names");
    let dir = tempfile::tempdir().expect("a directory");
    let create = async |id: &str| ArmDatabase::create(&database(url), 0, id, dir.path(), &initial()).await;
    let first = create(&one).await.expect("the tables are made");
    let second = create(&other).await.expect("the tables are made");
    first.remove(TEST_TIMEOUT).await.expect("the schema goes");
    let locks = async |connection: &mut PgConnection| -> i64 {
        let locks = sqlx::query_scalar("SELECT count(*) FROM pg_locks WHERE classid = 1819239275");
        locks.fetch_one(connection).await.expect("an answer")
    };
    let held = locks(&mut connection).await;
    drop(first);
    while locks(&mut connection).await == held {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    next_run(url, dir.path()).await;
    let names = [one, other].map(|id| schema_of(&id));
    assert_eq!(there(&mut connection, &names).await, [false, true]);
    second.remove(TEST_TIMEOUT).await.expect("the schema goes");
    assert_eq!(there(&mut connection, &names).await, [false, false]);
}

/// The schema of a run is renamed and another one gets its name, in mid-run and between the look at it and its end.
#[tokio::test]
#[ignore = "slow: .ci/long postgres"]
async fn a_schema_that_took_the_name_of_ours_stays() {
    let server = Postgres::start();
    let (urls, [mut mine, _]) = two_users(&server).await;
    let dir = tempfile::tempdir().expect("a directory");
    let name = schema_of(&run_id("swapped"));
    let swap = format!("ALTER SCHEMA {name} RENAME TO ours; ALTER SCHEMA prod RENAME TO {name}");
    let back = format!("ALTER SCHEMA {name} RENAME TO prod; DROP SCHEMA ours CASCADE");
    let names = [name.clone(), "ours".to_owned()];
    make_schema(&mut mine, "prod", None).await;

    let run = place(&urls[0], "swapped", dir.path()).await;
    execute(&mut mine, swap.clone()).await;
    let told = run.remove(TEST_TIMEOUT).await.expect_err("it is not ours");
    assert!(told.contains(&format!("has no schema {name} any more")), "{told}");
    assert_eq!(there(&mut mine, &names).await, [true, true]);
    execute(&mut mine, back).await;
    drop(run);

    // A statement that drops waits at this gate before it looks for the schema.
    server.run(
        "CREATE FUNCTION public.gate() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
             PERFORM pg_advisory_lock(1);
             WHILE NOT pg_try_advisory_lock(2) LOOP PERFORM pg_sleep(0.01); END LOOP;
         END $$;
         CREATE EVENT TRIGGER gate ON ddl_command_start WHEN TAG IN ('DROP SCHEMA') EXECUTE FUNCTION public.gate()",
    );
    execute(&mut mine, "SELECT pg_advisory_lock(2)").await;
    let run = place(&urls[0], "swapped", dir.path()).await;
    let removing = tokio::spawn(async move { run.remove(TEST_TIMEOUT).await });
    let waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 1 AND classid = 0)";
    while !sqlx::query_scalar::<_, bool>(waits)
        .fetch_one(&mut mine)
        .await
        .expect("an answer")
    {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    execute(&mut mine, swap).await;
    execute(&mut mine, "SELECT pg_advisory_unlock(2)").await;
    removing.await.expect("it ends").expect_err("it is not ours");
    assert_eq!(there(&mut mine, &names).await, [true, true]);
}

#[tokio::test]
async fn arms_do_not_share_tables() {
    let dir = tempfile::tempdir().expect("a directory");
    let create = |arm| {
        let dir = dir.path().to_owned();
        async move {
            ArmDatabase::create(&database("sqlite"), arm, "arms", &dir, &initial())
                .await
                .expect("a place")
        }
    };
    let (one, other) = (create(0).await, create(1).await);
    one.open(1)
        .await
        .expect("a pool")
        .sell(0, 3, by("x"))
        .await
        .expect("a sale");
    let other = other.open(1).await.expect("a pool");
    assert_eq!(other.units(0, NO_TIME).await.expect("units"), 10);
    assert_eq!(ledger(&other).await, []);
}

#[tokio::test]
async fn errors_name_the_database_and_no_password() {
    let dir = tempfile::tempdir().expect("a directory");
    let create = |url: &'static str, dir: std::path::PathBuf| async move {
        let created = ArmDatabase::create(&database(url), 0, &run_id("errors"), &dir, &initial()).await;
        created.expect_err("nothing to open").to_string()
    };
    // Port 1 of loopback refuses connections.
    let text = create("postgres://me:secret@127.0.0.1:1/x", dir.path().to_owned()).await;
    assert!(
        text.contains("127.0.0.1") && !text.contains("secret") && !text.contains('\n'),
        "{text}"
    );
    let text = create("sqlite", dir.path().join("missing")).await;
    assert!(text.contains("missing/arm-0.sqlite") && !text.contains('\n'), "{text}");
}
