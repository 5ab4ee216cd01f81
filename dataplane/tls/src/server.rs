//! The server side of TLS, of a virtual service: certificates by SNI, and session tickets.

use std::{fmt, sync::Arc};

use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier, danger::ClientCertVerifier};

use crate::{
    Certificate, ClientAuth, Error, Provider, TlsSettings, Warning,
    client_auth::ClientVerifier,
    offer::Offer,
    sni::CertificatesByName,
    suites,
    tickets::{Bound, Ticketer},
};

/// Cheap to clone.
#[derive(Clone)]
pub struct ServerConfig {
    pub(crate) rustls: Arc<rustls::ServerConfig>,
    pub(crate) send_close_notify: bool,
    /// `None`: clients are not asked for certificates.
    pub(crate) clients: Option<Arc<ClientAuth>>,
    /// Tickets say where their session began.
    pub keeps_origin: bool,
}

impl ServerConfig {
    /// `clients`: whether clients are asked for certificates, and which are taken.
    pub fn build(
        settings: &TlsSettings,
        certificates: &[Certificate],
        clients: Option<&ClientAuth>,
        provider: &Provider,
    ) -> Result<(Self, Vec<Warning>), Error> {
        if clients.is_some_and(|clients| !clients.authorities.sign_for_clients()) {
            return Err(Error::NoAuthority);
        }
        if certificates.is_empty() {
            return Err(Error::NoCertificate);
        }
        let (offer, mut warnings) = Offer::new(settings, &provider.crypto)?;
        let fitting = certificates.iter().map(|certificate| offer.fits(certificate.key_type()));
        warnings.extend(positions(fitting.map(|fits| !fits), |position| Warning::CertificateWithoutCipherSuite {
            position,
        }));
        if certificates.iter().all(|certificate| !offer.fits(certificate.key_type())) {
            return Err(Error::NoCipherSuiteForCertificates);
        }
        let by_name = CertificatesByName::new(certificates);
        let hidden = certificates.iter().map(|certificate| by_name.never_chooses(certificate));
        warnings.extend(positions(hidden, |position| Warning::CertificateNeverChosen { position }));

        let crypto = offer.crypto(provider);
        let verifier: Arc<dyn ClientCertVerifier> = match clients {
            Some(auth) => {
                let algorithms = crypto.signature_verification_algorithms;
                Arc::new(ClientVerifier { auth: auth.clone(), algorithms })
            }
            None => WebPkiClientVerifier::no_client_auth(),
        };
        let mut rustls = rustls::ServerConfig::builder_with_provider(crypto)
            .with_protocol_versions(&offer.versions())
            .map_err(|error| Error::Refused(error.to_string()))?
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(Arc::new(by_name));
        rustls.ignore_client_order = !settings.prefer_client_order;
        rustls.alpn_protocols = settings.protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        // Tickets carry the whole session, so no table of sessions has to be the same on all workers and engines.
        rustls.session_storage = Arc::new(NoServerSessionStorage {});
        let bound = clients.map(|auth| Bound { context: auth.ticket_context(), required: auth.required });
        let ticketer = settings.tickets.as_ref().map(|tickets| Ticketer::new(tickets, bound)).transpose()?;
        match ticketer.flatten() {
            Some(ticketer) => rustls.ticketer = ticketer,
            None => rustls.send_tls13_tickets = 0,
        }
        let clients = clients.cloned().map(Arc::new);
        let keeps_origin = settings.tickets.as_ref().is_some_and(|tickets| tickets.keep_origin);
        let send_close_notify = settings.send_close_notify;
        Ok((Self { rustls: Arc::new(rustls), send_close_notify, clients, keeps_origin }, warnings))
    }

    /// The same configuration with other ALPN protocols.
    pub fn speaking(&self, protocols: &[&str]) -> Self {
        let mut rustls = rustls::ServerConfig::clone(&self.rustls);
        rustls.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Self { rustls: Arc::new(rustls), ..self.clone() }
    }

