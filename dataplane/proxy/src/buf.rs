//! Owned, reference-counted pieces of pooled blocks. Data travels through the data plane in them, without copies.
//!
//! A driver fills a [`Buf`] and passes it on. The proxy splits it, skips parts of it and sends pieces. The block
//! returns to its pool with the last piece. One worker owns a pool and all its pieces: nothing here is `Send`.

use std::{
    cell::RefCell,
    ops::{Deref, Index, Range},
    rc::{Rc, Weak},
};

/// Blocks of one length. The pool keeps at most `idle_max` of them for reuse. Its users bound how many are in use.
#[derive(Clone)]
pub struct BufPool(Rc<Shelf>);

struct Shelf {
    block_bytes: usize,
    idle_max: usize,
    idle: RefCell<Vec<Rc<Block>>>,
    /// Blocks in use.
    out: std::cell::Cell<usize>,
}

struct Block {
    bytes: Vec<u8>,
    /// The content of a lasting piece, which has no bytes besides.
    lasting: Option<Box<Lasting>>,
    home: Weak<Shelf>,
}

/// Memory that does not change while it is there.
pub type Lasting = dyn Deref<Target = [u8]>;

impl Block {
    #[inline]
    fn get(&self, range: Range<usize>) -> &[u8] {
        match self.bytes.get(range.clone()) {
            Some(bytes) => bytes,
            None => self.get_lasting(range),
        }
    }

    #[cold]
    fn get_lasting(&self, range: Range<usize>) -> &[u8] {
        self.lasting.as_deref().map_or(&self.bytes[..], |lasting| &**lasting).index(range)
    }
}

impl BufPool {
    pub fn new(block_bytes: usize, idle_max: usize) -> Self {
        Self(Rc::new(Shelf { block_bytes, idle_max, idle: RefCell::default(), out: Default::default() }))
    }

    /// An empty piece with room for `block_bytes`.
    pub fn take(&self) -> Buf {
        self.0.out.set(self.0.out.get() + 1);
        let block = self.0.idle.borrow_mut().pop().unwrap_or_else(|| {
            let home = Rc::downgrade(&self.0);
            Rc::new(Block { bytes: vec![0; self.0.block_bytes], lasting: None, home })
        });
        Buf { block: Some(block), start: 0, end: 0 }
    }

    /// How many blocks are in use; 0 once every piece is dropped.
    pub fn in_use(&self) -> usize {
        self.0.out.get()
    }

    pub fn block_bytes(&self) -> usize {
        self.0.block_bytes
    }
}

impl Shelf {
    fn put_back(&self, block: Rc<Block>) {
        self.out.set(self.out.get() - 1);
        let mut idle = self.idle.borrow_mut();
        if idle.len() < self.idle_max {
            idle.push(block);
        }
    }
}

/// A piece of a block. Dereferences to its bytes.
pub struct Buf {
    /// `None` only while being dropped.
    block: Option<Rc<Block>>,
    start: usize,
    end: usize,
}

impl Buf {
    /// A piece outside any pool, for rare data and for data that does not fit a block.
    pub fn from_vec(bytes: Vec<u8>) -> Self {
        let end = bytes.len();
        Self { block: Some(Rc::new(Block { bytes, lasting: None, home: Weak::new() })), start: 0, end }
    }

    /// A piece of memory that does not change: a driver may let the network read it after the piece was sent.
    pub fn lasting(memory: Box<Lasting>) -> Self {
        let end = memory.len();
        let block = Block { bytes: Vec::new(), lasting: Some(memory), home: Weak::new() };
        Self { block: Some(Rc::new(block)), start: 0, end }
    }

    /// Known without a look at the block.
    #[inline]
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    pub fn is_lasting(&self) -> bool {
        self.block.as_ref().is_some_and(|block| block.lasting.is_some())
    }

    /// An empty piece outside any pool with room for `capacity` bytes, for a head that does not fit a block.
    pub fn with_room(capacity: usize) -> Self {
        let mut buf = Self::from_vec(vec![0; capacity]);
        buf.end = 0;
        buf
    }

