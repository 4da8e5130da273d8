//! The database: the same tests on SQLite and on PostgreSQL.

mod support;

use std::sync::Arc;
use std::time::Duration;

use lockstorm::scenario::{Catalogue, DatabaseSpec, Initial, ServiceTime};
use lockstorm::store::{ArmDatabase, Mark, Order, Store, StoreError, Token};
use support::postgres::Database;

const NO_TIME: Duration = Duration::ZERO;

/// Longer than any machine needs.
const TEST_TIMEOUT: Duration = Duration::from_mins(1);

fn database(url: &str) -> DatabaseSpec {
    DatabaseSpec {
        url: url.parse().expect("a URL"),
        url_env: None,
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
    format!("{test}-{}", std::process::id())
}

async fn place(url: &str, test: &str, dir: &std::path::Path) -> ArmDatabase {
    ArmDatabase::create(&database(url), 0, &run_id(test), dir, &initial())
        .await
        .expect("the tables are made")
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
    let dir = tempfile::tempdir().expect("a directory");
    let place = place(url, "sells", dir.path()).await;
    let store = place.open(3).await.expect("a pool");

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
            matches!(missing, Err(StoreError::Missing(_))),
            "{cache} {key} {page:?}: {missing:?}"
        );
    }

    assert_eq!(
        store.stock(0..4).await.expect("stock"),
        [(0, 10), (1, 10), (2, 10), (3, 10)]
    );
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
    assert_eq!(
        store.stock(0..4).await.expect("stock"),
        [(0, 10), (1, 9), (2, 9), (3, 10)]
    );
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

    let (seen, orders) = since(&store, 0).await;
    assert_eq!(orders, [(1, 2), (2, 1)]);
    store.sell(0, 9, by("s1w1")).await.expect("a sale");
    let (newest, orders) = since(&store, seen).await;
    assert_eq!(orders, [(0, 1)]);
    assert_eq!(since(&store, newest).await, (newest, vec![]));

    for result in [store.sell(4, 1, by("x")).await, store.units(4, NO_TIME).await.map(drop)] {
        assert!(matches!(result, Err(StoreError::Missing(_))), "{result:?}");
    }
    assert!(!store.sell_one(4, by("x")).await.expect("no such product is not sold"));
    assert_eq!(total(&ledger(&store).await), 4, "what failed left no order");
    drop(store);
    place.remove(TEST_TIMEOUT).await.expect("the schema goes");
}

/// App servers as they are: threads with a runtime and a pool each. They try to buy far more than there is.
async fn the_atomic_sale_never_oversells(url: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let place = Arc::new(place(url, "atomic", dir.path()).await);
    let servers: Vec<_> = (0..3)
        .map(|server| {
            let place = Arc::clone(&place);
            std::thread::spawn(move || {
                on_own_runtime(async {
                    let store = place.open(3).await.expect("a pool");
                    let buyers = (0..4).map(|worker| tokio::spawn(buy(store.clone(), format!("s{server}w{worker}"))));
                    let mut sold = 0;
                    for buyer in buyers.collect::<Vec<_>>() {
                        sold += buyer.await.expect("a buyer");
                    }
                    sold
                })
            })
        })
        .collect();

    // The ledger is read while it grows: all orders must come, each once.
    let store = place.open(1).await.expect("a pool");
    let (mut last, mut seen) = (0, 0);
    while servers.iter().any(|server| !server.is_finished()) {
        let (newest, orders) = since(&store, last).await;
        (last, seen) = (newest, seen + total(&orders));
    }
    let reported: u64 = servers
        .into_iter()
        .map(|server| server.join().expect("an app server"))
        .sum();
    seen += total(&since(&store, last).await.1);

    assert_eq!(ledger(&store).await, [(0, 10), (1, 10), (2, 10), (3, 10)]);
    assert_eq!((seen, reported), (40, 40));
    assert_eq!(total(&store.stock(0..4).await.expect("stock")), 0);
    drop(store);
    Arc::into_inner(place)
        .expect("all servers have ended")
        .remove(TEST_TIMEOUT)
        .await
        .expect("the schema goes");
}

async fn buy(store: Store, by: String) -> u64 {
    let mut sold = 0;
    for round in 0..12 {
        sold += u64::from(store.sell_one(round % 4, self::by(&by)).await.expect("an answer"));
    }
    sold
}

fn on_own_runtime<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(work)
}

fn refused<T>(answer: &Result<T, StoreError>) -> bool {
    matches!(answer, Err(StoreError::Fenced { .. }))
}

