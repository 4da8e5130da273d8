//! Servers that work together: which there are, replicas and Sentinels, a cluster.

pub(crate) mod cluster;
pub(crate) mod etcd;
pub(crate) mod failover;
pub(crate) mod layout;
pub(crate) mod readiness;
pub(crate) mod replication;
pub(crate) mod stack;
