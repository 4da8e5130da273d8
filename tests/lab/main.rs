//! The lab: hosts, links, containers, a kept lab, and what each of them leaves behind.

mod compose;
mod docker;
mod doctor;
mod engine;
mod hosts;
mod kept;
mod leftovers;
mod links;
mod other_users;
mod own_nodes;
