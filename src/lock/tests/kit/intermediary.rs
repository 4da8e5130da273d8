//! Something between a client and a server, which delays, breaks or changes what passes.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What a server answers to a `SET` that it has run.
const OK: &[u8] = b"+OK\r\n";

/// A port on loopback whose connections are forwarded to a server.
pub struct Intermediary {
    pub addr: SocketAddr,
    /// Where new connections are forwarded to.
    server: Arc<Mutex<SocketAddr>>,
    /// The error line that replaces the server's next `+OK`.
    error: Arc<Mutex<Option<String>>>,
}

impl Intermediary {
    /// In front of a server that asks for no password.
    pub fn start(server: SocketAddr) -> Self {
        let error = Arc::<Mutex<Option<String>>>::default();
        let told = Arc::clone(&error);
        let server = Arc::new(Mutex::new(server));
        let newest = Arc::clone(&server);
        let addr = forward(
            move || *newest.lock().unwrap(),
            |_, _| true,
            move |_, bytes| {
                replace(bytes, &told);
                true
            },
        );
        Self { addr, server, error }
    }

    /// New connections are forwarded to this server; those that there are stay.
    pub fn move_to(&self, server: SocketAddr) {
        *self.server.lock().unwrap() = server;
    }

    /// The server's next `+OK` is replaced by this error.
    pub fn answer_next(&self, error: &str) {
        *self.error.lock().unwrap() = Some(error.to_owned());
    }
}

fn replace(bytes: &mut Vec<u8>, error: &Mutex<Option<String>>) {
    let mut error = error.lock().unwrap();
    let at = bytes.windows(OK.len()).position(|window| window == OK);
    if let (Some(at), Some(error)) = (at, error.take_if(|_| at.is_some())) {
        bytes.splice(at..at + OK.len(), format!("-{error}\r\n").into_bytes());
    }
}

/// A port on loopback in front of a server. What clients write is shown to `pass` before it is forwarded, with the number of its
/// connection, from 0 on; if that returns false, the connection is closed.
pub fn relay(server: SocketAddr, pass: impl Fn(usize, &[u8]) -> bool + Send + Sync + 'static) -> SocketAddr {
    forward(move || server, move |number, bytes| pass(number, bytes), |_, _| true)
}

/// A port on loopback whose connections are forwarded to the server that there is then. What is written `there` and `back` may be
/// changed; on false the connection is closed.
fn forward<T, B>(server: impl Fn() -> SocketAddr + Send + 'static, there: T, back: B) -> SocketAddr
where
    T: Fn(usize, &mut Vec<u8>) -> bool + Send + Sync + 'static,
    B: Fn(usize, &mut Vec<u8>) -> bool + Send + Sync + 'static,
{
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let addr = listener.local_addr().expect("it is bound");
    let (there, back) = (Arc::new(there), Arc::new(back));
    thread::spawn(move || {
        for (number, client) in listener.incoming().map_while(Result::ok).enumerate() {
            let Ok(server) = TcpStream::connect(server()) else {
                continue;
            };
            let (to_server, from_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let (there, back) = (Arc::clone(&there), Arc::clone(&back));
            thread::spawn(move || carry(from_client, to_server, |bytes| there(number, bytes)));
            thread::spawn(move || carry(server, client, |bytes| back(number, bytes)));
        }
    });
    addr
}

fn carry(mut from: TcpStream, mut to: TcpStream, pass: impl Fn(&mut Vec<u8>) -> bool) {
    let mut buffer = [0; 1 << 14];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let mut bytes = buffer[..count].to_vec();
        if !pass(&mut bytes) || to.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
