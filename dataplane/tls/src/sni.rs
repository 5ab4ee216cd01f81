//! Which certificate a client gets: by the name that it asks for, then by the signatures that it can check.
//!
//! For an unknown name it gets the default certificate, and decides itself whether to go on. Other load balancers do
//! the same.

use std::{cell::Cell, collections::HashMap, sync::Arc};

use rustls::{
    SignatureScheme,
    pki_types::UnixTime,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

use crate::Certificate;

#[derive(Debug, Default)]
pub(crate) struct CertificatesByName {
    exact: HashMap<String, Candidates>,
    /// By what follows `*.`; a wildcard stands for one label (RFC 9525 §6.3).
    wildcard: HashMap<String, Candidates>,
    /// The first of each key type.
    default: Candidates,
}

/// In order of preference: by key type, then as configured.
type Candidates = Vec<Certificate>;

impl CertificatesByName {
    pub(crate) fn new(certificates: &[Certificate]) -> Self {
        let mut by_name = Self::default();
        for certificate in certificates {
            if by_name.default.iter().all(|other| other.key_type() != certificate.key_type()) {
                by_name.default.push(certificate.clone());
            }
            for name in certificate.dns_names() {
                let candidates = match name.strip_prefix("*.") {
                    Some(parent) => by_name.wildcard.entry(parent.to_owned()),
                    None => by_name.exact.entry(name.clone()),
                };
                candidates.or_default().push(certificate.clone());
            }
        }
        for candidates in by_name.exact.values_mut().chain(by_name.wildcard.values_mut()).chain([&mut by_name.default])
        {
            candidates.sort_by_key(Certificate::key_type);
        }
        by_name
    }

    /// Whether no name leads to `certificate` and it is no default either.
    pub(crate) fn never_chooses(&self, certificate: &Certificate) -> bool {
        certificate.dns_names().is_empty() && self.default.iter().all(|other| !other.is(certificate))
    }

    fn choose(&self, name: Option<&str>, schemes: &[SignatureScheme]) -> Option<&Certificate> {
        let exact = name.and_then(|name| self.exact.get(name));
        let wildcard = name.and_then(|name| name.split_once('.')).and_then(|(_, parent)| self.wildcard.get(parent));
        let candidates = [exact, wildcard, Some(&self.default)].into_iter().flatten().flatten();
        candidates.into_iter().find(|certificate| certificate.certified.key.choose_scheme(schemes).is_some())
    }
}

impl ResolvesServerCert for CertificatesByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name().map(str::to_ascii_lowercase);
        // With a certificate that does not fit, rustls sends handshake_failure; without one it would send
        // access_denied.
        let certificate = self.choose(name.as_deref(), hello.signature_schemes()).or(self.default.first());
        CHOSEN.set(certificate.map(|certificate| certificate.signs_with()));
        certificate.map(|certificate| certificate.at(|| UnixTime::now().as_secs()))
    }
}

thread_local! {
    /// Of the certificate that this thread has given to a client last. rustls does not tell which one it got.
    static CHOSEN: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// What the certificate signs with that was chosen since the last call, on this thread. `None`: none was.
pub(crate) fn take_chosen() -> Option<&'static str> {
    CHOSEN.take()
}
