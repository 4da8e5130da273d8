//! Parses a node's replies: as much of RESP 2 as the commands on our connections can produce.

use std::str;

use crate::cause::Cause;

/// One reply of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// `+OK`.
    Ok,
    /// A number.
    Int(i64),
    /// Nothing: the key was there (`SET NX`).
    Nil,
    /// The node's error line.
    Error(String),
    /// Another text.
    Text(String),
    /// Bytes that are not UTF-8.
    Bytes(Vec<u8>),
    /// Several replies in one.
    Array(Vec<Self>),
}

/// The deepest nesting of arrays: the reply to `HELLO` contains an array of modules.
const MAX_DEPTH: usize = 4;

impl Reply {
    /// The cause that an unusable reply stands for.
    pub(crate) fn cause(self) -> Cause {
        match self {
            Self::Error(text) => Cause::of_error(text),
            _ => Cause::Error("unexpected reply".into()),
        }
    }
}

/// The bytes are not RESP, so the rest of the stream can't be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

impl Reply {
    /// The value of a field, in an array of names and values.
    #[must_use]
    pub fn field<'a>(fields: &'a [Self], name: &str) -> Option<&'a str> {
        fields.chunks_exact(2).find_map(|pair| match pair {
            [Self::Text(key), Self::Text(value)] if key == name => Some(value.as_str()),
            _ => None,
        })
    }

    /// The text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Ok => Some("OK"),
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes of a text, or those that are none.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => self.text().map(str::as_bytes),
        }
    }

    /// The number, if it is one or the text of one, and fits.
    #[must_use]
    pub fn number<T: TryFrom<i64>>(&self) -> Option<T> {
        let number = match self {
            Self::Int(number) => *number,
            _ => self.text()?.parse().ok()?,
        };
        number.try_into().ok()
    }

    /// The replies in it; none if it is no array.
    #[must_use]
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::Array(parts) => parts,
            _ => &[],
        }
    }

    /// The first reply in `bytes` and its length; `None` if it is incomplete.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Malformed> {
        // The most frequent replies, matched without a search for the end of the line.
        match bytes {
            [b'+', b'O', b'K', b'\r', b'\n', ..] => Ok(Some((Self::Ok, 5))),
            [b'$', b'-', b'1', b'\r', b'\n', ..] => Ok(Some((Self::Nil, 5))),
            [b':', digit @ b'0'..=b'9', b'\r', b'\n', ..] => Ok(Some((Self::Int(i64::from(digit - b'0')), 4))),
            _ => Self::parse_any(bytes, MAX_DEPTH),
        }
    }

    fn parse_any(bytes: &[u8], depth: usize) -> Result<Option<(Self, usize)>, Malformed> {
        let Some(end) = bytes.iter().position(|&byte| byte == b'\n') else {
            return Ok(None);
        };
        let line = bytes[..end].strip_suffix(b"\r").ok_or(Malformed)?;
        let (kind, line) = line.split_first().ok_or(Malformed)?;
        let length = end + 1;
        match kind {
            b'+' if line == b"OK" => Ok(Some((Self::Ok, length))),
            b'+' => Ok(Some((Self::Text(text(line)), length))),
            b'-' => Ok(Some((Self::Error(text(line)), length))),
            b':' => Ok(Some((Self::Int(number(line)?), length))),
            b'_' => Ok(Some((Self::Nil, length))),
            b'$' => match number(line)? {
                -1 => Ok(Some((Self::Nil, length))),
                size => {
                    let size = usize::try_from(size).map_err(|_| Malformed)?;
                    let total = size.checked_add(length + 2).ok_or(Malformed)?;
                    // After the line come the text and its CRLF.
                    let body = bytes.get(length..total);
                    Ok(body.map(|body| (Self::of(&body[..size]), total)))
                }
            },
            b'*' => Self::parse_array(bytes, number(line)?, length, depth.checked_sub(1).ok_or(Malformed)?),
            _ => Err(Malformed),
        }
    }

    fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Bytes(bytes.to_owned()),
        }
    }

    /// The `count` replies that begin at `start`.
    fn parse_array(bytes: &[u8], count: i64, start: usize, depth: usize) -> Result<Option<(Self, usize)>, Malformed> {
        if count == -1 {
            return Ok(Some((Self::Nil, start)));
        }
        let count = usize::try_from(count).map_err(|_| Malformed)?;
        let (mut replies, mut end) = (Vec::new(), start);
        for _ in 0..count {
            let Some((reply, length)) = Self::parse_any(&bytes[end..], depth)? else {
                return Ok(None);
            };
            replies.push(reply);
            end += length;
        }
        Ok(Some((Self::Array(replies), end)))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn number(line: &[u8]) -> Result<i64, Malformed> {
    str::from_utf8(line)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(Malformed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use redis::{Value, parse_redis_value};

    use super::*;

    fn reply() -> impl Strategy<Value = Vec<u8>> {
        scalar().prop_recursive(3, 12, 4, |inner| {
            prop::collection::vec(inner, 0..4).prop_map(|replies| {
                let head = format!("*{}\r\n", replies.len());
                [head.as_bytes(), &replies.concat()].concat()
            })
        })
    }

    fn scalar() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            Just(b"+OK\r\n".to_vec()),
            Just(b"$-1\r\n".to_vec()),
            any::<i64>().prop_map(|n| format!(":{n}\r\n").into_bytes()),
            "[A-Z]{1,8} [a-z ]{0,20}".prop_map(|text| format!("-{text}\r\n").into_bytes()),
            "[a-z\r\n]{0,20}".prop_map(|text| format!("${}\r\n{text}\r\n", text.len()).into_bytes()),
        ]
    }

    fn same(ours: &Reply, theirs: &Value) -> bool {
        match (ours, theirs) {
            (Reply::Ok, Value::Okay) | (Reply::Nil, Value::Nil) => true,
            (Reply::Text(ours), Value::BulkString(theirs)) => ours.as_bytes() == theirs,
            (Reply::Array(ours), Value::Array(theirs)) => {
                ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| same(a, b))
            }
            (Reply::Int(a), Value::Int(b)) => a == b,
            (Reply::Error(text), Value::ServerError(error)) => text.starts_with(error.code()),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn reads_what_the_redis_crate_reads(
            replies in prop::collection::vec(reply(), 1..8),
            cut in any::<prop::sample::Index>(),
        ) {
            let stream: Vec<u8> = replies.concat();
            let mut rest = &stream[..];
            for bytes in &replies {
                let (reply, length) = Reply::parse(rest).unwrap().unwrap();
                prop_assert_eq!(length, bytes.len());
                prop_assert!(same(&reply, &parse_redis_value(bytes).unwrap()));
                prop_assert_eq!(Reply::parse(&bytes[..cut.index(bytes.len())]), Ok(None));
                rest = &rest[length..];
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(Some((_, length))) = Reply::parse(&bytes) {
                prop_assert!(length <= bytes.len());
            }
        }
    }

    #[test]
    fn refuses_bytes_that_are_not_a_reply() {
        for bytes in [
            &b"HTTP/1.1 400 Bad Request\r\n"[..],
            b"\r\n",
            b":x\r\n",
            b"$-7\r\n",
            b"+OK\n",
        ] {
            assert_eq!(Reply::parse(bytes), Err(Malformed), "{bytes:?}");
        }
    }
}
