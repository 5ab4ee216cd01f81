//! DataScripts: scripts of operators in Lua, which run when a request or a response comes. A script is compiled once, on any
//! thread. A worker has one state of Lua, in which it runs them; it shows a script a copy of what it may see of an
//! exchange ([`Seen`]), and gets back what the script wants ([`Acts`]). What becomes of that is `proxy`'s.
//!
//! A script can hurt its own request only: it gets so many steps, so much time and memory. The clock is read for that alone.
//! What scripts keep for later requests, in tables of their virtual service ([`Store`]), has a bound of its own.
#![forbid(unsafe_code)]

mod acts;
mod avi;
mod body;
mod budget;
mod event;
mod fault;
mod hash;
mod head;
mod library;
mod persist;
mod script;
mod seen;
mod servers;
mod store;
mod tokens;
mod worker;

pub use acts::{Acts, Chosen, Ending, HeadEdit};
pub use avi::FIRST_BYTES_MAX;
pub use body::BODY_BYTES_MAX;
pub use event::Event;
pub use fault::Fault;
pub use head::Head;
pub use persist::Persist;
pub use script::{Label, SOURCE_BYTES_MAX, Script, ScriptSet, Served};
pub use seen::{Seen, SeenTls, Variable};
pub use servers::{Census, Servers};
pub use store::{Store, Stores};
pub use worker::{Ran, Scripts};
