//! Bodies that scripts want to see: how much of one is kept for them.

/// The most that an engine keeps of one body. A script may have a few copies of it: see [`BYTES`](crate::budget::BYTES).
pub const BODY_BYTES_MAX: usize = 256 << 10;
/// What scripts may ask for. More than [`BODY_BYTES_MAX`] is as much as that.
const KILOBYTES_MAX: f64 = 32_768.0;

/// So many kilobytes, as scripts give them, in bytes. `None`: that is no number of kilobytes.
pub(crate) fn bytes_of(kilobytes: f64) -> Option<usize> {
    let bytes = (kilobytes * 1024.0) as usize;
    (kilobytes > 0.0 && kilobytes <= KILOBYTES_MAX).then(|| bytes.clamp(1, BODY_BYTES_MAX))
}
