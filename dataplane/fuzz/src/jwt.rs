//! What must hold for the token of any request.

use weir_jwt::{Algorithm, Key, Rules, Verified};

/// The key of the first test of RFC 8032 §7.1, as a SubjectPublicKeyInfo.
const KEY: [u8; 44] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00, 0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a,
    0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a, 0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02,
    0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a,
];

/// Nothing panics, the same token is judged the same again, and none is good that the key has not signed.
pub fn check(token: &[u8]) {
    let key = Key::read(None, Algorithm::EdDsa, &KEY).expect("a key");
    let rules = Rules::new(vec![key], None, "shop");
    let mut verified = Verified::default();
    let outcomes = [0, 1].map(|_| rules.judge(token, 1_800_000_000, &mut verified));
    assert_eq!(outcomes[0], outcomes[1]);
    assert!(outcomes[0].is_err());
}
