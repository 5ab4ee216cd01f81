//! The bounds of one worker that no operator configures.

use std::time::Duration;

/// The peers of whom one batch may have datagrams.
pub(crate) const BATCH: usize = 128;

#[derive(Clone, Debug)]
pub struct Limits {
    /// The maximum of client connections. One sixteenth of them is kept free by evicting clients (`flow::eviction`). A
    /// new client that gets no place is closed at once. The maximum holds for connections to servers, too: when it is
    /// reached, the proxy closes an idle one. It also holds for streams of HTTP/2: one too many is refused. The last sixteenth of
    /// their places is for connections that carry few.
    pub clients: usize,
    /// The same for connections while there are listeners for datagrams, whose sessions need descriptors, too.
    pub clients_beside_sessions: usize,
    /// Memory for what peers have not taken yet and what the proxy has not read yet. From half of it on, the proxy
    /// reads less from servers. Beyond it, the proxy closes the clients that hold the memory.
    pub buffer_bytes: usize,
    /// Memory for stored responses.
    pub cache_bytes: usize,
    /// Work without progress for this long may be evicted like an idle connection.
    pub stuck: Duration,
    /// The proxy stops reading one side of an exchange when more than this is queued for the other. The input of one
    /// batch may come on top.
    pub queued_bytes: usize,
    /// The same limit in pieces, because each small piece may hold a block.
    pub queued_pieces: u32,
    /// The proxy asks the driver to relay a body of which at least this many bytes are still to come. For fewer bytes,
    /// a relay costs more than it saves.
    pub relay_bytes: u64,
    /// The proxy asks the driver to relay a tunnel when this many bytes arrive at once.
    pub tunnel_relay_bytes: usize,
    /// How long a TLS handshake may take if the operator sets no limit.
    pub handshake: Duration,
    /// How many servers the proxy tries for one request of which no byte has been sent.
    pub server_tries: usize,
    /// How long a connect may take in a pool that watches its servers, while another server could take the request.
    /// Longer than any round trip on Earth, shorter than the time until a lost SYN is sent again.
    pub connect_patience: Duration,
    /// Idle connections to one server if the operator sets no limit.
    pub idle_connections: usize,
    /// How long a client may take nothing of what is queued for it.
    pub stalled_client: Duration,
    /// The maximum of sockets for sessions of datagrams. Some are kept free: the session that is idle longest ends
    /// instead (`datagrams::crowd`), and its socket is free after the batch.
    pub session_sockets: usize,
    /// The same for ports of this machine, which those sessions need whose servers do not see the client's address.
    pub session_ports: usize,
    /// Sessions that the clients of one address (an IPv6 /64) may have. A new one beyond this is refused: its datagrams
    /// are dropped.
    pub sessions_per_address: usize,
    /// How long a body may be slower than its minimum rate, at its beginning and after a pause in reading.
    pub slow_body: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            clients: 1 << 16,
            clients_beside_sessions: 1 << 16,
            buffer_bytes: 1 << 30,
            cache_bytes: 64 << 20,
            stuck: Duration::from_secs(10),
            queued_bytes: 256 * 1024,
            queued_pieces: 64,
            relay_bytes: 32 * 1024,
            tunnel_relay_bytes: 16 * 1024,
            handshake: Duration::from_secs(30),
            server_tries: 3,
            connect_patience: Duration::from_millis(500),
            idle_connections: 1024,
            stalled_client: Duration::from_secs(60),
            session_sockets: 65_536,
            session_ports: 28_232,
            sessions_per_address: 1_024,
            slow_body: Duration::from_secs(5),
        }
    }
}

impl Limits {
    /// The maximum of client connections now.
    pub fn clients_max(&self, takes_datagrams: bool) -> usize {
        if takes_datagrams { self.clients.min(self.clients_beside_sessions) } else { self.clients }
    }

    /// From this part of the maximum on, each new client needs the eviction of another.
    pub fn usual(most: usize) -> usize {
        (most - (most / 16).max(1).min(most)).max(1)
    }

    pub(crate) fn session_sockets_usual(&self) -> usize {
        but_for_a_batch(self.session_sockets)
    }

    pub(crate) fn session_ports_usual(&self) -> usize {
        but_for_a_batch(self.session_ports)
    }

    /// What one connection may have queued while this many bytes are in use in total. Beyond half of the memory the
    /// room shrinks, down to one piece.
    pub(crate) fn room(&self, buffered_bytes: usize) -> Room {
        let half = (self.buffer_bytes / 2).max(1);
        if buffered_bytes <= half {
            return Room { queued_bytes: self.queued_bytes, queued_pieces: self.queued_pieces, is_short: false };
        }
        let left = self.buffer_bytes.saturating_sub(buffered_bytes);
        Room {
            queued_bytes: (self.queued_bytes as u128 * left as u128 / half as u128).max(1) as usize,
            queued_pieces: (u64::from(self.queued_pieces) * left as u64 / half as u64).max(1) as u32,
            is_short: true,
        }
    }
}

/// All but a sixteenth, and at least so many less as new clients may come in one batch. The kernel finds a free port
/// quickly only while there are some.
fn but_for_a_batch(most: usize) -> usize {
    most - (most / 16).max(BATCH.min(most / 2))
}

/// What one connection may have queued for its peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Room {
    pub queued_bytes: usize,
    pub queued_pieces: u32,
    /// More than half of the memory is in use.
    pub is_short: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_shrinks_from_half_of_the_memory_on() {
        let limits = Limits { buffer_bytes: 1000, queued_bytes: 200, queued_pieces: 40, ..Limits::default() };
        let room = |used| (limits.room(used).queued_bytes, limits.room(used).queued_pieces, limits.room(used).is_short);
        assert_eq!([room(0), room(500)], [(200, 40, false); 2]);
        assert_eq!([room(750), room(999), room(2000)], [(100, 20, true), (1, 1, true), (1, 1, true)]);
    }

    #[test]
    fn sockets_of_sessions_are_kept_free_for_a_batch() {
        for (most, usual) in [(65_536, 61_440), (1_186, 1_058), (100, 50), (2, 1), (1, 1)] {
            assert_eq!(Limits { session_sockets: most, ..Limits::default() }.session_sockets_usual(), usual);
        }
    }

    #[test]
    fn some_places_are_kept_free() {
        for (clients, usual) in [(9400, 8813), (16, 15), (2, 1), (1, 1)] {
            assert_eq!(Limits::usual(clients), usual);
        }
    }

    #[test]
    fn sessions_take_places_of_clients_only_while_there_are_listeners_for_them() {
        let limits = Limits { clients: 1000, clients_beside_sessions: 800, ..Limits::default() };
        assert_eq!([false, true].map(|takes_datagrams| limits.clients_max(takes_datagrams)), [1000, 800]);
    }
}
