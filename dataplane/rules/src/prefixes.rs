//! Which of many texts a text begins with. One search finds them all: among sorted texts, those that another text begins
//! with are the one before it, and that one's own beginnings.

use std::cmp::Ordering;

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Entry {
    text: Box<[u8]>,
    /// The longest other entry that this one begins with.
    beginning: u32,
    values: Box<[u32]>,
}

/// Texts, each with numbers that the caller has given it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prefixes {
    entries: Box<[Entry]>,
}

impl Prefixes {
    pub fn of(mut texts: Vec<(Vec<u8>, u32)>) -> Self {
        texts.sort();
        let mut entries: Vec<Entry> = Vec::new();
        let mut open: Vec<u32> = Vec::new();
        for same in texts.chunk_by(|one, other| one.0 == other.0) {
            let text = &same[0].0;
            while open.last().is_some_and(|at| !text.starts_with(&entries[*at as usize].text)) {
                open.pop();
            }
            let beginning = open.last().copied().unwrap_or(NONE);
            open.push(entries.len() as u32);
            let values = same.iter().map(|(_, value)| *value).collect();
            entries.push(Entry { text: text.as_slice().into(), beginning, values });
        }
        Self { entries: entries.into() }
    }

    /// The numbers of the texts that `text` begins with, the longest first.
    #[inline]
    pub fn of_beginnings<'p>(&'p self, text: &'p [u8]) -> impl Iterator<Item = (usize, u32)> + 'p {
        self.beginnings(|entry| entry.cmp(text), |entry| text.starts_with(entry))
    }

    /// The same for texts that were given with their bytes in reverse: those that `text` ends with.
    pub fn of_ends<'p>(&'p self, text: &'p [u8]) -> impl Iterator<Item = (usize, u32)> + 'p {
        self.beginnings(
            |entry| entry.iter().cmp(text.iter().rev()),
            |entry| entry.len() <= text.len() && entry.iter().eq(text.iter().rev().take(entry.len())),
        )
    }

    /// The numbers of the text that is `text`.
    #[inline]
    pub fn of_same(&self, text: &[u8]) -> &[u32] {
        let found = self.entries.binary_search_by(|entry| entry.text.as_ref().cmp(text));
        found.map_or(&[], |at| &self.entries[at].values)
    }

    fn beginnings<'p>(
        &'p self,
        compare: impl Fn(&[u8]) -> Ordering,
        begins: impl Fn(&[u8]) -> bool + 'p,
    ) -> impl Iterator<Item = (usize, u32)> + 'p {
        let after = self.entries.partition_point(|entry| compare(&entry.text) != Ordering::Greater);
        let mut at = (after as u32).checked_sub(1).unwrap_or(NONE);
        let entries = std::iter::from_fn(move || {
            while let Some(entry) = self.entries.get(at as usize) {
                at = entry.beginning;
                if begins(&entry.text) {
                    return Some(entry);
                }
            }
            None
        });
        entries.flat_map(|entry| entry.values.iter().map(|value| (entry.text.len(), *value)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn finds_what_a_walk_over_all_finds(
            texts in prop::collection::vec("[ab/]{0,5}", 0..30),
            asked in "[ab/]{0,8}",
        ) {
            let asked = asked.as_bytes();
            let numbered = |text: &dyn Fn(&str) -> Vec<u8>| {
                Prefixes::of(texts.iter().enumerate().map(|(at, each)| (text(each), at as u32)).collect())
            };
            let sorted = |found: &mut dyn Iterator<Item = (usize, u32)>| {
                let mut all: Vec<u32> = found.map(|(_, value)| value).collect();
                all.sort_unstable();
                all
            };
            let those = |fits: &dyn Fn(&[u8]) -> bool| -> Vec<u32> {
                (0..texts.len() as u32).filter(|at| fits(texts[*at as usize].as_bytes())).collect()
            };
            let forward = numbered(&|text| text.as_bytes().to_vec());
            let reversed = numbered(&|text| text.bytes().rev().collect());
            prop_assert_eq!(sorted(&mut forward.of_beginnings(asked)), those(&|text| asked.starts_with(text)));
            prop_assert_eq!(sorted(&mut reversed.of_ends(asked)), those(&|text| asked.ends_with(text)));
            let mut same = forward.of_same(asked).to_vec();
            same.sort_unstable();
            prop_assert_eq!(same, those(&|text| asked == text));
        }
    }

    #[test]
    fn longest_comes_first() {
        let all = Prefixes::of(vec![(b"/".to_vec(), 1), (b"/api".to_vec(), 2), (b"/api/v1".to_vec(), 3)]);
        let found: Vec<_> = all.of_beginnings(b"/api/v2").collect();
        assert_eq!(found, [(4, 2), (1, 1)]);
    }
}
