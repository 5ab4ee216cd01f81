//! The warnings about a Plan. Several objects can cause the same warning; the operator sees it once.

use std::{cmp::Ordering, collections::BTreeMap, sync::Arc};

use crate::Finding;

/// Shared by all snapshots between which no warning changes.
#[derive(Clone, Default, Debug)]
pub(crate) struct Warnings {
    /// Each warning with the number of objects that cause it.
    causes: Arc<BTreeMap<Warning, u32>>,
    /// `None`: the warnings have changed since the list was made.
    list: Option<Arc<[Finding]>>,
}

#[derive(Clone, PartialEq, Debug)]
struct Warning(Finding);

impl Warnings {
    /// The warnings that an object causes change from `before` to `after`.
    pub fn follow(&mut self, before: &[Finding], after: &[Finding]) {
        if before == after {
            return;
        }
        self.list = None;
        let causes = Arc::make_mut(&mut self.causes);
        for said in after {
            *causes.entry(Warning(said.clone())).or_default() += 1;
        }
        for said in before {
            let warning = Warning(said.clone());
            if let Some(times) = causes.get_mut(&warning) {
                *times -= 1;
                if *times == 0 {
                    causes.remove(&warning);
                }
            }
        }
    }

    /// Sorted by object and field.
    pub fn all(&mut self) -> Arc<[Finding]> {
        let causes = &self.causes;
        self.list.get_or_insert_with(|| causes.keys().map(|warning| warning.0.clone()).collect()).clone()
    }
}

impl Warning {
    fn words(&self) -> [&str; 5] {
        let Finding { kind, uuid, name, field, message } = &self.0;
        [kind, uuid, name, field, message].map(String::as_str)
    }
}

impl Eq for Warning {}

impl Ord for Warning {
    fn cmp(&self, other: &Self) -> Ordering {
        self.words().cmp(&other.words())
    }
}

impl PartialOrd for Warning {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(name: &str) -> Finding {
        Finding { name: name.to_owned(), ..Finding::default() }
    }

    #[test]
    fn warning_stays_until_the_last_object_that_causes_it() {
        let mut warnings = Warnings::default();
        warnings.follow(&[], &[about("b"), about("a")]);
        warnings.follow(&[], &[about("a")]);
        assert_eq!(*warnings.all(), [about("a"), about("b")]);
        warnings.follow(&[about("a"), about("b")], &[]);
        assert_eq!(*warnings.all(), [about("a")]);
        warnings.follow(&[about("a")], &[]);
        assert_eq!(*warnings.all(), []);
    }

    #[test]
    fn change_without_other_warnings_copies_none() {
        let mut before = Warnings::default();
        before.follow(&[], &[about("a")]);
        let list = before.all();
        let mut after = before.clone();
        after.follow(&[about("a")], &[about("a")]);
        assert!(Arc::ptr_eq(&after.all(), &list) && Arc::ptr_eq(&after.causes, &before.causes));
    }
}
