//! What a response varies by (RFC 9111 §4.1).

/// The names of fields of the request that a response varies by, and their values.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selecting(Vec<(Vec<u8>, Vec<u8>)>);

impl Selecting {
    pub(crate) fn of(pairs: impl Iterator<Item = (Vec<u8>, Vec<u8>)>) -> Self {
        Self(pairs.collect())
    }

    /// The memory that it needs.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(name, value)| name.len() + value.len() + 48).sum()
    }

    /// Whether a request selects the response. `value_of`: the value of a field of it.
    pub(crate) fn fits(&self, value_of: impl Fn(&[u8]) -> Vec<u8>) -> bool {
        self.0.iter().all(|(name, value)| value_of(name) == *value)
    }
}
