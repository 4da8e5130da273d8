use std::process::ExitCode;

use lockstorm::lab::keeper;

fn main() -> ExitCode {
    // Hidden, and before everything else: the keeper must not be more than it needs to be.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|argument| argument == keeper::ARGUMENT)
    {
        return keeper::main();
    }
    ExitCode::SUCCESS
}
