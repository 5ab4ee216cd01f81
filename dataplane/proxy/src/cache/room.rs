//! Memory for responses on their way into the store.

use std::{cell::Cell, rc::Rc};

/// What one response has of the room for those on their way into the store.
pub(crate) struct Room {
    all: Rc<Cell<u64>>,
    most_bytes: u64,
    bytes: u64,
}

impl Room {
    /// `all` is what all responses have together.
    pub fn of(all: &Rc<Cell<u64>>, most_bytes: u64) -> Self {
        Self { all: all.clone(), most_bytes, bytes: 0 }
    }

    /// `false`: all have too much already.
    pub fn take(&mut self, bytes: u64) -> bool {
        let after = self.all.get() + bytes;
        if after > self.most_bytes {
            return false;
        }
        self.all.set(after);
        self.bytes += bytes;
        true
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.all.set(self.all.get() - self.bytes);
    }
}
