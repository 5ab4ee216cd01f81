//! What can go wrong in TLS, by whose doing.

use std::fmt;

use crate::{CertificateFault, Fault};

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    // The operator's.
    CertificateMissing,
    CertificateUnreadable(String),
    KeyUnreadable(String),
    AuthorityUnreadable {
        position: usize,
        why: String,
    },
    /// The list of revoked certificates at this position.
    ListUnreadable {
        position: usize,
        why: String,
    },
    /// None of the authorities may sign the certificates of clients.
    NoAuthority,
    KeyMismatch,
    NoCertificate,
    NoVersion,
    NoCipherSuite,
    /// Only TLS 1.2, and no suite fits the key type of any certificate.
    NoCipherSuiteForCertificates,
    UnknownCipherSuite(String),
    UnknownGroup(String),
    TicketKeyLength(usize),
    BadServerName(String),
    /// rustls refuses the configuration for another reason.
    Refused(String),
    // The peer's. The alert that answers it has been handed to the caller.
    Peer(Fault, String),
    /// The server's certificate is not one that we trust, or not for the name it should be.
    Untrusted(String),
    /// The client shows no certificate that is good, and needs one.
    ClientCertificate(CertificateFault),
    HandshakeTooLong,
    // The caller's.
    NotHandshaken,
    Closed,
    /// The session has failed in an earlier call.
    Failed,
}

impl Error {
    /// Why a handshake with this peer failed. `None`: not by what the peer sent.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            Error::Peer(fault, _) => Some(*fault),
            Error::HandshakeTooLong => Some(Fault::Malformed),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::CertificateMissing => write!(f, "holds no certificate"),
            Error::CertificateUnreadable(why) => write!(f, "certificate is not X.509 version 3 in DER: {why}"),
            Error::KeyUnreadable(why) => write!(f, "private key is not RSA, ECDSA or EdDSA in PKCS#8: {why}"),
            Error::AuthorityUnreadable { why, .. } => write!(f, "is not the certificate of an authority in DER: {why}"),
            Error::ListUnreadable { why, .. } => write!(f, "is not a list of revoked certificates in DER: {why}"),
            Error::NoAuthority => {
                write!(f, "holds no authority that may sign the certificates of clients (basicConstraints)")
            }
            Error::ClientCertificate(fault) => write!(f, "the client's certificate is not good: {}", fault.name()),
            Error::KeyMismatch => write!(f, "private key does not belong to the certificate"),
            Error::NoCertificate => write!(f, "TLS needs at least one certificate"),
            Error::NoVersion => write!(f, "no TLS version that is implemented; allow TLS 1.2 or 1.3"),
            Error::NoCipherSuite => write!(f, "no cipher suite that is implemented for the TLS versions allowed"),
            Error::NoCipherSuiteForCertificates => {
                write!(f, "no cipher suite fits the key type of a certificate; add an ECDHE_ECDSA or ECDHE_RSA suite")
            }
            Error::UnknownCipherSuite(name) => write!(f, "cipher suite {name} is not implemented"),
            Error::UnknownGroup(name) => {
                write!(f, "key exchange group {name} is not one of {}", crate::Group::NAMES.join(", "))
            }
            Error::TicketKeyLength(bytes) => {
                write!(f, "a session ticket key has {bytes} bytes, and not {}", crate::TicketKey::BYTES)
            }
            Error::BadServerName(name) => write!(f, "{name:?} is neither a host name nor an IP address"),
            Error::Refused(why) => write!(f, "configuration refused: {why}"),
            Error::Peer(_, why) | Error::Untrusted(why) => write!(f, "{why}"),
            Error::HandshakeTooLong => write!(f, "handshake too long"),
            Error::NotHandshaken => write!(f, "nothing can be sent before the handshake is complete"),
            Error::Closed => write!(f, "nothing can be sent after close_notify"),
            Error::Failed => write!(f, "the session has failed"),
        }
    }
}

impl std::error::Error for Error {}
