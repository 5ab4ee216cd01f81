//! Writes a head in the form of its connection's protocol.

use weir_wire::http1::{HeadWriter, Hop};

use crate::{buf::Buf, error::Error, io::Io};

/// Writes a head of at most `bytes_max` bytes of text. `hop`: what the head says of its connection.
#[inline]
pub(crate) fn write<I: Io>(
    io: &mut I,
    bytes_max: usize,
    hop: Hop,
    write: impl FnOnce(&mut HeadWriter<'_>),
) -> Result<Buf, Error> {
    let mut out = io.buffer_for(bytes_max + Hop::BYTES_MAX);
    let mut sink = HeadWriter::new(out.room(), hop);
    write(&mut sink);
    let bytes = sink.end().map_err(|_| Error::Defect)?;
    out.filled(bytes);
    Ok(out)
}
