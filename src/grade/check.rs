use std::sync::Arc;
use std::time::{Duration, Instant};

use super::subject::Subject;
use lockstorm_data::facts::Caveat;
use lockstorm_data::model::{Condition, Fault, ServerId};
use lockstorm_data::scenario::{ArmSpec, LabSpec, LockKind, Overrides, ScenarioErrors, Source, parse};
use lockstorm_lab::{Lab, LabOptions, NodeName, Role, ServerBinary};
use lockstorm_lock::Refusal;
use lockstorm_run::client::{Can, Complaints, Link, NoClient, Program, Whose, begin, first_order};
use lockstorm_run::under_test::{Granted, OtherHold};
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How long an answer may take that needs no waiting.
const SOON: Duration = Duration::from_secs(5);
/// The TTL of the locks.
const TTL: Duration = Duration::from_millis(1_500);
/// How many orders are given at once.
const AT_ONCE: usize = 16;

/// What is tried of a free lock.
const ACQUIRE: &str = "acquire";
/// What is tried of a lock that somebody has.
const HELD_ALREADY: &str = "acquire a lock that is held";
/// What is tried of the holder's lock.
const RELEASE: &str = "release";
/// What is tried of a lock that was given back.
const AGAIN: &str = "acquire it again";
/// What is tried of a lock that is extended.
const EXTEND: &str = "extend for two TTLs";
/// What is tried of a promise.
const UNTIL: &str = "until";
/// What is tried of a lock that is not extended.
const TTL_IS_OVER: &str = "wait until the TTL is over";
/// What is tried of a lock that has expired, once another client has it.
const OTHERS: &str = "release what somebody else holds";
/// What shows, if it fails, that the lock is broken: it keeps no other client out, ends before its time or never, or ends with another holder's release.
/// The rest is how it tells of outages, and how long it waits: acts show that.
pub(crate) const VITAL: [&str; 8] = [
    ACQUIRE,
    HELD_ALREADY,
    RELEASE,
    AGAIN,
    EXTEND,
    UNTIL,
    TTL_IS_OVER,
    OTHERS,
];

/// The scenario whose arm the client is.
const SCENARIO: &str = r#"
lab      = { hosts = 3 }
workload = { kind = "inventory", products = 1, stock = 1, hold = "1ms" }
[[arm]]
name  = "client"
lock  = "redlock"
ttl   = "1500ms"
renew = "ttl/3"
"#;

/// What was tried with a client, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// What was tried.
    pub tried: &'static str,
    /// Whether the client did right; `None`: it need not, but whoever writes a client should know.
    pub right: Option<bool>,
    /// What it did, and what to do about it.
    pub said: String,
}

struct Check {
    lab: Lab,
    program: Program,
    complaints: Arc<Complaints>,
    done: Vec<Checked>,
    /// Whether somebody who asks for a lock that is held is refused.
    excludes: bool,
}

/// Talks with a client on three nodes of its own: tries every message, and explains what is wrong. Returns what was tried, and who it
/// is, if it has started.
///
/// # Errors
/// There is no lab, or the client has not started.
pub async fn check(command: &[String], binary: &ServerBinary) -> Result<(Vec<Checked>, Subject), String> {
    let mut arm = arm().map_err(|errors| errors.to_string())?;
    (arm.lock, arm.command) = (LockKind::Client, command.to_vec());
    let options = LabOptions::new(binary.clone()).map_err(|error| error.to_string())?;
    let lab = Lab::up(&LabSpec::of(3), options)
        .await
        .map_err(|error| error.to_string())?;
    let (start, complaints) = (first_order(&lab, &arm, AT_ONCE, None), Arc::<Complaints>::default());
    let (socket, server, arm) = (lab.dir().join("client.sock"), ServerId(1), arm.name);
    let whose = Whose { arm, server };
    let begun = begin(&lab, server, command, socket, whose, start, Arc::clone(&complaints)).await;
    let program = match begun {
        Ok(program) => program,
        Err(why) => {
            lab.down().await;
            return Err(match why {
                NoClient::Mute(why) => format!("the client {why}"),
                other => other.to_string(),
            });
        }
    };
    let mut check = Check {
        lab,
        program,
        complaints,
        done: Vec::new(),
        excludes: false,
    };
    check.all().await;
    check.lab.down().await;
    let hello = check.program.hello;
    let subject = Subject::Client {
        command: command.to_vec(),
        name: format!("{} {}", hello.name, hello.version).trim().to_owned(),
        nodes: hello.nodes.unwrap_or(3),
        renews: hello.can.iter().any(|can| matches!(can, Can::Extend | Can::Renew)),
    };
    Ok((check.done, subject))
}

