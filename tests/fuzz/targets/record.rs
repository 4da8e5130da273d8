//! The bytes of a record file.
#![no_main]

use std::fs;
use std::sync::OnceLock;

use libfuzzer_sys::{Corpus, fuzz_target};
use lockstorm::report::{Paint, RecordFile, render};
use tempfile::TempDir;

/// The directory of the files. It is in memory, because there are thousands of files a second.
fn place() -> &'static TempDir {
    static PLACE: OnceLock<TempDir> = OnceLock::new();
    PLACE.get_or_init(|| TempDir::with_prefix_in("lockstorm-fuzz-", "/dev/shm").expect("a directory in memory"))
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let path = place().path().join("in.json");
    fs::write(&path, bytes).expect("a writable place");
    match RecordFile::read(&path) {
        Err(error) => {
            let said = error.to_string();
            assert_eq!(said.lines().count(), 1, "one line: {said}");
            assert!(said.chars().count() <= 2_000, "{} characters: {said}", said.len());
            Corpus::Keep
        }
        Ok(record) => {
            // Any figures can be shown.
            let _ = render(&record, Paint::Off);
            let again = place().path().join("out.json");
            let file = RecordFile::check(&again).expect("a writable place");
            file.write(&record).expect("a writable place");
            let read = RecordFile::read(&again).expect("what was written is read");
            let [first, second] = [&record, &read].map(|one| serde_json::to_value(one).expect("a record is JSON"));
            assert_eq!(first, second);
            Corpus::Keep
        }
    }
});
