//! HTTP/2 (RFC 9113) without I/O.

mod block;
mod budget;
mod code;
mod connection;
mod frame;
pub mod hpack;
mod priority;
mod request;
mod response;
mod settings;
mod window;

pub use block::Refused;
pub use budget::Budget;
pub use code::Code;
pub use connection::{Config, Connection, Event, Role};
pub use frame::{FRAME_BYTES_MIN, FRAME_HEADER_BYTES, Flags, FrameHeader, FrameType, STREAM_MAX};
pub use priority::{Priority, URGENCIES};
pub use request::{Request, request};
pub use response::{response, trailers};
pub use settings::{Settings, WINDOW_FIRST, WINDOW_MAX};
pub use window::{ReceiveWindow, SendWindow};

/// What a client sends first (§3.4). Its SETTINGS frame follows.
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
