//! The text of a scenario and, after a line of four dashes, `--set` flags, one per line.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use lockstorm_data::model::printable;
use lockstorm_data::scenario::{Overrides, Source, parse, warnings};

/// The most characters of an error message, no matter what is in the file.
const LINE: usize = 2_000;

fuzz_target!(|input: &str| -> Corpus {
    let (text, flags) = input.split_once("\n----\n").unwrap_or((input, ""));
    let overrides = Overrides {
        set: flags.lines().take(20).map(str::to_owned).collect(),
        ..Overrides::default()
    };
    let source = |text: &str| Source {
        name: "fuzzed.toml".to_owned(),
        text: text.to_owned(),
    };
    match parse(&source(text), &overrides) {
        Ok(mut scenario) => {
            let written = scenario.to_toml();
            // The database's password is not written, and neither is the comment, which may quote one.
            scenario.about.clear();
            let shown = scenario.database.url.to_string();
            scenario.database.url = shown.parse().expect("what is shown of a URL is one");
            match parse(&source(&written), &Overrides::default()) {
                Ok(read) => assert_eq!(read, scenario, "it is written as\n{written}"),
                Err(errors) => panic!("what was written is not read: {errors}\n{written}"),
            }
            for warning in warnings(&scenario) {
                assert_eq!(printable(&warning), warning, "a warning is one line");
            }
        }
        Err(errors) => {
            assert!(!errors.0.is_empty(), "no scenario, and nothing is wrong with it");
            // A key can be wrong in itself and beside others, no more.
            let keys = 2 * (text.len() + flags.len()) + 20;
            assert!(errors.0.len() <= keys, "{} mistakes", errors.0.len());
            for error in &errors.0 {
                let line = error.to_string();
                assert_eq!(printable(&line), line, "a mistake is one line");
                assert!(line.chars().count() <= LINE, "a line of {}: {line}", line.len());
            }
        }
    }
    Corpus::Keep
});
