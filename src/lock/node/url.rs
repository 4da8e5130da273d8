//! Reads the URLs of nodes: `redis://[user[:password]@]host[:port][/database]`, and `unix://` + path for sockets.

use std::net::Ipv6Addr;

use percent_encoding::percent_decode_str;

/// The port of a URL without one.
const DEFAULT_PORT: u16 = 6379;

/// The part of a node's URL that can't be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UrlPart {
    /// The whole of it, or its place in a list.
    Whole,
    /// What stands before `://`.
    Scheme,
    /// The user.
    User,
    /// The password, or a user and a password with a character that must be written as `%` and two digits.
    Password,
    /// The host, or the path of a socket.
    Host,
    /// The port.
    Port,
    /// The number of the database.
    Database,
    /// What follows a `?`.
    Query,
    /// What follows a `#`.
    Fragment,
}

/// What is wrong with a URL: where, and why, with what to write instead.
pub(crate) type Bad = (UrlPart, &'static str);

// The reasons to refuse a URL that the tests refer to.
const SPACE: Bad = (
    UrlPart::Whole,
    "a URL has no spaces, nor anything before or behind it; in a user or a password write %20",
);
const NO_SCHEME: Bad = (
    UrlPart::Scheme,
    "it does not begin with redis://; write it like redis://user:password@host:6379/0",
);
const SCHEME: Bad = (
    UrlPart::Scheme,
    "it begins neither with redis:// nor with rediss:// nor with unix://; write it like redis://user:password@host:6379/0",
);
const SOCKET: Bad = (
    UrlPart::Host,
    "the path of a socket begins with a slash, behind two others: unix:///run/redis.sock?db=0",
);
const INSECURE: Bad = (
    UrlPart::Fragment,
    "#insecure is refused; to trust a certificate, name the file of its authority in SSL_CERT_FILE",
);
const FRAGMENT: Bad = (
    UrlPart::Fragment,
    "nothing may follow a #; in a user or a password write %23",
);
const DATABASE: Bad = (
    UrlPart::Database,
    "the part after the host must be the number of a database, like /0",
);
const QUERY: Bad = (
    UrlPart::Query,
    "db, user and pass stand behind the ? for sockets only; write redis://user:password@host:6379/0",
);
const SLASH: Bad = (UrlPart::Password, "in a user or a password write %2F for /");
const QUESTION_MARK: Bad = (UrlPart::Password, "in a user or a password write %3F for ?");
const NO_HOST: Bad = (UrlPart::Host, "it names no host; write it like redis://localhost:6379");
const WILDCARD: Bad = (
    UrlPart::Host,
    "its host is the wildcard address, which can't be connected to; on this machine write 127.0.0.1",
);
const HOST: Bad = (
    UrlPart::Host,
    "its host has characters that are not allowed in a host; write a name in ASCII or an IP address",
);
const IPV6: Bad = (
    UrlPart::Host,
    "an IPv6 address must be written between [ and ], like redis://[::1]:6379",
);
const ZERO: Bad = (
    UrlPart::Port,
    "nothing can be reached at port 0; leave the port out for 6379",
);
const PORT: Bad = (
    UrlPart::Port,
    "its port is not a number; write it like redis://host:6379",
);

/// The parts of a node's URL.
#[derive(PartialEq, Eq)]
#[cfg_attr(test, derive(Debug))]
pub(crate) struct Url {
    /// Whether the node is reached over TLS.
    pub(crate) tls: bool,
    /// A host name or an IP address; an IPv6 address has no brackets. Or the path of a socket, which begins with a slash.
    pub(crate) host: String,
    /// 0 for a socket.
    pub(crate) port: u16,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) database: u32,
}

