//! Finds which user listens on a port of this machine, from the kernel's socket table (Linux).

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::net::Ipv4Addr;

/// Checks, before a password is sent, that a process of this user listens on `port` of loopback. Where the kernel does not
/// say, the check passes.
pub(crate) fn check(port: u16) -> io::Result<()> {
    let (Ok(table), Some(we)) = (File::open("/proc/net/tcp"), effective_user()) else {
        return Ok(());
    };
    let owners = owners(BufReader::new(table), port);
    let why = match owners.iter().find(|&&owner| owner != we) {
        None if owners.is_empty() => format!("no process is known to listen on port {port}"),
        None => return Ok(()),
        Some(stranger) => format!("user {stranger} listens on port {port}; the password is not sent"),
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// The effective user of this process, who owns its sockets. It is read each time, since a process may change it.
fn effective_user() -> Option<u32> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    // The fields are the real user, the effective user, and two more.
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().nth(1)?.parse().ok()
}

/// The owners of the sockets that listen on `port`, on loopback or on all addresses. Linux writes the table as it is read, first the
/// sockets that listen. Once one is found, the connections behind them are not read: with tens of thousands that have ended
/// (`TIME_WAIT`) that takes so long that whoever connects to several nodes on one thread never gets to their answers.
fn owners(table: impl BufRead, port: u16) -> Vec<u32> {
    let local = [Ipv4Addr::LOCALHOST, Ipv4Addr::UNSPECIFIED]
        .map(|address| format!("{:08X}:{port:04X}", u32::from_ne_bytes(address.octets())));
    let mut owners = Vec::new();
    // Below the head.
    for line in table.lines().skip(1).map_while(Result::ok) {
        let fields: Vec<&str> = line.split_whitespace().take(8).collect();
        match fields.get(3) {
            Some(&LISTEN) if local.iter().any(|local| fields[1] == local) => {
                owners.extend(fields.get(7).and_then(|owner| owner.parse::<u32>().ok()));
            }
            // Old kernels have connections that are being opened among them.
            Some(&(LISTEN | OPENING)) => {}
            _ if owners.is_empty() => {}
            _ => break,
        }
    }
    owners
}

/// The state of a socket that accepts connections.
const LISTEN: &str = "0A";
/// The state of a connection that was asked for and is not open yet.
const OPENING: &str = "03";

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn listeners_are_distinguished_from_connections() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                     0: 0100007F:49AD 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 28354 1\n\
                     1: 0100007F:49AD 0100007F:8F2B 03 00000000:00000000 00:00000000 00000000  1003        0 0 1\n\
                     2: 00000000:07E8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 637 1\n\
                     3: 0100007F:49AE 0100007F:8F2C 01 00000000:00000000 00:00000000 00000000  1002        0 1 1\n";
        assert_eq!(owners(table.as_bytes(), 0x49AD), [1000]);
        assert_eq!(owners(table.as_bytes(), 0x07E8), [1001]);
        assert_eq!(owners(table.as_bytes(), 0x49AE), [0; 0]);
        assert_eq!(owners(&b""[..], 1), [0; 0]);
        // The connections, of which there may be very many, are not read.
        let more = io::Cursor::new(table).chain(io::BufReader::with_capacity(1, NeverRead));
        assert_eq!(owners(more, 0x49AD), [1000]);
        // A system with another order than Linux's.
        let mut lines: Vec<&str> = table.lines().collect();
        lines[1..].reverse();
        assert_eq!(owners(lines.join("\n").as_bytes(), 0x49AD), [1000]);
    }

    struct NeverRead;

    impl io::Read for NeverRead {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            panic!("the sockets that listen come first")
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn our_own_listener_is_known_and_a_free_port_has_none() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(check(port).is_ok());
        drop(listener);
        assert!(check(port).unwrap_err().to_string().contains("no process is known"));
    }
}
