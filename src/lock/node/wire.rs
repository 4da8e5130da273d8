//! The wire format of the commands that a lock sends.
//!
//! Key, token and TTL are packed once for each attempt; each command is made of these and of constant pieces. Tests compare
//! the packing and the hashes of the scripts with those of the `redis` crate.

use std::ops::Range;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// The prefix of the channel on which a released lock is announced; the key follows it.
pub(crate) const CHANNEL_PREFIX: &str = "lockstorm:released:";

/// A script that nodes keep under its hash.
pub(crate) struct Lua {
    pub(crate) body: &'static str,
    /// The packed call by hash, from `*n` up to the key.
    by_hash: Vec<u8>,
    /// The packed call with the whole script, from `*n` up to the key.
    spelled_out: Vec<u8>,
}

impl Lua {
    /// A script with one key and a number of further `arguments`. `hash` is the SHA-1 of its body in hexadecimal, by which nodes
    /// know it; a test checks it.
    fn new(body: &'static str, hash: &'static str, arguments: usize) -> Self {
        let head = |command: &str, script: &str| {
            let mut out = Vec::new();
            array(&mut out, arguments + 4);
            for part in [command, script, "1"] {
                bulk(&mut out, part.as_bytes());
            }
            out
        };
        Self {
            body,
            by_hash: head("EVALSHA", hash),
            spelled_out: head("EVAL", body),
        }
    }

    fn head(&self, spelled_out: bool) -> &[u8] {
        if spelled_out { &self.spelled_out } else { &self.by_hash }
    }
}

/// Deletes the key if it still holds the token: `DEL` alone would free somebody else's lock.
pub(crate) static DELETE: LazyLock<Lua> = LazyLock::new(|| {
    Lua::new(
        "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0",
        "fab5aabdaac7aab1eaa85bbed1724dee07d7744a",
        1,
    )
});

/// Deletes the key if it still holds the token, and announces the release to those who wait for the key. The reply is 1 plus the
/// number of subscribers that got the message, or 0 if nothing was deleted. If the user may not publish, the key is deleted all
/// the same.
pub(crate) static RELEASE: LazyLock<Lua> = LazyLock::new(|| {
    Lua::new(
        "if redis.call('get',KEYS[1])~=ARGV[1] then return 0 end redis.call('del',KEYS[1]) \
         local told=redis.pcall('publish','lockstorm:released:'..KEYS[1],ARGV[1]) \
         return type(told)=='number' and told+1 or 1",
        "abee5464864940c40f2bb780146804354f1828a8",
        1,
    )
});

/// Extends the key if it still holds the token; never creates it, and never shortens its time.
pub(crate) static EXTEND: LazyLock<Lua> = LazyLock::new(|| {
    Lua::new(
        "if redis.call('get',KEYS[1])~=ARGV[1] then return 0 end \
         if redis.call('pttl',KEYS[1])>tonumber(ARGV[2]) then return 1 end \
         return redis.call('pexpire',KEYS[1],ARGV[2])",
        "f3d3c7c7fe6973e135737215694ea85ec8c28d66",
        2,
    )
});

/// A node's own command to compare and delete, without a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Native {
    /// Valkey 9: `DELIFEQ key token`.
    DelIfEq,
    /// Redis 8.4: `DELEX key IFEQ token`.
    DelEx,
}

/// Key, token and TTL of one attempt, packed.
#[derive(Debug)]
pub(crate) struct Wire {
    /// The whole `SET`, which contains the parts of the other commands.
    set: Box<[u8]>,
    key: Range<usize>,
    token: Range<usize>,
    ttl: Range<usize>,
}

impl Wire {
    pub(crate) fn new(key: &[u8], token: &Token, ttl: Duration) -> Self {
        // The fixed parts take 33 bytes, the numbers not more than 40.
        let mut set = Vec::with_capacity(key.len() + TOKEN_LENGTH + 80);
        set.extend_from_slice(b"*6\r\n$3\r\nSET\r\n");
        let key = bulk(&mut set, key);
        let token = bulk(&mut set, token);
        set.extend_from_slice(b"$2\r\nPX\r\n");
        let ttl = millis(&mut set, ttl);
        set.extend_from_slice(b"$2\r\nNX\r\n");
        Self {
            set: set.into(),
            key,
            token,
            ttl,
        }
    }

