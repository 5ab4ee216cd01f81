//! What the proxy tells the counters.

use crate::{Agreed, Cause, HandshakeFault, Limited, Spans};

/// Something the data plane did or saw. `service` and `server` are [ids](crate::id) of the snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happening {
    ClientConnected {
        service: u32,
    },
    ClientGone {
        service: u32,
    },
    /// A connection of a client turns out to speak HTTP/2.
    Http2Begun {
        service: u32,
    },
    Http2Gone {
        service: u32,
    },
    /// A client of HTTP/2 has opened a stream.
    StreamOpened {
        service: u32,
    },
    StreamGone {
        service: u32,
    },
    /// A TLS handshake is complete.
    Handshake {
        service: u32,
        agreed: Agreed,
    },
    HandshakeFailed {
        service: u32,
        fault: HandshakeFault,
    },
    /// A whole request head has arrived; `method` is an index of [`METHODS`].
    Request {
        service: u32,
        method: usize,
    },
    /// The same, on a stream of HTTP/2.
    StreamRequest {
        service: u32,
        method: usize,
    },
    /// A request is a call of gRPC.
    Call {
        service: u32,
    },
    /// A response head has gone to the client; `local`: made here, not by a server.
    Response {
        service: u32,
        status: u16,
        local: bool,
    },
    /// The status of a response to a client is none of an error: an operator says so. It is noted beside the response.
    Excluded {
        service: u32,
        status: u16,
    },
    /// A server has answered a request to the end.
    Exchanged {
        service: u32,
        server: u32,
        spans: Spans,
    },
    /// A request that the cache may answer comes to it.
    CacheAsked {
        service: u32,
    },
    /// A stored response answers a request, perhaps after its validation.
    CacheHit {
        service: u32,
    },
    /// A request goes to another server after a response, which the client does not get.
    Reselected {
        service: u32,
    },
    /// A request has become a tunnel of WebSocket.
    WebSocketOpened {
        service: u32,
    },
    WebSocketGone {
        service: u32,
    },
    /// An exchange or a connection has failed.
    Failed {
        service: u32,
        cause: Cause,
    },
    /// A request or a connection is refused, because it is beyond a limit of rates. It is noted beside the failure.
    Limited {
        service: u32,
        limited: Limited,
    },
    /// Bytes from and to the client, as the network carries them (TLS included).
    ClientBytes {
        service: u32,
        received: u64,
        sent: u64,
    },
    /// The round trip to the client of some connection was found to take so long.
    ClientRoundTrip {
        service: u32,
        nanos: u64,
    },
    /// A datagram has come from a client.
    DatagramReceived {
        service: u32,
        bytes: u32,
    },
    /// A datagram goes to a client.
    DatagramSent {
        service: u32,
        bytes: u32,
    },
    /// A connection to a server is established. The connect took so long; 0 for a session of datagrams, which has none.
    ServerConnected {
        server: u32,
        nanos: u64,
    },
    /// A connection to a server turns out to speak HTTP/2.
    ServerHttp2 {
        server: u32,
    },
    /// A connection that stood is over.
    ServerGone {
        server: u32,
    },
    /// A request was given to a connection; `reused`: one that had served a request before.
    ServerRequest {
        server: u32,
        reused: bool,
    },
    /// A server has sent a response head, which the client may not get.
    ServerResponse {
        server: u32,
        status: u16,
    },
    /// The same as `Excluded`, of a response of a server.
    ServerExcluded {
        server: u32,
        status: u16,
    },
    /// Bytes from and to a server, as the network carries them (TLS included).
    ServerBytes {
        server: u32,
        received: u64,
        sent: u64,
    },
    /// A request has to wait until a server of its pool has fewer connections.
    Queued {
        pool: u32,
    },
    /// It would have to, but so many wait already.
    QueueFull {
        pool: u32,
    },
    /// It has waited too long.
    QueueTimeout {
        pool: u32,
    },
    /// So many wait now.
    Waiting {
        pool: u32,
        requests: u64,
    },
    /// A connect failed, or an exchange failed by the server's doing. `reset`: the server has reset it.
    ServerFailed {
        server: u32,
        reset: bool,
    },
}
