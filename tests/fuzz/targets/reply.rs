//! The bytes that a node sends: replies, and messages that other app servers publish.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lockstorm_lock::fuzzing;

fuzz_target!(|bytes: &[u8]| {
    let whole = fuzzing::reply(bytes);
    if let Ok(Some((_, length))) = &whole {
        assert!((1..=bytes.len()).contains(length), "{length} of {} bytes", bytes.len());
        assert_eq!(fuzzing::reply(&bytes[..*length]), whole, "without what follows");
    }
    // Cut in two at any point, it gives the same result.
    let end = match &whole {
        Ok(Some((_, length))) => *length,
        _ => bytes.len(),
    };
    for cut in 0..end {
        match fuzzing::reply(&bytes[..cut]) {
            Ok(None) => {}
            Err(()) => assert_eq!(whole, Err(()), "malformed after {cut} bytes"),
            Ok(Some(reply)) => panic!("{reply:?} after {cut} bytes, {whole:?} in all"),
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        fuzzing::announcement(text);
    }
});
