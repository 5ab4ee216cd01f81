//! The client side, for our own load generator: it measures the server, so it checks nothing and spends little.

use std::sync::Arc;

use rustls::{
    DigitallySignedStruct, SignatureScheme,
    client::{
        Resumption,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::CryptoProvider,
    pki_types::{CertificateDer, ServerName, UnixTime},
};

use crate::{Error, Group, Provider, Version, suites};

/// Sessions kept for resumption, for each configuration.
const SESSIONS_MAX: usize = 1024;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientSettings {
    pub versions: Vec<Version>,
    /// IANA names, in order of preference; empty: all.
    pub cipher_suites: Vec<String>,
    /// In order of preference; TLS 1.3 sends a key share of the first.
    pub groups: Vec<Group>,
    pub session_resumption: bool,
}

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    pub(crate) rustls: Arc<rustls::ClientConfig>,
}

impl ClientConfig {
    /// Neither the certificate nor its signature is verified: the peer is our own, and the check would cost the load
    /// generator more than the server's signature costs the server.
    pub fn unverified(settings: &ClientSettings, provider: &Provider) -> Result<Self, Error> {
        let crypto = Arc::new(CryptoProvider {
            cipher_suites: chosen_suites(settings, &provider.crypto)?,
            kx_groups: settings.groups.iter().map(|group| group.supported()).collect(),
            ..CryptoProvider::clone(&provider.crypto)
        });
        let versions: Vec<_> = settings.versions.iter().filter_map(|version| version.implemented()).collect();
        if versions.is_empty() {
            return Err(Error::NoVersion);
        }
        let schemes = crypto.signature_verification_algorithms.supported_schemes();
        let mut rustls = rustls::ClientConfig::builder_with_provider(crypto)
            .with_protocol_versions(&versions)
            .map_err(|error| Error::Refused(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Unverified { schemes }))
            .with_no_client_auth();
        rustls.resumption = match settings.session_resumption {
            true => Resumption::in_memory_sessions(SESSIONS_MAX),
            false => Resumption::disabled(),
        };
        Ok(Self { rustls: Arc::new(rustls) })
    }
}

fn chosen_suites(
    settings: &ClientSettings,
    crypto: &CryptoProvider,
) -> Result<Vec<rustls::SupportedCipherSuite>, Error> {
    if settings.cipher_suites.is_empty() {
        return Ok(crypto.cipher_suites.clone());
    }
    let named = |name: &String| suites::named(name, crypto).ok_or_else(|| Error::UnknownCipherSuite(name.clone()));
    settings.cipher_suites.iter().map(named).collect()
}

#[derive(Debug)]
struct Unverified {
    schemes: Vec<SignatureScheme>,
}

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
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
