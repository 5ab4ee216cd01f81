//! What an SSL profile allows: the requested versions and cipher suites that are implemented, for either side.

use std::sync::Arc;

use rustls::{SupportedCipherSuite, SupportedProtocolVersion, crypto::CryptoProvider};

use crate::{Error, Group, KeyType, Provider, TicketSettings, Version, suites};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsSettings {
    pub versions: Vec<Version>,
    /// IANA names, in order of preference.
    pub cipher_suites: Vec<String>,
    /// Of key exchange, for a client in order of preference; empty: all.
    pub groups: Vec<Group>,
    /// Of a server.
    pub prefer_client_order: bool,
    /// Of a client.
    pub session_resumption: bool,
    /// Of a server: what its sessions are resumed by; `None`: every handshake is a full one.
    pub tickets: Option<TicketSettings>,
    /// For a server: its ALPN protocols in order of preference. A client that offers protocols, but none of these, is
    /// refused. If this is empty, offers are not answered (RFC 7301 §3.1 allows that), and the client uses its default
    /// protocol. For a client: what it offers, and a server may ignore.
    pub protocols: Vec<String>,
    pub send_close_notify: bool,
}

/// What was asked for and is not offered; the rest works.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Warning {
    VersionsNotImplemented(Vec<Version>),
    /// All of them in one, as the operator named them in one list.
    CipherSuitesNotImplemented(Vec<String>),
    /// The version is allowed, but none of its cipher suites is.
    VersionWithoutCipherSuite(Version),
    /// The certificate at this position has no DNS name and is no default: no client ever gets it.
    CertificateNeverChosen {
        position: usize,
    },
    /// Only TLS 1.2, and no suite fits the key type of the certificate at this position.
    CertificateWithoutCipherSuite {
        position: usize,
    },
}

pub(crate) struct Offer {
    versions: Vec<Version>,
    suites: Vec<SupportedCipherSuite>,
    groups: Vec<Group>,
}

impl Offer {
    pub fn new(settings: &TlsSettings, crypto: &CryptoProvider) -> Result<(Self, Vec<Warning>), Error> {
        let mut warnings = Vec::new();
        let (mut versions, unknown): (Vec<_>, Vec<_>) =
            settings.versions.iter().partition::<Vec<Version>, _>(|version| version.implemented().is_some());
        if !unknown.is_empty() {
            warnings.push(Warning::VersionsNotImplemented(unknown));
        }
        if versions.is_empty() {
            return Err(Error::NoVersion);
        }
        let (mut suites, mut unknown) = (Vec::new(), Vec::new());
        for name in &settings.cipher_suites {
            match suites::named(name, crypto) {
                Some(suite) => suites.push(suite),
                None => unknown.push(name.clone()),
            }
        }
        if !unknown.is_empty() {
            warnings.push(Warning::CipherSuitesNotImplemented(unknown));
        }
        suites.retain(|suite| versions.contains(&suites::version_of(*suite)));
        versions.retain(|version| {
            let usable = suites.iter().any(|suite| suites::version_of(*suite) == *version);
            if !usable {
                warnings.push(Warning::VersionWithoutCipherSuite(*version));
            }
            usable
        });
        if versions.is_empty() {
            return Err(Error::NoCipherSuite);
        }
        let groups = if settings.groups.is_empty() { Group::ALL.to_vec() } else { settings.groups.clone() };
        Ok((Self { versions, suites, groups }, warnings))
    }

    /// In TLS 1.3 a suite says nothing about the certificate.
    pub fn fits(&self, key_type: KeyType) -> bool {
        let signs = |suite: &SupportedCipherSuite| suites::key_type_of(*suite).is_none_or(|other| other == key_type);
        self.suites.iter().any(signs)
    }

    pub fn versions(&self) -> Vec<&'static SupportedProtocolVersion> {
        self.versions.iter().filter_map(|version| version.implemented()).collect()
    }

    pub fn crypto(&self, provider: &Provider) -> Arc<CryptoProvider> {
        Arc::new(CryptoProvider {
            cipher_suites: self.suites.clone(),
            kx_groups: self.groups.iter().map(|group| group.supported()).collect(),
            ..CryptoProvider::clone(&provider.crypto)
        })
    }
}
