//! What one worker bounds by itself, whatever operators allow.

use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Limits {
    /// Client connections; one more is closed at once. There are as many to servers: the last place is kept free as long
    /// as an idle one can go.
    pub clients: usize,
    /// Bytes queued for a peer beyond which the other side is not read. What one batch has brought comes on top.
    pub queued_bytes: usize,
    /// The same in pieces, because each small piece may hold a block.
    pub queued_pieces: u32,
    /// Bytes still to come of a body from which on the driver is asked to relay it; what fewer bytes win is less than
    /// what the relay costs.
    pub relay_bytes: u64,
    /// Bytes that come at once from which on what a tunnel carries is relayed.
    pub tunnel_relay_bytes: usize,
    /// How long a TLS handshake may take where the operator does not say.
    pub handshake: Duration,
    /// Servers tried for one request before any byte of it was sent.
    pub server_tries: usize,
    /// How long a connect may take in a pool that watches its servers, as long as another of them would take the request.
    /// Longer than any way around the world and back, shorter than it takes to send a lost packet again.
    pub connect_patience: Duration,
    /// Idle connections to one server, where the operator sets no limit.
    pub idle_connections: usize,
    /// How long a client may take nothing of what is queued for it.
    pub stalled_client: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            clients: 1 << 16,
            queued_bytes: 256 * 1024,
            queued_pieces: 64,
            relay_bytes: 32 * 1024,
            tunnel_relay_bytes: 16 * 1024,
            handshake: Duration::from_secs(30),
            server_tries: 3,
            connect_patience: Duration::from_millis(500),
            idle_connections: 1024,
            stalled_client: Duration::from_secs(60),
        }
    }
}
