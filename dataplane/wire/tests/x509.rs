//! What a certificate says, beside what openssl says of it.

use proptest::prelude::*;
use weir_wire::x509::{Certificate, Text, Texts, next_update};

#[path = "../../fuzz/src/x509.rs"]
mod fuzzed;

const CLIENT: &[u8] = include_bytes!("../../tls/testdata/clients/client.crt.der");
const ROOT: &[u8] = include_bytes!("../../tls/testdata/clients/root.crt.der");
const CRL: &[u8] = include_bytes!("../../tls/testdata/clients/root.crl.der");

const CERTIFICATES: [&[u8]; 3] = [
    include_bytes!("../../fuzz/corpus/x509/client"),
    include_bytes!("../../fuzz/corpus/x509/authority"),
    include_bytes!("../../fuzz/corpus/x509/rsa"),
];

#[test]
fn texts_are_those_of_openssl() {
    let texts = Texts::default();
    for (text, expected) in [
        (Text::Fingerprint, "2ad04831e6482697b54f1fa0fe9c45a302cb85ac"),
        (Text::Serial, "1003"),
        (Text::Issuer, "CN=Root,O=Example"),
        (Text::Subject, "CN=client \\C3\\A4,OU=Ops,O=Example\\, Inc.,C=DE"),
        (Text::Version, "3"),
        (Text::SignatureAlgorithm, "ecdsa-with-SHA256"),
        (Text::NotBefore, "Jan  1 00:00:00 2025 GMT"),
        (Text::NotAfter, "Jan  1 00:00:00 2125 GMT"),
    ] {
        assert_eq!(texts.get(CLIENT, text), expected, "{text:?}");
    }
    let raw = texts.get(CLIENT, Text::Raw);
    assert!(raw.starts_with("-----BEGIN CERTIFICATE----- MII") && raw.ends_with(" -----END CERTIFICATE-----"), "{raw}");
    let escaped = texts.get(CLIENT, Text::Escaped);
    assert!(escaped.starts_with("-----BEGIN%20CERTIFICATE-----%0AMII"), "{escaped}");
    assert!(escaped.ends_with("%0A-----END%20CERTIFICATE-----%0A"), "{escaped}");
    let lines = escaped.replace("%0A", " ").replace("%20", " ").replace("%2B", "+").replace("%2F", "/");
    assert_eq!(lines.replace("%3D", "=").trim_end(), raw);
}

#[test]
fn issuer_is_known_by_its_name() {
    let [client, root] = [CLIENT, ROOT].map(|der| Certificate::read(der).unwrap());
    assert!(root.is_self_issued() && !client.is_self_issued());
    assert!(client.may_be_issued_by(&root) && !root.may_be_issued_by(&client));
    assert_eq!(next_update(CRL), Some(client.not_after));
}

#[test]
fn corpus_holds_what_must_hold_for_any_bytes() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/corpus/x509");
    let mut count = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        fuzzed::check(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= 6);
    assert!(CERTIFICATES.iter().all(|der| Certificate::read(der).is_some()));
}

/// As fuzzing would: whatever is cut off or changed, nothing panics, and every text can stand in a field.
#[test]
fn what_is_cut_short_or_changed_is_read_as_far_as_it_goes() {
    for at in 0..CLIENT.len() {
        assert_eq!(Certificate::read(&CLIENT[..at]), None, "{at} bytes");
        next_update(&CRL[..at.min(CRL.len())]);
        for changed in [0, 0x30, 0x7f, 0x80, 0x84, 0xff] {
            let mut der = CLIENT.to_vec();
            der[at] = changed;
            fuzzed::check(&der);
        }
    }
}

proptest! {
    #[test]
    fn certificate_with_other_bytes_somewhere_says_nothing_that_could_harm(
        which in 0..CERTIFICATES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut der = CERTIFICATES[which].to_vec();
        for (at, byte) in changes {
            let at = at.index(der.len());
            der[at] = byte;
        }
        fuzzed::check(&der);
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        fuzzed::check(&bytes);
    }
}
