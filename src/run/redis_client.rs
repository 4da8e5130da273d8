//! Clients of the redis crate, as users of the nodes have them: the workloads' cache, and what the engine is compared with.

use redis::{Client, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo, RedisConnectionInfo, RedisResult};

use lockstorm_lock::NodeAddress;

/// The address of a node with its credentials, for the redis crate. This does not check who listens there: see
/// [`redis_client`].
///
/// # Errors
/// The node uses TLS, for which that crate is not built here. The nodes of a lab don't.
pub fn connection_info(address: &NodeAddress) -> RedisResult<ConnectionInfo> {
    if address.uses_tls() {
        return Err((ErrorKind::InvalidClientConfig, "TLS is for the lock engine only").into());
    }
    let mut settings = RedisConnectionInfo::default().set_db(address.database().into());
    if let Some((user, password)) = address.credentials() {
        settings = settings.set_password(password);
        if let Some(user) = user {
            settings = settings.set_username(user);
        }
    }
    let info = ConnectionAddr::Tcp(address.host().to_owned(), address.port()).into_connection_info()?;
    Ok(info.set_redis_settings(settings))
}

/// A client for this address, if whoever listens there may get the password. It is not connected yet.
///
/// # Errors
/// Somebody else listens there, or an error of [`connection_info`].
pub fn redis_client(address: &NodeAddress) -> RedisResult<Client> {
    address.check()?;
    Client::open(connection_info(address)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_goes_where_the_address_says_as_whom_it_says() {
        for url in [
            "redis://me:secret@localhost:7000/3",
            "redis://:secret@[::1]",
            "redis://127.0.0.1",
        ] {
            let ours = connection_info(&NodeAddress::parse(url).unwrap()).unwrap();
            let theirs = url.into_connection_info().unwrap();
            assert_eq!(format!("{:?}", ours.addr()), format!("{:?}", theirs.addr()), "{url}");
            let (ours, theirs) = (ours.redis_settings(), theirs.redis_settings());
            assert_eq!(
                (ours.username(), ours.password(), ours.db()),
                (theirs.username(), theirs.password(), theirs.db()),
                "{url}"
            );
        }
    }
}
