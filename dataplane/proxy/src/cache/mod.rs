//! The stored responses of one worker, and who waits for one that is on its way. `weir-cache` decides; here are the bytes.
//!
//! Of requests that nothing stored answers, the first asks a server, and leads: the others wait for what it gets. They do
//! not wait longer than two seconds, and not for what was not stored the last time. If the leader fails, the next one leads.

pub(crate) mod asking;
pub(crate) mod flight;
pub(crate) mod object;
pub(crate) mod role;
pub(crate) mod room;
pub(crate) mod stored;
