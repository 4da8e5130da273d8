//! What a lab that starts waits for, told to whoever shows it.

use std::sync::{Mutex, PoisonError};

/// The topologies that get ready at the same time.
#[derive(Debug, Clone, Copy)]
pub(super) enum Of {
    Replicated,
    Cluster,
    Etcd,
}

/// What each of them waits for now.
pub(super) struct Awaited<'a> {
    tell: &'a (dyn Fn(&str) + Send + Sync),
    now: Mutex<[Option<&'static str>; 3]>,
}

impl<'a> Awaited<'a> {
    pub(super) fn new(tell: &'a (dyn Fn(&str) + Send + Sync)) -> Self {
        Self {
            tell,
            now: Mutex::default(),
        }
    }

    /// Says that so many servers start.
    pub(super) fn servers(&self, count: usize) {
        (self.tell)(&format!("starting {count} servers"));
    }

    /// Says what one of the topologies waits for from now on; `None`: it is ready.
    pub(super) fn until(&self, of: Of, what: Option<&'static str>) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        now[of as usize] = what;
        let all: Vec<String> = now.iter().flatten().map(|what| format!("until {what}")).collect();
        if !all.is_empty() {
            (self.tell)(&format!("waiting {}", all.join(" and ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_awaited_is_said_at_once() {
        let said = Mutex::new(Vec::new());
        let tell = |what: &str| said.lock().unwrap().push(what.to_owned());
        let awaited = Awaited::new(&tell);
        awaited.servers(22);
        awaited.until(Of::Cluster, Some("it is one"));
        awaited.until(Of::Replicated, Some("all follow"));
        awaited.until(Of::Cluster, None);
        awaited.until(Of::Replicated, None);
        let expected = [
            "starting 22 servers",
            "waiting until it is one",
            "waiting until all follow and until it is one",
            "waiting until all follow",
        ];
        assert_eq!(*said.lock().unwrap(), expected);
    }
}
