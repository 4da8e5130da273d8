//! `.ci/setup` with every package manager that it knows, on systems made of shell scripts.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

/// A directory that is the whole PATH of a fake system.
struct System(tempfile::TempDir);

impl System {
    /// Contains a shell's helpers, cargo, cc and a user with this id.
    fn new(user: u32) -> Self {
        let system = Self(tempfile::tempdir().expect("a directory"));
        for tool in ["sh", "env", "cat", "touch", "chmod"] {
            let found = ["/usr/bin", "/bin"]
                .map(|bin| Path::new(bin).join(tool))
                .into_iter()
                .find(|path| path.exists());
            symlink(found.expect(tool), system.path().join(tool)).expect("linked");
        }
        system
            .with("cargo", "")
            .with("cc", "")
            .with("id", &format!("echo {user}"))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Adds a program that is a script.
    fn with(self, program: &str, body: &str) -> Self {
        let path = self.path().join(program);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
        self
    }

    /// Adds a package manager that logs its calls. When it is told to install `package`, it installs `server`.
    fn with_manager(self, program: &str, package: &str, server: &str) -> Self {
        let dir = self.path().display().to_string();
        let body = format!(
            "echo \"{program} $*\" >> {dir}/calls\ncase \"$*\" in *\" {package}\") touch {dir}/{server}; chmod +x {dir}/{server};; \
             *update*) ;; *) exit 1;; esac"
        );
        self.with(program, &body)
    }

    fn without(self, program: &str) -> Self {
        fs::remove_file(self.path().join(program)).expect("removed");
        self
    }

    /// Runs the script. Returns whether it succeeded, its output, and the calls of package managers.
    fn set_up(&self) -> (bool, String, String) {
        let output = Command::new("/bin/sh")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/.ci/setup"))
            .env_clear()
            .env("PATH", self.path())
            .output()
            .expect("it runs");
        let calls = fs::read_to_string(self.path().join("calls")).unwrap_or_default();
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
            calls,
        )
    }
}

const SUDO: &str = "echo \"sudo $*\" >> \"${0%/*}/sudo-calls\"; exec \"$@\"";

#[test]
fn a_system_with_a_server_is_left_alone() {
    for server in ["redis-server", "valkey-server"] {
        let system = System::new(1000)
            .with(server, "")
            .with_manager("apt-get", "redis-server", "redis-server");
        assert_eq!(system.set_up(), (true, String::new(), String::new()));
    }
}

#[test]
fn each_package_manager_installs_a_server() {
    let all = [
        (
            "apt-get",
            "redis-server",
            "apt-get update\napt-get install -y --no-install-recommends redis-server\n",
        ),
        ("dnf", "valkey", "dnf install -y valkey\n"),
        ("dnf", "redis", "dnf install -y valkey\ndnf install -y redis\n"),
        ("apk", "redis", "apk add redis\n"),
        ("pacman", "valkey", "pacman -Sy --needed --noconfirm valkey\n"),
        ("brew", "redis", "brew install redis\n"),
    ];
    for (manager, package, expected) in all {
        for user in [0, 1000] {
            let server = if package == "valkey" {
                "valkey-server"
            } else {
                "redis-server"
            };
            let system = System::new(user)
                .with("sudo", SUDO)
                .with_manager(manager, package, server);
            let (content, said, calls) = system.set_up();
            assert!(content, "{manager}: {said}");
            assert_eq!(calls, expected, "{said}");
            assert!(
                said.contains("neither redis-server nor valkey-server is here"),
                "{said}"
            );
            let sudo = system.path().join("sudo-calls").exists();
            assert_eq!(sudo, user != 0 && manager != "brew", "{manager} as user {user}");
            let again = system.set_up();
            assert_eq!(
                (again.0, again.1.as_str(), again.2.as_str()),
                (true, "", expected),
                "a second time does nothing"
            );
        }
    }
}

#[test]
fn missing_programs_are_named() {
    let fails = |system: &System, why: &str| {
        let (content, said, _) = system.set_up();
        assert!(!content);
        let last = said.lines().last().unwrap_or_default();
        assert!(last.starts_with("setup: ") && last.contains(why), "{said}");
    };
    fails(
        &System::new(0).without("cargo"),
        "no cargo here; install Rust from https://rustup.rs",
    );
    fails(&System::new(0).without("cc"), "no C compiler (cc) here");
    fails(&System::new(0), "install Redis or Valkey, 6.2 or newer");
    fails(
        &System::new(1000).with_manager("apk", "redis", "redis-server"),
        "no sudo here; run this as root",
    );
    fails(
        &System::new(0).with("apk", ""),
        "the package is installed, but there is no redis-server",
    );
}
