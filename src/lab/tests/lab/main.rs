//! The lab by itself: real servers on hosts, and the network between them, broken and mended.

mod clocks;
mod hosts;
mod links;
mod power;
mod told;