    /// `SET key token PX ttl NX`: `+OK` is a vote, nil means that the key is held.
    pub(crate) fn set(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.set);
    }

    /// Compare-and-delete by a script. The reply is at least 1 if the key was deleted, and 0 if it was gone or somebody
    /// else's.
    pub(crate) fn delete(&self, out: &mut Vec<u8>, script: &Lua, spelled_out: bool) {
        out.extend_from_slice(script.head(spelled_out));
        out.extend_from_slice(&self.set[self.key.start..self.token.end]);
    }

    /// Compare-and-delete by the node's own command. The reply is 1 if the key was deleted, and 0 if it was gone or somebody
    /// else's.
    pub(crate) fn delete_natively(&self, out: &mut Vec<u8>, native: Native) {
        match native {
            Native::DelIfEq => {
                out.extend_from_slice(b"*3\r\n$7\r\nDELIFEQ\r\n");
                out.extend_from_slice(&self.set[self.key.start..self.token.end]);
            }
            Native::DelEx => {
                out.extend_from_slice(b"*4\r\n$5\r\nDELEX\r\n");
                out.extend_from_slice(&self.set[self.key.clone()]);
                out.extend_from_slice(b"$4\r\nIFEQ\r\n");
                out.extend_from_slice(&self.set[self.token.clone()]);
            }
        }
    }

    /// Compare-and-pexpire, by the attempt's TTL or by another one. The reply is 1 if the key was extended, and 0 if it was gone
    /// or somebody else's.
    pub(crate) fn extend(&self, out: &mut Vec<u8>, spelled_out: bool, ttl: Option<Duration>) {
        out.extend_from_slice(EXTEND.head(spelled_out));
        out.extend_from_slice(&self.set[self.key.start..self.token.end]);
        match ttl {
            Some(ttl) => drop(millis(out, ttl)),
            None => out.extend_from_slice(&self.set[self.ttl.clone()]),
        }
    }

    /// The key as it was packed.
    pub(crate) fn key(&self) -> &[u8] {
        let packed = &self.set[self.key.clone()];
        let start = packed.iter().position(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        &packed[start..packed.len() - 2]
    }

    /// The token as it was packed.
    pub(crate) fn token(&self) -> &str {
        let end = self.token.end - 2;
        // A token is made of hexadecimal digits.
        std::str::from_utf8(&self.set[end - TOKEN_LENGTH..end]).unwrap_or_default()
    }
}

/// A packed command, shared by all nodes that are asked the same question.
#[derive(Debug, Clone)]
pub(crate) struct Packed {
    bytes: Arc<[u8]>,
    /// Where its key is, if it has one.
    key: Option<Range<usize>>,
}

impl Packed {
    /// Packs words; the one at this position is the key.
    fn keyed(words: &[&[u8]], key: usize) -> Self {
        let mut bytes = Vec::new();
        array(&mut bytes, words.len());
        let packed: Vec<_> = words.iter().map(|word| bulk(&mut bytes, word)).collect();
        let end = packed[key].end - "\r\n".len();
        Self {
            key: Some(end - words[key].len()..end),
            bytes: bytes.into(),
        }
    }

    /// The whole command.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The key that it is about.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        Some(&self.bytes[self.key.clone()?])
    }
}

/// Has a node of a cluster run the command behind it although it does not have the key's slot yet.
pub(crate) const ASKING: &[u8] = b"*1\r\n$6\r\nASKING\r\n";

/// Packs a command and its arguments.
pub(crate) fn pack<W: AsRef<[u8]>>(words: &[W]) -> Vec<u8> {
    let mut out = Vec::new();
    array(&mut out, words.len());
    for word in words {
        bulk(&mut out, word.as_ref());
    }
    out
}

/// Asks for a key's remaining time. The reply is in milliseconds: −2 if there is no such key, −1 if it never expires.
pub(crate) fn pttl(key: &[u8]) -> Packed {
    Packed::keyed(&[b"PTTL", key], 1)
}

