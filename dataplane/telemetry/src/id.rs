//! Ids of virtual services and servers: the index of a row, and a generation that counts the earlier objects with this
//! index. A connection can outlive its object by hours. What happens to it then is not counted for the next object with
//! the same index, because that object has another generation.

/// Bits of the index. They keep a table below 256 MiB.
const INDEX_BITS: u32 = 18;
/// Indexes are below this.
pub const INDEXES: u32 = 1 << INDEX_BITS;

/// The index of the row.
pub fn index(id: u32) -> usize {
    (id % INDEXES) as usize
}

/// How many objects had this index before. Begins again at 0 after 16,384 of them.
pub fn generation(id: u32) -> u32 {
    id >> INDEX_BITS
}

/// The id of the next object with this index.
pub fn successor(id: u32) -> u32 {
    id.wrapping_add(INDEXES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successor_has_the_same_index_and_the_next_generation() {
        let last = u32::MAX - 7;
        assert_eq!((index(5), generation(5), successor(5)), (5, 0, INDEXES + 5));
        assert_eq!((index(successor(5)), generation(successor(5))), (5, 1));
        assert_eq!(successor(last), index(last) as u32);
    }
}
