//! TLS versions and cipher suites by their IANA names, and which of them rustls implements.

use rustls::{CipherSuite, SupportedCipherSuite, SupportedProtocolVersion, crypto::CryptoProvider};

use crate::KeyType;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Version {
    Tls10,
    Tls11,
    Tls12,
    Tls13,
}

impl Version {
    pub fn name(self) -> &'static str {
        match self {
            Version::Tls10 => "TLS 1.0",
            Version::Tls11 => "TLS 1.1",
            Version::Tls12 => "TLS 1.2",
            Version::Tls13 => "TLS 1.3",
        }
    }

    /// As the protocol has it.
    pub fn number(self) -> u16 {
        match self {
            Version::Tls10 => 0x0301,
            Version::Tls11 => 0x0302,
            Version::Tls12 => 0x0303,
            Version::Tls13 => 0x0304,
        }
    }

    /// `None` for what rustls does not implement.
    pub(crate) fn implemented(self) -> Option<&'static SupportedProtocolVersion> {
        match self {
            Version::Tls10 | Version::Tls11 => None,
            Version::Tls12 => Some(&rustls::version::TLS12),
            Version::Tls13 => Some(&rustls::version::TLS13),
        }
    }
}

/// The suite that IANA calls `name`; `None` when it is not implemented.
pub(crate) fn named(name: &str, crypto: &CryptoProvider) -> Option<SupportedCipherSuite> {
    crypto.cipher_suites.iter().copied().find(|suite| iana_name(suite.suite()) == Some(name))
}

pub(crate) fn version_of(suite: SupportedCipherSuite) -> Version {
    match suite {
        SupportedCipherSuite::Tls12(_) => Version::Tls12,
        SupportedCipherSuite::Tls13(_) => Version::Tls13,
    }
}

/// rustls names the suites of TLS 1.3 with a prefix of its own.
pub(crate) fn iana_name(suite: CipherSuite) -> Option<&'static str> {
    match suite {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => Some("TLS_AES_128_GCM_SHA256"),
        CipherSuite::TLS13_AES_256_GCM_SHA384 => Some("TLS_AES_256_GCM_SHA384"),
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => Some("TLS_CHACHA20_POLY1305_SHA256"),
        other => other.as_str(),
    }
}

/// The key type that a suite demands; `None`: any.
pub(crate) fn key_type_of(suite: SupportedCipherSuite) -> Option<KeyType> {
    let name = iana_name(suite.suite())?;
    if name.starts_with("TLS_ECDHE_RSA_") {
        Some(KeyType::Rsa)
    } else if name.starts_with("TLS_ECDHE_ECDSA_") {
        Some(KeyType::Ec)
    } else {
        None
    }
}
