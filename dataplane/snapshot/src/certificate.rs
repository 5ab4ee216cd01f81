//! Certificates of a Plan: read once, shared by all services and pools that use them, and kept while unchanged.

use std::sync::Arc;

use weir_api::dataplane::v1;
use weir_tls::{Certificate, Error, Provider, Staple};

use crate::{
    finding::{Findings, Subject},
    kept::Kept,
};

pub(crate) fn subject(source: &v1::Certificate) -> Subject<'_> {
    Subject { kind: "sslkeyandcertificate", uuid: &source.uuid, name: &source.name }
}

pub(crate) type KeptCertificate = Kept<v1::Certificate, Certificate>;

/// `None` if the certificate is unusable; the findings give the reasons.
pub(crate) fn read(
    source: &Arc<v1::Certificate>,
    before: Option<&KeptCertificate>,
    provider: &Provider,
    findings: &mut Findings,
) -> Option<KeptCertificate> {
    if let Some(kept) = before.filter(|kept| kept.source == *source) {
        return Some(kept.clone());
    }
    match Certificate::read(&source.chain_der, &source.key_pkcs8_der, provider) {
        Ok(object) => {
            let answer = source.ocsp_answer.as_ref().filter(|answer| !answer.der.is_empty());
            let object = match answer {
                Some(answer) => {
                    object.stapling(Staple { answer: answer.der.clone(), until_unix_s: answer.until_unix_s })
                }
                None => object,
            };
            Some(Kept { source: source.clone(), object })
        }
        Err(error) => {
            findings.error(subject(source), field_of(&error), error.to_string());
            None
        }
    }
}

fn field_of(error: &Error) -> &'static str {
    match error {
        Error::KeyUnreadable(_) | Error::KeyMismatch => "key",
        _ => "certificate",
    }
}
