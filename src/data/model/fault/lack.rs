/// What a lab may lack that actions need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// Processes of our own on its hosts.
    OwnHosts,
    /// Replicated nodes: only they say something to each other.
    Replicas,
    /// Containers as hosts: only they can be cut off.
    Containers,
    /// A proxy, by which its network can be changed.
    Proxy,
    /// Servers that were started with our library, which shifts their clock and notes what they synced.
    Preload,
}

impl Lack {
    /// With which option of `lab up` a kept lab has it; `None` if every one does.
    pub const fn option(self) -> Option<&'static str> {
        match self {
            Self::OwnHosts => None,
            Self::Replicas => Some("--replicated"),
            Self::Containers => Some("--lab docker"),
            Self::Proxy => Some("--network"),
            Self::Preload => Some("--preload"),
        }
    }
}
