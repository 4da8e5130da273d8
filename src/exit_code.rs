//! The exit codes. The README has the same list.

use lockstorm_data::model::CheckResult;

/// An error: what was asked for could not be done.
pub const ERROR: u8 = 1;
/// Bad input, or more than this machine has; nothing was started.
pub const USAGE: u8 = 2;
/// A check failed: the answer is no.
pub const NO: u8 = 3;
/// Something has become worse than the baseline.
pub const REGRESSION: u8 = 4;
/// Nothing was shown, neither yes nor no.
pub const INCONCLUSIVE: u8 = 5;

/// The exit code of a result.
pub const fn of(result: CheckResult) -> u8 {
    match result {
        CheckResult::Held => 0,
        CheckResult::Failed => NO,
        CheckResult::Inconclusive => INCONCLUSIVE,
    }
}

/// What each means; those of signals are 128 and the signal's number.
const MEANINGS: [(u8, &str); 10] = [
    (
        0,
        "all expectations held (the console shows the result of each and exits with 0 in any case)",
    ),
    (
        ERROR,
        "an error, for example: no server program was found, a node did not start, a file could not be written \
         in the end, or nobody read an open output for 10 s",
    ),
    (
        USAGE,
        "wrong usage, bad input, a file that can't be read or written, or more than this machine has; nothing was started",
    ),
    (
        NO,
        "an expectation failed; of `plan`, `selftest`, `grade`, `client check`, `doctor`, `judge`, `record judge` and `lab status`: the answer is no",
    ),
    (
        REGRESSION,
        "of `compare --baseline`: a figure is shown to have become worse",
    ),
    (
        INCONCLUSIVE,
        "inconclusive: the cause of an expectation did not occur, the run was stopped early, too many requests failed, the machine was too \
         busy, or the run lost something it needs; of `compare`: times differ, but so does the machine; of `doctor`, `judge`, `plan --validate` \
         and `lab`: it can't be told",
    ),
    (
        129,
        "the terminal has gone, or SIGHUP came (under `nohup` SIGHUP stays ignored)",
    ),
    (130, "SIGINT: Ctrl-C, in the console too"),
    (131, "SIGQUIT: Ctrl-\\"),
    (143, "SIGTERM"),
];

/// The list for `--help`.
pub fn list() -> String {
    let lines = MEANINGS.map(|(code, meaning)| format!("\n  {code:<4} {meaning}"));
    format!("Exit codes:{}", lines.concat())
}

#[cfg(test)]
mod tests {
    use super::MEANINGS;

    #[test]
    fn the_readme_has_the_same_list() {
        let readme = include_str!("../README.md");
        let table = MEANINGS
            .map(|(code, meaning)| format!("| {code} | {meaning} |\n"))
            .concat();
        assert!(readme.contains(&format!("|---|---|\n{table}\n")), "{table}");
    }
}
