//! Everything that can be wrong with a message of any protocol, by cause. Which status or which end of the connection follows is decided
//! where the side is known (`proxy::rescue`); after any of these the connection cannot be read further.

use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// Request line or status line does not follow the grammar.
    StartLine,
    /// The request line alone is longer than a head may be.
    TargetTooLong,
    /// The request target has none of the forms its method allows.
    Target,
    /// An HTTP version other than 1.0 and 1.1.
    Version,
    /// CONNECT, for anything but WebSocket where that is allowed.
    Connect,
    /// A client asks for WebSocket, and not for version 13 of it.
    WebSocketVersion,
    /// A server agrees to a handshake of WebSocket without proof that it has understood it.
    WebSocketAccept,
    /// A status outside 100–599.
    Status,
    /// A server switches protocols although nobody asked it to.
    SwitchedProtocols,
    /// A line ends in a bare LF, or a CR stands alone.
    LineEnding,
    /// A field name or value does not follow the grammar.
    Field,
    FieldTooLarge,
    TooManyFields,
    HeadTooLarge,
    /// Host is missing, there twice, or not a host.
    Host,
    /// Content-Length is there twice or not a number.
    ContentLength,
    /// Transfer-Encoding is not one that ends in a single `chunked`, or stands in an HTTP/1.0 message.
    TransferEncoding,
    /// Transfer-Encoding and Content-Length together.
    TwoFramings,
    /// A transfer coding that we do not implement.
    UnknownCoding,
    /// A chunk size that is not a number, or too large for one.
    ChunkSize,
    /// A chunk is not followed by CRLF, or its extension is malformed or too long.
    ChunkFraming,
    /// A trailer is malformed, or the trailer section too long.
    Trailer,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Error::StartLine => "malformed start line",
            Error::TargetTooLong => "request target too long",
            Error::Target => "malformed request target",
            Error::Version => "unsupported HTTP version",
            Error::Connect => "CONNECT is not supported",
            Error::WebSocketVersion => "missing or unsupported version of WebSocket",
            Error::WebSocketAccept => "wrong answer to a handshake of WebSocket",
            Error::Status => "status code out of range",
            Error::SwitchedProtocols => "unrequested switch of protocols",
            Error::LineEnding => "line does not end in CRLF",
            Error::Field => "malformed header field",
            Error::FieldTooLarge => "header field too large",
            Error::TooManyFields => "too many header fields",
            Error::HeadTooLarge => "head too large",
            Error::Host => "missing, repeated or malformed Host",
            Error::ContentLength => "repeated or malformed Content-Length",
            Error::TransferEncoding => "malformed Transfer-Encoding",
            Error::TwoFramings => "both Transfer-Encoding and Content-Length",
            Error::UnknownCoding => "unsupported transfer coding",
            Error::ChunkSize => "malformed chunk size",
            Error::ChunkFraming => "malformed chunk",
            Error::Trailer => "malformed trailer field",
        })
    }
}

impl std::error::Error for Error {}
