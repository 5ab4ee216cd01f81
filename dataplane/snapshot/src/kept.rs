//! Objects of a snapshot, each with the part of the Plan that it was built from. It is rebuilt only if that part changes.

use std::sync::Arc;

use foldhash::{HashSet, HashSetExt};

use crate::shared::Shared;

/// An object and its source. All workers share the sources.
#[derive(Debug)]
pub(crate) struct Kept<S, T> {
    pub source: Arc<S>,
    pub object: T,
}

impl<S, T: Clone> Clone for Kept<S, T> {
    fn clone(&self) -> Self {
        Self { source: self.source.clone(), object: self.object.clone() }
    }
}

/// The uuid that an object refers to. On the wire an empty uuid is no reference.
pub(crate) fn reference(uuid: &str) -> Option<&str> {
    (!uuid.is_empty()).then_some(uuid)
}

/// Whether both are there and `alike`, or neither is there.
pub(crate) fn both_or_neither<T>(one: Option<T>, other: Option<T>, alike: impl FnOnce(T, T) -> bool) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => alike(one, other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// The objects of one kind while a Plan is read.
pub(crate) struct Objects<T> {
    pub all: Shared<Arc<str>, T>,
    /// Objects with errors: in the Plan, but not in `all`.
    unusable: HashSet<Arc<str>>,
}

impl<T: Clone> Objects<T> {
    pub fn of(all: &Shared<Arc<str>, T>) -> Self {
        Self { all: all.clone(), unusable: HashSet::new() }
    }

    /// Stores the object with this uuid; `None`: it has errors.
    pub fn put(&mut self, uuid: &str, object: Option<T>) {
        match object {
            Some(object) => drop(self.all.insert(uuid.into(), object)),
            None => drop(self.unusable.insert(uuid.into())),
        }
    }

    /// `None`: there is no such object; `Some(None)`: there is one, and it has errors.
    pub fn find(&self, uuid: &str) -> Option<Option<&T>> {
        if self.unusable.contains(uuid) {
            return Some(None);
        }
        self.all.get(uuid).map(Some)
    }
}
