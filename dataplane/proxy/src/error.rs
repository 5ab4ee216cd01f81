//! What can go wrong with an exchange or with a client's connection, and who caused it.

use weir_rules::Barred;
use weir_telemetry::HandshakeFault;
use weir_tls::CertificateFault;
use weir_wire::http2::Code;

use crate::io::Gone;

/// Everything that can end an exchange or a client's connection early, by who caused it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Error {
    /// The client's request, or its body, is not valid HTTP.
    Request(weir_wire::Error),
    AcceptTimeout,
    /// The connection does not begin with a PROXY header, although the virtual service requires one.
    ProxyHeader,
    HeadTimeout,
    BodyTimeout,
    BodyTooLarge,
    /// The TLS handshake with the client failed, or its TLS broke off.
    ClientTls(HandshakeFault),
    /// The client has not shown a certificate that is good, and needs one. `in_handshake`: it has got an alert.
    ClientCertificate {
        fault: CertificateFault,
        in_handshake: bool,
    },
    /// A request has a field that only the engine writes.
    ForgedField,
    /// A request brings no good token, and needs one.
    Token(weir_jwt::Fault),
    /// Its token is good, and a rule says that it is not for this request.
    Unauthorized(weir_rules::Denial),
    /// The client takes nothing of what is queued for it.
    ClientStalled,
    ClientAborted,
    /// A connect failed, or the server's connection ended before the response did.
    Connect(Gone),
    ConnectTimeout,
    /// The TLS handshake with the server failed, or its TLS broke off.
    ServerTls,
    /// The server's certificate is not trusted, or does not match the server's name.
    ServerUntrusted,
    ServerReset,
    /// The server has ended the stream of the request with this code, and not its connection.
    StreamReset(Code),
    ServerClosed,
    /// The server has said that it did not process the request (RFC 9113 §8.7).
    ServerRefused,
    /// The connection takes no new requests, and has not taken this one, but others. Mostly the server has left it.
    ServerLeft,
    /// The server breaks HTTP/2, or does not speak it.
    ServerProtocol,
    ResponseTimeout,
    /// The server is to keep no work any more.
    ServerWithdrawn,
    Response(weir_wire::Error),
    NoPool,
    /// The servers of a gRPC call speak HTTP/1.1.
    NoHttp2,
    /// A parent has no pool, and no child wants the request.
    UnknownHost,
    /// The connection was opened for another server name.
    OtherHost,
    /// The same, and a connection of its own would lead to where the host is served.
    Misdirected,
    NoServer,
    /// The servers that would have taken the request had as many connections as they may have, for too long.
    QueueTimeout,
    /// A new connection to each server that may take the request would be beyond a limit of their rate.
    ServersTooOften,
    /// The server that the request is bound to is down, and no other one may get it.
    BoundServerDown,
    /// A rule of an HTTP policy ends the client's connection.
    Denied {
        reset: bool,
    },
    /// A request is beyond a limit of a rate, which ends the client's connection.
    RateLimited {
        reset: bool,
    },
    /// A connection is beyond a limit of a rate.
    ConnectionLimited {
        reset: bool,
    },
    /// The virtual service has as many connections as it may have.
    TooManyConnections,
    /// A rule for connections bars it.
    Barred(Barred),
    /// The deadline of a gRPC call has passed.
    DeadlineExceeded,
    /// A DataScript failed or took too long.
    Script,
    /// The same, for a connection that has no request yet, or whose bytes are not parsed.
    ConnectionScript,
    /// A DataScript answers instead of the server.
    Scripted,
    /// A defect of Weir: a head exceeded the room that policy asked for, or a session names another that does not
    /// exist.
    Defect,
}

impl Error {
    /// Whether the server caused it, for the server's record.
    pub(crate) fn blames_server(self) -> bool {
        use Error::*;
        match self {
            Connect(why) => why != Gone::Local,
            ConnectTimeout | ServerTls | ServerUntrusted | ServerReset | StreamReset(_) | ServerClosed
            | ServerRefused | ServerLeft | ServerProtocol | ResponseTimeout | Response(_) => true,
            _ => false,
        }
    }

    /// Whether the end of this request in the client's bytes is still known.
    pub(crate) fn leaves_client_readable(self) -> bool {
        !matches!(self, Error::Request(_) | Error::HeadTimeout | Error::BodyTimeout | Error::BodyTooLarge)
    }
}

/// A state that cannot occur without a defect of Weir. Tests stop here. In production the exchange fails and is counted, or
/// the connection that shows the defect is closed.
#[cold]
#[track_caller]
pub(crate) fn defect(what: &str) -> Error {
    debug_assert!(false, "{what}");
    Error::Defect
}
