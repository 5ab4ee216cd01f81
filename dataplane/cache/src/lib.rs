//! A shared cache of HTTP (RFC 9111): what may be stored and for how long, which request a stored response answers and
//! how, and which objects make room for others. Pure: heads and the time in, decisions out. The bytes of objects, and who
//! waits for them, are `proxy`'s.
#![forbid(unsafe_code)]

mod asked;
mod date;
mod directives;
mod invalidations;
mod profile;
mod purges;
mod range;
mod selecting;
mod share;
mod store;
mod storing;
mod terms;
mod validators;

pub use asked::{Asked, Fit, Given};
pub use invalidations::Invalidations;
pub use profile::{CacheProfile, Settings};
pub use purges::{Purge, Purges};
pub use range::Part;
pub use selecting::Selecting;
pub use share::Share;
pub use store::{Key, Store};
pub use terms::{Moment, Terms, Times};
pub use validators::Validators;
