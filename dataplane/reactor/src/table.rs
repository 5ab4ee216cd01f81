//! The connections of one worker: a slot each, found by index, guarded by generation. A freed slot rests until the batch
//! in which the handler learns of the end is over, then is used again. Makes no system call; what a slot goes through is
//! told in `driver`.

use std::{cell::Cell, collections::VecDeque, net::TcpStream};

use weir_proxy::{buf::Buf, io::Conn};

use crate::pipe::Pipe;

/// Where a connection is in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    Free,
    /// Begun by us, no answer yet.
    Connecting,
    Open,
    /// Given up by the handler; what is queued still leaves.
    Flushing {
        then: Then,
    },
    /// All of a connection that ends in a reset has been sent, and the peer's kernel has not said yet that it has it: the
    /// reset would overtake that. So often we look again.
    Settling {
        looks_left: u32,
    },
    /// Our side is closed; at most so many more bytes of the peer are read and dropped.
    Lingering {
        bytes_left: u32,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Then {
    Close,
    Reset,
    Linger,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// Read until nothing was left; the kernel reports when there is more.
    Drained,
    /// There may be something to read.
    Waiting,
    /// The peer's end has been handed over.
    Ended,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    Clear,
    /// The kernel took no more; it reports when it does.
    Blocked,
    /// A write failed: nothing more is sent, what the peer sent before is still read.
    Broken,
}

pub struct Slot {
    pub generation: u32,
    pub phase: Phase,
    pub stream: Option<TcpStream>,
    /// Begun by the peer.
    pub accepted: bool,
    pub input: Input,
    pub output: Output,
    /// Whether the handler wants to be given what arrives.
    pub reading: bool,
    /// The kernel has seen the peer's end: a short read is the last.
    pub peer_done: bool,
    /// In the driver's list of connections with something to send.
    pub dirty: bool,
    /// In the driver's list of connections that take their time to end.
    pub departing: bool,
    /// In the driver's list of connections whose read budget was used up.
    pub listed: bool,
    /// The last read took more than a block, or filled one: the next one takes many.
    pub in_bulk: bool,
    /// What it brought last was relayed: of what it brings next, little more than a head is worth a look.
    pub has_relayed: bool,
    /// Whether the kernel reports what becomes of the socket.
    pub registered: bool,
    /// The handler waits for nothing of it.
    pub resting: bool,
    /// Whether the kernel reports when the socket becomes writable.
    pub watches_writable: bool,
    /// Our side ends once everything queued has left.
    pub finishing: bool,
    /// The handler has seen bytes queued and is told when they are gone.
    pub watched: Cell<bool>,
    pub queue: VecDeque<Buf>,
    pub queued_bytes: usize,
    /// Where what arrives goes by itself.
    pub relay: Option<Box<Relay>>,
    /// Whose relay comes here.
    pub fed_by: Option<Conn>,
}

impl Slot {
    fn new() -> Self {
        Self {
            generation: 0,
            phase: Phase::Free,
            stream: None,
            accepted: false,
            input: Input::Drained,
            output: Output::Clear,
            reading: true,
            peer_done: false,
            dirty: false,
            departing: false,
            listed: false,
            in_bulk: false,
            has_relayed: false,
            registered: false,
            resting: false,
            watches_writable: false,
            finishing: false,
            watched: Cell::new(false),
            queue: VecDeque::new(),
            queued_bytes: 0,
            relay: None,
            fed_by: None,
        }
    }
}

impl Slot {
    /// The peer's end is known, and not to be learnt by reading.
    pub fn leaves_unread(&self) -> bool {
        self.peer_done && !self.reading && self.input == Input::Waiting && self.phase == Phase::Open
    }
}

/// Bytes on their way from the connection that keeps this to another one (`relay`).
pub struct Relay {
    pub to: Conn,
    /// Not yet taken from the source.
    pub left: u64,
    /// While something is in it.
    pub pipe: Option<Pipe>,
    /// Gone to the receiver, and not told yet.
    pub moved: u64,
}

impl Relay {
    /// Bytes that have left the source and not reached the receiver.
    pub fn held_bytes(&self) -> usize {
        self.pipe.as_ref().map_or(0, |pipe| pipe.held)
    }
}

#[derive(Default)]
pub struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Freed in this batch, and in the one before: an end that comes while sending is told in the next batch.
    freed: Vec<u32>,
    freed_before: Vec<u32>,
    accepted: usize,
}

