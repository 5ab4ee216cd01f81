//! The tokens that a worker has verified.

use weir_tls::Bounded;

/// Tokens at once. The next one takes the place of the oldest, which is verified again when it comes back.
const TOKENS_MAX: usize = 10_000;

/// By what names a token and the rules that it has passed, and until when it is good.
#[derive(Debug)]
pub struct Verified(Bounded<[u8; 32], u64>);

impl Default for Verified {
    fn default() -> Self {
        Self(Bounded::new(TOKENS_MAX))
    }
}

impl Verified {
    pub(crate) fn has(&mut self, token: &[u8; 32], now_unix_s: u64) -> bool {
        self.0.find(token).is_some_and(|until| now_unix_s < *until)
    }

    pub(crate) fn keep(&mut self, token: [u8; 32], until_unix_s: u64) {
        *self.0.find_or_put(token, || until_unix_s) = until_unix_s;
    }
}
