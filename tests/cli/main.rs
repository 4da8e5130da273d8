//! The program at a shell: arguments, scenarios, outputs, and the commands that need no console.

mod arguments;
mod bench;
mod compare;
mod headless;
mod holds;
mod judge;
mod needs;
mod outputs;
mod plan;
mod recipes;
mod report;
mod scenario_errors;
mod scenarios;
mod view;
