//! Memory for content that is sent many times: mappings of their own, which are filled once and never again. So the
//! network may read their pages long after they were sent ([`socket::lend`](crate::socket::lend)): when a mapping ends, the
//! kernel frees each page with its last reader.

use std::{
    ops::Deref,
    sync::atomic::{AtomicUsize, Ordering},
};

use memmap2::{Advice, Mmap, MmapMut};
use weir_proxy::buf::Buf;

/// Mappings of this process. The kernel allows 65,530 for everything (`vm.max_map_count`).
const MAPPINGS_MAX: usize = 32_768;

const HUGE_PAGE_BYTES: usize = 2 << 20;

static MAPPINGS: AtomicUsize = AtomicUsize::new(0);

struct Mapping {
    memory: Mmap,
    _place: Place,
}

/// One of [`MAPPINGS_MAX`].
struct Place;

impl Place {
    fn take() -> Option<Self> {
        let place = Self;
        (MAPPINGS.fetch_add(1, Ordering::Relaxed) < MAPPINGS_MAX).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        MAPPINGS.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory
    }
}

/// `None`: there are too many, or the kernel has no memory.
pub(crate) fn of(content: &[Vec<u8>]) -> Option<Buf> {
    let place = Place::take()?;
    let bytes = content.iter().map(Vec::len).sum();
    let mut memory = MmapMut::map_anon(bytes).ok()?;
    if bytes >= HUGE_PAGE_BYTES {
        // To lend one takes less work than to lend 512 others. The kernel may have none.
        let _ = memory.advise(Advice::HugePage);
    }
    let mut rest = &mut memory[..];
    for piece in content {
        let (to, after) = rest.split_at_mut(piece.len());
        to.copy_from_slice(piece);
        rest = after;
    }
    Some(Buf::lasting(Box::new(Mapping { memory: memory.make_read_only().ok()?, _place: place })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_stands_in_one_piece_and_its_place_is_given_back() {
        let before = MAPPINGS.load(Ordering::Relaxed);
        let whole = of(&[vec![1; 5000], vec![2; 7]]).expect("a mapping");
        assert_eq!(MAPPINGS.load(Ordering::Relaxed), before + 1);
        assert!(whole.is_lasting());
        assert_eq!(*whole, [vec![1; 5000], vec![2; 7]].concat());
        drop(whole);
        assert_eq!(MAPPINGS.load(Ordering::Relaxed), before);
    }
}
