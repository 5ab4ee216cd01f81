//! Clients that show a certificate: which of them a server takes.
//!
//! rustls has the server ask, and checks that the client has the key of the certificate. Whether the certificate is good
//! is found out here. If a client without a good one is to get more than an alert, its handshake ends well, and who reads
//! its requests asks [`ClientCertificate::judge`].

use std::sync::{Mutex, PoisonError};

use rustls::{
    DigitallySignedStruct, DistinguishedName, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, UnixTime},
    server::danger::{ClientCertVerified, ClientCertVerifier},
};
use weir_wire::x509::{self, Says, Text, Texts};

use crate::{
    Authorities, CertificateFault,
    shown::{self, Shown},
};

/// Of all certificates that a client shows. rustls and [`ClientCertificate`] keep them as long as the connection lasts,
/// also those of a client that gets in without a good one. Beyond it the client gets an alert, whatever its server lets in.
const CHAIN_BYTES_MAX: usize = 16 * 1024;

/// How a server treats clients by their certificates. All of them are asked for one.
#[derive(Clone, Debug)]
pub struct ClientAuth {
    /// Must have signed the certificate.
    pub authorities: Authorities,
    /// Only clients with a good certificate may resume sessions.
    pub required: bool,
    /// A client without a certificate gets an alert.
    pub refuses_missing: bool,
    /// A client whose certificate is not good gets an alert.
    pub refuses_bad: bool,
}

impl ClientAuth {
    /// Whether both ask for the same, by the very same authorities.
    pub fn is(&self, other: &Self) -> bool {
        let rules = |auth: &Self| [auth.required, auth.refuses_missing, auth.refuses_bad];
        rules(self) == rules(other) && self.authorities.are(&other.authorities)
    }

    /// What a ticket is bound to: after any change, a client makes a full handshake.
    pub(crate) fn ticket_context(&self) -> [u8; 32] {
        let flags = [self.required, self.refuses_missing, self.refuses_bad].map(u8::from);
        self.authorities.digest_with(&flags)
    }
}

/// What rustls asks about the certificates of clients.
#[derive(Debug)]
pub(crate) struct ClientVerifier {
    pub auth: ClientAuth,
    pub algorithms: WebPkiSupportedAlgorithms,
}

impl ClientCertVerifier for ClientVerifier {
    fn client_auth_mandatory(&self) -> bool {
        self.auth.refuses_missing
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.auth.authorities.names()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        if end_entity.len() + intermediates.iter().map(|issuer| issuer.len()).sum::<usize>() > CHAIN_BYTES_MAX {
            shown::note(Shown::Bad(CertificateFault::TooLong));
            return Err(CertificateFault::TooLong.as_error());
        }
        let verdict = self.auth.authorities.verify_client(end_entity, intermediates, now);
        shown::note(match verdict {
            Ok(until_unix_s) => Shown::Good { until_unix_s },
            Err(fault) => Shown::Bad(fault),
        });
        match verdict {
            Err(fault) if self.auth.refuses_bad => Err(fault.as_error()),
            _ => Ok(ClientCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        proven(verify_tls12_signature(message, cert, dss, &self.algorithms))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        proven(verify_tls13_signature(message, cert, dss, &self.algorithms))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Without a proof of its key, a certificate says nothing about a client, whatever the server would let in.
fn proven(outcome: Result<HandshakeSignatureValid, rustls::Error>) -> Result<HandshakeSignatureValid, rustls::Error> {
    outcome.inspect_err(|_| shown::note(Shown::Bad(CertificateFault::Proof)))
}

/// The certificate that a client has shown, and proven to have the key of.
#[derive(Debug)]
pub struct ClientCertificate {
    /// Its own first.
    chain: Box<[CertificateDer<'static>]>,
    texts: Texts,
    /// The last verdict, and who made it. `None`: there was none, because the session was resumed.
    verdict: Mutex<Option<(Authorities, Result<u64, CertificateFault>)>>,
}

impl ClientCertificate {
    pub(crate) fn new(chain: &[CertificateDer<'static>], by: &Authorities, shown: Option<Shown>) -> Self {
        let verdict = match shown {
            Some(Shown::Good { until_unix_s }) => Some(Ok(until_unix_s)),
            Some(Shown::Bad(fault)) => Some(Err(fault)),
            Some(Shown::Ticket { .. }) | None => None,
        };
        Self {
            chain: chain.into(),
            texts: Texts::default(),
            verdict: Mutex::new(verdict.map(|verdict| (by.clone(), verdict))),
        }
    }

    /// Whether it is good now, by these authorities. It is verified anew after these have changed, or it has expired: a
    /// connection may be older than the list that revokes its certificate.
    pub fn judge(&self, by: &Authorities, now_unix_s: u64) -> Result<(), CertificateFault> {
        let mut verdict = self.verdict.lock().unwrap_or_else(PoisonError::into_inner);
        let known = verdict.as_ref().filter(|(other, _)| other.are(by)).map(|(_, verdict)| *verdict);
        let outcome = match known {
            Some(Ok(until)) if now_unix_s < until => Ok(until),
            Some(Err(fault)) => Err(fault),
            _ => {
                let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(now_unix_s));
                let (end_entity, intermediates) = self.chain.split_first().ok_or(CertificateFault::Missing)?;
                let outcome = by.verify_client(end_entity, intermediates, now);
                *verdict = Some((by.clone(), outcome));
                outcome
            }
        };
        outcome.map(|_| ())
    }

    /// Its subject, cut after `bytes_max` bytes. Unlike [`Says::text`] it keeps nothing.
    pub fn subject(&self, bytes_max: usize) -> String {
        self.chain.first().map_or_else(String::new, |own| x509::subject(own, bytes_max))
    }

    /// What is wrong with it, as far as that was found out. `None`: nothing, or nobody has verified it yet.
    pub fn fault(&self) -> Option<CertificateFault> {
        let verdict = self.verdict.lock().unwrap_or_else(PoisonError::into_inner);
        verdict.as_ref().and_then(|(_, verdict)| verdict.err())
    }
}

impl Says for ClientCertificate {
    fn text(&self, text: Text) -> &str {
        self.chain.first().map_or("", |own| self.texts.get(own, text))
    }

    fn common_name(&self) -> Option<String> {
        x509::common_name(self.chain.first()?)
    }
}
