//! The built-in scenarios: the files of scenarios/, embedded.

/// One built-in scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builtin {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its TOML, as in scenarios/.
    pub text: &'static str,
}

impl Builtin {
    /// Its `title`.
    pub fn title(&self) -> &'static str {
        let title = |line: &'static str| line.strip_prefix("title")?.trim_start().strip_prefix('=');
        self.text
            .lines()
            .find_map(title)
            .map_or(self.name, |title| title.trim().trim_matches('"'))
    }
}

macro_rules! builtin {
    ($name:literal) => {
        Builtin {
            name: $name,
            text: include_str!(concat!("../scenarios/", $name, ".toml")),
        }
    };
}

/// All built-in scenarios, the default one first.
pub const ALL: &[Builtin] = &[
    builtin!("failover"),
    builtin!("single-vs-redlock"),
    builtin!("failover-five"),
    builtin!("zombie-master"),
    builtin!("rolling-restart"),
    builtin!("cluster-counts-as-one"),
    builtin!("replica-lag"),
    builtin!("wait-one"),
    builtin!("bounce-with-aof"),
    builtin!("wait-enough"),
    builtin!("isolated-master"),
    builtin!("clock-jump"),
    builtin!("frozen-clock"),
    builtin!("power-loss"),
    builtin!("delayed-restart"),
    builtin!("restart-amnesia"),
    builtin!("operator-flush"),
    builtin!("eviction"),
    builtin!("one-way-partition"),
    builtin!("flash-sale"),
    builtin!("stampede"),
    builtin!("paged-list"),
    builtin!("quorum-loss"),
    builtin!("slow-job"),
    builtin!("ttl-race"),
    builtin!("paused-client"),
    builtin!("fencing"),
    builtin!("consensus"),
    builtin!("consensus-paused"),
    builtin!("consensus-price"),
    builtin!("job-twice"),
    builtin!("double-submit"),
    builtin!("waiters"),
    builtin!("payment"),
    builtin!("early-release"),
    builtin!("fail-open"),
    builtin!("endless-renewal"),
];

/// The built-in scenario of this name.
pub fn find(name: &str) -> Option<Builtin> {
    ALL.iter().copied().find(|builtin| builtin.name == name)
}
