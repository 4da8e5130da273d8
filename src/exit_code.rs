//! The exit codes, besides 0 and those of signals (128 and the signal's number). The README has them for users.

/// An error: what was asked for could not be done.
pub const ERROR: u8 = 1;
/// Bad input, or more than this machine has; nothing was started.
pub const USAGE: u8 = 2;
/// The answer is no: an expectation failed, no setting fits, a server is unfit, no lab is kept.
pub const NO: u8 = 3;
/// Nothing was shown, neither yes nor no.
pub const INCONCLUSIVE: u8 = 5;
