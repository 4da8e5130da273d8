//! The messages of a node on the channels of released locks.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::server::RedisServer;

/// Listens to all channels of a server until it is dropped.
pub struct Listener {
    messages: Arc<Mutex<Vec<String>>>,
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    pub fn start(server: &RedisServer) -> Self {
        let client = redis::Client::open(format!("redis://{}", server.addr())).unwrap();
        let mut connection = client.get_connection().unwrap();
        connection.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let messages = Arc::<Mutex<Vec<String>>>::default();
        let end = Arc::<AtomicBool>::default();
        let (heard, ended) = (Arc::clone(&messages), Arc::clone(&end));
        let (say_ready, ready) = mpsc::channel();
        let thread = thread::spawn(move || {
            let mut pubsub = connection.as_pubsub();
            pubsub.psubscribe("lockstorm:released:*").unwrap();
            say_ready.send(()).unwrap();
            while !ended.load(SeqCst) {
                // Without a message the time is over, nothing more.
                if let Ok(message) = pubsub.get_message() {
                    heard.lock().unwrap().push(message.get_payload().unwrap());
                }
            }
        });
        ready.recv().unwrap();
        Self {
            messages,
            end,
            thread: Some(thread),
        }
    }

    /// The tokens of released locks.
    pub fn released(&self) -> Vec<String> {
        self.heard(false)
    }

    /// What app servers have said of how long they wait.
    pub fn waits(&self) -> Vec<String> {
        self.heard(true)
    }

    fn heard(&self, waits: bool) -> Vec<String> {
        let messages = self.messages.lock().unwrap();
        let is_it = |message: &&String| message.starts_with("waiting ") == waits;
        messages.iter().filter(is_it).cloned().collect()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.end.store(true, SeqCst);
        if let Some(thread) = self.thread.take() {
            // If it has failed, so has the test.
            let _ = thread.join();
        }
    }
}
