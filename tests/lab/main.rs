//! Labs of the program: containers, a kept lab, servers that are not ours, and what each of them leaves behind.

mod compose;
mod docker;
mod doctor;
mod engine;
mod kept;
mod leftovers;
mod measure;
mod other_users;
mod own_nodes;
