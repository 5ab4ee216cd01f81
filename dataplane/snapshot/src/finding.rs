//! What is wrong with a Plan, in the operator's words: the object, the field, what to do.

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

/// All that is found while a Plan is read: the reading goes on behind an error, so that an operator sees every one.
#[derive(Default)]
pub(crate) struct Findings {
    pub errors: Vec<Finding>,
    pub warnings: Vec<Finding>,
}

impl Findings {
    pub fn error(&mut self, subject: Subject<'_>, field: impl Into<String>, message: impl Into<String>) {
        self.errors.push(subject.finding(field, message));
    }

    /// The warnings since the last time: those about one object, when it has been read.
    pub fn take_warnings(&mut self) -> Arc<[Finding]> {
        match self.warnings.is_empty() {
            true => Arc::default(),
            false => std::mem::take(&mut self.warnings).into(),
        }
    }

    /// Parts of an object share profiles; a warning about a profile is said once.
    pub fn warning(&mut self, subject: Subject<'_>, field: impl Into<String>, message: impl Into<String>) {
        let finding = subject.finding(field, message);
        if !self.warnings.contains(&finding) {
            self.warnings.push(finding);
        }
    }
}
