//! The database: the same test on SQLite and on PostgreSQL.

use std::sync::Arc;
use std::time::Duration;

use lockstorm::scenario::{DatabaseSpec, ServiceTime};
use lockstorm::store::{Catalogue, Initial, Place, Store, StoreError};

const NO_TIME: Duration = Duration::ZERO;

fn database(url: &str) -> DatabaseSpec {
    DatabaseSpec {
        url: url.to_owned(),
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

/// A run's own names: tests run beside each other, and on a PostgreSQL that has run them before.
fn run_id(test: &str) -> String {
    format!("{test}-{}", std::process::id())
}

async fn place(url: &str, test: &str, dir: &std::path::Path) -> Place {
    Place::create(&database(url), 0, &run_id(test), dir, &initial())
        .await
        .expect("the tables are made")
}

fn total(rows: &[(u64, u64)]) -> u64 {
    rows.iter().map(|row| row.1).sum()
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
        store.stock().await.expect("stock"),
        [(0, 10), (1, 10), (2, 10), (3, 10)]
    );
    assert_eq!(store.orders().await.expect("orders"), []);
    assert_eq!(store.orders_since(0).await.expect("orders"), (0, vec![]));

    store.sell(1, 9, "s1w1").await.expect("a sale");
    store.sell(1, 9, "s2w1").await.expect("the same unit again");
    assert!(store.sell_one(2, "s1w1").await.expect("a sale"));
    store.append_order(3, "o'brien").await.expect("an order alone");
    assert_eq!(store.units(1, NO_TIME).await.expect("units"), 9);
    assert_eq!(store.stock().await.expect("stock"), [(0, 10), (1, 9), (2, 9), (3, 10)]);
    assert_eq!(store.orders().await.expect("orders"), [(1, 2), (2, 1), (3, 1)]);

    let (seen, mut orders) = store.orders_since(0).await.expect("orders");
    orders.sort_unstable();
    assert_eq!(orders, [(1, 2), (2, 1), (3, 1)]);
    store.sell(0, 9, "s1w1").await.expect("a sale");
    let (newest, orders) = store.orders_since(seen).await.expect("orders");
    assert_eq!(orders, [(0, 1)]);
    assert_eq!(store.orders_since(newest).await.expect("orders"), (newest, vec![]));

    for result in [store.sell(4, 1, "x").await, store.units(4, NO_TIME).await.map(drop)] {
        assert!(matches!(result, Err(StoreError::Missing(_))), "{result:?}");
    }
    assert!(!store.sell_one(4, "x").await.expect("no such product is not sold"));
    assert_eq!(
        total(&store.orders().await.expect("orders")),
        5,
        "what failed left no order"
    );
    drop(store);
    place.remove().await;
}

/// App servers as they are: threads with a runtime and a pool each. They buy far more than there is.
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

    // The ledger is read on while it grows: all orders must come by, and each once.
    let store = place.open(1).await.expect("a pool");
    let (mut last, mut seen) = (0, 0);
    while servers.iter().any(|server| !server.is_finished()) {
        let (newest, orders) = store.orders_since(last).await.expect("orders");
        (last, seen) = (newest, seen + total(&orders));
    }
    let told: u64 = servers
        .into_iter()
        .map(|server| server.join().expect("an app server"))
        .sum();
    seen += total(&store.orders_since(last).await.expect("orders").1);

    assert_eq!(
        store.orders().await.expect("orders"),
        [(0, 10), (1, 10), (2, 10), (3, 10)]
    );
    assert_eq!((seen, told), (40, 40));
    assert_eq!(total(&store.stock().await.expect("stock")), 0);
    drop(store);
    Arc::into_inner(place).expect("all servers have ended").remove().await;
}