/// Reads a URL. The error says what is wrong with it, and never contains its password.
pub(crate) fn read(url: &str) -> Result<Url, Bad> {
    if url.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(SPACE);
    }
    let (scheme, rest) = url.split_once("://").ok_or(NO_SCHEME)?;
    let (tls, socket) = match scheme.to_ascii_lowercase().as_str() {
        "redis" | "valkey" => (false, false),
        "rediss" | "valkeys" => (true, false),
        "unix" | "redis+unix" | "valkey+unix" => (false, true),
        _ => return Err(SCHEME),
    };
    let (rest, fragment) = split(rest, '#');
    match fragment {
        None => {}
        Some("insecure") if tls => {
            return Err(INSECURE);
        }
        Some(_) => return Err(FRAGMENT),
    }
    if socket {
        return read_socket(rest);
    }
    let (rest, query) = split(rest, '?');
    check_query(query.unwrap_or_default())?;
    let (authority, path) = split(rest, '/');
    let (credentials, host_and_port) = match authority.rsplit_once('@') {
        Some((credentials, host_and_port)) => (Some(credentials), host_and_port),
        None if path.is_some_and(|path| path.contains('@')) => return Err(SLASH),
        None => (None, authority),
    };
    let (host, port) = read_host_and_port(host_and_port)?;
    let (user, password) = split(credentials.unwrap_or_default(), ':');
    Ok(Url {
        tls,
        host,
        port,
        user: read_user(user)?,
        password: read_password(password.unwrap_or_default())?,
        database: read_database(path.unwrap_or_default().trim_matches('/'))?,
    })
}

/// Reads `/path?db=0&user=me&pass=secret`.
fn read_socket(rest: &str) -> Result<Url, Bad> {
    let (path, query) = split(rest, '?');
    if !path.starts_with('/') {
        return Err(SOCKET);
    }
    let path = decode(path).ok_or((UrlPart::Host, "the path of the socket is not UTF-8"))?;
    let mut url = Url {
        tls: false,
        host: path.unwrap_or_default(),
        port: 0,
        user: None,
        password: None,
        database: 0,
    };
    for (name, value) in query.unwrap_or_default().split('&').map(|pair| split(pair, '=')) {
        let value = value.unwrap_or_default();
        match name {
            "db" => url.database = read_database(value)?,
            "user" => url.user = read_user(value)?,
            "pass" => url.password = read_password(value)?,
            "" | "protocol" => {}
            _ => {
                return Err((
                    UrlPart::Query,
                    "a socket has db, user and pass after the ?; in a password write %26 for &",
                ));
            }
        }
    }
    Ok(url)
}

fn read_user(text: &str) -> Result<Option<String>, Bad> {
    decode(text).ok_or((UrlPart::User, "its user is not UTF-8"))
}

fn read_password(text: &str) -> Result<Option<String>, Bad> {
    decode(text).ok_or((UrlPart::Password, "its password is not UTF-8"))
}

fn read_database(text: &str) -> Result<u32, Bad> {
    match text {
        "" => Ok(0),
        number => number.parse().map_err(|_| DATABASE),
    }
}

/// Whether a host is the path of a socket.
pub(crate) fn is_socket(host: &str) -> bool {
    host.starts_with('/')
}

/// The text before the first `mark`, and the text after it if there is a mark.
fn split(text: &str, mark: char) -> (&str, Option<&str>) {
    match text.split_once(mark) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

/// Checks the query. Its parameters are for other clients and are ignored, unless it looks like a piece of a password.
fn check_query(query: &str) -> Result<(), Bad> {
    if query.contains('@') {
        return Err(QUESTION_MARK);
    }
    let is_ours = |pair: &str| ["db", "user", "pass"].contains(&split(pair, '=').0);
    if query.split('&').any(is_ours) {
        return Err(QUERY);
    }
    let mut protocols = query.split('&').filter_map(|pair| pair.strip_prefix("protocol="));
    match protocols.next_back() {
        None | Some("2" | "resp2" | "3" | "resp3") => Ok(()),
        Some(_) => Err((UrlPart::Query, "the protocol may be resp2 or resp3")),
    }
}

/// Reads `host`, `host:port` or `[IPv6]:port`.
fn read_host_and_port(host_and_port: &str) -> Result<(String, u16), Bad> {
    let (host, port) = match host_and_port.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or(IPV6)?;
            let host: Ipv6Addr = host
                .parse()
                .map_err(|_| (UrlPart::Host, "the text between [ and ] must be an IPv6 address"))?;
            (host.to_string(), port)
        }
        None => {
            let end = host_and_port.find(':').unwrap_or(host_and_port.len());
            (host_and_port[..end].to_owned(), &host_and_port[end..])
        }
    };
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => DEFAULT_PORT,
        // A colon without a port means the default port.
        Some("") => DEFAULT_PORT,
        Some(digits) if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
            let too_high = |_| (UrlPart::Port, "its port is not one of 1 to 65535");
            match digits.parse().map_err(too_high)? {
                0 => return Err(ZERO),
                port => port,
            }
        }
        Some(digits) if digits.contains(':') => return Err(IPV6),
        _ => return Err(PORT),
    };
    match host.as_str() {
        "" => Err(NO_HOST),
        "0.0.0.0" | "::" => Err(WILDCARD),
        // Names and addresses consist of these characters only; an internationalized name must be given in its ASCII form.
        name if !name.bytes().all(|c| c.is_ascii_alphanumeric() || b".-_:".contains(&c)) => Err(HOST),
        _ => Ok((host, port)),
    }
}