/// A question that every node answers, after everything that was sent before it, whatever keys the user may use.
pub(crate) fn barrier() -> Packed {
    Packed {
        bytes: pack(&["PING"]).into(),
        key: None,
    }
}

/// Waits until so many replicas have what this connection has written, but no longer than `timeout`, in whole milliseconds.
/// The reply is the number of replicas.
pub(crate) fn wait(replicas: u32, timeout: Duration) -> Vec<u8> {
    pack(&["WAIT", &replicas.to_string(), &timeout.as_millis().to_string()])
}

/// Publishes a message to all who wait for the key.
pub(crate) fn publish(key: &[u8], message: &str) -> Packed {
    // Any node of a cluster would do; the key's node is as good.
    Packed::keyed(&[b"PUBLISH", &channel(key), message.as_bytes()], 1)
}

/// `SUBSCRIBE` or `UNSUBSCRIBE` for the channels of these keys.
pub(crate) fn subscription(command: &str, keys: &[Arc<[u8]>]) -> Vec<u8> {
    let channels = keys.iter().map(|key| channel(key));
    pack(&std::iter::once(command.into()).chain(channels).collect::<Vec<_>>())
}

fn channel(key: &[u8]) -> Vec<u8> {
    [CHANNEL_PREFIX.as_bytes(), key].concat()
}

/// Sets the key to the number if the key holds a lower one or does not exist. Replies with the number, or else with the
/// negated number that the key holds.
const PROPOSE: &str = "local has=tonumber(redis.call('get',KEYS[1]) or '0') \
     if has<tonumber(ARGV[1]) then redis.call('set',KEYS[1],ARGV[1]) return tonumber(ARGV[1]) end return -has";

/// Proposes a number to a counter.
pub(crate) fn propose(key: &[u8], number: u64) -> Packed {
    let number = number.to_string();
    Packed::keyed(&[b"EVAL", PROPOSE.as_bytes(), b"1", key, number.as_bytes()], 3)
}

/// The length of a token.
pub(crate) const TOKEN_LENGTH: usize = 32;

/// Identifies one attempt as the owner of a key: 128 random bits in hexadecimal.
pub(crate) type Token = [u8; TOKEN_LENGTH];

/// A new token.
pub(crate) fn token() -> Token {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut rest = rand::random::<u128>();
    std::array::from_fn(|_| {
        let digit = DIGITS[(rest & 15) as usize];
        rest >>= 4;
        digit
    })
}

fn array(out: &mut Vec<u8>, length: usize) {
    line(out, b"*", length as u64);
}

/// Appends a bulk string, and returns its position.
fn bulk(out: &mut Vec<u8>, bytes: &[u8]) -> Range<usize> {
    let start = out.len();
    line(out, b"$", bytes.len() as u64);
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
    start..out.len()
}