async fn buy(store: Store, by: String) -> u64 {
    let mut sold = 0;
    for round in 0..12 {
        sold += u64::from(store.sell_one(round % 4, &by).await.expect("an answer"));
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

/// Runtimes are dropped in the middle of sales, as a killed app server's is: every unit that left the stock has its order,
/// at every moment.
async fn a_kill_tears_no_sale(url: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let plenty = Initial {
        stock: 1_000_000,
        ..initial()
    };
    let place = Place::create(&database(url), 0, &run_id("kill"), dir.path(), &plenty).await;
    let place = Arc::new(place.expect("the tables are made"));
    let store = place.open(1).await.expect("a pool");
    let mut sold = 0;
    for kill in 0_u64..20 {
        let place = Arc::clone(&place);
        std::thread::spawn(move || {
            on_own_runtime(async {
                let store = place.open(2).await.expect("a pool");
                for worker in 0..4 {
                    let store = store.clone();
                    tokio::spawn(async move { while store.sell_one(worker, "s1w1").await.expect("a sale") {} });
                }
                tokio::time::sleep(Duration::from_micros(500 + 173 * kill)).await;
            });
        })
        .join()
        .expect("an app server");
        // What was in flight may still arrive between these two readings: then the next reading agrees.
        loop {
            let before = total(&store.orders().await.expect("orders"));
            let left = total(&store.stock().await.expect("stock"));
            sold = total(&store.orders().await.expect("orders"));
            if before == sold {
                assert_eq!(left + sold, 4_000_000, "kill {kill}");
                break;
            }
        }
    }
    assert!(sold > 0, "nothing was sold, so nothing was shown");
    drop(store);
    Arc::into_inner(place).expect("all servers have ended").remove().await;
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
    // Ten calls over two connections: five services one after the other on each.
    assert!(began.elapsed() >= 5 * service, "{:?}", began.elapsed());
    drop(store);
    place.remove().await;
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
            $(#[tokio::test]
            #[ignore = "needs PostgreSQL: set LOCKSTORM_TEST_POSTGRES=postgres://… and run with --ignored"]
            async fn $test() {
                let url = std::env::var("LOCKSTORM_TEST_POSTGRES").expect("LOCKSTORM_TEST_POSTGRES is set");
                super::$test(&url).await;
            })*
        }
    };
}
on_both!(
    reads_and_sells,
    the_atomic_sale_never_oversells,
    a_kill_tears_no_sale,
    a_stampede_queues_for_connections
);

/// What killed runs left goes, what living runs have stays, and what is not ours is not touched.
#[tokio::test]
#[ignore = "needs PostgreSQL: set LOCKSTORM_TEST_POSTGRES=postgres://… and run with --ignored"]
async fn schemas_of_killed_runs_are_swept() {
    use sqlx::{AssertSqlSafe, Connection};

    let url = std::env::var("LOCKSTORM_TEST_POSTGRES").expect("LOCKSTORM_TEST_POSTGRES is set");
    let dir = tempfile::tempdir().expect("a directory");
    let mut connection = sqlx::PgConnection::connect(&url).await.expect("a connection");
    let (killed, living) = (
        place(&url, "killed", dir.path()).await,
        place(&url, "living", dir.path()).await,
    );
    let theirs = format!("lockstorm_theirs_{}", std::process::id());
    let create = AssertSqlSafe(format!("CREATE SCHEMA {theirs}"));
    sqlx::raw_sql(create).execute(&mut connection).await.expect("a schema");
    assert_eq!(there(&mut connection).await, [true, true, true]);

    // Its connection ends as that of a killed process does. The server notices in its own time.
    drop(killed);
    while there(&mut connection).await[0] {
        place(&url, "next", dir.path()).await.remove().await;
    }
    assert_eq!(there(&mut connection).await, [false, true, true]);
    living.remove().await;
    assert_eq!(there(&mut connection).await, [false, false, true]);
    let drop = AssertSqlSafe(format!("DROP SCHEMA {theirs}"));
    sqlx::raw_sql(drop)
        .execute(&mut connection)
        .await
        .expect("it was left alone");
}

/// Which schemas of the test above there are.
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
            Place::create(&database("sqlite"), arm, "arms", &dir, &initial())
                .await
                .expect("a place")
        }
    };
    let (one, other) = (create(0).await, create(1).await);
    one.open(1)
        .await
        .expect("a pool")
        .sell(0, 3, "x")
        .await
        .expect("a sale");
    let other = other.open(1).await.expect("a pool");
    assert_eq!(other.units(0, NO_TIME).await.expect("units"), 10);
    assert_eq!(other.orders().await.expect("orders"), []);
}

#[tokio::test]
async fn errors_name_the_database_and_no_password() {
    let dir = tempfile::tempdir().expect("a directory");
    let create = |url: &'static str, dir: std::path::PathBuf| async move {
        let created = Place::create(&database(url), 0, "errors", &dir, &initial()).await;
        created.expect_err("nothing to open").to_string()
    };
    let text = create("mysql://root:secret@localhost/x", dir.path().to_owned()).await;
    assert!(text.contains("postgres://") && !text.contains("secret"), "{text}");
    // Port 1 of loopback refuses.
    let text = create("postgres://me:secret@127.0.0.1:1/x", dir.path().to_owned()).await;
    assert!(
        text.contains("127.0.0.1") && !text.contains("secret") && !text.contains('\n'),
        "{text}"
    );
    let text = create("sqlite", dir.path().join("missing")).await;
    assert!(text.contains("missing/arm-0.sqlite") && !text.contains('\n'), "{text}");
}
