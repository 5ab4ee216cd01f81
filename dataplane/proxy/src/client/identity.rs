//! Who a client is, by the certificate of its TLS: whether its requests may go on, and what their servers are told.

use std::sync::Arc;

use weir_policy::ClientFacts;
use weir_snapshot::{CertificateMode, Identity};
use weir_tls::{CertificateFault, ClientCertificate};
use weir_wire::head::RequestHead;

use crate::{client::Client, error::Error};

/// The good certificate of the client; `None`: it has none, and needs none.
#[cold]
pub(super) fn identify(
    identity: &Identity,
    client: &Client,
    head: &RequestHead<'_>,
    now_unix_s: u64,
) -> Result<Option<Arc<ClientCertificate>>, Error> {
    check_fields(identity, head)?;
    let Some(authorities) = &identity.authorities else { return Ok(None) };
    let refused = |fault| Err(Error::ClientCertificate { fault, in_handshake: false });
    let is_required = identity.mode == CertificateMode::Require;
    match client.connection.channel.client_certificate() {
        None if is_required => refused(CertificateFault::Missing),
        None => Ok(None),
        Some(shown) => match shown.judge(authorities, now_unix_s) {
            Ok(()) => Ok(Some(shown.clone())),
            Err(fault) if is_required && !identity.allows_invalid => refused(fault),
            Err(_) => Ok(None),
        },
    }
}

/// Servers believe the fields that tell them who a client is: whoever sends one itself pretends to be another.
pub(crate) fn check_fields(identity: &Identity, head: &RequestHead<'_>) -> Result<(), Error> {
    match head.fields.iter().any(|field| identity.owns(field.name_text)) {
        true => Err(Error::ForgedField),
        false => Ok(()),
    }
}

/// Whether a request without TLS is to be redirected before anything else is found out about it: it has no certificate.
pub(crate) fn is_plain_for(identity: &Identity, facts: &ClientFacts) -> bool {
    identity.mode == CertificateMode::Require && !facts.is_tls()
}
