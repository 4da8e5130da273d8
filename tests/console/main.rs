//! The console: its screens, and the real program in a terminal.

mod briefing;
mod conclusions;
mod moving_picture;
mod picture;
mod pty;
mod record;
mod speaker;
mod titles;
mod views;
