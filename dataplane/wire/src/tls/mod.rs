//! TLS as far as its first message goes: what a client asks for before anything is encrypted. The handshake itself is the
//! business of `weir-tls`.

mod client_hello;
mod reader;

pub use client_hello::ClientHello;
pub use reader::{ClientHelloReader, HELLO_BYTES_MAX};

/// Why the bytes are no ClientHello.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoClientHello {
    /// The first bytes are no handshake record of TLS.
    NotTls,
    /// A record or the message is longer than it may be.
    TooLong,
    /// The message does not follow the grammar.
    Malformed,
}
