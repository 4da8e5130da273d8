//! Calls of etcd's JSON gateway.

use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::time::timeout;

/// The name of the user with all rights.
const ROOT: &str = "root";
/// The codes of gRPC for a member that can't do it now, whether or not it was done: deadline exceeded, aborted, unavailable.
const NOT_NOW: [u64; 3] = [4, 10, 14];

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// No member took it: it was not carried out.
    #[error("no member of etcd can be reached: {0}")]
    Unreached(String),
    /// It may have been carried out, or may be yet.
    #[error("no member of etcd has answered in time: {0}")]
    Unknown(String),
    /// etcd has refused it.
    #[error("etcd refuses: {message} (code {code})")]
    Refused {
        /// The code of gRPC.
        code: u64,
        /// What it said.
        message: String,
    },
}

/// A text that is shown nowhere.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Keeps it.
    pub const fn new(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The members of an etcd, of which any answers.
#[derive(Debug)]
pub struct Gateway {
    http: Client<HttpConnector, Full<Bytes>>,
    members: Vec<SocketAddr>,
    /// The member that answered last.
    last: AtomicUsize,
    token: Option<Secret>,
}

impl Gateway {
    /// These members, of which `first` is asked before the others.
    pub fn new(members: Vec<SocketAddr>, first: usize) -> Self {
        Self {
            http: Client::builder(TokioExecutor::new()).build_http(),
            last: AtomicUsize::new(first % members.len().max(1)),
            members,
            token: None,
        }
    }

    /// Lets nobody in any more but the user `root` with this password, and logs in as that.
    ///
    /// # Errors
    /// No member answers in time, or etcd refuses it.
    pub async fn protect(&mut self, password: &Secret, limit: Duration) -> Result<(), CallError> {
        let user = json!({ "name": ROOT, "password": password.0 });
        self.call("auth/user/add", &user, limit).await?;
        self.call("auth/role/add", &json!({ "name": ROOT }), limit).await?;
        let grant = json!({ "user": ROOT, "role": ROOT });
        self.call("auth/user/grant", &grant, limit).await?;
        self.call("auth/enable", &json!({}), limit).await?;
        self.log_in(password, limit).await
    }

    /// Logs in as the user `root`.
    ///
    /// # Errors
    /// No member answers in time, or the password is wrong.
    pub async fn log_in(&mut self, password: &Secret, limit: Duration) -> Result<(), CallError> {
        let user = json!({ "name": ROOT, "password": password.0 });
        let answer = self.call("auth/authenticate", &user, limit).await?;
        self.token = answer["token"].as_str().map(|token| Secret(token.to_owned()));
        Ok(())
    }

    /// Calls the method at this path below `/v3/`, at one member after the other until one has answered. Each may take so long.
    ///
    /// # Errors
    /// None has, or etcd has refused it.
    pub async fn call(&self, path: &str, body: &Value, limit: Duration) -> Result<Value, CallError> {
        let first = self.last.load(Ordering::Relaxed);
        let (mut unreached, mut unknown) = (None, None);
        for place in 0..self.members.len() {
            let index = (first + place) % self.members.len();
            match timeout(limit, self.at(self.members[index], path, body)).await {
                Ok(Ok(answer)) => {
                    self.last.store(index, Ordering::Relaxed);
                    return Ok(answer);
                }
                Ok(Err(refused @ CallError::Refused { .. })) => return Err(refused),
                Ok(Err(CallError::Unknown(why))) => unknown = Some(why),
                Ok(Err(CallError::Unreached(why))) => unreached = Some(why),
                Err(_) => unknown = Some(format!("{} is silent for {limit:?}", self.members[index])),
            }
        }
        match (unknown, unreached) {
            (Some(why), _) => Err(CallError::Unknown(why)),
            (None, why) => Err(CallError::Unreached(why.unwrap_or_else(|| "there is none".to_owned()))),
        }
    }

    /// Calls the method at this member only. Whoever calls this limits its time.
    ///
    /// # Errors
    /// It has not answered, or refuses.
    pub async fn at(&self, member: SocketAddr, path: &str, body: &Value) -> Result<Value, CallError> {
        let response = self.send(member, path, body).await?;
        let text = response.into_body().collect().await;
        let text = text.map_err(|error| CallError::Unknown(error.to_string()))?.to_bytes();
        // A stream has a line for each message.
        let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let answer: Value = serde_json::from_slice(line).map_err(|error| CallError::Unknown(error.to_string()))?;
        refusal(&answer).map_or(Ok(answer), Err)
    }

    /// Waits until this key is deleted in that revision or a later one, as far as the member tells that is asked. Returns early, and
    /// `false`, if it can't be watched any more.
    pub async fn deleted(&self, key: &str, since: i64) -> bool {
        let member = self.members[self.last.load(Ordering::Relaxed)];
        let create = json!({ "key": encoded(key), "start_revision": since.to_string(), "filters": ["NOPUT"] });
        let Ok(response) = self.send(member, "watch", &json!({ "create_request": create })).await else {
            return false;
        };
        let (mut body, mut read) = (response.into_body(), Vec::new());
        while let Some(Ok(frame)) = body.frame().await {
            read.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
            while let Some(end) = read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = read.drain(..=end).collect();
                let told: Value = serde_json::from_slice(&line).unwrap_or_default();
                let is_created = told["result"]["created"].as_bool() == Some(true);
                let is_told = told["result"]["events"]
                    .as_array()
                    .is_some_and(|events| !events.is_empty());
                if is_told || !is_created || told["result"]["canceled"].as_bool() == Some(true) {
                    return is_told;
                }
            }
        }
        false
    }

    async fn send(&self, member: SocketAddr, path: &str, body: &Value) -> Result<Response<Incoming>, CallError> {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(format!("http://{member}/v3/{path}"))
            // A member without a leader then says so, where it would let a watch wait.
            .header("Grpc-Metadata-hasleader", "true");
        if let Some(token) = &self.token {
            request = request.header("Authorization", &token.0);
        }
        let request = request
            .body(Full::new(Bytes::from(body.to_string())))
            .map_err(|error| CallError::Unreached(error.to_string()))?;
        let sent = self.http.request(request).await;
        sent.map_err(|error| match error.is_connect() {
            true => CallError::Unreached(format!("{member}: {error}")),
            false => CallError::Unknown(format!("{member}: {error}")),
        })
    }
}