/// Replaces each `%` and two hexadecimal digits by the byte they stand for. The outer `None` means that the result is not
/// UTF-8, the inner one that the text is empty: an empty password counts as none.
#[expect(clippy::option_option, reason = "an empty text is neither an error nor a value")]
fn decode(text: &str) -> Option<Option<String>> {
    if text.is_empty() {
        return Some(None);
    }
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    Some(Some(decoded.into_owned()))
}

/// A URL, or text meant as one, without anything that may be its password: behind the last @, or without one, it shows host, port
/// and database, and of the rest the scheme and a user who has a password.
pub(crate) fn hide_password(url: &str) -> String {
    // "://" may stand in a password, too.
    let is_scheme = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    let parts = url.split_once("://").filter(|(scheme, _)| is_scheme(scheme));
    let (scheme, rest) = parts.unwrap_or(("", url));
    let start = &url[..url.len() - rest.len()];
    // What follows these may be a password: that of a socket, for example. Or it is the end of one, if an @ follows.
    if let Some(at) = rest.find(['?', '#']) {
        let before = match rest[at..].contains('@') {
            true => String::new(),
            false => hide_password(&url[..start.len() + at])[start.len()..].to_owned(),
        };
        return format!("{start}{before}{}***", &rest[at..=at]);
    }
    let (user, host) = match rest.rsplit_once('@') {
        Some((credentials, host)) => match credentials.split_once(':') {
            Some((user, password)) if !password.is_empty() => (user, format!("@{host}")),
            // What stands alone may be meant as a password.
            _ => return format!("{start}***@{host}"),
        },
        // Either a host and a port, or a user and a password without a host.
        None => match rest.split_once(':') {
            Some((user, port)) if !rest.starts_with('[') && !is_port(port) => (user, String::new()),
            _ => return url.to_owned(),
        },
    };
    // Without a scheme, the text before the colon may be a part of a password too.
    let user = if scheme.is_empty() { "" } else { user };
    format!("{start}{user}:***{host}")
}