fn arm() -> Result<ArmSpec, ScenarioErrors> {
    let source = Source {
        name: "check".to_owned(),
        text: SCENARIO.to_owned(),
    };
    parse(&source, &Overrides::default()).map(|mut scenario| scenario.arms.remove(0))
}

/// What an order came to.
enum Came {
    Held(Arc<OtherHold>),
    /// And the error that was the answer, if it was one.
    Refused(Refusal, Option<String>),
    Nothing,
}

impl Came {
    fn word(&self) -> String {
        let word = match self {
            Self::Held(_) => "held",
            Self::Refused(Refusal::NoQuorum { .. }, Some(error)) => return format!("a definite error ({error})"),
            Self::Refused(_, Some(error)) => return format!("an error that is not definite ({error})"),
            Self::Refused(Refusal::Contended, None) => "busy",
            Self::Refused(Refusal::NoQuorum { .. }, None) => "outage",
            Self::Refused(_, None) => "unknown",
            Self::Nothing => "nothing",
        };
        word.to_owned()
    }

    fn is_busy(&self) -> bool {
        matches!(self, Self::Refused(Refusal::Contended, _))
    }
}

impl Check {
    fn link(&self) -> &Link {
        &self.program.link
    }

    fn note(&mut self, tried: &'static str, right: Option<bool>, said: String) {
        self.done.push(Checked { tried, right, said });
    }

    async fn acquire(&self, key: &str, wait: Duration) -> Came {
        let _ = self.complaints.take_last_error();
        let came = acquire(self.link(), key, wait).await;
        match came {
            Came::Refused(refusal, _) => Came::Refused(refusal, self.complaints.take_last_error()),
            came => came,
        }
    }

    async fn release(&self, hold: &OtherHold) -> String {
        let released = timeout(SOON, self.link().release(hold.granted.number)).await;
        released.map_or("nothing".to_owned(), |is| format!("{is:?}").to_lowercase())
    }

    async fn all(&mut self) {
        let hello = self.program.hello.clone();
        let can: Vec<String> = hello.can.iter().map(|can| format!("{can:?}").to_lowercase()).collect();
        let nodes = hello.nodes.unwrap_or(3);
        self.note(
            "start",
            Some(true),
            format!(
                "{} {} ({}), on {nodes} of 3 nodes, can: {}",
                hello.name,
                hello.version,
                hello.language,
                if can.is_empty() {
                    "nothing more".to_owned()
                } else {
                    can.join(", ")
                }
            ),
        );
        // What does not work at all need not be tried in detail.
        if self.hold_and_release().await {
            self.wait().await;
            self.many().await;
            if hello.can.contains(&Can::Extend) {
                self.extend().await;
            }
            self.expire(hello.can.contains(&Can::Validity)).await;
            self.outage().await;
        }
        if let Some(death) = self.lab.guest_death(&self.program.guest) {
            let death = self.link().hidden(&death);
            self.note("to the end", Some(false), format!("it has ended ({death})"));
        }
        self.link().stop();
        let end = async {
            while self.lab.guest_pid(&self.program.guest).is_some() {
                sleep(Duration::from_millis(10)).await;
            }
        };
        let right = timeout(SOON, end).await.is_ok();
        let said = if right {
            "it has ended"
        } else {
            "it goes on, and is killed in the end"
        };
        self.note("stop", right.then_some(true), said.to_owned());
        for caveat in self.complaints.take() {
            if let Caveat::Client { fault, .. } = caveat {
                self.note("messages", Some(false), format!("the client {fault}"));
            }
        }
        for caveat in self.complaints.take_errors() {
            if let Caveat::ClientError { to, quoted, .. } = caveat {
                self.note("errors", None, format!("the client: {to} ended with: {quoted}"));
            }
        }
    }

