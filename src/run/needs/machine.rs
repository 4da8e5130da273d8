use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::statvfs::statvfs;
use nix::unistd::geteuid;

use super::cost;
use super::estimate::Needs;

/// What this machine has available for a run now. What is not known is `None`, and not compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Machine {
    /// How many files one process can open (the hard limit).
    pub files: Option<u64>,
    /// How many more threads can be started.
    pub threads: Option<u64>,
    /// Available memory in bytes, within the limits of control groups.
    pub memory: Option<u64>,
    /// Free bytes on the disk of run directories.
    pub disk: Option<u64>,
}

impl Machine {
    /// Reads what this machine has. Run directories are in the directory for temporary files.
    pub fn look() -> Self {
        let groups = Groups::of_this_process();
        let least = |some: [Option<u64>; 2]| some.into_iter().flatten().min();
        Self {
            files: getrlimit(Resource::RLIMIT_NOFILE).ok().map(|(_, hard)| hard),
            threads: least([own_threads(), groups.left("pids", &PIDS)]),
            memory: least([memory("MemAvailable:"), groups.left("memory", &MEMORY)]),
            disk: free_disk(&std::env::temp_dir()),
        }
    }
}

/// Raises the limit of open files as far as a run with these needs requires, if the hard limit allows it: most systems
/// start with 1,024 (macOS with 256), and let every program have more. It does not go up to the hard limit, which may be a
/// thousand million, because our child processes inherit the limit, and some programs close all files up to it. A
/// redis-server raises its own limit to what its `maxclients` needs.
pub fn raise(needs: &Needs) {
    raise_files(needs.files + needs.files / 2 + cost::FILES_BASE);
}

/// Raises the limit of open files to this many, or as far as the hard limit allows.
pub fn raise_files(wanted: u64) {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return;
    };
    if wanted > soft {
        // A limit that can't be raised was compared with the needs before.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, wanted.min(hard), hard);
    }
}

/// Free bytes on the file system of this directory, for a user other than root.
pub fn free_disk(directory: &Path) -> Option<u64> {
    let system = statvfs(directory).ok()?;
    #[allow(clippy::unnecessary_cast, reason = "other widths on other systems")]
    Some((system.blocks_available() as u64).saturating_mul(system.fragment_size() as u64))
}

/// This line of /proc/meminfo in bytes (`MemTotal:`); Linux has that file.
pub(crate) fn memory(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024)
}

/// How many threads `RLIMIT_NPROC` still allows. It counts the threads of this user; it does not apply to root.
fn own_threads() -> Option<u64> {
    let (most, _) = getrlimit(Resource::RLIMIT_NPROC).ok()?;
    if geteuid().is_root() || most >= 1 << 30 {
        return None;
    }
    Some(most.saturating_sub(threads_of(geteuid().as_raw())?))
}

fn threads_of(user: u32) -> Option<u64> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let threads = processes.filter_map(|process| {
        let status = fs::read_to_string(process.path().join("status")).ok()?;
        let field = |name: &str| {
            status
                .lines()
                .find_map(|line| line.strip_prefix(name)?.split_whitespace().next())
        };
        let own = field("Uid:")?.parse() == Ok(user);
        field("Threads:")?.parse::<u64>().ok().filter(|_| own)
    });
    Some(threads.sum())
}

