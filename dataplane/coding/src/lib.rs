//! Content codings: which a client takes, which responses are compressed and how their heads change, and the encoders
//! themselves. And the rewriting of content, which comes before. Pure: bytes in, bytes out; when a body is changed and where
//! its bytes go is `proxy`'s.
#![forbid(unsafe_code)]

mod accept;
mod brotli;
mod coding;
mod compression;
mod encoder;
mod expressions;
mod found;
mod gzip;
mod head;
mod literals;
mod media_type;
mod pairs;
mod plain;
mod pool;
mod replacer;
mod rewrite;
mod step;
mod sum;
mod tail;
mod whole;
mod zstd;

pub use accept::{Codings, accepted};
pub use coding::Coding;
pub use compression::{By, Compression, Devices, Filter, Level, Outcome, Verdict, Wanted};
pub use encoder::Encoder;
pub use expressions::WINDOW_BYTES;
pub use head::{Change, Coded, Form, keeps_trailer};
pub use media_type::MediaTypes;
pub use pairs::{BadPair, Of, Pair, Part, Search, VARIABLE_SEARCH_BYTES_MAX, VARIABLE_SEARCHES_MAX};
pub use pool::{BYTES_MAX, PATIENCE, Pool, Pooled};
pub use replacer::{Replacer, Values};
pub use rewrite::{Rewrite, holds_weak};
pub use step::{Broken, Step, Until};
