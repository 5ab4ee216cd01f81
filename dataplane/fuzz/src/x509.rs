//! What must hold for the certificate of any client.

use weir_wire::x509::{self, Certificate, Text, Texts};

/// Nothing panics, and what it says can stand in a header field.
pub fn check(bytes: &[u8]) {
    let _ = x509::next_update(bytes);
    let texts = Texts::default();
    let is_certificate = Certificate::read(bytes).is_some();
    for text in Text::ALL {
        let said = texts.get(bytes, text);
        assert!(said.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{text:?}: {said:?}");
        assert!(is_certificate || said.is_empty(), "{text:?}: {said:?}");
    }
    let whole = texts.get(bytes, Text::Subject);
    for bytes_max in [0, 1, 10, 512] {
        assert_eq!(x509::subject(bytes, bytes_max), whole[..whole.len().min(bytes_max)]);
    }
}
