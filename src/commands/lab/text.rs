//! What is said about a kept lab.

use std::path::Path;
use std::time::Duration;

use humantime::format_duration;
use lockstorm_data::metrics::units::count;
use lockstorm_data::model::printable;
use lockstorm_data::scenario::Words;
use lockstorm_lab::kept::{HostStatus, LabOrder, LinkStatus, NodeStatus, Status};

/// That there is none, and what to do.
pub const NONE: &str = "no lab is kept: start one with `lockstorm lab up`; labs of another TMPDIR are not seen";

/// Where the lab is, and how to use and to break it.
pub fn how_to_use(status: &Status) -> String {
    let urls = &status.urls;
    let mut text = format!(
        "lab {} is up: {}, {}\n",
        status.lab,
        order(&status.order),
        status.server
    );
    text += "\nlock nodes\n";
    for (host, url) in status.hosts.iter().zip(&urls.nodes) {
        text += &format!("  {}  {url}\n", host.host);
    }
    if let Some(master) = &urls.master_name {
        text += &format!("Sentinels of the master {master}\n");
        for (host, url) in status.hosts.iter().zip(&urls.sentinels) {
            text += &format!("  {}  {url}\n", host.host);
        }
    }
    text += match urls.nodes_file {
        Some(_) => "\nfor your program, with the password, from files that only you can read\n",
        None => "\nfor your program; no password is needed\n",
    };
    text += &variable("REDIS_URLS", urls.nodes_file.as_deref(), &urls.nodes);
    if let Some(master) = &urls.master_name {
        text += &variable("SENTINEL_URLS", urls.sentinels_file.as_deref(), &urls.sentinels);
        text += &format!("  export SENTINEL_MASTER={master}\n");
    }
    text + "
to break it
  lockstorm lab kill 1       its processes end at once
  lockstorm lab pause 1      they hang, with their connections open
  lockstorm lab restore 1    it is started again, or goes on
  lockstorm lab play NAME    the faults of a scenario, at their times
  lockstorm lab log          what was done, and when it took effect
  lockstorm lab status       how the hosts are
  lockstorm lab cli 1        redis-cli on host 1
  lockstorm lab down         ends the lab
"
}

/// A line for a shell that gives programs these URLs.
fn variable(name: &str, file: Option<&Path>, urls: &[String]) -> String {
    match file {
        Some(file) => format!("  export {name}=\"$(cat {})\"\n", quoted(file)),
        None => format!("  export {name}={}\n", urls.join(",")),
    }
}

/// A path as one word for a shell.
fn quoted(path: &Path) -> String {
    let text = printable(&path.to_string_lossy());
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    if text.chars().all(is_plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// How a lab was ordered: `3 hosts from port 7001, persistence none`.
pub fn order(order: &LabOrder) -> String {
    let mut parts = vec![match (order.hosts, order.port) {
        (1, Some(port)) => format!("1 host on port {port}"),
        (hosts, Some(port)) => format!("{hosts} hosts from port {port} on"),
        (1, None) => "1 host on a free port".to_owned(),
        (hosts, None) => format!("{hosts} hosts on free ports"),
    }];
    parts.push(format!("persistence {}", order.persistence.word()));
    parts.extend(
        order
            .replicated
            .then(|| "with a master, replicas and Sentinels".to_owned()),
    );
    parts.extend(
        order
            .preload
            .then(|| "with servers whose clocks and power can fail".to_owned()),
    );
    parts.extend(order.network.then(|| "with a network that can be broken".to_owned()));
    parts.push(
        if order.password {
            "with a password"
        } else {
            "without a password"
        }
        .to_owned(),
    );
    parts.join(", ")
}

/// A table of the hosts.
pub fn status(status: &Status) -> String {
    let mut text = format!(
        "lab {}: {}, {}; kept by process {} since {}\n\n",
        status.lab,
        order(&status.order),
        status.server,
        status.process,
        status.since
    );
    let is_counted = |host: &HostStatus| host.nodes.iter().any(|node| node.client_bytes.is_some());
    let bytes = match status.hosts.iter().any(is_counted) {
        true => "bytes of clients",
        false => "",
    };
    let heads = ["host", "node", "address", bytes, "state", "since"].map(str::to_owned);
    let nodes = status
        .hosts
        .iter()
        .flat_map(|host| host.nodes.iter().map(|node| row(host, node)));
    let links = status.links.iter().map(link);
    let rows: Vec<[String; 6]> = std::iter::once(heads).chain(nodes).chain(links).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    for row in &rows {
        let columns = row.iter().enumerate().map(|(column, cell)| (cell, width(column)));
        let cells = columns
            .filter(|(_, width)| *width > 0)
            .map(|(cell, width)| format!("{cell:width$}"));
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}

fn row(host: &HostStatus, node: &NodeStatus) -> [String; 6] {
    [
        host.host.0.to_string(),
        node.role.clone(),
        node.address.clone(),
        node.client_bytes.map_or_else(String::new, count),
        printable(&node.state),
        since(&node.since, node.for_s),
    ]
}

fn link(link: &LinkStatus) -> [String; 6] {
    let name = printable(&link.link);
    [
        String::new(),
        name,
        String::new(),
        String::new(),
        printable(&link.state),
        since(&link.since, link.for_s),
    ]
}

/// When something changed, and how long ago that is.
fn since(moment: &str, seconds: f64) -> String {
    // A lab that another version has started may give any number.
    let age = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    format!("{moment} ({})", format_duration(Duration::from_secs(age.as_secs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_for_a_shell() {
        assert_eq!(
            quoted(Path::new("/tmp/lockstorm-0/run-1a/urls")),
            "/tmp/lockstorm-0/run-1a/urls"
        );
        assert_eq!(quoted(Path::new("/tmp/it's $(me)/urls")), r"'/tmp/it'\''s $(me)/urls'");
    }
}
