//! The keeper as a program of its own, for those who use the lab without Lockstorm's program, which is its own keeper.

use std::process::ExitCode;

fn main() -> ExitCode {
    lockstorm_lab::keeper::main()
}
