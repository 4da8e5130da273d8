//! What a run can be asked for, and what is under way.

pub(crate) mod came_back;
pub(crate) mod command;
pub(crate) mod faults;
pub(crate) mod knobs;
pub(crate) mod meaning;
pub(crate) mod turned;
