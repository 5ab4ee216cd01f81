//! Which resources an operator wants answered by what is stored no more.

use crate::Key;

/// One of some resources of a virtual service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Purge {
    /// Rises from one to the next.
    pub number: u64,
    /// In lower case; empty: every one. Without a port it is meant with every port.
    pub host: Box<[u8]>,
    /// With the query.
    pub path: Box<[u8]>,
    /// All paths that begin so.
    pub prefix: bool,
}

impl Purge {
    fn is_of(&self, key: &Key) -> bool {
        let is_path = if self.prefix { key.path().starts_with(&self.path) } else { *key.path() == *self.path };
        let is_host = match key.host().strip_prefix(&*self.host) {
            _ if self.host.is_empty() => true,
            Some(rest) => rest.is_empty() || is_port(rest),
            None => false,
        };
        is_path && is_host
    }
}

fn is_port(text: &[u8]) -> bool {
    text.strip_prefix(b":").is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
}

/// Those of a virtual service, in the order of their numbers.
#[derive(Debug, Default)]
pub struct Purges(Vec<Purge>);

impl Purges {
    pub fn new(mut all: Vec<Purge>) -> Self {
        all.sort_by_key(|purge| purge.number);
        Self(all)
    }

    /// The number of the last one; 0: there is none.
    pub fn last(&self) -> u64 {
        self.0.last().map_or(0, |purge| purge.number)
    }

    /// Whether what was asked for when `last` was the last one holds no more.
    #[inline]
    pub fn end(&self, key: &Key, last: u64) -> bool {
        last < self.last() && self.0.iter().any(|purge| purge.number > last && purge.is_of(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn purge(number: u64, host: &str, path: &str, prefix: bool) -> Purge {
        Purge { number, host: host.as_bytes().into(), path: path.as_bytes().into(), prefix }
    }

    fn key(host: &str, path: &str) -> Key {
        Key::of(&[b"s "], host.as_bytes(), path.as_bytes(), b"\0ppool ")
    }

    #[test]
    fn purge_ends_what_was_asked_for_before_it() {
        let purges = Purges::new(vec![purge(4, "", "/b", false), purge(3, "", "/a", false)]);
        assert!(purges.end(&key("h", "/a"), 2) && !purges.end(&key("h", "/a"), 3));
        assert!(purges.end(&key("h", "/b"), 3) && !purges.end(&key("h", "/b"), 4));
        assert_eq!((purges.last(), Purges::default().last()), (4, 0));
    }

    #[test]
    fn purge_is_of_one_host_and_path_or_of_all_that_begin_so() {
        let ends = |host, path, prefix, key: Key| Purges::new(vec![purge(1, host, path, prefix)]).end(&key, 0);
        assert!(ends("shop.test", "/a?b", false, key("Shop.Test", "/a?b")));
        assert!(ends("shop.test", "/a", false, key("shop.test:8080", "/a")));
        assert!(!ends("shop.test:80", "/a", false, key("shop.test:8080", "/a")));
        assert!(!ends("shop.test", "/a", false, key("shop.test.evil", "/a")));
        assert!(!ends("shop.test", "/a", false, key("shop.test", "/a?b")));
        assert!(!ends("shop.test", "/a", false, key("shop.test", "/A")));
        assert!(ends("", "/img/", true, key("x", "/img/1?2")) && !ends("", "/img/", true, key("x", "/im")));
        assert!(!ends("", "/img/", true, key("x", "/a/img/")));
    }
}
