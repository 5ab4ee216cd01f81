//! Pages in place of those of the engine.

use std::sync::Arc;

use weir_api::dataplane::v1;
use weir_rules::NumberMatch;
use weir_wire::head::may_be_value;

use crate::{
    finding::{Findings, Subject},
    kept::Kept,
    policies::rule::number,
};

#[derive(Debug)]
pub struct ErrorPages {
    pub uuid: String,
    pub name: String,
    pages: Vec<ErrorPage>,
}

#[derive(Debug)]
pub struct ErrorPage {
    /// `None`: it is for each status.
    status: Option<NumberMatch>,
    pub content_type: String,
    pub content: Vec<u8>,
    /// Where the client is sent instead; empty: nowhere.
    pub location: String,
}

impl ErrorPages {
    /// The page for a status; `None`: clients get that of the engine.
    pub fn find(&self, status: u16) -> Option<&ErrorPage> {
        let matches = |page: &&ErrorPage| page.status.as_ref().is_none_or(|numbers| numbers.holds(status.into()));
        self.pages.iter().find(matches)
    }
}

pub(crate) type KeptErrorPages = Kept<v1::ErrorPageProfile, Arc<ErrorPages>>;

pub(crate) fn subject(source: &v1::ErrorPageProfile) -> Subject<'_> {
    Subject { kind: "errorpageprofile", uuid: &source.uuid, name: &source.name }
}

/// `None` if a page cannot be sent; the findings say which.
pub(crate) fn read(
    source: &Arc<v1::ErrorPageProfile>,
    before: Option<&KeptErrorPages>,
    findings: &mut Findings,
) -> Option<KeptErrorPages> {
    if let Some(kept) = before.filter(|kept| kept.source == *source) {
        return Some(kept.clone());
    }
    let found = findings.errors.len();
    let page = |from: &v1::ErrorPage| {
        for (field, text) in [("error_page_body_ref", &from.content_type), ("error_redirect", &from.location)] {
            if !may_be_value(text.as_bytes()) {
                let field = format!("error_pages[{}].{field}", from.position);
                findings.error(subject(source), field, format!("{text:?} cannot stand in a field"));
            }
        }
        ErrorPage {
            status: from.status.as_ref().map(number),
            content_type: from.content_type.clone(),
            content: from.content.clone(),
            location: from.location.clone(),
        }
    };
    let pages = source.pages.iter().map(page).collect();
    let object = ErrorPages { uuid: source.uuid.clone(), name: source.name.clone(), pages };
    (findings.errors.len() == found).then(|| Kept { source: source.clone(), object: Arc::new(object) })
}
