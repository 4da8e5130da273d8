//! The commands that a lock sends, packed once and shared by all nodes.

use std::{sync::Arc, time::Duration};

use redis::Cmd;

/// A command as it goes over the wire.
pub(super) type Packed = Arc<[u8]>;

/// Deletes the key if it still holds the token: `DEL` alone would free somebody else's lock.
const DELETE: &str = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";

/// Extends the key if it still holds the token; never creates it.
const EXTEND: &str =
    "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('pexpire',KEYS[1],ARGV[2]) else return 0 end";

/// `SET key token NX PX ttl`: `+OK` is a vote, nil means that the key is held.
pub(super) fn set(key: &str, token: &str, ttl: Duration) -> Packed {
    pack(
        redis::cmd("SET")
            .arg(key)
            .arg(token)
            .arg("NX")
            .arg("PX")
            .arg(millis(ttl)),
    )
}

/// Compare-and-delete: 1 if the key was deleted, 0 if it was gone or somebody else's.
pub(super) fn delete(key: &str, token: &str) -> Packed {
    pack(redis::cmd("EVAL").arg(DELETE).arg(1).arg(key).arg(token))
}

/// Compare-and-pexpire: 1 if the key was extended, 0 if it was gone or somebody else's.
pub(super) fn extend(key: &str, token: &str, ttl: Duration) -> Packed {
    pack(
        redis::cmd("EVAL")
            .arg(EXTEND)
            .arg(1)
            .arg(key)
            .arg(token)
            .arg(millis(ttl)),
    )
}

/// The time a key has left, in milliseconds: −2 without the key, −1 if it never expires.
pub(super) fn pttl(key: &str) -> Packed {
    pack(redis::cmd("PTTL").arg(key))
}

/// A TTL as nodes count it.
fn millis(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)
}

fn pack(command: &Cmd) -> Packed {
    command.get_packed_command().into()
}
