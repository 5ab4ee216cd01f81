//! SHA-256 of what is long.

use aws_lc_rs::digest::{Context, SHA256};

pub(crate) fn of(bytes: &[u8]) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    context.update(bytes);
    finished(context)
}

/// Differs for parts that are divided in another way.
pub(crate) fn of_all<'p>(parts: impl Iterator<Item = &'p [u8]>) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    finished(context)
}

pub(crate) fn finished(context: Context) -> [u8; 32] {
    let mut digest = [0; 32];
    digest.copy_from_slice(context.finish().as_ref());
    digest
}
