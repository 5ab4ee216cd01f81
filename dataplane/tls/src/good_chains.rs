//! Chains of clients that are known to be good, so that a client that comes back costs no more signatures than that of its
//! own key.
//!
//! Belongs to one set of [`Authorities`](crate::Authorities), which each worker reads for itself, and is dropped with it: with
//! other authorities, lists or options, each chain is verified again. A chain that is not good is never kept.

use std::{
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustls::pki_types::CertificateDer;

use crate::{bounded::Bounded, digest};

/// Certificates of clients. A further one replaces the one that was first verified longest ago, which is verified again.
const CERTIFICATES_MAX: usize = 4096;

/// What a client shows, by SHA-256.
pub(crate) struct Chain {
    own: [u8; 32],
    /// The certificates behind its own, in their order. `None`: there are none.
    issuers: Option<[u8; 32]>,
}

impl Chain {
    /// `issuers`: those that count.
    pub fn of(own: &CertificateDer<'_>, issuers: &[CertificateDer<'_>]) -> Self {
        let issuers = Some(issuers).filter(|issuers| !issuers.is_empty());
        Self { own: digest::of(own), issuers: issuers.map(|issuers| digest::of_all(issuers.iter().map(|der| &**der))) }
    }
}

/// One chain of each certificate: by sending other issuers, a client replaces its own chain and no other's.
#[derive(Debug)]
pub(crate) struct GoodChains(Mutex<Bounded<[u8; 32], Good>>);

#[derive(Debug)]
struct Good {
    issuers: Option<[u8; 32]>,
    /// In seconds since 1970.
    during: Range<u64>,
}

impl GoodChains {
    pub fn new() -> Self {
        Self(Mutex::new(Bounded::new(CERTIFICATES_MAX)))
    }

    /// Until when a chain is good that is good now. `None`: it has to be verified.
    pub fn until(&self, chain: &Chain, now: u64) -> Option<u64> {
        let mut kept = self.kept();
        let good = kept.find(&chain.own)?;
        (good.issuers == chain.issuers && good.during.contains(&now)).then_some(good.during.end)
    }

    /// The chain was verified, and is good as long as none of its certificates begins or ends, and no list ends.
    pub fn keep(&self, chain: Chain, during: Range<u64>) {
        let mut kept = self.kept();
        let good = kept.find_or_put(chain.own, || Good { issuers: None, during: 0..0 });
        *good = Good { issuers: chain.issuers, during };
    }

    fn kept(&self) -> MutexGuard<'_, Bounded<[u8; 32], Good>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(certificates: &[&[u8]]) -> Chain {
        let all: Vec<_> = certificates.iter().map(|der| CertificateDer::from(*der)).collect();
        Chain::of(&all[0], &all[1..])
    }

    #[test]
    fn chain_is_known_while_it_is_good_and_no_other_is_taken_for_it() {
        let known = GoodChains::new();
        known.keep(chain(&[b"client", b"issuer", b"root"]), 10..20);
        let until = |certificates: &[&[u8]], now| known.until(&chain(certificates), now);
        assert_eq!(
            [9, 10, 19, 20].map(|now| until(&[b"client", b"issuer", b"root"], now)),
            [None, Some(20), Some(20), None]
        );
        for other in [
            &[b"client".as_slice()][..],
            &[b"client", b"issuer"],
            &[b"client", b"root", b"issuer"],
            &[b"client", b"issuer", b"root", b""],
            &[b"client", b"issue", b"rroot"],
            &[b"client", b"issuer", b"soot"],
            &[b"cliens", b"issuer", b"root"],
            &[b"clientissuer", b"root"],
        ] {
            assert_eq!(until(other, 15), None, "{other:?}");
        }
    }

    #[test]
    fn certificate_has_one_chain_and_the_newest_certificates_have_room() {
        let known = GoodChains::new();
        known.keep(chain(&[b"first"]), 0..9);
        for issuer in 0..10_000_u32 {
            known.keep(chain(&[b"client", &issuer.to_be_bytes()]), 0..9);
        }
        let is_known = |certificates: &[&[u8]]| known.until(&chain(certificates), 5).is_some();
        assert!(is_known(&[b"first"]));
        assert!(is_known(&[b"client", &9_999_u32.to_be_bytes()]));
        assert!(!is_known(&[b"client", &9_998_u32.to_be_bytes()]));
        for own in 0..10_000_u32 {
            known.keep(chain(&[&own.to_be_bytes()]), 0..9);
        }
        let count = (0..10_000_u32).filter(|own| is_known(&[&own.to_be_bytes()])).count();
        assert_eq!(count, CERTIFICATES_MAX);
        assert!(is_known(&[&9_999_u32.to_be_bytes()]) && !is_known(&[b"first"]));
    }
}