impl Table {
    /// Takes no memory for `room` slots before they are used, but addresses: it never grows by moving, which leaves as
    /// much again behind as it holds.
    pub fn with_room(room: usize) -> Self {
        Self { slots: Vec::with_capacity(room), ..Self::default() }
    }

    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len() - self.freed.len() - self.freed_before.len()
    }

    /// Slots that were ever used.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Those of [`len`](Self::len) that peers began.
    pub fn accepted(&self) -> usize {
        self.accepted
    }

    /// A batch begins.
    pub fn next_batch(&mut self) {
        self.free.append(&mut self.freed_before);
        std::mem::swap(&mut self.freed, &mut self.freed_before);
    }

    /// A connection that a peer began.
    pub fn accept(&mut self, stream: TcpStream) -> Conn {
        let conn = self.insert(Phase::Open);
        let slot = &mut self.slots[conn.slot as usize];
        (slot.stream, slot.accepted) = (Some(stream), true);
        self.accepted += 1;
        conn
    }

    /// A connection that we begin; its socket comes later.
    pub fn connect(&mut self) -> Conn {
        self.insert(Phase::Connecting)
    }

    fn insert(&mut self, phase: Phase) -> Conn {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::new());
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        slot.phase = phase;
        Conn { slot: index, generation: slot.generation }
    }

    /// Frees a slot; its handles are dead from now on. Returns the socket, which the caller closes by dropping it.
    pub fn remove(&mut self, index: u32) -> Option<TcpStream> {
        let slot = &mut self.slots[index as usize];
        if slot.phase == Phase::Free {
            return None;
        }
        let stream = slot.stream.take();
        self.accepted -= usize::from(slot.accepted);
        *slot = Slot { generation: slot.generation.wrapping_add(1), ..Slot::new() };
        self.freed.push(index);
        stream
    }

    /// The slot of a connection, in whatever phase, unless the handle is dead.
    pub fn at(&mut self, conn: Conn) -> Option<&mut Slot> {
        self.slots.get_mut(conn.slot as usize).filter(|s| s.generation == conn.generation && s.phase != Phase::Free)
    }

    /// The slot of a connection that is still the handler's.
    pub fn owned(&mut self, conn: Conn) -> Option<&mut Slot> {
        self.at(conn).filter(|s| matches!(s.phase, Phase::Open | Phase::Connecting))
    }

    /// The connection that relays to this one, while it does.
    pub fn feeder(&self, to: Conn) -> Option<Conn> {
        let from = self.peek(to)?.fed_by?;
        self.peek(from)?.relay.as_ref().is_some_and(|relay| relay.to == to).then_some(from)
    }

    /// Whether bytes lie ready that a relay brings to this connection, behind what is queued.
    pub fn is_about_to_be_fed(&self, to: Conn) -> bool {
        let feeder = self.feeder(to).and_then(|from| self.peek(from));
        feeder.is_some_and(|slot| slot.reading && slot.input == Input::Waiting)
    }

    /// Bytes on their way to a connection that no read of ours has seen.
    pub fn relayed_bytes(&self, to: Conn) -> usize {
        let relay = self.feeder(to).and_then(|from| self.peek(from)?.relay.as_ref());
        relay.map_or(0, |relay| relay.held_bytes())
    }

    pub fn peek(&self, conn: Conn) -> Option<&Slot> {
        self.slots.get(conn.slot as usize).filter(|s| s.generation == conn.generation)
    }

    pub fn phase(&self, index: u32) -> Phase {
        self.slots[index as usize].phase
    }

    /// The connection that a slot holds now.
    pub fn conn(&self, index: u32) -> Conn {
        Conn { slot: index, generation: self.slots[index as usize].generation }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slot_rests_for_a_batch_and_its_old_handle_stays_dead() {
        let mut table = Table::default();
        let first = table.connect();
        table.next_batch();
        table.remove(first.slot);
        assert!(table.at(first).is_none());
        assert_ne!(table.connect().slot, first.slot);
        table.next_batch();
        assert_ne!(table.connect().slot, first.slot);
        table.next_batch();
        let again = table.connect();
        assert_eq!(again.slot, first.slot);
        assert!(table.owned(first).is_none() && table.owned(again).is_some());
        assert_eq!(table.len(), 3);
    }

    #[test]
    fn slot_is_not_used_again_in_the_batch_in_which_it_was_freed() {
        let mut table = Table::default();
        let first = table.connect();
        table.remove(first.slot);
        assert_ne!(table.connect().slot, first.slot);
        assert_eq!(table.len(), 1);
    }

    #[test]
    fn accepted_connections_are_counted_until_their_slot_is_freed_once() {
        let mut table = Table::default();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let streams = [(); 2].map(|()| TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let accepted = streams.map(|stream| table.accept(stream));
        let connected = table.connect();
        assert_eq!((table.accepted(), table.len()), (2, 3));
        table.remove(connected.slot);
        assert_eq!((table.accepted(), table.len()), (2, 2));
        for _ in 0..2 {
            table.remove(accepted[0].slot);
            assert_eq!((table.accepted(), table.len()), (1, 1));
        }
    }

    /// Ten thousands of them stand idle.
    #[test]
    fn slot_is_small() {
        assert!(size_of::<Slot>() <= 96, "{}", size_of::<Slot>());
    }

    #[test]
    fn closing_connection_is_no_longer_the_handlers() {
        let mut table = Table::default();
        let conn = table.insert(Phase::Flushing { then: Then::Close });
        assert!(table.owned(conn).is_none() && table.at(conn).is_some());
    }
}
