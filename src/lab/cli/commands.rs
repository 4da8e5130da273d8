//! The commands in the bytes that a client sends.

/// A command: its name and its arguments.
pub(super) type Words = Vec<Vec<u8>>;

/// Takes the commands out of what a client sends, in pieces of any size.
#[derive(Debug, Default)]
pub(super) struct Commands {
    unread: Vec<u8>,
}

impl Commands {
    /// The commands that end in these bytes, which follow those of the last call.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Words> {
        self.unread.extend_from_slice(bytes);
        let (mut all, mut read) = (Vec::new(), 0);
        while let Some((words, length)) = command(&self.unread[read..]) {
            read += length;
            if !words.is_empty() {
                all.push(words);
            }
        }
        self.unread.drain(..read);
        all
    }
}

/// The first command and its length; `None` if it is incomplete.
fn command(bytes: &[u8]) -> Option<(Words, usize)> {
    let (line, mut read) = line(bytes)?;
    let Some(count) = number(line, b'*') else {
        // As people type it into a plain connection.
        let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        return Some((words.map(<[u8]>::to_vec).collect(), read));
    };
    let mut words = Vec::new();
    for _ in 0..count {
        let (line, length) = self::line(bytes.get(read..)?)?;
        read += length;
        // A server closes a connection on which something else comes.
        let size = number(line, b'$').unwrap_or(0);
        let end = read.checked_add(size)?;
        words.push(bytes.get(read..end)?.to_vec());
        // Its line ends behind it.
        read = end + 2;
    }
    (read <= bytes.len()).then_some((words, read))
}

/// The first line without its end, and its length with it.
fn line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    Some((bytes[..end].trim_ascii_end(), end + 1))
}

/// The number behind this mark.
fn number(line: &[u8], mark: u8) -> Option<usize> {
    let digits = line.strip_prefix(&[mark])?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_however_their_bytes_come() {
        let sent = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\n\r\nv \r\n*1\r\n$4\r\nPING\r\nDEL a  b\r\n\r\n*2\r\n$3\r\nGET\r\n$0\r\n\r\n";
        let wanted: Vec<Words> = [&["SET", "k", "\r\nv "][..], &["PING"], &["DEL", "a", "b"], &["GET", ""]]
            .iter()
            .map(|words| words.iter().map(|word| word.as_bytes().to_vec()).collect())
            .collect();
        for size in 1..=sent.len() {
            let mut commands = Commands::default();
            let found: Vec<Words> = sent.chunks(size).flat_map(|piece| commands.take(piece)).collect();
            assert_eq!(found, wanted, "in pieces of {size}");
        }
        // Nothing of the kind makes it panic.
        for odd in [
            &b"*2\r\n$x\r\n"[..],
            b"*99999999999999999999\r\n",
            b"*1\r\n$18446744073709551615\r\n",
        ] {
            Commands::default().take(odd);
        }
    }
}
