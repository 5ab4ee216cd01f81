//! Why a handshake fails, by what the peer sent.

use rustls::{AlertDescription, Error as RustlsError, InvalidMessage, PeerIncompatible};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// What came is no record of TLS.
    NotTls,
    /// Nothing in common, of what both must have: the version,
    Version,
    CipherSuite,
    /// the group of the key exchange, also of a peer that exchanges keys only by RSA,
    Group,
    /// an algorithm of signatures that fits the key of the certificate,
    Signature,
    /// the protocol above TLS (ALPN).
    Protocol,
    /// The peer does not trust our certificate, or cannot use it.
    CertificateRefused,
    /// The peer gave up for another reason.
    Alert,
    /// A message or a record is not as it must be.
    Malformed,
}

impl Fault {
    pub(crate) fn of(error: &RustlsError) -> Self {
        match error {
            RustlsError::InvalidMessage(InvalidMessage::InvalidContentType) => Fault::NotTls,
            RustlsError::PeerIncompatible(lacks) => Self::lack(lacks),
            RustlsError::NoApplicationProtocol => Fault::Protocol,
            RustlsError::AlertReceived(alert) => Self::heard(*alert),
            _ => Fault::Malformed,
        }
    }

    fn lack(lacks: &PeerIncompatible) -> Self {
        use PeerIncompatible::*;
        match lacks {
            ServerDoesNotSupportTls12Or13
            | ServerTlsVersionIsDisabledByOurConfig
            | SupportedVersionsExtensionRequired
            // rustls looks for it before it looks at the version, and TLS 1.1 does not have it.
            | SignatureAlgorithmsExtensionRequired
            | Tls12NotOffered
            | Tls12NotOfferedOrEnabled => Fault::Version,
            NoCipherSuitesInCommon => Fault::CipherSuite,
            NoKxGroupsInCommon | NamedGroupsExtensionRequired => Fault::Group,
            NoSignatureSchemesInCommon => Fault::Signature,
            _ => Fault::Malformed,
        }
    }

    /// RFC 8446 §6.2.
    fn heard(alert: AlertDescription) -> Self {
        use AlertDescription::*;
        match alert {
            BadCertificate
            | UnsupportedCertificate
            | CertificateRevoked
            | CertificateExpired
            | CertificateUnknown
            | UnknownCA => Fault::CertificateRefused,
            _ => Fault::Alert,
        }
    }
}