/// Whether the text is a port, with or without a database, and so can't be a password.
fn is_port(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;
    use redis::{ConnectionAddr, IntoConnectionInfo};

    use super::*;

    /// What the redis crate reads. It is built without TLS here, so it is given the plain scheme.
    fn theirs(url: &str) -> Option<Url> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let tls = ["rediss", "valkeys"].contains(&scheme.to_ascii_lowercase().as_str());
        let plain = if tls { format!("redis://{rest}") } else { url.to_owned() };
        let info = plain.into_connection_info().ok()?;
        let ConnectionAddr::Tcp(host, port) = info.addr() else {
            return None;
        };
        let settings = info.redis_settings();
        Some(Url {
            tls,
            host: host.clone(),
            port: *port,
            user: settings.username().map(str::to_owned),
            password: settings.password().map(str::to_owned),
            database: u32::try_from(settings.db()).ok()?,
        })
    }

    /// URLs that the redis crate accepts and we refuse, because the author may have meant something else than that crate
    /// reads.
    fn refused_on_purpose(url: &str, why: Bad) -> bool {
        match why {
            // The crate silently drops some of them.
            SPACE => url.contains(|c: char| c.is_whitespace() || c.is_control()),
            // The crate ignores both, even if they are half of a password.
            INSECURE | FRAGMENT => url.contains('#'),
            // The crate ignores the first of them, and a port 0 can't be connected to.
            QUERY => url.contains("?db=") || url.contains("&db="),
            ZERO => url.contains(":0"),
            QUESTION_MARK => url.contains('?') && url.contains('@'),
            // The crate looks up any host, and writes non-ASCII letters as %XX.
            HOST => true,
            _ => false,
        }
    }

    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            8 => "[a-zA-Z0-9._~!$&'()*+,;=-]{1,4}".prop_map(String::from),
            2 => "%[0-9a-fA-F]{2}",
            1 => "%[0-9a-z]{0,2}",
            1 => select(vec!["ä", "€", "\"", "<", "`", "{", "|", "\\", "^", "[", " "]).prop_map(String::from),
            1 => select(vec!["@", ":", "/", "?", "#"]).prop_map(String::from),
        ];
        prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
    }

    fn url() -> impl Strategy<Value = String> {
        let scheme = select(vec!["redis", "rediss", "valkey", "valkeys", "REDIS", "Rediss", "http"]);
        let before = select(vec!["://", "://", "://", "://", ":", ":/", ":///", ""]);
        let user = prop_oneof![Just(String::new()), text()];
        let credentials = prop_oneof![
            3 => Just(String::new()),
            5 => (user.clone(), text()).prop_map(|(user, password)| format!("{user}:{password}@")),
            1 => user.prop_map(|user| format!("{user}@")),
        ];
        let host = prop_oneof![
            8 => select(vec!["localhost", "node-1.example", "a_b", "127.0.0.1", "LOCALHOST", "1", "0.0.0.0", "[::1]", "[::]",
                             "[fe80::1]", "[::ffff:1.2.3.4]", "[0:0:0:0:0:0:0:1]", "[FE80::A]", "::1", "[::1", "[x]", "[::1%25lo]"])
                .prop_map(String::from),
            1 => text(),
        ];
        let port = prop_oneof![
            3 => Just(String::new()),
            3 => (0u32..70_000).prop_map(|port| format!(":{port}")),
            1 => select(vec![":", ":0", ":x", ":+1", ":-1", ":07000", ": 1", ":6379:"]).prop_map(String::from),
        ];
        let path = prop_oneof![
            3 => Just(String::new()),
            3 => (0u8..20).prop_map(|database| format!("/{database}")),
            1 => select(vec!["/", "//", "/3/", "//3", "/-1", "/+3", "/x", "/1/2", "/4294967296", "/%33"]).prop_map(String::from),
        ];
        let after = prop_oneof![
            6 => Just(""),
            2 => select(vec!["?", "?protocol=resp3", "?protocol=3", "?protocol=4", "?db=1", "?a=b@c", "?protocol=2&protocol=9",
                             "#", "#insecure", "#x", "?a#b"]),
        ];
        (scheme, before, credentials, host, port, path, after).prop_map(
            |(scheme, before, credentials, host, port, path, after)| {
                format!("{scheme}{before}{credentials}{host}{port}{path}{after}")
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn agrees_with_the_redis_crate(url in url()) {
            match (read(&url), theirs(&url)) {
                (Ok(ours), theirs) => prop_assert_eq!(Some(ours), theirs, "{}", url),
                (Err(why), Some(theirs)) => prop_assert!(refused_on_purpose(&url, why), "{}: {:?} {:?}", url, why, theirs),
                (Err(_), None) => {}
            }
        }

        #[test]
        fn a_password_is_never_shown(password in "[a-z]{3}[a-zA-Z0-9:/?#@%!]{5,10}", scheme in select(vec!["redis://", "", "x:", "redis:/"])) {
            for url in [
                format!("{scheme}me:{password}@host"),
                format!("{scheme}:{password}@host:x/y"),
                format!("{scheme}me:{password}@"),
                format!("{scheme}me:{password}"),
            ] {
                let shown = hide_password(&url);
                prop_assert!(!shown.contains(&password), "{}", shown);
            }
        }
    }

    #[test]
    fn a_password_with_what_looks_like_the_end_of_a_scheme_is_not_shown() {
        assert_eq!(hide_password("me:aaa%:///@host"), ":***@host");
        assert_eq!(hide_password("redis://me:a://b@host"), "redis://me:***@host");
    }

    #[test]
    fn what_may_be_meant_as_a_password_is_not_shown() {
        for (url, shown) in [
            ("redis://s3cret@host:x", "redis://***@host:x"),
            ("redis://s3cret:@host:x", "redis://***@host:x"),
            ("redis://me:s3cret@host:x", "redis://me:***@host:x"),
            ("unix:///run/redis.sock?pass=s3cret", "unix:///run/redis.sock?***"),
            (
                "redis+unix:///run/redis.sock?db=1&pass=s3cret",
                "redis+unix:///run/redis.sock?***",
            ),
            ("unix:///run/redis.sock?pass=a@s3cret", "unix://?***"),
            ("unix:///run/redis.sock?pass=s3cret@a", "unix://?***"),
            ("redis://me:1?s3cret@host", "redis://?***"),
            ("redis://me:1#s3cret@host", "redis://#***"),
            ("redis://me:s3cret@host?protocol=4", "redis://me:***@host?***"),
            ("redis://host?password=s3cret", "redis://host?***"),
            ("redis://host:6379/2", "redis://host:6379/2"),
        ] {
            assert_eq!(hide_password(url), shown, "{url}");
        }
    }

    #[test]
    fn each_refusal_says_why() {
        for (url, why) in [
            ("", NO_SCHEME),
            ("localhost:6379", NO_SCHEME),
            ("http://host", SCHEME),
            ("unix://run/redis.sock", SOCKET),
            ("unix:///run/redis.sock?db=x", DATABASE),
            ("redis://", NO_HOST),
            ("redis://me:secret@", NO_HOST),
            ("redis://:6379", NO_HOST),
            ("redis://0.0.0.0", WILDCARD),
            ("redis://[::]:6379", WILDCARD),
            ("redis://::1", IPV6),
            ("redis://host:x", PORT),
            (
                "redis://host:65536",
                (UrlPart::Port, "its port is not one of 1 to 65535"),
            ),
            ("redis://[::1", IPV6),
            (
                "redis://[host]",
                (UrlPart::Host, "the text between [ and ] must be an IPv6 address"),
            ),
            ("redis://h%C3%B6st", HOST),
            ("redis://host/x", DATABASE),
            ("redis://host/-1", DATABASE),
            ("redis://me:pass/word@host", SLASH),
            ("redis://me:1/word@host", SLASH),
            ("redis://me:1?word@host", QUESTION_MARK),
            ("redis://me:1#word@host", FRAGMENT),
            ("redis://host?db=1", QUERY),
            ("redis://host?a=b&pass=x", QUERY),
            ("redis://host:0", ZERO),
            (" redis://host", SPACE),
            (
                "redis://host?protocol=4",
                (UrlPart::Query, "the protocol may be resp2 or resp3"),
            ),
            ("rediss://host#insecure", INSECURE),
            ("redis://%ff:x@host", (UrlPart::User, "its user is not UTF-8")),
            ("redis://me:%ff@host", (UrlPart::Password, "its password is not UTF-8")),
            ("redis://me:pass word@host", SPACE),
        ] {
            assert_eq!(read(url).err(), Some(why), "{url}");
        }
    }

    #[test]
    fn escaped_characters_are_decoded() {
        let url = read("valkeys://a%40b:1%3a2%2F3%zz%@[2001:db8::1]:7000/12?protocol=resp3").unwrap();
        let expected = Url {
            tls: true,
            host: "2001:db8::1".into(),
            port: 7000,
            user: Some("a@b".into()),
            password: Some("1:2/3%zz%".into()),
            database: 12,
        };
        assert_eq!(url, expected);
    }

    #[test]
    fn a_socket_has_a_path_and_the_rest_behind_a_question_mark() {
        let expected = Url {
            tls: false,
            host: "/run/my redis.sock".into(),
            port: 0,
            user: Some("me".into()),
            password: Some("a&b@c".into()),
            database: 3,
        };
        for scheme in ["unix", "redis+unix", "valkey+unix"] {
            let url = format!("{scheme}:///run/my%20redis.sock?db=3&user=me&pass=a%26b@c&protocol=resp3");
            assert_eq!(read(&url).as_ref(), Ok(&expected), "{url}");
        }
    }
}
