//! A proxy to a server that can be frozen, like a server that is stopped, or cut.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::thread;
use std::time::Duration;

/// How soon a connection notices that it was frozen, cut or thawed.
const LOOK: Duration = Duration::from_millis(5);

/// A port on loopback whose connections are forwarded to a server, if there is one. It accepts connections in any state,
/// as the kernel does for a process that is stopped.
#[derive(Debug, Clone)]
pub struct Proxy {
    port: u16,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    frozen: AtomicBool,
    /// Grows with each cut: connections that began before it end.
    cuts: AtomicUsize,
    accepted: AtomicUsize,
}

impl Proxy {
    /// In front of `server`. Without a server every connection is accepted and never answered.
    pub fn start(server: Option<SocketAddr>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let state = Arc::<State>::default();
        thread::spawn({
            let state = Arc::clone(&state);
            move || {
                for client in listener.incoming().map_while(Result::ok) {
                    state.accepted.fetch_add(1, SeqCst);
                    let state = Arc::clone(&state);
                    thread::spawn(move || state.serve(client, server));
                }
            }
        });
        Self { port, state }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// From now on nothing passes; what is sent waits.
    pub fn freeze(&self) {
        self.state.frozen.store(true, SeqCst);
    }

    /// Everything passes again.
    pub fn thaw(&self) {
        self.state.frozen.store(false, SeqCst);
    }

    /// Ends every present connection.
    pub fn cut(&self) {
        self.state.cuts.fetch_add(1, SeqCst);
    }

    /// The number of connections so far.
    pub fn accepted(&self) -> usize {
        self.state.accepted.load(SeqCst)
    }
}

impl State {
    fn serve(self: Arc<Self>, client: TcpStream, server: Option<SocketAddr>) {
        let cuts = self.cuts.load(SeqCst);
        self.wait_while_frozen(cuts);
        let server = server.and_then(|server| TcpStream::connect(server).ok());
        let Some(server) = server else {
            while self.cuts.load(SeqCst) == cuts {
                thread::sleep(LOOK);
            }
            return;
        };
        let (from, to) = (
            server.try_clone().expect("a socket"),
            client.try_clone().expect("a socket"),
        );
        let back = Arc::clone(&self);
        thread::spawn(move || back.carry(from, to, cuts));
        self.carry(client, server, cuts);
    }

    fn carry(&self, mut from: TcpStream, mut to: TcpStream, cuts: usize) {
        let _ = from.set_read_timeout(Some(LOOK));
        let mut bytes = [0; 1 << 14];
        while self.cuts.load(SeqCst) == cuts {
            self.wait_while_frozen(cuts);
            match from.read(&mut bytes) {
                Ok(0) => break,
                Ok(count) => {
                    // What came while it was being frozen waits like everything else.
                    self.wait_while_frozen(cuts);
                    if to.write_all(&bytes[..count]).is_err() {
                        break;
                    }
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => break,
            }
        }
        let _ = from.shutdown(std::net::Shutdown::Both);
        let _ = to.shutdown(std::net::Shutdown::Both);
    }

    fn wait_while_frozen(&self, cuts: usize) {
        while self.frozen.load(SeqCst) && self.cuts.load(SeqCst) == cuts {
            thread::sleep(LOOK);
        }
    }
}
