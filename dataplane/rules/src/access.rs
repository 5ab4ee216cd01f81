//! Which requests need a token, and what those with a good one may.
//!
//! Servers may read a path or a host in another way than rules do: see [`is_plain`] and [`is_plain_host`]. Where a rule
//! compares paths or hosts, a request with such a one always needs a token, and may nothing. Where a rule compares clients,
//! a request whose client is not known always needs a token: the address of its connection is a proxy's.

use std::{cell::LazyCell, ops::ControlFlow};

use weir_wire::head::percent_decode;

use crate::{
    asked::{Asked, Needs, Scratch, host_name},
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
    compares: [Compared; 2],
    /// Authentication compares the addresses of clients. Authorization cannot.
    compares_client: bool,
}

/// What rules compare that servers may read in another way.
#[derive(Clone, Copy, Debug)]
struct Compared {
    path: bool,
    host: bool,
}

impl Compared {
    fn by<A>(rules: &[Rule<A>]) -> Self {
        let any = |is: fn(&Condition) -> bool| rules.iter().flat_map(|rule| &rule.conditions).any(is);
        Self {
            path: any(|condition| matches!(condition, Condition::Path(_))),
            host: any(|condition| matches!(condition, Condition::Host(_))),
        }
    }

    /// Whether servers may read something of a request in another way than rules do.
    fn may_differ(self, asked: &Asked<'_>) -> bool {
        self.path && !is_plain(asked.path_and_query().0)
            || self.host && !asked.head.host.map(host_name).is_some_and(is_plain_host)
    }
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
        let needs = Needs::of(conditions(&authentication).chain(conditions(&authorization)));
        let compares = [Compared::by(&authentication), Compared::by(&authorization)];
        let compares_client = conditions(&authentication).any(|condition| matches!(condition, Condition::Client(_)));
        let (authentication, authorization) = (Rules::of(authentication), Rules::of(authorization));
        Self { authentication, authorization, needs, compares, compares_client }
    }

    /// Whether a request needs a token. `is_client_unknown`: it has the address of a proxy for that of its client.
    pub fn authenticate(
        &self,
        asked: &Asked<'_>,
        is_client_unknown: bool,
        scratch: &mut Scratch,
    ) -> Granted<'_, Authentication> {
        let may_differ = self.compares[0].may_differ(asked) || self.compares_client && is_client_unknown;
        if self.authentication.is_empty() || may_differ {
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
        if self.compares[1].may_differ(asked) {
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

/// Whether all servers read the name of a host alike, which has no port.
fn is_plain_host(host: &[u8]) -> bool {
    !host.is_empty() && !host.contains(&b'%') && !host.ends_with(b".")
}

/// Whether all servers read a path alike: without dot segments and empty segments, backslashes and control characters,
/// without parameters of segments, which many servers cut off, without a broken encoding or one within another, and in
/// UTF-8.
fn is_plain(path: &[u8]) -> bool {
    let is_encoded = |at: usize| path.get(at + 1..at + 3).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
    if path.iter().enumerate().any(|(at, byte)| *byte == b'%' && !is_encoded(at)) {
        return false;
    }
    let mut decoded = Vec::new();
    let text = match path.contains(&b'%') {
        true => {
            percent_decode(path, &mut decoded);
            &decoded[..]
        }
        false => path,
    };
    let is_encoding = |three: &[u8]| three[0] == b'%' && three[1..].iter().all(u8::is_ascii_hexdigit);
    let is_odd = |byte: &u8| matches!(byte, b'\\' | b';') || byte.is_ascii_control();
    if text.iter().any(is_odd) || text.windows(3).any(is_encoding) || str::from_utf8(text).is_err() {
        return false;
    }
    let Some(rest) = text.strip_prefix(b"/") else { return text == b"*" };
    let mut segments = rest.split(|byte| *byte == b'/').peekable();
    while let Some(segment) = segments.next() {
        if matches!(segment, b"." | b"..") || segment.is_empty() && segments.peek().is_some() {
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
        for path in ["/", "/a", "/a/", "/a%20b", "/%c3%a4", "/.well-known/x", "/a..b", "/...", "*"] {
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
            "/a/b;v=1/c",
            "/admin;x.css",
            "/admin%3bx.css",
            "/a%c0%ae%c0%ae/b",
            "/a/%u002e%u002e/b",
            "/a%",
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

    #[test]
    fn host_that_servers_may_read_in_another_way_is_not_plain() {
        assert!(["a.test", "[::1]", "192.0.2.1"].iter().all(|host| is_plain_host(host.as_bytes())));
        assert!(["", "a.test.", "%61.test"].iter().all(|host| !is_plain_host(host.as_bytes())));
    }
}
