//! The state of one connection. Each state is a type, so that two of them cannot contradict each other. It makes no
//! system call; `reactor` changes the states.

use std::{cell::Cell, collections::VecDeque, net::TcpStream};

use weir_proxy::{
    buf::Buf,
    io::{After, Conn},
};

use crate::{pipe::Pipe, tokens::Limiter};

/// Pieces of a queue that leave in one call.
pub(crate) const PIECES_MAX: usize = 64;
/// Enough for a head and its body. To clear room for more takes longer than everything else that is done to send them.
pub(crate) const PIECES_FEW: usize = 4;

pub struct Slot {
    pub generation: u32,
    pub phase: Phase,
    pub stream: Option<TcpStream>,
    /// Begun by the peer.
    pub accepted: bool,
    pub registration: Registration,
    pub input: Input,
    pub next_read: NextRead,
    pub output: Output,
    /// The kernel holds back what does not fill a segment, until the end of the connection.
    pub corked: bool,
    pub lists: Lists,
    /// Whose tokens its bytes take.
    pub limiter: Option<Limiter>,
    // What the handler has asked for, each whatever the others are.
    /// To be given what arrives.
    pub reading: bool,
    /// That our side ends once everything queued has left.
    pub finishing: bool,
    /// To be told when that has left: it has seen bytes queued.
    pub watched: Cell<bool>,
    pub queue: VecDeque<Buf>,
    pub queued_bytes: usize,
    /// The connection to which arriving bytes are relayed.
    pub relay: Option<Box<Relay>>,
    /// Whose relay comes here.
    pub fed_by: Option<Conn>,
}

impl Slot {
    pub fn new() -> Self {
        Self {
            generation: 0,
            phase: Phase::Free,
            stream: None,
            accepted: false,
            registration: Registration::Due,
            input: Input::Drained,
            next_read: NextRead::Block,
            output: Output::Clear,
            corked: false,
            lists: Lists::default(),
            limiter: None,
            reading: true,
            finishing: false,
            watched: Cell::new(false),
            queue: VecDeque::new(),
            queued_bytes: 0,
            relay: None,
            fed_by: None,
        }
    }

    /// Something is to be read, and the handler wants it.
    pub fn wants_input(&self) -> bool {
        self.reading && self.input.is_waiting() && !self.lists.has(List::Waiting)
    }

    /// The peer's end is known, and not to be learnt by reading.
    pub fn leaves_unread(&self) -> bool {
        !self.reading && self.input == Input::Ending && self.phase == Phase::Open
    }
}

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
    /// Everything on a connection that ends with a reset has been sent, but the peer's kernel has not acknowledged all
    /// of it, and the reset would overtake the rest. We look this many times more.
    Settling {
        looks_left: u32,
    },
    /// Our side is closed. At most this many more bytes of the peer are read and dropped.
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

/// Whether the kernel reports events of the socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Registration {
    /// From the end of the batch on.
    Due,
    /// Later: the handler waits for nothing of it.
    Resting,
    Registered(Interest),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interest {
    Readable,
    ReadableAndWritable,
}

/// What the kernel has for us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// Read until nothing was left; the kernel reports when there is more.
    Drained,
    /// There may be something to read.
    Waiting,
    /// The kernel has received the peer's end; there may be bytes before it. So a short read does not drain the socket:
    /// only a read that returns nothing tells which end it is.
    Ending,
    /// The peer's end has been handed over.
    Ended,
}

impl Input {
    pub fn is_waiting(self) -> bool {
        matches!(self, Self::Waiting | Self::Ending)
    }

    /// The kernel reports something.
    pub fn reported(&mut self) {
        if *self == Self::Drained {
            *self = Self::Waiting;
        }
    }

    /// The kernel reports the peer's end.
    pub fn end_reported(&mut self) {
        if *self != Self::Ended {
            *self = Self::Ending;
        }
    }
}

/// How much the next read takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextRead {
    Block,
    /// Many blocks: the last read filled what it was given, or brought more than a block.
    Bulk,
    /// Little more than a head: what came last was relayed.
    Head,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    Clear,
    /// The kernel took no more; it reports when it does.
    Blocked,
    /// A write failed: nothing more is sent, what the peer sent before is still read.
    Broken,
}

/// A list of the driver's that connections are in once at most.
#[derive(Clone, Copy)]
#[repr(u8)]
pub enum List {
    /// Something is to be sent.
    Dirty = 1,
    /// It takes its time to end.
    Departing = 2,
    /// It is read in the next batch.
    Unread = 4,
    /// It waits for tokens. Until then nothing moves.
    Waiting = 8,
}

/// Those that a connection is in.
#[derive(Clone, Copy, Default)]
pub struct Lists(u8);

impl Lists {
    /// False when it is in it already.
    pub fn enter(&mut self, list: List) -> bool {
        let before = self.0;
        self.0 |= list as u8;
        self.0 != before
    }

    /// Whether it was in the list.
    pub fn leave(&mut self, list: List) -> bool {
        let before = self.0;
        self.0 &= !(list as u8);
        self.0 != before
    }

    pub fn has(self, list: List) -> bool {
        self.0 & list as u8 != 0
    }
}

/// Bytes on their way from the connection that keeps this to another one (`relay`).
pub struct Relay {
    pub to: Conn,
    /// Not yet taken from the source.
    pub left: u64,
    pub after: After,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten thousands of them stand idle.
    #[test]
    fn slot_is_small() {
        assert!(size_of::<Slot>() <= 88, "{}", size_of::<Slot>());
    }

    #[test]
    fn end_that_was_reported_is_not_forgotten_for_what_comes_before_it() {
        for (before, reported, end_reported) in [
            (Input::Drained, Input::Waiting, Input::Ending),
            (Input::Waiting, Input::Waiting, Input::Ending),
            (Input::Ending, Input::Ending, Input::Ending),
            (Input::Ended, Input::Ended, Input::Ended),
        ] {
            let (mut one, mut other) = (before, before);
            one.reported();
            other.end_reported();
            assert_eq!((one, other), (reported, end_reported), "{before:?}");
        }
    }

    #[test]
    fn lists_are_entered_once_and_left_one_by_one() {
        let mut lists = Lists::default();
        assert_eq!([List::Dirty, List::Unread, List::Dirty].map(|list| lists.enter(list)), [true, true, false]);
        lists.leave(List::Dirty);
        let held = [List::Dirty, List::Departing, List::Unread].map(|list| lists.has(list));
        assert_eq!(held, [false, false, true]);
    }
}
