//! What must hold for any list of revoked certificates.

use weir_tls::{Authorities, Error, PkiSettings, Revocation};
use weir_wire::x509;

/// Nothing panics, a list that is refused is named with the reason, and of a list that is taken it is known when it ends.
/// Returns whether it is taken.
pub fn check(list: &[u8]) -> bool {
    let lists = vec![include_bytes!("../../tls/testdata/clients/root.crl.der").to_vec(), list.to_vec()];
    let revocation = Revocation { lists, ..Revocation::default() };
    let settings = PkiSettings {
        certificates: vec![include_bytes!("../../tls/testdata/clients/root.crt.der").to_vec()],
        revocation: Some(revocation),
        ..PkiSettings::default()
    };
    match Authorities::read(&settings) {
        Ok(_) => {
            assert!(x509::next_update(list).is_some(), "it would count for ever");
            true
        }
        Err(Error::ListUnreadable { position, why }) => {
            assert!(position == 1 && !why.is_empty() && !why.contains('\n'), "{position}: {why}");
            false
        }
        Err(other) => panic!("{other}"),
    }
}
