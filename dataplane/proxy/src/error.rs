//! What can go wrong with an exchange or with a client's connection, and whose doing it is.

use crate::io::Gone;

/// Everything that can end an exchange or a client's connection before its time, by who did it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// The client's request, or its body, is not HTTP as we read it.
    Request(weir_wire::Error),
    AcceptTimeout,
    HeadTimeout,
    BodyTimeout,
    BodyTooLarge,
    ClientTls,
    /// The client takes nothing of what waits for it.
    ClientStalled,
    ClientAborted,
    /// A connect failed, or the server's connection ended before the response did.
    Connect(Gone),
    ConnectTimeout,
    /// The TLS handshake with the server failed, or its TLS broke off.
    ServerTls,
    /// The server's certificate is not one that we trust, or not for the name that it should be.
    ServerUntrusted,
    ServerReset,
    ServerClosed,
    ResponseTimeout,
    Response(weir_wire::Error),
    NoPool,
    NoServer,
    /// A defect of ours: a head did not fit the room that policy had asked for, or a session names one that is not there.
    Defect,
}

impl Error {
    /// Whose doing it was, for the server's record.
    pub(crate) fn blames_server(self) -> bool {
        use Error::*;
        match self {
            Connect(why) => why != Gone::Local,
            ConnectTimeout | ServerTls | ServerUntrusted | ServerReset | ServerClosed | ResponseTimeout
            | Response(_) => true,
            _ => false,
        }
    }

    /// Whether the client's bytes can still be told apart after it.
    pub(crate) fn leaves_client_readable(self) -> bool {
        !matches!(self, Error::Request(_) | Error::HeadTimeout | Error::BodyTimeout | Error::BodyTooLarge)
    }
}

/// What cannot be, and would be a defect of ours. Tests stop here; in production the exchange that is concerned ends, and is
/// counted.
#[cold]
#[track_caller]
pub(crate) fn defect(what: &str) -> Error {
    debug_assert!(false, "{what}");
    Error::Defect
}
