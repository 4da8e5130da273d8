//! The URL of a node with its password, for programs that use the lab.

use lockstorm_lock::NodeAddress;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// The whole URL of a node. It is a secret if the node requires a password.
pub fn secret_url(address: &NodeAddress) -> String {
    let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let scheme = if address.uses_tls() { "rediss" } else { "redis" };
    let who = address.credentials().map_or_else(String::new, |(user, password)| {
        format!("{}:{}@", user.map(encode).unwrap_or_default(), encode(password))
    });
    let database = match address.database() {
        0 => String::new(),
        number => format!("/{number}"),
    };
    format!("{scheme}://{who}{address}{database}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_read_back_as_it_was() {
        for url in [
            "redis://127.0.0.1:7001",
            "redis://:secret@127.0.0.1:7001",
            "redis://me:a%2Fb%40@[::1]:7001/2",
        ] {
            assert_eq!(secret_url(&NodeAddress::parse(url).unwrap()), url);
        }
    }
}