    /// Returns whether a lock can be acquired and released.
    async fn hold_and_release(&mut self) -> bool {
        let first = self.acquire("check:a", Duration::ZERO).await;
        let Came::Held(hold) = &first else {
            let said = format!(
                "{} for a free lock, where held is right; nothing else was tried",
                first.word()
            );
            self.note(ACQUIRE, Some(false), said);
            return false;
        };
        self.note(ACQUIRE, Some(true), "held".to_owned());
        self.places().await;
        let asked = Instant::now();
        let second = self.acquire("check:a", Duration::ZERO).await;
        let took = asked.elapsed();
        self.excludes = second.is_busy();
        // Who gets it that late has waited until it was over.
        let tried = if took < TTL / 2 {
            HELD_ALREADY
        } else {
            "acquire without waiting"
        };
        self.note(
            tried,
            Some(self.excludes),
            if self.excludes {
                "busy".to_owned()
            } else {
                let (word, ms) = (second.word(), took.as_millis());
                format!("{word} after {ms} ms, where busy is right: wait_ms was 0, and the lock is judged as an exclusive one")
            },
        );
        if let Came::Held(second) = second {
            self.release(&second).await;
        }
        let released = self.release(hold).await;
        self.note(
            RELEASE,
            Some(released == "released"),
            match released.as_str() {
                "released" => released.clone(),
                "nothing" => format!("no answer within {SOON:?}; nothing else was tried"),
                _ => format!("{released}, where released is right"),
            },
        );
        if released == "nothing" {
            return false;
        }
        let again = self.acquire("check:a", Duration::ZERO).await;
        let right = matches!(again, Came::Held(_));
        self.note(
            AGAIN,
            Some(right),
            format!("{}{}", again.word(), if right { "" } else { ", where held is right" }),
        );
        if let Came::Held(hold) = again {
            self.release(&hold).await;
        }
        true
    }

    /// On how many nodes the only lock that is held has its keys.
    async fn places(&mut self) {
        let says = self.program.hello.nodes.unwrap_or(3);
        let mut on = 0;
        for (host, _) in self.lab.lock_nodes() {
            let keys = self.lab.keys(NodeName::on(host, Role::Lock)).await;
            on += usize::from(keys.is_some_and(|keys| !keys.is_empty()));
        }
        let (right, said) = match on {
            0 => (
                None,
                "no node has a key: what becomes of its locks when nodes fail can't show".to_owned(),
            ),
            // Whoever asks several has a lock once most of them have it.
            _ if (says / 2 + 1..=says).contains(&on) => (Some(true), format!("{on} of 3 nodes have a key")),
            _ => (
                Some(false),
                format!(
                    "{on} of 3 nodes have a key, and its locks are said to be on {says}: answer `start` with \"nodes\":{on}, in the helpers nodes={on}"
                ),
            ),
        };
        self.note("where its keys are", right, said);
    }

