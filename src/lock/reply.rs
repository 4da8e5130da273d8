//! The replies of a node, in as much of RESP as the lock's four commands can produce.

use std::str;

/// One reply. Texts other than errors are never needed, so they are skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reply {
    /// `+OK`.
    Ok,
    /// A number.
    Int(i64),
    /// Nothing: the key was there (`SET NX`).
    Nil,
    /// The node's error line.
    Error(String),
    /// A text.
    Text,
}

/// The node speaks something else than RESP; what follows can't be told apart any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

impl Reply {
    /// The first reply in `bytes` and its length; none if it has not arrived completely.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Malformed> {
        let Some(end) = bytes.iter().position(|&byte| byte == b'\n') else {
            return Ok(None);
        };
        let line = bytes[..end].strip_suffix(b"\r").ok_or(Malformed)?;
        let (kind, line) = line.split_first().ok_or(Malformed)?;
        let length = end + 1;
        match kind {
            b'+' if line == b"OK" => Ok(Some((Self::Ok, length))),
            b'+' => Ok(Some((Self::Text, length))),
            b'-' => Ok(Some((Self::Error(String::from_utf8_lossy(line).into_owned()), length))),
            b':' => Ok(Some((Self::Int(number(line)?), length))),
            b'_' => Ok(Some((Self::Nil, length))),
            b'$' => match number(line)? {
                -1 => Ok(Some((Self::Nil, length))),
                size => {
                    let size = usize::try_from(size).map_err(|_| Malformed)?;
                    let total = size.checked_add(length + 2).ok_or(Malformed)?;
                    Ok((bytes.len() >= total).then_some((Self::Text, total)))
                }
            },
            _ => Err(Malformed),
        }
    }
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
            (Reply::Ok, Value::Okay) | (Reply::Nil, Value::Nil) | (Reply::Text, Value::BulkString(_)) => true,
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
    fn refuses_what_is_no_reply() {
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
