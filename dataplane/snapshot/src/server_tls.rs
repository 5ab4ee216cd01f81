//! TLS towards servers: builds one client configuration from a pool's SSL profile, PKI profile and certificate.

use weir_api::dataplane::v1;
use weir_tls::{
    Authorities, Certificate, ClientConfig, HostCheck, PeerSettings, Provider, ServerName, TlsSettings, Verification,
    Warning,
};

use crate::{
    certificate::KeptCertificate,
    finding::{Findings, Subject},
    kept::{Kept, Objects, both_or_neither, reference},
    pki_profile::KeptPkiProfile,
    tls,
};

/// How a worker encrypts connections to the servers of a pool. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ServerTls {
    /// For requests.
    pub config: ClientConfig,
    /// For tunnels, because what is spoken in them is their clients' choice; and for requests that must go by HTTP/1.1.
    pub without_alpn: ClientConfig,
    naming: Naming,
}

/// The source of a connection's TLS name.
#[derive(Clone, Debug)]
enum Naming {
    Fixed(ServerName),
    /// The host of the connection's first request, or else the server's hostname.
    Host,
    /// The server's hostname. The name is neither sent nor checked.
    Hostname,
}

impl ServerTls {
    /// The TLS name that a request to this host needs; `None`: any connection will do.
    pub fn asked_name(&self, host: Option<&[u8]>) -> Option<ServerName> {
        match self.naming {
            Naming::Host => name_of_host(host?),
            Naming::Fixed(_) | Naming::Hostname => None,
        }
    }

    /// Whether requests determine the name.
    pub fn asks_name(&self) -> bool {
        matches!(self.naming, Naming::Host)
    }

    /// The name of all connections; `None`: they differ.
    pub fn fixed_name(&self) -> Option<&ServerName> {
        match &self.naming {
            Naming::Fixed(name) => Some(name),
            Naming::Host | Naming::Hostname => None,
        }
    }

    /// Whether both are clones of one configuration, so that a connection made by one suits the other.
    pub fn is(&self, other: &Self) -> bool {
        self.config.is(&other.config)
    }
}

/// uri-host without its port (RFC 9110 §7.2).
fn name_of_host(host: &[u8]) -> Option<ServerName> {
    let text = std::str::from_utf8(host).ok()?;
    let name = match text.strip_prefix('[') {
        Some(address) => address.split_once(']')?.0,
        None => text.split_once(':').map_or(text, |(name, _)| name),
    };
    ServerName::parse(&name.to_ascii_lowercase()).ok()
}

/// The TLS of a pool, its sources, and warnings about what it does not offer.
#[derive(Clone, Debug)]
pub(crate) struct KeptServerTls {
    source: v1::ServerTls,
    protocols: &'static [&'static str],
    parts: Parts,
    warnings: Vec<Warning>,
    pub object: ServerTls,
}

/// The other objects that it refers to.
#[derive(Clone, Debug)]
struct Parts {
    authorities: Option<Authorities>,
    certificate: Option<Certificate>,
}

/// What the TLS of a pool is built from.
pub(crate) struct ServerTlsReader<'s> {
    pub certificates: &'s Objects<KeptCertificate>,
    pub pki_profiles: &'s Objects<KeptPkiProfile>,
    pub provider: &'s Provider,
}

