//! How much of a store one virtual service may have: its objects make room for each other.

use std::{
    collections::VecDeque,
    hash::{BuildHasher, Hash},
    sync::LazyLock,
};

use foldhash::quality::RandomState;

/// Whose an object is, and how much memory all that is stored for it may need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    pub(crate) whose: u64,
    pub most_bytes: usize,
}

static SECRET: LazyLock<RandomState> = LazyLock::new(RandomState::default);

impl Share {
    pub fn of(whose: impl Hash, most_bytes: usize) -> Self {
        Self { whose: SECRET.hash_one(whose), most_bytes }
    }
}

/// What is stored for one virtual service. Its queue also has objects that are gone: their numbers are others by then.
#[derive(Default, Debug)]
pub(crate) struct Used {
    pub bytes: usize,
    objects: usize,
    queue: VecDeque<Place>,
}

/// An entry, and the number that it has had since it was put there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub at: u32,
    pub number: u64,
}

impl Used {
    pub fn add(&mut self, place: Place, bytes: usize, is_there: impl Fn(&Place) -> bool) {
        self.bytes += bytes;
        self.objects += 1;
        if self.queue.len() > 2 * self.objects + 16 {
            self.queue.retain(is_there);
        }
        self.queue.push_back(place);
    }

    pub fn lose(&mut self, bytes: usize) {
        self.bytes -= bytes;
        self.objects -= 1;
    }

    /// The one that has been there longest, or that came to the end of the queue again.
    pub fn next(&mut self) -> Option<Place> {
        self.queue.pop_front()
    }

    pub fn put_off(&mut self, place: Place) {
        self.queue.push_back(place);
    }
}
