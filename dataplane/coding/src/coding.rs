//! The codings that this crate has encoders for.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coding {
    Zstd,
    Brotli,
    Gzip,
}

impl Coding {
    /// In the order of preference among those that a client likes equally: of two, the first is faster for its ratio.
    pub const ALL: [Self; 3] = [Coding::Zstd, Coding::Brotli, Coding::Gzip];

    /// As registered with IANA (RFC 9110 §8.4.1, RFC 7932, RFC 8878).
    pub fn name(self) -> &'static str {
        match self {
            Coding::Zstd => "zstd",
            Coding::Brotli => "br",
            Coding::Gzip => "gzip",
        }
    }

    /// What of these a client or a server means with a name.
    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        // Recipients take x-gzip for gzip (RFC 9110 §8.4.1.3).
        let name = if name.eq_ignore_ascii_case(b"x-gzip") { b"gzip" } else { name };
        Self::ALL.into_iter().find(|coding| name.eq_ignore_ascii_case(coding.name().as_bytes()))
    }
}
