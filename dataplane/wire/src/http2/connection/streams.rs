//! The streams of a connection (RFC 9113 §5.1).

use std::collections::VecDeque;

use crate::http2::{ReceiveWindow, Role, SendWindow};

/// How many streams that this end has reset are known, because frames of the peer may still be under way to them.
const RESET_KEPT: usize = 64;

/// For how many streams there is room at first, and for how many more at least when there is no more. Twice as much each
/// time, as usual, would leave up to half of it empty.
const GROWTH_MIN: usize = 4;

pub struct Stream<S> {
    pub id: u32,
    /// What the caller keeps with it.
    pub kept: S,
    pub send: SendWindow,
    pub receive: ReceiveWindow,
    pub heard: Heard,
    /// The peer knows of it, or will with the next frames.
    pub is_begun: bool,
    /// This end has said all.
    pub is_said: bool,
}

/// What has come of the peer's message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heard {
    Nothing,
    Head,
    All,
}

/// Where an identifier stands in its life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It stands for no stream yet.
    Idle,
    Open,
    /// This end has reset it: frames may still come.
    Reset,
    Closed,
}

pub struct Streams<S> {
    role: Role,
    /// By identifier: each new stream has the largest.
    open: Vec<Stream<S>>,
    /// The last identifier that has stood for a stream.
    last: u32,
    reset: VecDeque<u32>,
    /// The largest identifier that is no longer among them.
    forgotten: u32,
}

impl<S> Streams<S> {
    pub fn new(role: Role) -> Self {
        Self { role, open: Vec::new(), last: 0, reset: VecDeque::new(), forgotten: 0 }
    }

    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// The last identifier that has stood for a stream.
    pub fn last(&self) -> u32 {
        self.last
    }

    pub fn find(&mut self, id: u32) -> Option<&mut Stream<S>> {
        let at = self.at(id)?;
        self.open.get_mut(at)
    }

    pub fn peek(&self, id: u32) -> Option<&Stream<S>> {
        self.open.get(self.at(id)?)
    }

    fn at(&self, id: u32) -> Option<usize> {
        self.open.binary_search_by_key(&id, |stream| stream.id).ok()
    }

    pub fn ids(&self) -> Vec<u32> {
        self.open.iter().map(|stream| stream.id).collect()
    }

    pub fn peek_each(&self) -> impl Iterator<Item = &Stream<S>> {
        self.open.iter()
    }

    pub fn each(&mut self) -> impl Iterator<Item = &mut Stream<S>> {
        self.open.iter_mut()
    }

    /// Only clients open streams: no server of ours pushes, and no client of ours takes a push.
    pub fn state(&self, id: u32) -> State {
        match id {
            _ if id.is_multiple_of(2) || id > self.last => State::Idle,
            _ if self.at(id).is_some() => State::Open,
            // Among those that are no longer known some were reset.
            _ if id <= self.forgotten || self.reset.contains(&id) => State::Reset,
            _ => State::Closed,
        }
    }

    /// Uses an identifier for a stream that does not open.
    pub fn pass(&mut self, id: u32) {
        self.last = id;
    }

    pub fn open(&mut self, stream: Stream<S>) {
        debug_assert!(stream.id > self.last, "{} after {}", stream.id, self.last);
        self.last = stream.id;
        if self.open.len() == self.open.capacity() {
            self.open.reserve_exact((self.open.len() / 4).max(GROWTH_MIN));
        }
        self.open.push(stream);
    }

    pub fn remove(&mut self, id: u32) -> Option<Stream<S>> {
        Some(self.open.remove(self.at(id)?))
    }

    /// This end has reset a stream, which is open no more.
    pub fn note_reset(&mut self, id: u32) {
        self.reset.push_back(id);
        if self.reset.len() > RESET_KEPT
            && let Some(oldest) = self.reset.pop_front()
        {
            self.forgotten = self.forgotten.max(oldest);
        }
    }

    pub fn role(&self) -> Role {
        self.role
    }
}