    async fn wait(&mut self) {
        let Came::Held(hold) = self.acquire("check:b", Duration::ZERO).await else {
            return;
        };
        let (asked, short) = (Instant::now(), Duration::from_millis(300));
        let came = self.acquire("check:b", short).await;
        let took = asked.elapsed();
        let right = came.is_busy() && took < short + Duration::from_millis(500);
        self.note(
            "wait for a lock that stays held",
            Some(right),
            format!(
                "{} after {} ms{}",
                came.word(),
                took.as_millis(),
                if right {
                    ""
                } else {
                    ", where busy after 300 ms is right: wait_ms was 300"
                }
            ),
        );
        if let Came::Held(other) = came {
            self.release(&other).await;
            return;
        }
        let link = self.link().clone();
        let waiter = tokio::spawn(async move { acquire(&link, "check:b", Duration::from_secs(3)).await });
        sleep(Duration::from_millis(200)).await;
        self.release(&hold).await;
        let came = waiter.await.unwrap_or(Came::Nothing);
        let right = matches!(came, Came::Held(_));
        self.note(
            "wait for a lock until it is released",
            Some(right),
            match &came {
                Came::Held(_) => "held".to_owned(),
                Came::Nothing => format!("no answer within {SOON:?}, with wait_ms = 3000"),
                came @ Came::Refused(..) => format!(
                    "{}, where held is right: wait_ms was 3000, and the lock was released after 200 ms",
                    came.word()
                ),
            },
        );
        if let Came::Held(hold) = came {
            self.release(&hold).await;
        }
    }

    async fn many(&mut self) {
        let mut all = JoinSet::new();
        for number in 0..AT_ONCE {
            let link = self.link().clone();
            all.spawn(async move { acquire(&link, &format!("check:many:{number}"), Duration::ZERO).await });
        }
        let (mut held, mut given) = (0, JoinSet::new());
        for came in all.join_all().await {
            if let Came::Held(hold) = came {
                held += 1;
                let link = self.link().clone();
                given.spawn(async move { timeout(SOON, link.release(hold.granted.number)).await });
            }
        }
        given.join_all().await;
        self.note(
            "sixteen orders at once",
            Some(held == AT_ONCE),
            format!("{held} of {AT_ONCE} locks were held at the same time"),
        );
    }

    async fn extend(&mut self) {
        let Came::Held(hold) = self.acquire("check:c", Duration::ZERO).await else {
            return;
        };
        for _ in 0..4 {
            sleep(TTL / 2).await;
            let _ = timeout(SOON, self.link().extend(hold.granted.number)).await;
        }
        let other = self.acquire("check:c", Duration::ZERO).await;
        let right = other.is_busy();
        self.note(
            EXTEND,
            Some(right),
            if right {
                "it is still held".to_owned()
            } else {
                format!("somebody else who asks gets: {}", other.word())
            },
        );
        if let Came::Held(other) = other {
            self.release(&other).await;
        }
        self.release(&hold).await;
    }

