//! PKI profiles of a Plan: read once, shared by all pools and virtual services that use them, and kept while unchanged.

use std::sync::Arc;

use weir_api::dataplane::v1;
use weir_tls::{Authorities, Error, PkiSettings, Revocation};

use crate::{
    finding::{Findings, Subject},
    kept::Kept,
};

pub(crate) fn subject(source: &v1::PkiProfile) -> Subject<'_> {
    Subject { kind: "pkiprofile", uuid: &source.uuid, name: &source.name }
}

pub(crate) type KeptPkiProfile = Kept<v1::PkiProfile, Authorities>;

/// `None` if the profile is unusable; the findings give the reasons.
pub(crate) fn read(
    source: &Arc<v1::PkiProfile>,
    before: Option<&KeptPkiProfile>,
    findings: &mut Findings,
) -> Option<KeptPkiProfile> {
    if let Some(kept) = before.filter(|kept| kept.source == *source) {
        return Some(kept.clone());
    }
    if source.ca_certs_der.is_empty() {
        findings.error(subject(source), "ca_certs", "holds no certificate of an authority");
        return None;
    }
    match Authorities::read(&settings(source)) {
        Ok(object) => Some(Kept { source: source.clone(), object }),
        Err(error) => {
            let field = match error {
                Error::AuthorityUnreadable { position, .. } => format!("ca_certs[{position}]"),
                Error::ListUnreadable { position, .. } => format!("crls[{position}]"),
                _ => "ca_certs".to_owned(),
            };
            findings.error(subject(source), field, error.to_string());
            None
        }
    }
}

fn settings(source: &v1::PkiProfile) -> PkiSettings {
    PkiSettings {
        certificates: source.ca_certs_der.clone(),
        ignores_peer_chain: source.ignore_peer_chain,
        revocation: source.revocation.as_ref().map(|revocation| Revocation {
            lists: revocation.crls_der.clone(),
            only_leaf: revocation.only_leaf,
            allows_expired: revocation.allow_expired,
        }),
    }
}
