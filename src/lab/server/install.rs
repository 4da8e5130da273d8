//! The command that installs a server on this system. `.ci/setup` runs the same ones.

use crate::server::programs::on_path;

/// A package manager's program, and the command that installs a server with it; `$` stands for `sudo` where that is
/// needed. Each command works on a fresh system: it updates the package lists, and installs Valkey where that has replaced
/// Redis.
const COMMANDS: [(&str, &str); 5] = [
    ("apt-get", "$apt-get update && $apt-get install -y redis-server"),
    ("dnf", "$dnf install -y valkey || $dnf install -y redis"),
    ("apk", "$apk add redis"),
    ("pacman", "$pacman -Sy --needed --noconfirm valkey"),
    ("brew", "brew install redis"),
];

/// Advice for a user without a server.
pub(crate) fn advice() -> String {
    let root = nix::unistd::geteuid().is_root();
    command(|program| on_path(program).is_some(), root).map_or_else(
        || "install Redis or Valkey, 6.2 or newer".to_owned(),
        |command| format!("install one with `{command}`"),
    )
}

fn command(available: impl Fn(&str) -> bool, root: bool) -> Option<String> {
    COMMANDS
        .iter()
        .find(|(program, _)| available(program))
        .map(|(_, command)| command.replace('$', if root { "" } else { "sudo " }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_fits_the_system_and_the_user() {
        let debian = |program: &str| program == "apt-get";
        assert_eq!(
            command(debian, false).as_deref(),
            Some("sudo apt-get update && sudo apt-get install -y redis-server")
        );
        assert_eq!(
            command(debian, true).as_deref(),
            Some("apt-get update && apt-get install -y redis-server")
        );
        assert_eq!(
            command(|program| program == "brew", false).as_deref(),
            Some("brew install redis")
        );
        assert_eq!(command(|_| false, false), None);
    }

    #[test]
    fn the_setup_script_knows_the_same_package_managers() {
        let script = include_str!("../../../.ci/setup");
        for (program, _) in COMMANDS {
            assert!(script.contains(program), "{program}");
        }
    }
}
