use crate::close::record::Machine;

impl Machine {
    /// The machine that this process runs on.
    #[must_use]
    pub fn this() -> Self {
        Self {
            os: nix::sys::utsname::uname().map_or_else(
                |_| std::env::consts::OS.to_owned(),
                |name| {
                    format!(
                        "{} {}",
                        name.sysname().to_string_lossy(),
                        name.release().to_string_lossy()
                    )
                },
            ),
            arch: std::env::consts::ARCH.to_owned(),
            cpus: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            memory: memory(),
        }
    }
}

/// Total memory in bytes, from `/proc/meminfo` on Linux; unknown elsewhere.
fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kib = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    kib.trim()
        .trim_end_matches("kB")
        .trim()
        .parse::<u64>()
        .ok()
        .map(|kib| kib * 1024)
}
