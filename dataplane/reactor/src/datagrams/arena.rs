//! The received datagrams of one batch, each in a slot of its own that holds the longest possible datagram.

use std::{io, net::UdpSocket};

use weir_proxy::datagrams::io::Datagram;

/// The longest datagram has 65,507 bytes over IPv4 and 65,527 over IPv6.
pub(super) const DATAGRAM_BYTES_MAX: usize = 65_536;
/// Slots of a multiple of 64 KiB would all compete for the same lines of a cache.
const SLOT_BYTES: usize = DATAGRAM_BYTES_MAX + 192;
/// The maximum of datagrams in one batch, and so of new sessions. The sockets keep the others.
const SLOTS: usize = 128;

/// Takes 8 MiB of address space with the first listener, and memory as datagrams need it.
#[derive(Default)]
pub(super) struct Arena {
    bytes: Vec<u8>,
    lengths: Vec<u32>,
}

impl Arena {
    pub fn prepare(&mut self) {
        if self.bytes.is_empty() {
            self.bytes = vec![0; SLOTS * SLOT_BYTES];
            self.lengths = Vec::with_capacity(SLOTS);
        }
    }

    /// How many more datagrams this batch can hold.
    pub fn room(&self) -> usize {
        if self.bytes.is_empty() { 0 } else { SLOTS - self.lengths.len() }
    }

    /// The next free slots. Their number is at most the [`room`](Self::room).
    pub fn free(&mut self, count: usize) -> impl Iterator<Item = &mut [u8]> {
        let first = self.lengths.len() * SLOT_BYTES;
        self.bytes[first..].chunks_exact_mut(SLOT_BYTES).map(|slot| &mut slot[..DATAGRAM_BYTES_MAX]).take(count)
    }

    /// Receives one datagram into the next free slot; 0: there is none.
    pub fn receive_one(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        let Some(slot) = self.free(1).next() else { return Ok(0) };
        let bytes = socket.recv(slot)?;
        self.fill(bytes);
        Ok(1)
    }

    /// The next free slot got so many bytes.
    pub fn fill(&mut self, bytes: usize) {
        self.lengths.push(bytes.min(DATAGRAM_BYTES_MAX) as u32);
    }

    /// The datagrams that came last.
    pub fn latest(&self, count: usize) -> impl Iterator<Item = Datagram> {
        let first = self.lengths.len() - count;
        (first..self.lengths.len()).map(|index| Datagram { index: index as u32, bytes: self.lengths[index] })
    }

    /// The bytes of a datagram of this batch.
    pub fn bytes(&self, datagram: Datagram) -> &[u8] {
        let begin = datagram.index as usize * SLOT_BYTES;
        &self.bytes[begin..begin + datagram.bytes as usize]
    }

    pub fn clear(&mut self) {
        self.lengths.clear();
    }
}
