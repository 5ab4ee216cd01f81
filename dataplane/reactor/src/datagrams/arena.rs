//! The received datagrams of one batch. Each slot holds the longest possible datagram, or a train.

use std::{io, net::UdpSocket};

use weir_proxy::datagrams::io::Datagram;

/// The longest datagram has 65,507 bytes over IPv4 and 65,527 over IPv6. A train is no longer.
pub(super) const DATAGRAM_BYTES_MAX: usize = 65_536;
/// Slots of a multiple of 64 KiB would all compete for the same lines of a cache.
const SLOT_BYTES: usize = DATAGRAM_BYTES_MAX + 192;
/// The maximum of datagrams or trains in one batch, and so of new sessions. The sockets keep the others.
const SLOTS: usize = 128;
/// The kernel makes no longer trains. A virtual network card might: its datagrams beyond that are dropped.
const TRAIN_DATAGRAMS_MAX: u32 = 128;

/// Takes 8 MiB of address space with the first listener, and memory as datagrams need it.
#[derive(Default)]
pub(super) struct Arena {
    bytes: Vec<u8>,
    filled: Vec<Filled>,
}

/// What came into a slot: datagrams of the same length behind each other, of which the last may be shorter.
#[derive(Clone, Copy)]
struct Filled {
    bytes: u32,
    /// The length of each datagram; 0: there is one only.
    each: u32,
}

impl Arena {
    pub fn prepare(&mut self) {
        if self.bytes.is_empty() {
            self.bytes = vec![0; SLOTS * SLOT_BYTES];
            self.filled = Vec::with_capacity(SLOTS);
        }
    }

    /// How many more datagrams or trains this batch can hold.
    pub fn room(&self) -> usize {
        if self.bytes.is_empty() { 0 } else { SLOTS - self.filled.len() }
    }

    /// The next free slots. Their number is at most the [`room`](Self::room).
    pub fn free(&mut self, count: usize) -> impl Iterator<Item = &mut [u8]> {
        let first = self.filled.len() * SLOT_BYTES;
        self.bytes[first..].chunks_exact_mut(SLOT_BYTES).map(|slot| &mut slot[..DATAGRAM_BYTES_MAX]).take(count)
    }

    /// Receives one datagram into the next free slot; 0: there is none.
    pub fn receive_one(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        let Some(slot) = self.free(1).next() else { return Ok(0) };
        let bytes = socket.recv(slot)?;
        self.fill(bytes, 0);
        Ok(1)
    }

    /// The next free slot got so many bytes, in datagrams of `each`; 0: in one.
    pub fn fill(&mut self, bytes: usize, each: usize) {
        let (bytes, each) = (bytes.min(DATAGRAM_BYTES_MAX) as u32, each.min(DATAGRAM_BYTES_MAX) as u32);
        self.filled.push(Filled { bytes, each });
    }

    /// The datagrams of each of the slots that were filled last.
    pub fn latest(&self, count: usize) -> impl Iterator<Item = impl Iterator<Item = Datagram>> {
        let first = self.filled.len() - count;
        (first..).zip(&self.filled[first..]).map(|(slot, filled)| filled.datagrams((slot * SLOT_BYTES) as u32))
    }

    /// The bytes of a datagram of this batch.
    pub fn bytes(&self, datagram: Datagram) -> &[u8] {
        &self.bytes[datagram.at as usize..][..datagram.bytes as usize]
    }

    pub fn clear(&mut self) {
        self.filled.clear();
    }
}

impl Filled {
    /// Its datagrams, if it begins there. An empty datagram is one, too.
    fn datagrams(self, begin: u32) -> impl Iterator<Item = Datagram> {
        let Self { bytes, each } = self;
        let each = if each == 0 { bytes.max(1) } else { each };
        let count = bytes.div_ceil(each).clamp(1, TRAIN_DATAGRAMS_MAX);
        (0..count).map(move |index| Datagram { at: begin + index * each, bytes: each.min(bytes - index * each) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn train_is_datagrams_of_one_length_and_a_shorter_last_one() {
        let of = |bytes, each| {
            let datagrams = Filled { bytes, each }.datagrams(1000);
            datagrams.map(|datagram| (datagram.at - 1000, datagram.bytes)).collect::<Vec<_>>()
        };
        assert_eq!(of(250, 100), [(0, 100), (100, 100), (200, 50)]);
        assert_eq!(of(200, 100), [(0, 100), (100, 100)]);
        assert_eq!(of(60, 100), [(0, 60)]);
        assert_eq!((of(250, 0), of(0, 0), of(0, 100)), (vec![(0, 250)], vec![(0, 0)], vec![(0, 0)]));
        assert_eq!(of(60_000, 1).len(), 128);
    }

    #[test]
    fn last_slot_and_its_train_lie_within_the_arena() {
        let mut arena = Arena::default();
        arena.prepare();
        (0..SLOTS).for_each(|_| arena.fill(DATAGRAM_BYTES_MAX, 1000));
        let last = arena.latest(1).flatten().last().unwrap();
        assert_eq!((arena.room(), arena.bytes(last).len()), (0, DATAGRAM_BYTES_MAX % 1000));
    }
}
