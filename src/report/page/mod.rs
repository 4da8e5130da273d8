//! What pages of results share: the frame, the colours of drawings, round values for axes.

mod frame;
mod ink;
mod ticks;

pub(super) use frame::{cards, class, page, tabled};
pub(super) use ink::{COLOURS, INK, colour, inked, marker, named, paged, sign, stand_in};
pub(super) use ticks::{ROOM, round, round_time, round_times};
