//! Rules that compare texts of requests, in the form of the wire.

use weir_api::dataplane::v1;
use weir_policy::{TextCriterion, TextMatch};

use crate::finding::{Findings, Subject};

const UNKNOWN: &str = "is unknown to this engine; upgrade the engine";

/// `None` if it is malformed; the findings tell how.
pub(crate) fn read(
    service: Subject<'_>,
    field: &str,
    rule: &v1::TextMatch,
    findings: &mut Findings,
) -> Option<TextMatch> {
    let criterion = match v1::TextCriterion::try_from(rule.criterion) {
        Ok(v1::TextCriterion::Equals) => TextCriterion::Equals,
        Ok(v1::TextCriterion::BeginsWith) => TextCriterion::BeginsWith,
        Ok(v1::TextCriterion::EndsWith) => TextCriterion::EndsWith,
        Ok(v1::TextCriterion::Contains) => TextCriterion::Contains,
        Ok(v1::TextCriterion::Unspecified | v1::TextCriterion::Exists | v1::TextCriterion::Regex) | Err(_) => {
            findings.error(service, format!("{field}.match_criteria"), UNKNOWN);
            return None;
        }
    };
    if !has_values(service, field, rule, findings) {
        return None;
    }
    // Values that mean the same are the same, so that two children cannot have them both.
    let text = |value: &String| if rule.case_sensitive { value.clone() } else { value.to_ascii_lowercase() };
    Some(TextMatch {
        criterion,
        negated: rule.negated,
        values: rule.values.iter().map(text).collect(),
        case_sensitive: rule.case_sensitive,
        decoded: rule.decoded,
    })
}

/// Says what is missing where a rule has no texts to compare with.
pub(crate) fn has_values(service: Subject<'_>, field: &str, rule: &v1::TextMatch, findings: &mut Findings) -> bool {
    if rule.values.is_empty() {
        findings.error(service, format!("{field}.match_str"), "is empty: give a text to compare with");
    }
    !rule.values.is_empty()
}
