//! The PROXY protocol: the first bytes of a connection say which client it belongs to. The standard is HAProxy's
//! `proxy-protocol.txt`, whose sections the comments name.

mod read;
mod tlv;
mod write;

pub use read::{Ends, Header, Malformed, V1_BYTES_MAX, V2_BYTES_MAX, read};
pub use tlv::{Additions, passed_on};
pub use write::{BYTES_MAX, v1, v2};

/// The beginning of version 2.
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
const TCP_OVER_IPV4: u8 = 0x11;
const TCP_OVER_IPV6: u8 = 0x21;