    async fn expire(&mut self, promises: bool) {
        let Came::Held(hold) = self.acquire("check:d", Duration::ZERO).await else {
            return;
        };
        let held = Instant::now();
        if promises {
            let until = hold.relied_until();
            let right = until.is_some_and(|until| until > Instant::now() && until <= Instant::now() + TTL);
            self.note(
                UNTIL,
                Some(right),
                match until {
                    Some(until) => format!(
                        "{} ms from the reply on, of a TTL of {TTL:?}",
                        until.saturating_duration_since(Instant::now()).as_millis()
                    ),
                    None => "there is none, although it can \"validity\"".to_owned(),
                },
            );
        }
        let renews = self.program.hello.can.contains(&Can::Renew);
        // Somebody else waits for it and gets it, unless it is renewed, and goes on to hold it whatever the first one does.
        let next = self.acquire("check:d", TTL * 2).await;
        let took = held.elapsed();
        let (in_time, ms) = (took >= TTL / 2, took.as_millis());
        self.note(
            TTL_IS_OVER,
            match &next {
                Came::Held(_) => Some(in_time),
                next if next.is_busy() => renews.then_some(true),
                _ => Some(false),
            },
            match &next {
                Came::Held(_) if in_time => format!("held after {ms} ms"),
                Came::Held(_) => format!("held after {ms} ms: the lock has ended long before its TTL; ttl_ms was {}", TTL.as_millis()),
                next if next.is_busy() && renews => "busy: it renews by itself".to_owned(),
                next if next.is_busy() => {
                    format!("busy after {ms} ms: a lock that nobody extends does not end by itself; if that is meant, say that it can \"renew\"")
                }
                next => format!("{} after {ms} ms, where held is right", next.word()),
            },
        );
        let asked = Instant::now();
        let released = self.release(&hold).await;
        if let Came::Held(next) = &next {
            let third = self.acquire("check:d", Duration::ZERO).await;
            // If that took long, the next lock may be over by itself; and where two get a lock anyhow, nothing shows.
            let shows = asked.elapsed() <= TTL / 2 && self.excludes && in_time;
            let said = if let Came::Held(third) = &third {
                self.release(third).await;
                "the release of a lock that had expired ended the lock of the next holder: compare the token before deleting the key"
            } else {
                "it is still held"
            };
            if shows {
                let right = !matches!(third, Came::Held(_));
                self.note(OTHERS, Some(right), said.to_owned());
            }
            self.release(next).await;
        }
        self.note(
            "release after the TTL",
            match released.as_str() {
                "lost" => Some(true),
                "nothing" => Some(false),
                _ => renews.then_some(true),
            },
            match released.as_str() {
                "lost" => released,
                "nothing" => format!("no answer within {SOON:?}"),
                _ if renews => format!("{released}: it renews by itself"),
                _ => format!("{released}: its user can't hear from the release that the lock was lost"),
            },
        );
    }

    async fn outage(&mut self) {
        let hosts: Vec<_> = self.lab.lock_nodes().into_iter().map(|(host, _)| host).collect();
        for host in &hosts {
            let _ = self.lab.apply(Fault::Kill.into(), *host).await;
        }
        let asked = Instant::now();
        let came = self.acquire("check:e", Duration::ZERO).await;
        let right = matches!(came, Came::Refused(..)) && !came.is_busy();
        self.note(
            "acquire while all nodes are down",
            Some(right),
            format!(
                "{} after {} ms{}",
                came.word(),
                asked.elapsed().as_millis(),
                match &came {
                    _ if right => "",
                    Came::Nothing =>
                        ", where outage is right; a library that keeps commands until it is connected again must be told not to \
                         (ioredis: maxRetriesPerRequest: 0)",
                    came if came.is_busy() =>
                        ", where outage is right; an adapter that returns no lock says busy, so raise one of the helper's outage errors",
                    _ => ", where outage is right",
                }
            ),
        );
        for host in &hosts {
            let _ = self
                .lab
                .apply(lockstorm_data::model::Action::Undo(Condition::Down), *host)
                .await;
        }
        let back = async {
            loop {
                if let Came::Held(hold) = self.acquire("check:f", Duration::ZERO).await {
                    self.release(&hold).await;
                    return;
                }
                sleep(Duration::from_millis(50)).await;
            }
        };
        let since = Instant::now();
        let right = timeout(SOON * 2, back).await.is_ok();
        self.note(
            "acquire once they are back",
            Some(right),
            match right {
                true => format!("held, {:.1} s later", since.elapsed().as_secs_f64()),
                false => format!("no lock was acquired within {:?}", SOON * 2),
            },
        );
    }
}

async fn acquire(link: &Link, key: &str, wait: Duration) -> Came {
    let granted = Granted {
        key: key.to_owned(),
        token: String::new(),
        number: 0,
        asked: Instant::now(),
        voters: Vec::new(),
        nodes: 1,
        fence: None,
        ttl: None,
        is_renewed: false,
    };
    match timeout(SOON + wait, link.acquire(granted, wait)).await {
        Ok(Ok(hold)) => Came::Held(hold),
        Ok(Err(refusal)) => Came::Refused(refusal, None),
        Err(_) => Came::Nothing,
    }
}
