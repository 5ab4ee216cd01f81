//! The token that a request brings (RFC 6750): whether it needs one, where that is, whether it is good, and what for.

use weir_jwt::{Fault, Verified};
use weir_rules::{Asked, Authentication, Denial, Grant, Scratch};
use weir_script::Seen;
use weir_snapshot::Tokens;
use weir_wire::head::{Name, NameSet, RequestHead};

use crate::error::Error;

const AUTHORIZATION: NameSet = NameSet::of(&[Name::Authorization]);
const BEARER: &[u8] = b"bearer";

/// What a worker knows of tokens, and its room to look at requests with.
#[derive(Default, Debug)]
pub(crate) struct Admission {
    verified: Verified,
    scratch: Scratch,
}

/// Whether a request may go on, and the names of the rules that say so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admitted<'t> {
    pub outcome: Result<(), Error>,
    pub authentication: Option<&'t String>,
    pub authorization: Option<&'t String>,
}

/// Keeps a good token.
type Keep<'k> = dyn FnMut(&[u8]) + 'k;

impl Default for Admitted<'_> {
    fn default() -> Self {
        Self { outcome: Ok(()), authentication: None, authorization: None }
    }
}

impl Admission {
    /// Whether the request may go on. `is_client_unknown`: its address is that of a proxy. `seen`: as scripts have changed it.
    /// `keep` gets a token that is good.
    #[cold]
    pub fn check<'t>(
        &mut self,
        tokens: &'t Tokens,
        (asked, is_client_unknown): (&Asked<'_>, bool),
        seen: Option<&Seen>,
        now_unix_s: u64,
        keep: &mut Keep<'_>,
    ) -> Admitted<'t> {
        let mut admitted = Admitted::default();
        admitted.outcome = self.admit(tokens, (asked, is_client_unknown, seen), (now_unix_s, keep), &mut admitted);
        admitted
    }

    fn admit<'t>(
        &mut self,
        tokens: &'t Tokens,
        (asked, is_client_unknown, seen): (&Asked<'_>, bool, Option<&Seen>),
        (now_unix_s, keep): (u64, &mut Keep<'_>),
        admitted: &mut Admitted<'t>,
    ) -> Result<(), Error> {
        let Self { verified, scratch } = self;
        let access = tokens.access();
        if let Some(access) = access {
            let granted = access.authenticate(asked, is_client_unknown, scratch);
            admitted.authentication = granted.rule;
            if granted.grant == Authentication::Skip {
                return Ok(());
            }
        }
        let token = find(tokens, asked.head, seen).map_err(Error::Token)?;
        tokens.rules.judge(token, now_unix_s, verified).map_err(Error::Token)?;
        if let Some(access) = access {
            let granted = access.authorize(asked, scratch, || weir_jwt::claims(token));
            admitted.authorization = granted.rule;
            if let Grant::Refuse(refusal) = granted.grant {
                return Err(Error::Unauthorized(refusal));
            }
        }
        keep(token);
        Ok(())
    }
}

fn find<'h>(tokens: &Tokens, head: &RequestHead<'h>, seen: Option<&'h Seen>) -> Result<&'h [u8], Fault> {
    match (&tokens.query_name, seen) {
        (None, None) => in_field(head.fields.among(AUTHORIZATION).map(|field| field.value)),
        (None, Some(seen)) => in_field(seen.values(b"authorization")),
        // No script changes the query before a token is looked at.
        (Some(name), _) => in_query(head.path_and_query().1, name.as_bytes()),
    }
}

/// RFC 6750 §2.1. Another scheme is no token.
fn in_field<'h>(mut values: impl Iterator<Item = &'h [u8]>) -> Result<&'h [u8], Fault> {
    let Some(value) = values.next() else { return Err(Fault::Missing) };
    if values.next().is_some() {
        return Err(Fault::Several);
    }
    match value.split_at_checked(BEARER.len()) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case(BEARER) => match rest {
            [b' ', ..] => Ok(rest.trim_ascii()),
            _ => Err(Fault::Missing),
        },
        _ => Err(Fault::Missing),
    }
}

/// The value of a parameter. It is not decoded: no token has characters that a URL encodes. Names are, and parameters end
/// at `;`, too: a server could find a second token there.
fn in_query<'q>(query: &'q [u8], name: &[u8]) -> Result<&'q [u8], Fault> {
    let mut found = query.split(|byte| matches!(byte, b'&' | b';')).filter_map(|pair| {
        let (this, value) = pair.split_at(pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len()));
        is_encoded(this, name).then(|| value.get(1..).unwrap_or_default())
    });
    match (found.next(), found.next()) {
        (None, _) => Err(Fault::Missing),
        (Some(token), None) => Ok(token),
        (Some(_), Some(_)) => Err(Fault::Several),
    }
}

/// Whether a part of a URL is this text, percent-decoded (RFC 3986 §2.1).
fn is_encoded(part: &[u8], text: &[u8]) -> bool {
    let mut rest = part;
    let decoded = std::iter::from_fn(|| {
        let digit = |at: usize| rest.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        let (byte, taken) = match (rest.first()?, digit(1), digit(2)) {
            (b'%', Some(high), Some(low)) => ((high * 16 + low) as u8, 3),
            (byte, ..) => (*byte, 1),
        };
        rest = &rest[taken..];
        Some(byte)
    });
    decoded.eq(text.iter().copied())
}

/// What the client is told (RFC 6750 §3); `None`: it has failed for another reason.
pub(crate) fn challenge(error: Error) -> Option<String> {
    let fault = match error {
        Error::Token(fault) => fault,
        Error::Unauthorized(Denial::Unauthorized | Denial::Forbidden) => {
            let why = "the token is good, and not for this request";
            return Some(format!("Bearer error=\"insufficient_scope\", error_description=\"{why}\""));
        }
        _ => return None,
    };
    Some(match fault {
        Fault::Missing => "Bearer".to_owned(),
        Fault::Several => format!("Bearer error=\"invalid_request\", error_description=\"{}\"", fault.description()),
        _ => format!("Bearer error=\"invalid_token\", error_description=\"{}\"", fault.description()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_with_the_token_is_there_once() {
        for (query, outcome) in [
            ("", Err(Fault::Missing)),
            ("token", Ok(&b""[..])),
            ("t%6Fken=x.y.z", Ok(b"x.y.z")),
            ("t%6Fken=a&token=b", Err(Fault::Several)),
            ("a=1;token=a&token=b", Err(Fault::Several)),
            ("token&token=b", Err(Fault::Several)),
            ("to%ken=a&tok%6=b&%=c", Err(Fault::Missing)),
            ("tokens=a&xtoken=b&token2=c", Err(Fault::Missing)),
            ("a=b&token=x.y.z&c=d", Ok(&b"x.y.z"[..])),
            ("token=x.y.z", Ok(b"x.y.z")),
            ("token==", Ok(b"=")),
            ("token=a&token=b", Err(Fault::Several)),
            ("token=&token=b", Err(Fault::Several)),
        ] {
            assert_eq!(in_query(query.as_bytes(), b"token"), outcome, "{query}");
        }
    }

    #[test]
    fn challenges_are_texts_that_can_stand_in_a_field() {
        assert_eq!(challenge(Error::Token(Fault::Missing)).unwrap(), "Bearer");
        for fault in Fault::ALL {
            let text = challenge(Error::Token(fault)).unwrap();
            assert!(text.bytes().all(|byte| matches!(byte, b' '..=b'~' if byte != b'\\')), "{text}");
            assert!([0, 4].contains(&text.matches('"').count()), "{text}");
        }
        assert_eq!(challenge(Error::NoServer), None);
    }
}
