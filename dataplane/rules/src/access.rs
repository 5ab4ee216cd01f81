//! Which requests need a token, and what those with a good one may.
//!
//! Servers may read a path in another way than rules do: see [`is_plain`]. Where a rule compares paths, a request with such
//! a path always needs a token, and may nothing.

use std::{cell::LazyCell, ops::ControlFlow};

use weir_wire::head::percent_decode;

use crate::{
    asked::{Asked, Needs, Scratch},
    claims::{ClaimMatch, ClaimValues, Fit, fit},
    condition::Condition,
    set::{Rule, Rules},
};

/// The rules of a virtual service.
#[derive(Debug)]
pub struct Access {
    authentication: Rules<Authentication>,
    authorization: Rules<Authorization>,
    needs: Needs,
    /// Of authentication, and of authorization.
    compares_path: [bool; 2],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Authentication {
    /// The request needs no token, and may all.
    Skip,
    /// It needs one.
    Token,
}

#[derive(Clone, Debug)]
pub struct Authorization {
    pub claims: Vec<ClaimMatch>,
    pub then: Grant,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grant {
    Allow,
    Refuse(Denial),
}

/// What becomes of a request that may not do what it asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Denial {
    /// Its connection ends.
    Close,
    Unauthorized,
    Forbidden,
}

/// What the rules say, and the name of the rule that does. `None`: none does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Granted<'p, G> {
    pub grant: G,
    pub rule: Option<&'p String>,
}

impl Access {
    pub fn of(authentication: Vec<Rule<Authentication>>, authorization: Vec<Rule<Authorization>>) -> Self {
        fn conditions<A>(rules: &[Rule<A>]) -> impl Iterator<Item = &Condition> {
            rules.iter().flat_map(|rule| &rule.conditions)
        }
        let is_path = |condition: &Condition| matches!(condition, Condition::Path(_));
        let needs = Needs::of(conditions(&authentication).chain(conditions(&authorization)));
        let compares_path = [conditions(&authentication).any(is_path), conditions(&authorization).any(is_path)];
        let (authentication, authorization) = (Rules::of(authentication), Rules::of(authorization));
        Self { authentication, authorization, needs, compares_path }
    }

    /// Whether a request needs a token.
    pub fn authenticate(&self, asked: &Asked<'_>, scratch: &mut Scratch) -> Granted<'_, Authentication> {
        if self.authentication.is_empty() || self.compares_path[0] && !is_plain(asked.path_and_query().0) {
            return Granted { grant: Authentication::Token, rule: None };
        }
        let (view, found) = scratch.view(asked, &self.needs);
        let mut granted = Granted { grant: Authentication::Token, rule: None };
        let _ = self.authentication.each(&view, found, |_, rule| {
            granted = Granted { grant: rule.action, rule: Some(&rule.name) };
            ControlFlow::Break(())
        });
        granted
    }

    /// What a request with a good token may. `claims`: of that token; asked for once, if a rule needs them. `None`: they
    /// cannot be read.
    pub fn authorize(
        &self,
        asked: &Asked<'_>,
        scratch: &mut Scratch,
        claims: impl FnOnce() -> Option<ClaimValues>,
    ) -> Granted<'_, Grant> {
        if self.authorization.is_empty() {
            return Granted { grant: Grant::Allow, rule: None };
        }
        if self.compares_path[1] && !is_plain(asked.path_and_query().0) {
            return Granted { grant: Grant::Refuse(Denial::Forbidden), rule: None };
        }
        let (view, found) = scratch.view(asked, &self.needs);
        let mut granted = Granted { grant: Grant::Allow, rule: None };
        let claims = LazyCell::new(claims);
        let _ = self.authorization.each(&view, found, |_, rule| {
            let Authorization { claims: wanted, then } = &rule.action;
            let fits = match wanted.as_slice() {
                [] => Fit::Yes,
                wanted => claims.as_ref().map_or(Fit::Unknown, |claims| fit(wanted, claims)),
            };
            // What a token says in another way than expected lets nobody in.
            let matches = match then {
                Grant::Allow => fits == Fit::Yes,
                Grant::Refuse(_) => fits != Fit::No,
            };
            if !matches {
                return ControlFlow::Continue(());
            }
            granted = Granted { grant: *then, rule: Some(&rule.name) };
            ControlFlow::Break(())
        });
        granted
    }
}

/// Whether all servers read a path alike: without dot segments and empty segments, also before a `;`, without backslashes and
/// control characters, and without an encoding within an encoding.
fn is_plain(path: &[u8]) -> bool {
    let mut decoded = Vec::new();
    let text = match path.contains(&b'%') {
        true => {
            percent_decode(path, &mut decoded);
            &decoded[..]
        }
        false => path,
    };
    let is_encoding = |three: &[u8]| three[0] == b'%' && three[1..].iter().all(u8::is_ascii_hexdigit);
    if text.iter().any(|byte| *byte == b'\\' || byte.is_ascii_control()) || text.windows(3).any(is_encoding) {
        return false;
    }
    let Some(rest) = text.strip_prefix(b"/") else { return text == b"*" };
    let mut segments = rest.split(|byte| *byte == b'/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        let name = segment.split(|byte| *byte == b';').next().unwrap_or_default();
        if matches!(name, b"." | b"..") || name.is_empty() && !(is_last && segment.is_empty()) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_that_servers_may_read_in_another_way_is_not_plain() {
        for path in ["/", "/a", "/a/", "/a/b;v=1/c", "/a%20b", "/.well-known/x", "/a..b", "/...", "*", "/a;b"] {
            assert!(is_plain(path.as_bytes()), "{path}");
        }
        for path in [
            "/a/../b",
            "/..",
            "/.",
            "/a/./b",
            "//a",
            "/a//b",
            "/a/%2e%2e/b",
            "/a%2f..%2fb",
            "/a/..;/b",
            "/a/..;x=1/b",
            "/a/;/b",
            "/a\\..\\b",
            "/a%5c..",
            "/a%00",
            "/a%252e%252e/b",
            "/a%252fb",
            "a",
            "/a/;x",
            "",
        ] {
            assert!(!is_plain(path.as_bytes()), "{path}");
        }
    }
}
