//! A plain connection for measurements: what is written on it goes out at once, from an address of our choice.

use std::io;
use std::net::Ipv4Addr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use lockstorm_lock::NodeAddress;

/// A connection to a node.
#[derive(Debug)]
pub(super) struct Wire {
    stream: TcpStream,
    unread: String,
}

impl Wire {
    /// Connects to a node, from this address if one is given, and identifies with its password.
    pub(super) async fn open(node: &NodeAddress, from: Option<Ipv4Addr>) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        if let Some(from) = from {
            socket.bind((from, 0).into())?;
        }
        let address = format!("{}:{}", node.host(), node.port()).parse();
        let stream = socket.connect(address.map_err(io::Error::other)?).await?;
        node.check()?;
        stream.set_nodelay(true)?;
        let mut wire = Self {
            stream,
            unread: String::new(),
        };
        if let Some((_, password)) = node.credentials() {
            // The password of a lab consists of letters and digits.
            wire.say(&format!("AUTH {password}")).await?;
            wire.hear("+OK\r\n").await?;
        }
        Ok(wire)
    }

    /// Sends a command.
    pub(super) async fn say(&mut self, command: &str) -> io::Result<()> {
        self.stream.write_all(format!("{command}\r\n").as_bytes()).await
    }

    /// Waits for these words. What came before them is lost.
    pub(super) async fn hear(&mut self, words: &str) -> io::Result<()> {
        loop {
            if let Some(at) = self.unread.find(words) {
                self.unread.drain(..at + words.len());
                return Ok(());
            }
            let mut bytes = [0; 1024];
            let length = self.stream.read(&mut bytes).await?;
            if length == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.unread.push_str(&String::from_utf8_lossy(&bytes[..length]));
        }
    }

    /// Waits for the answer to one command that is a number.
    pub(super) async fn hear_number(&mut self) -> io::Result<u64> {
        self.hear(":").await?;
        loop {
            if let Some((number, rest)) = self.unread.split_once("\r\n") {
                let (number, rest) = (number.parse(), rest.to_owned());
                self.unread = rest;
                return number.map_err(io::Error::other);
            }
            let mut bytes = [0; 64];
            let length = self.stream.read(&mut bytes).await?;
            if length == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.unread.push_str(&String::from_utf8_lossy(&bytes[..length]));
        }
    }
}