/// The files in which control groups report a limit and its usage.
struct Names {
    /// In versions 2 and 1.
    most: [&'static str; 2],
    used: [&'static str; 2],
    /// The part of the usage that is given back when it is needed: a line of `memory.stat`.
    spare: Option<[&'static str; 2]>,
}

const PIDS: Names = Names {
    most: ["pids.max", "pids.max"],
    used: ["pids.current", "pids.current"],
    spare: None,
};

const MEMORY: Names = Names {
    most: ["memory.max", "memory.limit_in_bytes"],
    used: ["memory.current", "memory.usage_in_bytes"],
    spare: Some(["inactive_file ", "total_inactive_file "]),
};

/// The control groups of a process (Linux; elsewhere there are none).
struct Groups {
    /// The mount point of the hierarchies.
    root: PathBuf,
    /// The lines of /proc/self/cgroup: `0::/path`, `4:memory:/path`.
    lines: String,
}

impl Groups {
    fn of_this_process() -> Self {
        Self {
            root: PathBuf::from("/sys/fs/cgroup"),
            lines: fs::read_to_string("/proc/self/cgroup").unwrap_or_default(),
        }
    }

    /// What the tightest group of this process still allows.
    fn left(&self, controller: &str, names: &Names) -> Option<u64> {
        let groups = self.lines.lines().filter_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?.trim_start_matches('/'));
            let version_2 = controllers.is_empty();
            let mount = match version_2 {
                true => self.root.clone(),
                false if controllers.split(',').any(|name| name == controller) => self.root.join(controllers),
                false => return None,
            };
            Some((mount, path, usize::from(!version_2)))
        });
        let left = groups.flat_map(|(mount, path, version)| {
            // A group's limit applies to all groups below it. In a container the path may not exist inside; then the mount
            // point counts.
            let group = mount.join(path);
            let above = group.ancestors().take_while(|above| above.starts_with(&mount));
            let above: Vec<PathBuf> = above.map(Path::to_owned).collect();
            above.into_iter().filter_map(move |group| left(&group, names, version))
        });
        left.min()
    }
}

/// What the limit of one group still allows; `None` without a limit.
fn left(group: &Path, names: &Names, version: usize) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(group.join(name)).ok();
    let most: u64 = read(names.most[version])?.trim().parse().ok()?;
    let used: u64 = read(names.used[version])?.trim().parse().ok()?;
    let spare = names.spare.and_then(|spare| {
        let stat = read("memory.stat")?;
        stat.lines()
            .find_map(|line| line.strip_prefix(spare[version])?.trim().parse::<u64>().ok())
    });
    Some(most.saturating_sub(used.saturating_sub(spare.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with these files, laid out like control groups.
    fn groups(lines: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, Groups) {
        let root = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            let file = root.path().join(name);
            fs::create_dir_all(file.parent().expect("below the root")).expect("its directory");
            fs::write(file, text).expect("a file");
        }
        let groups = Groups {
            root: root.path().to_owned(),
            lines: lines.to_owned(),
        };
        (root, groups)
    }

    #[test]
    fn the_tightest_group_above_a_process_counts() {
        let files = [
            ("a/memory.max", "1000\n"),
            ("a/memory.current", "400\n"),
            ("a/b/memory.max", "max\n"),
            ("a/b/memory.current", "400\n"),
            ("a/b/pids.max", "50\n"),
            ("a/b/pids.current", "20\n"),
        ];
        let (_root, groups) = groups("0::/a/b\n", &files);
        assert_eq!(groups.left("memory", &MEMORY), Some(600));
        assert_eq!(groups.left("pids", &PIDS), Some(30));
    }

    #[test]
    fn version_1_has_a_hierarchy_for_each_controller_and_a_cache_that_can_be_given_back() {
        let files = [
            ("memory/memory.limit_in_bytes", "1000"),
            ("memory/memory.usage_in_bytes", "900"),
            ("memory/memory.stat", "cache 500\ntotal_inactive_file 300\n"),
        ];
        // The path is one outside this container.
        let (_root, groups) = groups("9:name=systemd:/\n4:memory:/docker/abc\n", &files);
        assert_eq!(groups.left("memory", &MEMORY), Some(400));
        assert_eq!(groups.left("pids", &PIDS), None);
    }

    #[test]
    fn this_machine_has_something_of_everything() {
        let machine = Machine::look();
        assert!(machine.files.is_some_and(|files| files > 0));
        assert!(machine.disk.is_some());
        if cfg!(target_os = "linux") {
            assert!(machine.memory.is_some());
        }
    }
}
