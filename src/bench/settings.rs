//! How each contender was set up, for the record.

use std::collections::BTreeMap;

use super::client::Setup;
use super::contender::Contender;
use super::engine;
use lockstorm_lock::NodeOptions;

/// How a contender was set up, for the record.
pub(super) fn settings(contender: Contender, setup: &Setup) -> BTreeMap<String, String> {
    let runtime = match contender.workers() {
        0 => "tokio, current thread".to_owned(),
        workers => format!("tokio, {workers} worker threads"),
    };
    let mut settings = BTreeMap::from([
        ("runtime".to_owned(), runtime),
        ("ttl".to_owned(), format!("{:?}", setup.ttl)),
    ]);
    let mut add = |name: &str, value: String| settings.insert(name.to_owned(), value);
    if matches!(contender, Contender::Engine | Contender::EngineMt) {
        let options = engine::options(setup);
        add("node_timeout", format!("{:?}", NodeOptions::default().node_timeout));
        add("timeout", format!("{:?}", options.timeout));
        add("wait", format!("{:?}", options.wait));
        add(
            "renew",
            options
                .renew
                .map_or_else(|| "off".to_owned(), |every| format!("{every:?}")),
        );
        add("release", "returns when a quorum of nodes confirmed it".to_owned());
    } else if contender == Contender::Bare {
        add("wait", "one try".to_owned());
        add("release", "returns when a quorum of nodes confirmed it".to_owned());
        add(
            "timeouts",
            "none; no TLS, validity, suspicion or reconnection either".to_owned(),
        );
    } else {
        add(
            "timeouts",
            "the redis crate's own: 500 ms for a reply, 1 s to connect".to_owned(),
        );
    }
    #[cfg(feature = "peers")]
    add_settings_of_peers(contender, setup, &mut settings);
    settings
}

#[cfg(feature = "peers")]
fn add_settings_of_peers(contender: Contender, setup: &Setup, settings: &mut BTreeMap<String, String>) {
    use super::peers::{DELAY, POLL, TRIES};
    let wait = match contender {
        Contender::Engine | Contender::EngineMt | Contender::Bare => return,
        Contender::Rslock | Contender::RslockMt if setup.waits => {
            format!("lock() with set_retry(u32::MAX, {DELAY:?}): 0 to {DELAY:?} between two tries, without end")
        }
        Contender::Rslock | Contender::RslockMt => {
            format!("lock() with its defaults: {TRIES} tries, 0 to {DELAY:?} between two")
        }
        Contender::Naive | Contender::Plain if setup.waits => {
            format!("0 to {POLL:?} between two tries, without end")
        }
        Contender::Naive | Contender::Plain => "one try".to_owned(),
    };
    settings.insert("wait".to_owned(), wait);
    settings.insert("release".to_owned(), "returns when all nodes have answered".to_owned());
    if contender == Contender::Naive {
        settings.insert("reconnect".to_owned(), "never".to_owned());
        settings.insert("validity".to_owned(), "not checked".to_owned());
    }
}
