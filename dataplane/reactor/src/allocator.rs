//! The allocator of a process: mimalloc. Its functions for aligned memory take room for the alignment besides, and a
//! slower way, even where every block is aligned well enough; so they are asked only for more than a word.

use std::{
    alloc::{GlobalAlloc, Layout},
    ffi::c_void,
};

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc, mi_zalloc_aligned,
};

pub struct Allocator;

/// Every block of mimalloc is aligned to a word at least.
const WORD: usize = size_of::<usize>();

// SAFETY: mimalloc returns null or a block of the size and the alignment asked for, which nobody else has; it never
// unwinds. It frees and moves blocks of both kinds alike.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the functions take any size, and any alignment that is a power of two.
        unsafe {
            match layout.align() <= WORD {
                true => mi_malloc(layout.size()).cast(),
                false => mi_malloc_aligned(layout.size(), layout.align()).cast(),
            }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        unsafe {
            match layout.align() <= WORD {
                true => mi_zalloc(layout.size()).cast(),
                false => mi_zalloc_aligned(layout.size(), layout.align()).cast(),
            }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the caller got the block from these functions.
        unsafe { mi_free(block.cast::<c_void>()) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller got the block from these functions, with this alignment.
        unsafe {
            match layout.align() <= WORD {
                true => mi_realloc(block.cast::<c_void>(), size).cast(),
                false => mi_realloc_aligned(block.cast::<c_void>(), size, layout.align()).cast(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_keep_their_content() {
        for align in [1, 2, 4, 8, 16, 64, 4096] {
            for size in [1, 7, 8, 9, 24, 40, 320, 1024, 1500, 20_000] {
                let layout = Layout::from_size_align(size, align).expect("a layout");
                // SAFETY: the sizes are not zero, and each block is freed once, with its own layout.
                unsafe {
                    let block = Allocator.alloc_zeroed(layout);
                    assert_eq!(block.addr() % align, 0, "{size} bytes aligned to {align}");
                    assert!((0..size).all(|at| *block.add(at) == 0));
                    block.write_bytes(7, size);
                    let larger = Allocator.realloc(block, layout, size * 3);
                    assert_eq!(larger.addr() % align, 0, "{size} bytes aligned to {align}, moved");
                    assert!((0..size).all(|at| *larger.add(at) == 7));
                    Allocator.dealloc(larger, Layout::from_size_align(size * 3, align).expect("a layout"));
                }
            }
        }
    }
}
