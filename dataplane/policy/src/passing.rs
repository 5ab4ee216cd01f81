//! Which fields of heads do not pass as they came.

use weir_wire::head::{Name, NameSet};

use crate::{ClientFacts, forwarded::Forwarded, host::HOST_BYTES_MAX, settings::HttpSettings};

/// What a Set-Cookie or a Location gains at most, beside a host.
const ADDED_BYTES_MAX: usize = 20;

/// A server may take these for what we say, or for what frames the request: a client does not get to send them.
pub(crate) const SHADOWS: NameSet = NameSet::of(&[Name::Shadow]);

/// What requests lose whatever their heads say.
pub(crate) fn dropped_from_requests(settings: &HttpSettings, forwarded: &Forwarded) -> NameSet {
    let has_host = settings.host_to_servers.is_empty();
    let host = if has_host { NameSet::default() } else { NameSet::of(&[Name::Host]) };
    SHADOWS | forwarded.replaced | host
}

/// The fields of responses that are written anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rewritten {
    plain: NameSet,
    over_tls: NameSet,
    /// What one of them gains at most.
    pub added_bytes_max: usize,
}

impl Rewritten {
    pub fn by(settings: &HttpSettings) -> Self {
        const COOKIES: NameSet = NameSet::of(&[Name::SetCookie]);
        const LOCATION: NameSet = NameSet::of(&[Name::Location]);
        // One policy for the host, the operator's: more than one field must not be sent (RFC 6797 §7.1).
        const HSTS: NameSet = NameSet::of(&[Name::StrictTransportSecurity]);
        let when = |is_so: bool, names: NameSet| if is_so { names } else { NameSet::default() };
        let translates = !settings.host_to_servers.is_empty();
        let for_all = when(translates, COOKIES | LOCATION);
        Self {
            added_bytes_max: ADDED_BYTES_MAX + if translates { HOST_BYTES_MAX } else { 0 },
            plain: for_all | when(settings.httponly_cookies, COOKIES),
            over_tls: for_all
                | when(settings.httponly_cookies || settings.secure_cookies, COOKIES)
                | when(settings.server_side_redirect_to_https, LOCATION)
                | when(settings.hsts, HSTS),
        }
    }

    #[inline]
    pub fn of(self, client: &ClientFacts) -> NameSet {
        if client.tls { self.over_tls } else { self.plain }
    }
}
