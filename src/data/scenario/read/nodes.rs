//! `lab.nodes` and `lab.nodes_env`: lock nodes that are not ours.

use super::super::node_url::NodeUrl;
use super::super::reader::Reader;
use super::super::spec::GivenNodes;
use super::super::tree::Value;
use super::super::value;
use super::secret;

/// The most nodes: one on each host.
const MOST: usize = 9;
/// What such a node has of its own.
const OWN: [&str; 5] = ["persistence", "port", "password", "replicated", "cluster"];
/// The place where nobody else can read a password.
const ELSEWHERE: &str = "put the URLs into an environment variable and name that in lab.nodes_env";

/// The nodes of a lab that are not ours; `None` if all are ours, or after a mistake. What contradicts them is refused.
pub(super) fn read(reader: &mut Reader<'_>) -> Option<GivenNodes> {
    if reader.has("nodes") || reader.has("nodes_env") {
        let why = "contradicts nodes: those servers are not ours, and are as their owner has made them; leave one of the two out";
        reader.refuse(&OWN, why);
    }
    let urls = reader.get("nodes", |value| urls(&texts(value)?));
    let from_env = match reader.has("nodes") {
        true => {
            let why = "contradicts nodes: the URLs come from one of them; leave the other out";
            reader.refuse(&["nodes_env"], why);
            None
        }
        false => reader.get("nodes_env", of_variable),
    };
    if let Some((urls, name)) = from_env {
        return Some(GivenNodes {
            urls,
            urls_env: Some(name),
            exposed: None,
        });
    }
    let urls = urls?;
    let has_password = urls.iter().any(NodeUrl::has_password);
    Some(GivenNodes {
        urls,
        urls_env: None,
        exposed: secret::exposed(reader, "nodes", ELSEWHERE).filter(|_| has_password),
    })
}

/// A list of texts, or one text with spaces or commas between them.
fn texts(value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::Array(items) => items.iter().map(|item| value::text(&item.value)).collect(),
        Value::Text(text) => Ok(split(text)),
        other => {
            let is = other.kind();
            Err(format!(
                "is {is}; write a list of URLs: [\"redis://user@host:6379\", …]"
            ))
        }
    }
}

fn split(text: &str) -> Vec<String> {
    let between = |c: char| c.is_whitespace() || c == ',';
    let parts = text.split(between).filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

fn urls(texts: &[String]) -> Result<Vec<NodeUrl>, String> {
    match texts.len() {
        0 => return Err("names no server; write a URL for each, like \"redis://user@host:6379\"".to_owned()),
        1..=MOST => {}
        many => return Err(format!("names {many} servers; {MOST} at most")),
    }
    let mut urls: Vec<NodeUrl> = Vec::new();
    for (n, text) in (1..).zip(texts) {
        urls.push(text.parse().map_err(|why| format!("URL {n}: {why}"))?);
    }
    for (n, url) in urls.iter().enumerate() {
        if urls[..n].iter().any(|other| other.server() == url.server()) {
            let url = url.server();
            return Err(format!("names {url} twice: two votes that fail together are one"));
        }
    }
    Ok(urls)
}

fn of_variable(value: &Value) -> Result<(Vec<NodeUrl>, String), String> {
    let (name, text) = secret::variable(value, "the URLs themselves belong to lab.nodes")?;
    match split(&text).as_slice() {
        [] => Err(format!(
            "the environment variable {name} is missing or empty; it must hold the servers' URLs, with spaces or commas between \
             them"
        )),
        texts => match urls(texts) {
            Ok(urls) => Ok((urls, name)),
            Err(why) => Err(format!("the environment variable {name}: {why}")),
        },
    }
}