/// Appends a duration in milliseconds as a bulk string, and returns its position.
fn millis(out: &mut Vec<u8>, duration: Duration) -> Range<usize> {
    number(out, u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// Appends a number as a bulk string, and returns its position.
fn number(out: &mut Vec<u8>, number: u64) -> Range<usize> {
    let start = out.len();
    line(out, b"$", u64::from(number.checked_ilog10().unwrap_or(0)) + 1);
    line(out, b"", number);
    start..out.len()
}

/// Appends a line with a number. Written by `write!` these lines took a fifteenth of the instructions of a cycle.
fn line(out: &mut Vec<u8>, kind: &[u8], number: u64) {
    out.extend_from_slice(kind);
    let start = out.len();
    let mut rest = number;
    loop {
        // A digit is below 10.
        out.push(b'0' + (rest % 10) as u8);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out[start..].reverse();
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use redis::{Script, cmd};

    use super::*;

    fn packed(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out);
        out
    }

    proptest! {
        #[test]
        fn packs_as_the_redis_crate_packs(key in prop::collection::vec(any::<u8>(), 0..40), ttl in 1u64..1 << 50) {
            let token = token();
            let wire = Wire::new(&key, &token, Duration::from_millis(ttl));
            prop_assert_eq!((wire.key(), wire.token().as_bytes()), (&key[..], &token[..]));
            let (key, token) = (&key[..], &token[..]);
            let set = cmd("SET").arg(key).arg(token).arg("PX").arg(ttl).arg("NX").get_packed_command();
            prop_assert_eq!(packed(|out| wire.set(out)), set);
            for script in [&*DELETE, &*RELEASE] {
                let by_hash = cmd("EVALSHA").arg(Script::new(script.body).get_hash()).arg(1).arg(key).arg(token).get_packed_command();
                prop_assert_eq!(packed(|out| wire.delete(out, script, false)), by_hash);
                let spelled_out = cmd("EVAL").arg(script.body).arg(1).arg(key).arg(token).get_packed_command();
                prop_assert_eq!(packed(|out| wire.delete(out, script, true)), spelled_out);
            }
            let extend = cmd("EVAL").arg(EXTEND.body).arg(1).arg(key).arg(token).arg(ttl).get_packed_command();
            prop_assert_eq!(packed(|out| wire.extend(out, true, None)), extend);
            let longer = cmd("EVAL").arg(EXTEND.body).arg(1).arg(key).arg(token).arg(ttl + 1).get_packed_command();
            let other = Some(Duration::from_millis(ttl + 1));
            prop_assert_eq!(packed(|out| wire.extend(out, true, other)), longer);
            let delifeq = cmd("DELIFEQ").arg(key).arg(token).get_packed_command();
            prop_assert_eq!(packed(|out| wire.delete_natively(out, Native::DelIfEq)), delifeq);
            let delex = cmd("DELEX").arg(key).arg("IFEQ").arg(token).get_packed_command();
            prop_assert_eq!(packed(|out| wire.delete_natively(out, Native::DelEx)), delex);
        }
    }

    proptest! {
        #[test]
        fn packs_other_commands_as_the_redis_crate_packs(words in prop::collection::vec(".{0,40}", 1..6), number: u64) {
            let ours: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
            prop_assert_eq!(pack(&ours), cmd(&words[0]).arg(&words[1..]).get_packed_command());
            let keys: Vec<Arc<[u8]>> = ours.iter().map(|&word| word.into()).collect();
            let channels: Vec<String> = words.iter().map(|word| format!("lockstorm:released:{word}")).collect();
            let subscribe = cmd("SUBSCRIBE").arg(&channels).get_packed_command();
            prop_assert_eq!(subscription("SUBSCRIBE", &keys), subscribe);
            let proposal = cmd("EVAL").arg(PROPOSE).arg(1).arg(ours[0]).arg(number).get_packed_command();
            let (key, ours_packed) = (Some(ours[0]), propose(ours[0], number));
            prop_assert_eq!((ours_packed.bytes(), ours_packed.key()), (&proposal[..], key));
            let question = pttl(ours[0]);
            prop_assert_eq!(question.key(), key);
            let replicas = (number >> 32).try_into().unwrap();
            let wait_command = cmd("WAIT").arg(replicas).arg(250).get_packed_command();
            prop_assert_eq!(wait(replicas, Duration::from_micros(250_900)), wait_command);
            let publish_command = cmd("PUBLISH").arg(&channels[0]).arg(ours[0]).get_packed_command();
            let published = publish(ours[0], &words[0]);
            let channel = Some(channels[0].as_bytes());
            prop_assert_eq!((published.bytes(), published.key()), (&publish_command[..], channel));
        }
    }

    #[test]
    fn the_hashes_are_those_of_the_scripts() {
        for script in [&*DELETE, &*RELEASE, &*EXTEND] {
            let hash = Script::new(script.body).get_hash().to_owned();
            let by_hash = String::from_utf8_lossy(&script.by_hash);
            assert!(by_hash.contains(&hash), "{hash} is not in {by_hash}: {}", script.body);
        }
    }

    #[test]
    fn a_release_is_announced_on_the_channel_of_its_key() {
        assert!(RELEASE.body.contains(&format!("'{CHANNEL_PREFIX}'..KEYS[1]")));
    }

    #[test]
    fn a_barrier_asks_of_no_key_and_asking_is_packed() {
        assert_eq!((barrier().bytes(), barrier().key()), (&pack(&["PING"])[..], None));
        assert_eq!(ASKING, pack(&["ASKING"]));
    }

    #[test]
    fn tokens_differ() {
        assert_ne!(token(), token());
    }
}