    /// The free bytes behind this piece; empty while another piece shares the block, and behind a lasting one.
    pub fn room(&mut self) -> &mut [u8] {
        let end = self.end;
        match self.block.as_mut().and_then(Rc::get_mut) {
            Some(block) => block.bytes.get_mut(end..).unwrap_or_default(),
            None => &mut [],
        }
    }

    /// Says that `len` bytes of [`room`](Self::room) have been written.
    pub fn filled(&mut self, len: usize) {
        self.end += len;
        debug_assert!(self.end <= self.capacity());
    }

    /// Appends as much of `bytes` as fits; returns how much.
    pub fn append(&mut self, bytes: &[u8]) -> usize {
        let room = self.room();
        let len = bytes.len().min(room.len());
        room[..len].copy_from_slice(&bytes[..len]);
        self.filled(len);
        len
    }

    /// This piece's bytes, writable; `None` while another piece shares the block, and for a lasting one.
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        let range = self.start..self.end;
        self.block.as_mut().and_then(Rc::get_mut).and_then(|block| block.bytes.get_mut(range))
    }

    /// Drops the first `len` bytes.
    pub fn advance(&mut self, len: usize) {
        debug_assert!(len <= self.len());
        self.start += len;
    }

    /// Keeps only the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.end = self.end.min(self.start + len);
    }

    /// Splits off the first `len` bytes as a piece of their own, which shares the block.
    pub fn split_to(&mut self, len: usize) -> Buf {
        debug_assert!(len <= self.len());
        let head = Buf { block: self.block.clone(), start: self.start, end: self.start + len };
        self.start += len;
        head
    }

    /// A piece of these bytes of this one, which shares the block.
    pub fn part(&self, range: Range<usize>) -> Buf {
        Buf { block: self.block.clone(), start: self.start + range.start, end: self.start + range.end }
    }

    /// A second piece with the same bytes, which shares the block.
    pub fn share(&self) -> Buf {
        Buf { block: self.block.clone(), start: self.start, end: self.end }
    }

    fn capacity(&self) -> usize {
        self.block.as_ref().map_or(0, |block| block.lasting.as_ref().map_or(block.bytes.len(), |lasting| lasting.len()))
    }
}

impl Deref for Buf {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.block {
            Some(block) => block.get(self.start..self.end),
            None => &[],
        }
    }
}

impl Drop for Buf {
    fn drop(&mut self) {
        let Some(block) = self.block.take() else { return };
        if Rc::strong_count(&block) == 1
            && let Some(home) = block.home.upgrade()
        {
            home.put_back(block);
        }
    }
}

impl std::fmt::Debug for Buf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buf({})", self.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_returns_to_its_pool_with_the_last_piece() {
        let pool = BufPool::new(8, 4);
        let mut whole = pool.take();
        assert_eq!(whole.append(b"0123456789"), 8);
        let head = whole.split_to(3);
        assert_eq!((&*head, &*whole), (&b"012"[..], &b"34567"[..]));
        drop(whole);
        assert_eq!(pool.in_use(), 1);
        drop(head);
        assert_eq!(pool.in_use(), 0);
    }

    #[test]
    fn shared_block_is_not_writable() {
        let pool = BufPool::new(8, 4);
        let mut whole = pool.take();
        whole.append(b"abcd");
        let head = whole.split_to(1);
        assert!(whole.bytes_mut().is_none());
        assert!(whole.room().is_empty());
        drop(head);
        assert_eq!(whole.bytes_mut().map(|b| b.len()), Some(3));
        assert_eq!(whole.room().len(), 4);
    }

    #[test]
    fn lasting_piece_is_read_and_never_written() {
        let mut whole = Buf::lasting(Box::new(b"abcdef".to_vec()));
        assert!(whole.is_lasting() && whole.room().is_empty() && whole.bytes_mut().is_none());
        assert_eq!(whole.append(b"g"), 0);
        let head = whole.split_to(2);
        assert_eq!((&*head, &*whole, &*whole.part(1..3)), (&b"ab"[..], &b"cdef"[..], &b"de"[..]));
        assert!(head.is_lasting() && !Buf::from_vec(vec![1]).is_lasting());
    }

    #[test]
    fn piece_outlives_its_pool() {
        let pool = BufPool::new(8, 4);
        let mut piece = pool.take();
        drop(pool);
        piece.append(b"x");
        assert_eq!(&*piece, b"x");
    }
}
