//! What can be wrong with the certificate of a client.

use rustls::CertificateError;

/// Why the certificate of a client is not good.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CertificateFault {
    /// The client showed none.
    Missing,
    NotYetValid,
    /// It, or one of its issuers.
    Expired,
    Revoked,
    /// No authority that is trusted has signed it, or one of its issuers.
    UnknownAuthority,
    /// It is not for clients.
    Purpose,
    /// An issuer may not sign for its names.
    Names,
    /// The chain is too long, or an issuer in it is no authority.
    Chain,
    /// The list of revoked certificates of its issuer is out of date,
    CrlExpired,
    /// or is missing, or cannot be used.
    CrlMissing,
    /// The client sends more bytes of certificates than are kept of one.
    TooLong,
    /// It is not X.509 version 3, or has algorithms or critical extensions that are not implemented.
    Unreadable,
    /// The client did not prove that it has the key.
    Proof,
}

impl CertificateFault {
    pub const ALL: [Self; 13] = [
        Self::Missing,
        Self::NotYetValid,
        Self::Expired,
        Self::Revoked,
        Self::UnknownAuthority,
        Self::Purpose,
        Self::Names,
        Self::Chain,
        Self::CrlExpired,
        Self::CrlMissing,
        Self::TooLong,
        Self::Unreadable,
        Self::Proof,
    ];

    /// As records name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::NotYetValid => "not_yet_valid",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::UnknownAuthority => "unknown_authority",
            Self::Purpose => "wrong_purpose",
            Self::Names => "name_constraints",
            Self::Chain => "bad_chain",
            Self::CrlExpired => "crl_expired",
            Self::CrlMissing => "crl_missing",
            Self::TooLong => "too_long",
            Self::Unreadable => "unreadable",
            Self::Proof => "no_proof",
        }
    }

    pub(crate) fn of(error: &webpki::Error) -> Self {
        use webpki::Error::*;
        match error {
            CertNotValidYet { .. } | InvalidCertValidity => Self::NotYetValid,
            CertExpired { .. } => Self::Expired,
            CertRevoked => Self::Revoked,
            UnknownIssuer | InvalidSignatureForPublicKey => Self::UnknownAuthority,
            RequiredEkuNotFoundContext(_) | EmptyEkuExtension => Self::Purpose,
            NameConstraintViolation => Self::Names,
            CaUsedAsEndEntity
            | EndEntityUsedAsCa
            | PathLenConstraintViolated
            | MaximumPathBuildCallsExceeded
            | MaximumPathDepthExceeded
            | MaximumSignatureChecksExceeded
            | MaximumNameConstraintComparisonsExceeded => Self::Chain,
            CrlExpired { .. } => Self::CrlExpired,
            UnknownRevocationStatus
            | IssuerNotCrlSigner
            | InvalidCrlSignatureForPublicKey
            | UnsupportedCrlSignatureAlgorithmContext(_)
            | UnsupportedCrlSignatureAlgorithmForPublicKeyContext(_) => Self::CrlMissing,
            _ => Self::Unreadable,
        }
    }

    /// What rustls makes the alert of.
    pub(crate) fn as_error(self) -> rustls::Error {
        rustls::Error::InvalidCertificate(match self {
            Self::NotYetValid => CertificateError::NotValidYet,
            Self::Expired => CertificateError::Expired,
            Self::Revoked => CertificateError::Revoked,
            Self::UnknownAuthority => CertificateError::UnknownIssuer,
            Self::Purpose => CertificateError::InvalidPurpose,
            Self::CrlExpired | Self::CrlMissing => CertificateError::UnknownRevocationStatus,
            Self::Unreadable => CertificateError::BadEncoding,
            Self::Missing | Self::Names | Self::Chain | Self::TooLong | Self::Proof => {
                CertificateError::ApplicationVerificationFailure
            }
        })
    }
}
