//! Whether a server is the right one: signed by an authority that we trust, and for the right name.

use std::{net::IpAddr, sync::Arc};

use rustls::{
    CertificateError, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme,
    client::{
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_cert_signed_by_trust_anchor, verify_server_name,
    },
    crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature},
    pki_types::{self, CertificateDer, UnixTime},
    server::ParsedCertificate,
};

use crate::Error;

/// The name of a server for SNI and for the check of its certificate: a host name, or an IP address, which SNI never
/// carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerName(pub(crate) pki_types::ServerName<'static>);

impl ServerName {
    pub fn parse(name: &str) -> Result<Self, Error> {
        let parsed = pki_types::ServerName::try_from(name.to_owned());
        parsed.map(Self).map_err(|_| Error::BadServerName(name.to_owned()))
    }
}

impl From<IpAddr> for ServerName {
    fn from(address: IpAddr) -> Self {
        Self(pki_types::ServerName::IpAddress(address.into()))
    }
}

/// The authorities that we trust to sign certificates. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Authorities(Arc<Trusted>);

#[derive(Debug)]
struct Trusted {
    certificates: Vec<CertificateDer<'static>>,
    roots: RootCertStore,
}

impl Authorities {
    /// Certificates in DER; none may be missing from the outcome.
    pub fn read(certificates: &[Vec<u8>]) -> Result<Self, Error> {
        let certificates: Vec<_> = certificates.iter().map(|der| CertificateDer::from(der.clone())).collect();
        let mut roots = RootCertStore::empty();
        for (position, certificate) in certificates.iter().enumerate() {
            roots
                .add(certificate.clone())
                .map_err(|error| Error::AuthorityUnreadable { position, why: error.to_string() })?;
        }
        Ok(Self(Arc::new(Trusted { certificates, roots })))
    }

    /// Whether they are the very ones that `other` is a clone of.
    pub fn are(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The name that a server's certificate must be for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostCheck {
    /// Anybody the authorities have signed.
    Off,
    /// The name that the connection is made to.
    Connection,
    AnyOf(Vec<ServerName>),
}

/// What a server's certificate must stand.
#[derive(Clone, Debug)]
pub struct Verification {
    pub authorities: Authorities,
    pub host_check: HostCheck,
}

#[derive(Debug)]
pub(crate) struct Verifier {
    pub verification: Verification,
    pub algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    fn check_signer(
        &self,
        shown: &CertificateDer<'_>,
        parsed: &ParsedCertificate<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), rustls::Error> {
        let Trusted { certificates, roots } = &*self.verification.authorities.0;
        match verify_server_cert_signed_by_trust_anchor(parsed, roots, intermediates, now, self.algorithms.all) {
            // A self-signed certificate that is trusted itself, as openssl makes them. This is checked after its
            // validity period.
            Err(error) if is_authority(&error) && certificates.contains(shown) => Ok(()),
            outcome => outcome,
        }
    }

    fn check_name(
        &self,
        parsed: &ParsedCertificate<'_>,
        connection: &pki_types::ServerName<'_>,
    ) -> Result<(), rustls::Error> {
        match &self.verification.host_check {
            HostCheck::Off => Ok(()),
            HostCheck::Connection => verify_server_name(parsed, connection),
            HostCheck::AnyOf(names) if names.iter().any(|name| verify_server_name(parsed, &name.0).is_ok()) => Ok(()),
            HostCheck::AnyOf(_) => Err(CertificateError::NotValidForName.into()),
        }
    }
}

fn is_authority(error: &rustls::Error) -> bool {
    let rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(why))) = error else { return false };
    matches!(why.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &pki_types::ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let parsed = ParsedCertificate::try_from(end_entity)?;
        self.check_signer(end_entity, &parsed, intermediates, now)?;
        self.check_name(&parsed, server_name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Accepts every certificate.
#[derive(Debug)]
pub(crate) struct Unverified {
    pub schemes: Vec<SignatureScheme>,
}

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &pki_types::ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}