    /// Whether it is the very configuration that `other` is a clone of.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.rustls, &other.rustls)
    }
}

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suites =
            self.rustls.crypto_provider().cipher_suites.iter().filter_map(|suite| suites::iana_name(suite.suite()));
        f.debug_tuple("ServerConfig").field(&suites.collect::<Vec<_>>()).finish()
    }
}

fn positions(flags: impl Iterator<Item = bool>, warning: impl Fn(usize) -> Warning) -> Vec<Warning> {
    flags.enumerate().filter(|(_, flag)| *flag).map(|(position, _)| warning(position)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientConfig, ClientSettings, Group, ServerName, TlsSession, Version};

    /// The answer to a TLS 1.2 client that offers these protocols, from a server that has those.
    fn answer_to(offer: &[&str], spoken: &[&str]) -> (Result<(), Error>, Vec<u8>) {
        let provider = Provider::new();
        let chain = include_bytes!("../testdata/default-ec.crt.der").to_vec();
        let certificate = Certificate::read(&[chain], include_bytes!("../testdata/default-ec.key.der"), &provider);
        let settings = TlsSettings {
            versions: vec![Version::Tls12],
            cipher_suites: vec!["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256".to_owned()],
            groups: Vec::new(),
            prefer_client_order: false,
            session_resumption: false,
            tickets: None,
            protocols: spoken.iter().map(|name| name.to_string()).collect(),
            send_close_notify: true,
        };
        let (server, _) = ServerConfig::build(&settings, &[certificate.unwrap()], None, &provider).unwrap();
        let settings = ClientSettings {
            versions: vec![Version::Tls12],
            cipher_suites: Vec::new(),
            groups: vec![Group::X25519],
            session_resumption: false,
        };
        let mut client = ClientConfig::unverified(&settings, &provider).unwrap();
        Arc::make_mut(&mut client.rustls).alpn_protocols = offer.iter().map(|name| name.as_bytes().to_vec()).collect();

        let (mut hello, mut answer) = (Vec::new(), Vec::new());
        TlsSession::client(&client, &ServerName::parse("a.test").unwrap(), &mut hello).unwrap();
        let outcome = TlsSession::server(&server).unwrap().receive(&mut hello, &mut |_| {}, &mut answer);
        (outcome.map(|_| ()), answer)
    }

    /// Whether the extension is in an answer, with this protocol and no other.
    fn chooses(answer: &[u8], protocol: &str) -> bool {
        let chosen = [&[protocol.len() as u8], protocol.as_bytes()].concat();
        answer.windows(chosen.len()).any(|bytes| bytes == chosen)
    }

    #[test]
    fn speaks_its_protocol_and_refuses_who_speaks_only_others() {
        for (offer, chosen) in [(&["h2", "http/1.1"][..], true), (&["http/1.1"], true), (&[], false)] {
            let (outcome, answer) = answer_to(offer, &["http/1.1"]);
            assert_eq!((outcome, chooses(&answer, "http/1.1")), (Ok(()), chosen), "{offer:?}");
        }
        let (outcome, answer) = answer_to(&["h2"], &["http/1.1"]);
        assert!(outcome.is_err());
        let no_application_protocol = [21, 3, 3, 0, 2, 2, 120];
        assert_eq!(answer, no_application_protocol);
    }

    #[test]
    fn prefers_its_own_order_of_protocols() {
        let (outcome, answer) = answer_to(&["http/1.1", "h2"], &["h2", "http/1.1"]);
        assert_eq!((outcome, chooses(&answer, "h2"), chooses(&answer, "http/1.1")), (Ok(()), true, false));
    }

    #[test]
    fn without_a_protocol_of_its_own_it_answers_no_offer_and_refuses_none() {
        for offer in [&["h2"][..], &["foo"], &["h2", "http/1.1"], &[]] {
            let (outcome, answer) = answer_to(offer, &[]);
            let answered = offer.iter().any(|protocol| chooses(&answer, protocol));
            assert_eq!((outcome, answered), (Ok(()), false), "{offer:?}");
        }
    }
}
