//! Errors and warnings about a Plan, for the operator: the object, the field, what to do.

use std::sync::Arc;

pub use weir_api::dataplane::v1::Finding;

/// The object that a finding is about. Kinds and fields are named as in the API.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'p> {
    pub kind: &'static str,
    pub uuid: &'p str,
    pub name: &'p str,
}

impl Subject<'_> {
    fn finding(&self, field: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding {
            kind: self.kind.to_owned(),
            uuid: self.uuid.to_owned(),
            name: self.name.to_owned(),
            field: field.into(),
            message: message.into(),
        }
    }
}

/// All findings while a Plan is read. Reading goes on after an error, so that the operator sees all errors.
#[derive(Default)]
pub(crate) struct Findings {
    pub errors: Vec<Finding>,
    pub warnings: Vec<Finding>,
}

impl Findings {
    pub fn error(&mut self, subject: Subject<'_>, field: impl Into<String>, message: impl Into<String>) {
        self.errors.push(subject.finding(field, message));
    }

    /// Takes the warnings since the last call. A caller that has just read an object gets that object's.
    pub fn take_warnings(&mut self) -> Arc<[Finding]> {
        match self.warnings.is_empty() {
            true => Arc::default(),
            false => std::mem::take(&mut self.warnings).into(),
        }
    }

    /// Adds a warning unless it exists: parts of an object share profiles.
    pub fn warning(&mut self, subject: Subject<'_>, field: impl Into<String>, message: impl Into<String>) {
        let finding = subject.finding(field, message);
        if !self.warnings.contains(&finding) {
            self.warnings.push(finding);
        }
    }
}
