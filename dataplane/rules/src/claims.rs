//! Claims of tokens, and what rules compare them with.

use crate::text::TextRule;

/// The value of a claim, as far as rules can compare it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClaimValue {
    Texts(Vec<String>),
    Number(i128),
    Truth(bool),
    /// Nothing that a rule can compare.
    Other,
}

/// Of a token whose signature is good. No name is there twice.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ClaimValues(pub Vec<(String, ClaimValue)>);

impl ClaimValues {
    /// Whom the token is about (RFC 7519 §4.1.2). `None`: it does not say, or not in one text.
    pub fn subject(&self) -> Option<&str> {
        match self.find("sub")? {
            ClaimValue::Texts(texts) => texts.first().filter(|_| texts.len() == 1).map(String::as_str),
            ClaimValue::Number(_) | ClaimValue::Truth(_) | ClaimValue::Other => None,
        }
    }

    fn find(&self, name: &str) -> Option<&ClaimValue> {
        self.0.iter().find(|claim| claim.0 == name).map(|claim| &claim.1)
    }
}

#[derive(Clone, Debug)]
pub struct ClaimMatch {
    pub name: String,
    /// A token without the claim does not match.
    pub mandatory: bool,
    pub wanted: WantedClaim,
}

/// Of which type a claim must be, and which value it must have. `None`: any.
#[derive(Clone, Debug)]
pub enum WantedClaim {
    Text(Option<TextRule>),
    Number(Option<u32>),
    Truth(Option<bool>),
}

/// Whether claims are what a rule says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fit {
    Yes,
    No,
    /// One of them is of another type than the rule says.
    Unknown,
}

impl ClaimMatch {
    fn fit(&self, claims: &ClaimValues) -> Fit {
        let Some(value) = claims.find(&self.name) else {
            return if self.mandatory { Fit::No } else { Fit::Yes };
        };
        let is_wanted = match (&self.wanted, value) {
            (WantedClaim::Text(None), ClaimValue::Texts(_))
            | (WantedClaim::Number(None), ClaimValue::Number(_))
            | (WantedClaim::Truth(None), ClaimValue::Truth(_)) => true,
            (WantedClaim::Text(Some(rule)), ClaimValue::Texts(texts)) => {
                texts.iter().any(|text| rule.any_as_is(text.as_bytes())) != rule.negated
            }
            (WantedClaim::Number(Some(wanted)), ClaimValue::Number(number)) => i128::from(*wanted) == *number,
            (WantedClaim::Truth(Some(wanted)), ClaimValue::Truth(truth)) => wanted == truth,
            _ => return Fit::Unknown,
        };
        if is_wanted { Fit::Yes } else { Fit::No }
    }
}

/// Whether all of them match.
pub(crate) fn fit(all: &[ClaimMatch], claims: &ClaimValues) -> Fit {
    let mut found = Fit::Yes;
    for claim in all {
        match claim.fit(claims) {
            Fit::Yes => {}
            Fit::Unknown => found = Fit::Unknown,
            Fit::No => return Fit::No,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criterion::Criterion;
    use crate::text::TextMatch;

    fn text(criterion: Criterion, negated: bool, value: &str) -> WantedClaim {
        let values = vec![value.to_owned()];
        let (groups, case_sensitive, decoded) = (Vec::new(), true, false);
        let rule = TextRule::compile(&TextMatch { criterion, negated, values, groups, case_sensitive, decoded });
        WantedClaim::Text(Some(rule.expect("a rule")))
    }

    #[test]
    fn claim_of_another_type_is_neither_a_match_nor_none() {
        let of = |texts: &[&str]| ClaimValue::Texts(texts.iter().map(|text| text.to_string()).collect());
        let claims = ClaimValues(vec![
            ("role".into(), of(&["admin"])),
            ("groups".into(), of(&["a", "b"])),
            ("none".into(), of(&[])),
            ("level".into(), ClaimValue::Number(3)),
            ("minus".into(), ClaimValue::Number(-1)),
            ("staff".into(), ClaimValue::Truth(true)),
            ("deep".into(), ClaimValue::Other),
        ]);
        let is = |value| text(Criterion::Equals, false, value);
        let is_not = |value| text(Criterion::Equals, true, value);
        for (name, mandatory, wanted, expected) in [
            ("role", true, is("admin"), Fit::Yes),
            ("role", true, is("Admin"), Fit::No),
            ("role", true, is_not("admin"), Fit::No),
            ("role", true, is_not("guest"), Fit::Yes),
            ("role", true, WantedClaim::Text(None), Fit::Yes),
            ("role", true, WantedClaim::Truth(None), Fit::Unknown),
            ("role", true, WantedClaim::Number(Some(0)), Fit::Unknown),
            ("groups", true, is("b"), Fit::Yes),
            ("groups", true, is_not("b"), Fit::No),
            ("groups", true, is_not("c"), Fit::Yes),
            ("groups", true, text(Criterion::Regex, false, "^[bc]$"), Fit::Yes),
            ("none", true, is("a"), Fit::No),
            ("none", true, is_not("a"), Fit::Yes),
            ("level", true, WantedClaim::Number(Some(3)), Fit::Yes),
            ("level", true, WantedClaim::Number(Some(4)), Fit::No),
            ("level", true, is("3"), Fit::Unknown),
            ("level", true, is_not("3"), Fit::Unknown),
            ("minus", true, WantedClaim::Number(Some(u32::MAX)), Fit::No),
            ("staff", true, WantedClaim::Truth(Some(true)), Fit::Yes),
            ("staff", true, WantedClaim::Truth(Some(false)), Fit::No),
            ("staff", true, is("true"), Fit::Unknown),
            ("deep", false, is("a"), Fit::Unknown),
            ("gone", true, is("a"), Fit::No),
            ("gone", true, is_not("a"), Fit::No),
            ("gone", false, is("a"), Fit::Yes),
        ] {
            let claim = ClaimMatch { name: name.to_owned(), mandatory, wanted };
            assert_eq!(claim.fit(&claims), expected, "{claim:?}");
        }
        let claim = |name: &str, wanted| ClaimMatch { name: name.to_owned(), mandatory: true, wanted };
        let (unknown, no) = (claim("deep", is("a")), claim("role", is("x")));
        assert_eq!(fit(&[unknown.clone(), no], &claims), Fit::No, "what does not match decides");
        assert_eq!(fit(&[unknown, claim("role", is("admin"))], &claims), Fit::Unknown);
        assert_eq!(fit(&[], &claims), Fit::Yes);
    }
}
