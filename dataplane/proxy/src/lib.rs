pub mod buf;
pub mod io;
mod limits;
mod proxy;

pub use limits::Limits;
pub use proxy::Proxy;
