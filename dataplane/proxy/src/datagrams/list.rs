//! Lists of sessions, in the order of their last datagrams. A session joins and leaves a list in a time that does not
//! depend on its length.

const NONE: u32 = u32::MAX;

/// The neighbours of a session in its list.
#[derive(Clone, Copy)]
pub(super) struct Links {
    previous: u32,
    next: u32,
}

impl Links {
    pub const UNUSED: Self = Self { previous: NONE, next: NONE };
}

/// Each method gets the links of all sessions, by their ids. A session is in at most one of the lists that share links.
pub(super) struct List {
    first: u32,
    last: u32,
    len: usize,
}

impl Default for List {
    fn default() -> Self {
        Self { first: NONE, last: NONE, len: 0 }
    }
}

impl List {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }

    pub fn ids(&self, links: &[Links]) -> impl Iterator<Item = u32> {
        std::iter::successors(self.first(), |id| Some(links[*id as usize].next).filter(|next| *next != NONE))
    }

    pub fn push_back(&mut self, id: u32, links: &mut [Links]) {
        let last = std::mem::replace(&mut self.last, id);
        match links.get_mut(last as usize) {
            Some(before) => before.next = id,
            None => self.first = id,
        }
        links[id as usize] = Links { previous: last, next: NONE };
        self.len += 1;
    }

    /// Removes a session that is in this list.
    pub fn remove(&mut self, id: u32, links: &mut [Links]) {
        let Links { previous, next } = std::mem::replace(&mut links[id as usize], Links::UNUSED);
        match links.get_mut(previous as usize) {
            Some(before) => before.next = next,
            None => self.first = next,
        }
        match links.get_mut(next as usize) {
            Some(after) => after.previous = previous,
            None => self.last = previous,
        }
        self.len -= 1;
    }
}
