//! The commands, a file each.

pub mod bench;
pub mod colour;
pub mod compare;
pub mod consent;
pub mod console;
pub mod docs;
pub mod doctor;
pub mod explain;
mod judge;
pub mod lab;
mod load;
mod measure;
pub mod plan;
mod print;
pub mod recipes;
pub mod record;
mod records;
pub mod report;
pub mod run;
pub mod scenarios;
pub mod screen;
pub mod selftest;
pub mod server;
mod several;
pub mod sweep;
pub mod usage;
pub mod view;
