//! The slot of a key, by which a cluster divides keys among its masters.

/// The number of slots of a cluster.
pub(crate) const SLOTS: u16 = 16_384;

/// The CRC of each byte: CRC-16/XMODEM, with the polynomial 0x1021.
const CRC: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte: u16 = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte << 8, 0);
        while bit < 8 {
            crc = if crc & 0x8000 == 0 {
                crc << 1
            } else {
                (crc << 1) ^ 0x1021
            };
            bit += 1;
        }
        table[byte as usize] = crc;
        byte += 1;
    }
    table
};

/// The slot of a key. If the key has a `{` with a `}` behind it and something in between, what is between the first ones
/// decides alone.
pub(crate) fn slot(key: &[u8]) -> u16 {
    let crc = |crc: u16, byte: &u8| (crc << 8) ^ CRC[usize::from((crc >> 8) as u8 ^ byte)];
    tag(key).unwrap_or(key).iter().fold(0, crc) % SLOTS
}

fn tag(key: &[u8]) -> Option<&[u8]> {
    let behind = &key[key.iter().position(|&byte| byte == b'{')? + 1..];
    let length = behind.iter().position(|&byte| byte == b'}')?;
    (length > 0).then(|| &behind[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(slot(b"123456789"), 0x31c3 % SLOTS);
        assert_eq!((slot(b""), slot(b"foo"), slot(b"somekey")), (0, 12_182, 11_058));
        for (same, other) in [
            ("{user1000}.following", "{user1000}.followers"),
            ("foo{bar}{zap}", "bar"),
            ("foo{{bar}}zap", "{bar"),
        ] {
            assert_eq!(slot(same.as_bytes()), slot(other.as_bytes()), "{same} {other}");
        }
        for whole in ["foo{}{bar}", "{", "}{", "a{b"] {
            assert_eq!(tag(whole.as_bytes()), None, "{whole}");
        }
    }
}
