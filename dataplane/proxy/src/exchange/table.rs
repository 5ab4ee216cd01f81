//! The exchanges of a worker, by identity. An entry is reused with another generation, so that the identity of an ended
//! exchange finds nothing.

use crate::error::{Error, defect};

/// The identity of an exchange: an entry, and the generation of its use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ExchangeId {
    slot: u32,
    generation: u32,
}

pub(crate) struct Exchanges<T> {
    entries: Vec<Entry<T>>,
    /// Unused entries. The one freed last is reused first, because it is still in the cache.
    free: Vec<u32>,
}

struct Entry<T> {
    generation: u32,
    exchange: Option<T>,
}

impl<T> Exchanges<T> {
    /// Reserves address space for this many exchanges, so that the table never moves. Unused entries take no memory.
    pub fn with_room(room: usize) -> Self {
        Self { entries: Vec::with_capacity(room), free: Vec::new() }
    }

    #[inline]
    pub fn insert(&mut self, exchange: T) -> (ExchangeId, &mut T) {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.entries.push(Entry { generation: 0, exchange: None });
                self.entries.len() as u32 - 1
            }
        };
        let entry = &mut self.entries[slot as usize];
        (ExchangeId { slot, generation: entry.generation }, entry.exchange.insert(exchange))
    }

    #[inline]
    pub fn find(&mut self, id: ExchangeId) -> Option<&mut T> {
        match self.entries.get_mut(id.slot as usize) {
            Some(Entry { generation, exchange }) if *generation == id.generation => exchange.as_mut(),
            _ => None,
        }
    }

    /// For callers whose exchange cannot be over.
    #[inline]
    pub fn live(&mut self, id: ExchangeId) -> Result<&mut T, Error> {
        self.find(id).ok_or_else(|| defect("an exchange is over, but something still refers to it"))
    }

    pub fn peek(&self, id: ExchangeId) -> Option<&T> {
        match self.entries.get(id.slot as usize) {
            Some(Entry { generation, exchange }) if *generation == id.generation => exchange.as_ref(),
            _ => None,
        }
    }

    pub fn remove(&mut self, id: ExchangeId) {
        if let Some(entry) = self.entries.get_mut(id.slot as usize)
            && entry.generation == id.generation
            && entry.exchange.is_some()
        {
            entry.exchange = None;
            entry.generation = entry.generation.wrapping_add(1);
            self.free.push(id.slot);
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_of_an_exchange_that_is_over_finds_nothing() {
        let mut exchanges = Exchanges::with_room(0);
        let old = exchanges.insert("old").0;
        exchanges.remove(old);
        let new = exchanges.insert("new").0;
        assert_eq!(exchanges.find(old), None);
        assert_eq!(exchanges.peek(old), None);
        exchanges.remove(old);
        assert_eq!(exchanges.find(new), Some(&mut "new"));
        assert_eq!(exchanges.len(), 1);
        assert_eq!((old.slot, new.slot), (0, 0), "the entry is used again");
    }
}
