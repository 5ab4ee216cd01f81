//! A bounded number of entries, used again and again. The one freed last is used first, because it is still in the cache.

#[derive(Debug)]
pub struct Slab<T> {
    entries: Vec<T>,
    free: Vec<u32>,
    most: usize,
}

impl<T> Default for Slab<T> {
    /// Without room.
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new(), most: 0 }
    }
}

impl<T: Default> Slab<T> {
    /// Makes room for so many. Memory that no entry has used yet is only address space.
    pub fn make_room(&mut self, most: usize) {
        self.entries.reserve_exact(most.saturating_sub(self.entries.len()));
        self.free.reserve_exact(most.saturating_sub(self.free.len()));
        self.most = self.most.max(most);
    }

    /// An entry as its last user has left it. `None`: all are in use.
    #[inline]
    pub fn take(&mut self) -> Option<(u32, &mut T)> {
        let at = match self.free.pop() {
            Some(at) => at,
            None if self.entries.len() < self.most => {
                self.entries.push(T::default());
                self.entries.len() as u32 - 1
            }
            None => return None,
        };
        Some((at, self.entries.get_mut(at as usize)?))
    }

    #[inline]
    pub fn find(&mut self, at: u32) -> Option<&mut T> {
        self.entries.get_mut(at as usize)
    }

    #[inline]
    pub fn put_back(&mut self, at: u32) {
        debug_assert!(!self.free.contains(&at), "an entry is freed twice");
        self.free.push(at);
    }

    pub fn in_use(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_bounded_and_used_again() {
        let mut slab = Slab::<u8>::default();
        assert!(slab.take().is_none());
        slab.make_room(2);
        let taken: Vec<_> = std::iter::from_fn(|| slab.take().map(|(at, _)| at)).collect();
        assert_eq!((taken, slab.in_use()), (vec![0, 1], 2));
        *slab.find(1).unwrap() = 7;
        slab.put_back(1);
        assert_eq!(slab.take().map(|(at, value)| (at, *value)), Some((1, 7)));
        assert!(slab.take().is_none());
    }
}
