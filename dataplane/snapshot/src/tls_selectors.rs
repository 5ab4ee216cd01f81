//! SSL profiles for some clients of a virtual service, by where they come from.

use std::net::IpAddr;

use weir_api::dataplane::v1;
use weir_rules::AddressMatch;
use weir_tls::{Provider, ServerConfig};

use crate::{
    finding::{Findings, Subject},
    policies::groups::Groups,
    tls::{self, KeptTls},
};

/// In the order in which they are tried.
#[derive(Clone, Default, Debug)]
pub struct TlsSelectors(Box<[Selector]>);

#[derive(Clone, Debug)]
struct Selector {
    clients: AddressMatch,
    kept: KeptTls,
    /// For listeners whose clients may speak HTTP/2.
    http2: Option<ServerConfig>,
}

impl TlsSelectors {
    /// How TLS begins with a client; `None`: as with all that no selector names. `http2`: the client may speak it.
    pub fn find(&self, client: IpAddr, http2: bool) -> Option<&ServerConfig> {
        let selector = self.0.iter().find(|selector| selector.clients.holds(client.to_canonical()))?;
        Some(selector.http2.as_ref().filter(|_| http2).unwrap_or(&selector.kept.config))
    }

    /// Whether both, made of the same source, are made of the same objects.
    pub(crate) fn are(&self, others: &Self) -> bool {
        let is = |(one, other): (&Selector, &Selector)| {
            one.kept.config.is(&other.kept.config) && one.clients.has_groups_of(&other.clients)
        };
        self.0.len() == others.0.len() && self.0.iter().zip(&others.0).all(is)
    }
}

/// What the selectors of a service are read with: what its own profile is read with, besides the profile.
pub(crate) struct SelectorReader<'s> {
    pub service: Subject<'s>,
    pub groups: Groups<'s>,
    pub provider: &'s Provider,
    /// What listeners offer whose clients may speak HTTP/2; `None`: none may.
    pub http2: Option<&'s [&'s str]>,
}

impl SelectorReader<'_> {
    /// `own`: the profile of all other clients; without one, there is no TLS. `None`: they cannot be used; the findings
    /// say why.
    pub fn read(
        &self,
        source: &[v1::TlsSelector],
        own: Option<&KeptTls>,
        before: Option<&TlsSelectors>,
        findings: &mut Findings,
    ) -> Option<TlsSelectors> {
        let Some(own) = own else { return Some(TlsSelectors::default()) };
        let mut all = Vec::new();
        let mut is_sound = true;
        for (at, from) in source.iter().enumerate() {
            let field = format!("ssl_profile_selectors[{at}].");
            let (Some(clients), Some(profile)) = (&from.clients, &from.tls) else {
                findings.error(self.service, field, "names no clients, or no profile");
                return None;
            };
            let within = format!("{field}client_ip_list.");
            let clients = self.groups.address_match(self.service, &within, clients, findings);
            let before = before.and_then(|before| before.0.get(at)).map(|before| &before.kept);
            let kept = tls::build(self.service, own.wanted_with(profile), before, self.provider, findings);
            let (Some(clients), Some(kept)) = (clients, kept) else {
                is_sound = false;
                continue;
            };
            let http2 = self.http2.map(|protocols| kept.config.speaking(protocols));
            all.push(Selector { clients, kept, http2 });
        }
        is_sound.then(|| TlsSelectors(all.into()))
    }
}

/// The uuids of the groups that clients are compared with.
pub(crate) fn address_groups(source: &v1::VirtualService) -> impl Iterator<Item = &str> {
    let clients = source.tls_selectors.iter().filter_map(|selector| selector.clients.as_ref());
    clients.flat_map(|clients| clients.address_group_uuids.iter().map(String::as_str))
}