/// What an answer says that is none.
fn refusal(answer: &Value) -> Option<CallError> {
    // Of a stream it is one level deeper.
    let error = match &answer["error"] {
        Value::Object(_) => &answer["error"],
        _ => answer,
    };
    let code = error["code"].as_u64().or_else(|| error["grpc_code"].as_u64())?;
    let message = error["message"].as_str().unwrap_or_default().to_owned();
    Some(match NOT_NOW.contains(&code) {
        true => CallError::Unknown(message),
        false => CallError::Refused { code, message },
    })
}

/// A key or a value as the gateway takes it.
pub(crate) fn encoded(text: &str) -> String {
    STANDARD.encode(text)
}

/// The key or the value that the gateway gives.
pub(crate) fn decoded(value: &Value) -> Option<String> {
    String::from_utf8(STANDARD.decode(value.as_str()?).ok()?).ok()
}

/// A number of 64 bits, which JSON has as a text; 0 if it is left out.
pub(crate) fn number(value: &Value) -> i64 {
    value.as_str().and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// How long it is until then.
pub(crate) fn left(end: Instant) -> Duration {
    end.saturating_duration_since(Instant::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_from_refusals() {
        assert_eq!(refusal(&json!({ "header": {}, "ID": "7" })), None);
        let gone = json!({ "code": 5, "message": "etcdserver: requested lease not found" });
        assert!(matches!(refusal(&gone), Some(CallError::Refused { code: 5, .. })));
        let leaderless = json!({ "error": "etcdserver: no leader", "code": 14, "message": "etcdserver: no leader" });
        assert!(matches!(refusal(&leaderless), Some(CallError::Unknown(_))));
        let streamed = json!({ "error": { "grpc_code": 14, "http_code": 503, "message": "no leader" } });
        assert!(matches!(refusal(&streamed), Some(CallError::Unknown(_))));
    }

    #[test]
    fn numbers_and_texts_are_read() {
        let value = json!({ "revision": "9223372036854775807", "key": encoded("a/b") });
        assert_eq!((number(&value["revision"]), number(&value["none"])), (i64::MAX, 0));
        assert_eq!(decoded(&value["key"]).as_deref(), Some("a/b"));
    }

    #[test]
    fn a_secret_is_not_shown() {
        assert!(!format!("{:?}", Secret::new("hunter2".to_owned())).contains("hunter2"));
    }
}
