//! The names of the rules that have acted on a request, for its record.

/// How many rules of a list are named: the first ones, and the last.
const NAMES_MAX: usize = 8;

/// Rules of one list, in the order in which they acted. Small, because each request that meets policies has some.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Acted<'p> {
    names: [Option<&'p String>; NAMES_MAX],
    count: usize,
}

impl<'p> Acted<'p> {
    #[inline]
    pub(crate) fn add(&mut self, name: &'p String) {
        self.names[self.count.min(NAMES_MAX - 1)] = Some(name);
        self.count += 1;
    }

    pub fn names(&self) -> impl DoubleEndedIterator<Item = &'p str> {
        self.names.into_iter().flatten().map(String::as_str)
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// More have acted than are named.
    pub fn is_cut(&self) -> bool {
        self.count > NAMES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_rules_and_the_last_are_named() {
        let mut acted = Acted::default();
        assert!(acted.is_empty() && acted.names().next().is_none());
        let names: Vec<_> = (1..=10).map(|n| n.to_string()).collect();
        names[..8].iter().for_each(|name| acted.add(name));
        assert!(acted.names().eq(["1", "2", "3", "4", "5", "6", "7", "8"]) && !acted.is_cut());
        names[8..].iter().for_each(|name| acted.add(name));
        assert!(acted.names().eq(["1", "2", "3", "4", "5", "6", "7", "10"]) && acted.is_cut());
    }
}