async fn the_fence_refuses_every_older_token(url: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let place = place(url, "fence", dir.path()).await;
    let store = place.open(3).await.expect("a pool");
    let token = |number, owner| Token { number, owner };

    for drawn in 1..=3 {
        assert_eq!(store.draw_token(1).await.expect("a token"), drawn);
    }
    assert_eq!(
        store.draw_token(0).await.expect("a token"),
        1,
        "each product has its own"
    );

    // At the write, older ones are refused, and of two equal ones the second owner.
    store
        .sell_fenced(1, 9, token(2, "a"), by("s1w1"))
        .await
        .expect("the first to come");
    let error = store
        .sell_fenced(1, 7, token(1, "b"), by("s1w1"))
        .await
        .expect_err("it is older");
    assert!(refused(&Err::<(), _>(error)));
    assert!(refused(&store.sell_fenced(1, 7, token(2, "b"), by("s1w1")).await));
    store
        .sell_fenced(1, 8, token(2, "a"), by("s1w1"))
        .await
        .expect("the same holder again");

    // At the read, which shuts out the holder before.
    let units = store.units_fenced(1, token(3, "b"), NO_TIME).await;
    assert_eq!(units.expect("it is newer"), 8);
    assert!(refused(&store.sell_fenced(1, 7, token(2, "a"), by("s1w1")).await));
    assert!(refused(&store.units_fenced(1, token(2, "a"), NO_TIME).await));
    assert!(refused(&store.units_fenced(1, token(3, "c"), NO_TIME).await));
    store
        .sell_fenced(1, 7, token(3, "b"), by("s1w1"))
        .await
        .expect("it holds the fence");

    // A read without a token is never refused, and other products have their own fence.
    assert_eq!(store.units(1, NO_TIME).await.expect("units"), 7);
    store
        .sell_fenced(0, 9, token(1, "c"), by("s1w1"))
        .await
        .expect("a sale");

    assert_eq!(
        ledger(&store).await,
        [(0, 1), (1, 3)],
        "draws, reads and refusals append no order"
    );
    assert_eq!(
        store.stock(0..4).await.expect("stock"),
        [(0, 9), (1, 7), (2, 10), (3, 10)]
    );
    for missing in [
        store.draw_token(4).await,
        store.units_fenced(4, token(1, "a"), NO_TIME).await,
        store.sell_fenced(4, 1, token(1, "a"), by("s1w1")).await.map(|()| 0),
    ] {
        assert!(matches!(missing, Err(StoreError::Missing(_))), "{missing:?}");
    }
    drop(store);
    place.remove(TEST_TIMEOUT).await.expect("the schema goes");
}

/// Two holders of one lost lock: what a fence at the write alone detects, and what it can't.
async fn a_fence_at_the_write_misses_what_one_at_the_read_sees(url: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let place = place(url, "blind", dir.path()).await;
    let store = place.open(3).await.expect("a pool");
    let draw = async |product, owner| Token {
        number: store.draw_token(product).await.expect("a token"),
        owner,
    };
    let read = async |product| store.units(product, NO_TIME).await.expect("units") - 1;

    // The newer one writes first. The older one's write would undo its sale, and is refused.
    let (older, newer) = (draw(0, "a").await, draw(0, "b").await);
    let (left, same) = (read(0).await, read(0).await);
    store.sell_fenced(0, left, newer, by("s1w1")).await.expect("a sale");
    assert!(refused(&store.sell_fenced(0, same, older, by("s1w1")).await));

    // The older one writes first. Both tokens come in order, and an update is lost all the same.
    let (older, newer) = (draw(1, "a").await, draw(1, "b").await);
    let (left, same) = (read(1).await, read(1).await);
    store.sell_fenced(1, left, older, by("s1w1")).await.expect("a sale");
    store.sell_fenced(1, same, newer, by("s1w1")).await.expect("a sale");

    // With a check at the read too, the older one is out as soon as the newer one has read.
    let (older, newer) = (draw(2, "a").await, draw(2, "b").await);
    let left = store.units_fenced(2, older, NO_TIME).await.expect("units") - 1;
    let same = store.units_fenced(2, newer, NO_TIME).await.expect("units") - 1;
    assert!(refused(&store.sell_fenced(2, left, older, by("s1w1")).await));
    store.sell_fenced(2, same, newer, by("s1w1")).await.expect("a sale");

    assert_eq!(ledger(&store).await, [(0, 1), (1, 2), (2, 1)]);
    assert_eq!(
        store.stock(0..4).await.expect("stock"),
        [(0, 9), (1, 9), (2, 9), (3, 10)]
    );
    drop(store);
    place.remove(TEST_TIMEOUT).await.expect("the schema goes");
}

