//! What one worker bounds by itself, whatever operators allow.

use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Limits {
    /// Places for client connections. One sixteenth of them is kept free, by sending away whoever can go (`shortage`);
    /// whoever finds none at all is closed at once. There are as many to servers: the last place is kept free as long as an
    /// idle one can go.
    pub clients: usize,
    /// Memory for what peers have not taken or we have not read. From half of it on servers are read less; beyond it, who
    /// takes least is closed.
    pub buffer_bytes: usize,
    /// Without any progress for so long, work makes place like an idle connection.
    pub stuck: Duration,
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
    /// How long a body may come more slowly than it must, at its beginning and after it was not read.
    pub slow_body: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            clients: 1 << 16,
            buffer_bytes: 1 << 30,
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
            slow_body: Duration::from_secs(5),
        }
    }
}

impl Limits {
    /// Clients from which on one goes for each that comes.
    pub fn clients_usual(&self) -> usize {
        (self.clients - (self.clients / 16).max(1).min(self.clients)).max(1)
    }

    /// What one connection may have queued while so many bytes are in use altogether: less and less from half of the memory
    /// on, and no less than a piece.
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

/// What one connection may have queued for its peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Room {
    pub queued_bytes: usize,
    pub queued_pieces: u32,
    /// Memory is short.
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
    fn some_places_are_kept_free() {
        for (clients, usual) in [(9400, 8813), (16, 15), (2, 1), (1, 1)] {
            assert_eq!(Limits { clients, ..Limits::default() }.clients_usual(), usual);
        }
    }
}
