//! Rules that compare texts of requests, in the form of the wire.

use weir_api::dataplane::v1;
use weir_policy::{PathCriterion, PathMatch};

use crate::finding::{Findings, Subject};

const UNKNOWN: &str = "is unknown to this engine; upgrade the engine";

/// `None` if it is malformed; the findings tell how.
pub(crate) fn read(
    service: Subject<'_>,
    field: &str,
    rule: &v1::PathMatch,
    findings: &mut Findings,
) -> Option<PathMatch> {
    let criterion = match v1::PathCriterion::try_from(rule.criterion) {
        Ok(v1::PathCriterion::Equals) => PathCriterion::Equals,
        Ok(v1::PathCriterion::BeginsWith) => PathCriterion::BeginsWith,
        Ok(v1::PathCriterion::EndsWith) => PathCriterion::EndsWith,
        Ok(v1::PathCriterion::Contains) => PathCriterion::Contains,
        Ok(v1::PathCriterion::Unspecified) | Err(_) => {
            findings.error(service, format!("{field}.match_criteria"), UNKNOWN);
            return None;
        }
    };
    if rule.values.is_empty() {
        findings.error(service, format!("{field}.match_str"), "is empty: give a text to compare with");
        return None;
    }
    // Values that mean the same are the same, so that two children cannot have them both.
    let text = |value: &String| if rule.case_sensitive { value.clone() } else { value.to_ascii_lowercase() };
    Some(PathMatch {
        criterion,
        negated: rule.negated,
        values: rule.values.iter().map(text).collect(),
        case_sensitive: rule.case_sensitive,
        decoded: rule.decoded,
    })
}