/// Buyers without any lock, on app servers as they are: every sale that the fence accepts is in the stock.
async fn a_fence_at_read_and_write_needs_no_lock(url: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let place = Arc::new(place(url, "lockless", dir.path()).await);
    let servers: Vec<_> = (0..3)
        .map(|server| {
            let place = Arc::clone(&place);
            std::thread::spawn(move || {
                on_own_runtime(async {
                    let store = place.open(3).await.expect("a pool");
                    let buyers =
                        (0..4).map(|worker| tokio::spawn(buy_fenced(store.clone(), format!("s{server}w{worker}"))));
                    let mut drawn = Vec::new();
                    for buyer in buyers.collect::<Vec<_>>() {
                        drawn.extend(buyer.await.expect("a buyer"));
                    }
                    drawn
                })
            })
        })
        .collect();
    let mut drawn: Vec<_> = servers
        .into_iter()
        .flat_map(|server| server.join().expect("an app server"))
        .collect();
    drawn.sort_unstable();
    assert_eq!(drawn, (1..=240).collect::<Vec<_>>(), "each token is drawn once");
    let store = place.open(1).await.expect("a pool");
    let sold = total(&ledger(&store).await);
    let left = store.stock(0..4).await.expect("stock")[0].1;
    assert!(sold > 0 && sold + left == 10, "{sold} orders, {left} units left");
    drop(store);
    Arc::into_inner(place)
        .expect("all servers have ended")
        .remove(TEST_TIMEOUT)
        .await
        .expect("the schema goes");
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
    let dir = tempfile::tempdir().expect("a directory");
    let plenty = Initial {
        stock: 1_000_000,
        ..initial()
    };
    let place = ArmDatabase::create(&database(url), 0, &run_id("kill"), dir.path(), &plenty).await;
    let place = Arc::new(place.expect("the tables are made"));
    let store = place.open(1).await.expect("a pool");
    let mut sold = 0;
    for kill in 0_u64..20 {
        let place = Arc::clone(&place);
        std::thread::spawn(move || {
            on_own_runtime(async {
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
            let before = total(&ledger(&store).await);
            let left = total(&store.stock(0..4).await.expect("stock"));
            sold = total(&ledger(&store).await);
            if before == sold {
                assert_eq!(left + sold, 4_000_000, "kill {kill}");
                break;
            }
        }
    }
    assert!(sold > 0, "nothing was sold, so nothing was shown");
    drop(store);
    Arc::into_inner(place)
        .expect("all servers have ended")
        .remove(TEST_TIMEOUT)
        .await
        .expect("the schema goes");
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
    let dir = tempfile::tempdir().expect("a directory");
    let place = place(url, "queue", dir.path()).await;
    let store = place.open(2).await.expect("a pool");
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
    drop(store);
    place.remove(TEST_TIMEOUT).await.expect("the schema goes");
}

macro_rules! on_both {
    ($($test:ident),*) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $test() {
                super::$test("sqlite").await;
            })*
        }
        mod postgres {
            use super::Database;

            $(#[tokio::test]
            #[ignore = "needs PostgreSQL's programs: make test-postgres"]
            async fn $test() {
                super::$test(Database::start().url()).await;
            })*
        }
    };
}
on_both!(
    reads_and_sells,
    the_atomic_sale_never_oversells,
    the_fence_refuses_every_older_token,
    a_fence_at_the_write_misses_what_one_at_the_read_sees,
    a_fence_at_read_and_write_needs_no_lock,
    a_kill_tears_no_sale,
    a_stampede_queues_for_connections
);

/// The schemas of killed runs are dropped; those of living runs, and those that are not ours, stay untouched.
#[tokio::test]
#[ignore = "needs PostgreSQL's programs: make test-postgres"]
async fn schemas_of_killed_runs_are_swept() {
    use sqlx::{AssertSqlSafe, Connection};

    let database = Database::start();
    let url = database.url();
    let dir = tempfile::tempdir().expect("a directory");
    let mut connection = sqlx::PgConnection::connect(url).await.expect("a connection");
    let (killed, living) = (
        place(url, "killed", dir.path()).await,
        place(url, "living", dir.path()).await,
    );
    let theirs = format!("lockstorm_theirs_{}", std::process::id());
    let create = AssertSqlSafe(format!("CREATE SCHEMA {theirs}"));
    sqlx::raw_sql(create).execute(&mut connection).await.expect("a schema");
    assert_eq!(there(&mut connection).await, [true, true, true]);

    // Its connection ends like that of a killed process. The server notices that a little later.
    drop(killed);
    while there(&mut connection).await[0] {
        place(url, "next", dir.path())
            .await
            .remove(TEST_TIMEOUT)
            .await
            .expect("the schema goes");
    }
    assert_eq!(there(&mut connection).await, [false, true, true]);
    living.remove(TEST_TIMEOUT).await.expect("the schema goes");
    assert_eq!(there(&mut connection).await, [false, false, true]);
    let drop = AssertSqlSafe(format!("DROP SCHEMA {theirs}"));
    sqlx::raw_sql(drop)
        .execute(&mut connection)
        .await
        .expect("it was left alone");
}

/// Which schemas of the test above exist.
async fn there(connection: &mut sqlx::PgConnection) -> Vec<bool> {
    let mut there = Vec::new();
    for name in ["killed", "living", "theirs"] {
        let found = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname LIKE $1)")
            .bind(format!("lockstorm_{name}_{}%", std::process::id()))
            .fetch_one(&mut *connection);
        there.push(found.await.expect("an answer"));
    }
    there
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
        let created = ArmDatabase::create(&database(url), 0, "errors", &dir, &initial()).await;
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
