//! The connections of one worker: a slot for each, found by index and guarded by generation. A freed slot is used again
//! only after the batch in which the handler learns of the end. It makes no system call; `slot` says what a slot holds.

use std::net::TcpStream;

use weir_proxy::io::Conn;

use crate::slot::{Output, Phase, Slot};

#[derive(Default)]
pub struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Slots freed in this batch, and in the one before. An end that occurs while sending is reported in the next
    /// batch.
    freed: Vec<u32>,
    freed_before: Vec<u32>,
    accepted: usize,
}

impl Table {
    /// Reserves addresses for `room` slots, but no memory before they are used. The table never grows by moving, which
    /// would leave as much memory behind as it holds.
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
        let conn = self.insert(Phase::Connecting);
        // Nothing can be sent before the peer has answered.
        self.slots[conn.slot as usize].output = Output::Blocked;
        conn
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

    /// Frees a slot. Its handles are invalid from now on. Returns the socket, which closes when the caller drops it.
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
        feeder.is_some_and(Slot::wants_input)
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
    use crate::slot::Then;

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

    #[test]
    fn closing_connection_is_no_longer_the_handlers() {
        let mut table = Table::default();
        let conn = table.insert(Phase::Flushing { then: Then::Close });
        assert!(table.owned(conn).is_none() && table.at(conn).is_some());
    }
}