impl ServerTlsReader<'_> {
    /// `None` if it is unusable; the findings give the reasons. `protocols`: what to offer by ALPN.
    pub fn read(
        &self,
        pool: Subject<'_>,
        source: &v1::ServerTls,
        protocols: &'static [&'static str],
        before: Option<&KeptServerTls>,
        findings: &mut Findings,
    ) -> Option<KeptServerTls> {
        let Some(profile) = &source.profile else {
            findings.error(pool, "ssl_profile_ref", "TLS to servers needs an SSL profile");
            return None;
        };
        let parts = self.parts(pool, source, findings)?;
        let is =
            |kept: &&KeptServerTls| kept.source == *source && kept.protocols == protocols && kept.parts.are(&parts);
        let kept = match before.filter(is) {
            Some(kept) => kept.clone(),
            None => self.build(pool, source, protocols, parts, findings)?,
        };
        for warning in &kept.warnings {
            tls::warn(pool, profile, warning, findings);
        }
        Some(kept)
    }

    fn parts(&self, pool: Subject<'_>, source: &v1::ServerTls, findings: &mut Findings) -> Option<Parts> {
        let authorities = referred(self.pki_profiles, &source.pki_profile_uuid).unwrap_or_else(|missing| {
            findings.error(pool, "pki_profile_ref", format!("there is no PKI profile {missing}"));
            None
        });
        let certificate = referred(self.certificates, &source.certificate_uuid).unwrap_or_else(|missing| {
            findings.error(pool, "ssl_key_and_certificate_ref", format!("there is no certificate {missing}"));
            None
        });
        Some(Parts { authorities: authorities?, certificate: certificate? })
    }

    fn build(
        &self,
        pool: Subject<'_>,
        source: &v1::ServerTls,
        protocols: &'static [&'static str],
        parts: Parts,
        findings: &mut Findings,
    ) -> Option<KeptServerTls> {
        let profile = source.profile.as_ref()?;
        let settings = tls::settings(pool, profile, findings)?;
        let settings = TlsSettings { protocols: protocols.iter().copied().map(str::to_owned).collect(), ..settings };
        let naming = naming(pool, source, findings)?;
        let host_check = host_check(pool, source, findings)?;
        let verification = parts.authorities.clone().map(|authorities| Verification { authorities, host_check });
        let peer = PeerSettings { verification, certificate: parts.certificate.clone(), sni: source.sni };
        let built = ClientConfig::build(&settings, &peer, self.provider).and_then(|(config, warnings)| {
            let without_alpn = match protocols.is_empty() {
                true => config.clone(),
                false => {
                    let settings = TlsSettings { protocols: Vec::new(), ..settings };
                    ClientConfig::build(&settings, &peer, self.provider)?.0
                }
            };
            Ok((config, without_alpn, warnings))
        });
        match built {
            Ok((config, without_alpn, warnings)) => {
                let object = ServerTls { config, without_alpn, naming };
                Some(KeptServerTls { source: source.clone(), protocols, parts, warnings, object })
            }
            Err(error) => {
                tls::refuse(pool, profile, &error, findings);
                None
            }
        }
    }
}

impl Parts {
    /// Whether both are clones of the same objects.
    fn are(&self, others: &Self) -> bool {
        both_or_neither(self.authorities.as_ref(), others.authorities.as_ref(), Authorities::are)
            && both_or_neither(self.certificate.as_ref(), others.certificate.as_ref(), Certificate::is)
    }
}

/// The object with this uuid. `Ok(None)`: it is unusable. `Ok(Some(None))`: no uuid was given. `Err`: there is no such
/// object.
fn referred<'u, S, T: Clone>(among: &Objects<Kept<S, T>>, uuid: &'u str) -> Result<Option<Option<T>>, &'u str> {
    let Some(uuid) = reference(uuid) else { return Ok(Some(None)) };
    let found = among.find(uuid).ok_or(uuid)?;
    Ok(found.map(|kept| Some(kept.object.clone())))
}

fn naming(pool: Subject<'_>, source: &v1::ServerTls, findings: &mut Findings) -> Option<Naming> {
    if !source.server_name.is_empty() {
        return Some(Naming::Fixed(parse_name(pool, "server_name", &source.server_name, findings)?));
    }
    let is_checked = source.host_check && source.domain_names.is_empty() && !source.pki_profile_uuid.is_empty();
    Some(if source.sni || is_checked { Naming::Host } else { Naming::Hostname })
}

fn host_check(pool: Subject<'_>, source: &v1::ServerTls, findings: &mut Findings) -> Option<HostCheck> {
    if !source.host_check {
        return Some(HostCheck::Off);
    }
    if source.domain_names.is_empty() {
        return Some(HostCheck::Connection);
    }
    let names = source.domain_names.iter().enumerate();
    let names: Vec<_> = names
        .filter_map(|(position, name)| parse_name(pool, &format!("domain_name[{position}]"), name, findings))
        .collect();
    (names.len() == source.domain_names.len()).then_some(HostCheck::AnyOf(names))
}

fn parse_name(pool: Subject<'_>, field: &str, name: &str, findings: &mut Findings) -> Option<ServerName> {
    ServerName::parse(name).map_err(|error| findings.error(pool, field, error.to_string())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_gives_a_name_without_its_port() {
        for (host, name) in [
            ("shop.example", "shop.example"),
            ("Shop.Example:8443", "shop.example"),
            ("192.0.2.1:80", "192.0.2.1"),
            ("[2001:db8::1]:80", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"),
        ] {
            assert_eq!(name_of_host(host.as_bytes()), ServerName::parse(name).ok(), "{host}");
        }
        for host in ["", ":80", "a%20b", "[::1"] {
            assert_eq!(name_of_host(host.as_bytes()), None, "{host}");
        }
    }
}
