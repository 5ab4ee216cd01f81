//! The tokens that a worker has verified, and those whose signatures were wrong.

use weir_tls::Bounded;

/// Tokens at once. The next one takes the place of the oldest, which is verified again when it comes back.
const TOKENS_MAX: usize = 10_000;
/// The same of tokens with wrong signatures. They have a table of their own, so that they crowd out no good ones.
const WRONG_MAX: usize = 1_000;

/// Both by what names a token and the rules that judge it.
#[derive(Debug)]
pub struct Verified {
    /// Until when a token is good.
    good: Bounded<[u8; 32], u64>,
    wrong: Bounded<[u8; 32], ()>,
}

impl Default for Verified {
    fn default() -> Self {
        Self { good: Bounded::new(TOKENS_MAX), wrong: Bounded::new(WRONG_MAX) }
    }
}

impl Verified {
    pub(crate) fn has(&mut self, token: &[u8; 32], now_unix_s: u64) -> bool {
        self.good.find(token).is_some_and(|until| now_unix_s < *until)
    }

    pub(crate) fn keep(&mut self, token: [u8; 32], until_unix_s: u64) {
        *self.good.find_or_put(token, || until_unix_s) = until_unix_s;
    }

    /// Whether its signature was wrong. By the same rules it stays so.
    pub(crate) fn is_wrong(&mut self, token: &[u8; 32]) -> bool {
        self.wrong.find(token).is_some()
    }

    pub(crate) fn keep_wrong(&mut self, token: [u8; 32]) {
        self.wrong.find_or_put(token, || ());
    }
}
