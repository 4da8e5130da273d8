//! Something between a client and a server that answers with an error of its own after the server has run a command.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
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
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let addr = listener.local_addr().expect("it is bound");
        let error = Arc::<Mutex<Option<String>>>::default();
        let told = Arc::clone(&error);
        let server = Arc::new(Mutex::new(server));
        let newest = Arc::clone(&server);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = *newest.lock().unwrap();
                let Ok(server) = TcpStream::connect(server) else {
                    continue;
                };
                let (to_server, from_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                thread::spawn(move || carry(from_client, to_server, |_| {}));
                let told = Arc::clone(&told);
                thread::spawn(move || carry(server, client, |bytes| replace(bytes, &told)));
            }
        });
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

fn carry(mut from: TcpStream, mut to: TcpStream, change: impl Fn(&mut Vec<u8>)) {
    let mut buffer = [0; 1 << 12];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let mut bytes = buffer[..count].to_vec();
        change(&mut bytes);
        if to.write_all(&bytes).is_err() {
            break;
        }
    }
    let _ = from.shutdown(std::net::Shutdown::Both);
    let _ = to.shutdown(std::net::Shutdown::Both);
}
