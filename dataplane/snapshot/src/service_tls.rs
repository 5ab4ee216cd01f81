//! TLS towards the clients of a virtual service: its own SSL profile, and those for some clients.

use std::sync::Arc;

use weir_api::dataplane::v1;
use weir_tls::{Certificate, ClientAuth};

use crate::{
    finding::Findings,
    policies::groups::Groups,
    service::{HTTP2_OVER_TLS, KeptService, ServiceReader, offers_http2, protocols, subject},
    tls::{self, KeptTls, Wanted},
    tls_selectors::{SelectorReader, TlsSelectors},
};

impl ServiceReader<'_> {
    pub(crate) fn tls(
        &self,
        source: &v1::VirtualService,
        clients: Option<ClientAuth>,
        before: Option<&KeptTls>,
        findings: &mut Findings,
    ) -> Option<KeptTls> {
        let subject = subject(source);
        let who = match source.listeners.iter().find(|listener| listener.tls) {
            Some(listener) => format!("port {}", listener.port),
            None if source.tls.is_some() && !source.parent_uuid.is_empty() => "its parent".to_owned(),
            None => return None,
        };
        let mut needs = |field: &str, what: &str| {
            findings.error(subject, field, format!("{who} speaks TLS, which needs {what}"));
        };
        if source.tls.is_none() {
            needs("ssl_profile_ref", "an SSL profile");
        }
        if source.certificate_uuids.is_empty() {
            needs("ssl_key_and_certificate_refs", "a certificate");
        }
        let certificates = self.certificates(source, findings)?;
        let profile = source.tls.as_ref()?;
        let wanted = Wanted { profile, certificates, protocols: protocols(source), clients };
        tls::build(subject, wanted, before, &self.worker.provider, findings)
    }

    /// `None`: there are none, or they cannot be used.
    pub(crate) fn tls_selectors(
        &self,
        source: &v1::VirtualService,
        own: Option<&KeptTls>,
        before: Option<&Arc<KeptService>>,
        findings: &mut Findings,
    ) -> Option<Box<TlsSelectors>> {
        let reader = SelectorReader {
            service: subject(source),
            groups: Groups { strings: self.string_groups, addresses: self.address_groups },
            provider: &self.worker.provider,
            http2: offers_http2(source).then_some(&HTTP2_OVER_TLS),
        };
        let before = before.and_then(|kept| kept.object.tls_selectors.as_deref());
        let read = reader.read(&source.tls_selectors, own, before, findings)?;
        (!source.tls_selectors.is_empty()).then(|| Box::new(read))
    }

    fn certificates(&self, source: &v1::VirtualService, findings: &mut Findings) -> Option<Vec<Certificate>> {
        let uuids = source.certificate_uuids.iter().enumerate();
        let certificates: Vec<_> = uuids
            .filter_map(|(position, uuid)| {
                let certificate = self.certificates.find(uuid);
                if certificate.is_none() {
                    let field = format!("ssl_key_and_certificate_refs[{position}]");
                    findings.error(subject(source), field, format!("there is no certificate {uuid}"));
                }
                certificate?.map(|kept| kept.object.clone())
            })
            .collect();
        (certificates.len() == source.certificate_uuids.len()).then_some(certificates)
    }
}
