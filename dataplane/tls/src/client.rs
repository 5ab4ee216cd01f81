//! The client side of TLS: used by the proxy towards the servers of a pool, and by the load generator towards the
//! proxy.

use std::{fmt, sync::Arc};

use rustls::{
    client::{ResolvesClientCert, Resumption, danger::ServerCertVerifier},
    crypto::CryptoProvider,
    sign::{CertifiedKey, SingleCertAndKey},
};

use crate::{
    Certificate, Error, Group, Provider, TlsSettings, Verification, Version, Warning,
    offer::Offer,
    sessions::Towards,
    suites,
    verify::{Unverified, Verifier},
};

/// Sessions kept for resumption by each configuration of the load generator.
const SESSIONS_MAX: usize = 1024;

/// What a pool wants of TLS to its servers, beside versions and cipher suites.
#[derive(Clone, Debug)]
pub struct PeerSettings {
    /// `None`: servers are not verified.
    pub verification: Option<Verification>,
    /// Shown to servers that ask for one.
    pub certificate: Option<Certificate>,
    pub sni: bool,
}

/// Of the load generator.
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
#[derive(Clone)]
pub struct ClientConfig {
    pub(crate) rustls: Arc<rustls::ClientConfig>,
    pub(crate) send_close_notify: bool,
    /// By server, where sessions are resumed.
    towards: Option<Arc<Towards>>,
}

impl ClientConfig {
    /// For the servers of a pool.
    pub fn build(
        settings: &TlsSettings,
        peer: &PeerSettings,
        provider: &Provider,
    ) -> Result<(Self, Vec<Warning>), Error> {
        let (offer, warnings) = Offer::new(settings, &provider.crypto)?;
        let crypto = offer.crypto(provider);
        let algorithms = crypto.signature_verification_algorithms;
        let verifier: Arc<dyn ServerCertVerifier> = match &peer.verification {
            Some(verification) => Arc::new(Verifier { verification: verification.clone(), algorithms }),
            None => Arc::new(Unverified { schemes: algorithms.supported_schemes() }),
        };
        let builder = rustls::ClientConfig::builder_with_provider(crypto)
            .with_protocol_versions(&offer.versions())
            .map_err(|error| Error::Refused(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut rustls = match &peer.certificate {
            Some(certificate) => builder.with_client_cert_resolver(shown(certificate)),
            None => builder.with_no_client_auth(),
        };
        rustls.enable_sni = peer.sni;
        rustls.alpn_protocols = settings.protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        rustls.resumption = Resumption::disabled();
        let towards = settings.session_resumption.then(Arc::default);
        Ok((Self { rustls: Arc::new(rustls), send_close_notify: settings.send_close_notify, towards }, warnings))
    }

    /// The same for one server, which the caller identifies by a number. Sessions are stored by this number.
    pub fn towards(&self, server: u32) -> Self {
        let mut config = self.clone();
        if let Some(towards) = &self.towards {
            config.rustls = towards.config(&self.rustls, server);
        }
        config
    }

    /// Whether it is the very configuration that `other` is a clone of.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.rustls, &other.rustls)
    }

    /// Verifies neither the certificate nor its signature. The peer is our own, and the check would cost the load
    /// generator more than the signature costs the server.
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
        Ok(Self { rustls: Arc::new(rustls), send_close_notify: true, towards: None })
    }

    /// The same, showing this certificate to servers that ask for one.
    pub fn showing(mut self, certificate: &Certificate) -> Self {
        Arc::make_mut(&mut self.rustls).client_auth_cert_resolver = shown(certificate);
        self
    }

    /// The same, offering these names of ALPN, in order of preference.
    pub fn offering(mut self, protocols: &[&str]) -> Self {
        Arc::make_mut(&mut self.rustls).alpn_protocols =
            protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        self
    }
}

impl fmt::Debug for ClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suites =
            self.rustls.crypto_provider().cipher_suites.iter().filter_map(|suite| suites::iana_name(suite.suite()));
        f.debug_tuple("ClientConfig").field(&suites.collect::<Vec<_>>()).finish()
    }
}

fn shown(certificate: &Certificate) -> Arc<dyn ResolvesClientCert> {
    Arc::new(SingleCertAndKey::from(CertifiedKey::clone(&certificate.certified)))
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
