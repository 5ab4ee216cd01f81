//! `avi.utils`: hashes and base64, and what concerns addresses.

use aws_lc_rs::{
    digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest},
    rand,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use mlua::{Error, LuaString, Result};

use super::{BEFORE_FAILURE, Maker, addresses};
use crate::hash;

const RANDOM_BYTES_MAX: usize = 256;
/// What one call may hash or encrypt: the clock is not read meanwhile.
pub(super) const INPUT_BYTES_MAX: usize = 64 << 10;

pub(super) fn fill(maker: &Maker<'_>) -> Result<()> {
    maker.put("base64_encode", BEFORE_FAILURE, |_, _, text: LuaString| Ok(STANDARD.encode(text.as_bytes())))?;
    maker.put("base64_decode", BEFORE_FAILURE, |lua, _, text: LuaString| {
        // Text that is no base64 has no value, as in Lua's own `tonumber`.
        STANDARD.decode(text.as_bytes()).ok().map(|bytes| lua.create_string(bytes)).transpose()
    })?;
    maker.put("sha1_hash", BEFORE_FAILURE, |_, _, text: LuaString| hash(&SHA1_FOR_LEGACY_USE_ONLY, &text))?;
    maker.put("sha256_hash", BEFORE_FAILURE, |_, _, text: LuaString| hash(&SHA256, &text))?;
    maker
        .put("md5_hash", BEFORE_FAILURE, |_, _, text: LuaString| Ok(digits(&hash::md5(&checked(&text)?.as_bytes()))))?;
    maker.put("murmur_hash", BEFORE_FAILURE, |_, _, text: LuaString| {
        Ok(f64::from(hash::murmur2(&checked(&text)?.as_bytes())))
    })?;
    addresses::fill(maker)?;
    maker.put("rand_bytes", BEFORE_FAILURE, |lua, _, bytes: usize| {
        if bytes > RANDOM_BYTES_MAX {
            return Err(Error::runtime(format!("makes at most {RANDOM_BYTES_MAX} bytes")));
        }
        let mut out = vec![0; bytes];
        rand::fill(&mut out).map_err(|_| Error::runtime("the system has no random bytes"))?;
        lua.create_string(out)
    })
}

fn hash(algorithm: &'static Algorithm, text: &LuaString) -> Result<String> {
    Ok(digits(digest(algorithm, &checked(text)?.as_bytes()).as_ref()))
}

/// In hexadecimal.
fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn checked(text: &LuaString) -> Result<&LuaString> {
    at_most(INPUT_BYTES_MAX, text)
}

pub(super) fn at_most(most: usize, text: &LuaString) -> Result<&LuaString> {
    match text.as_bytes().len() {
        bytes if bytes <= most => Ok(text),
        bytes => Err(Error::runtime(format!("takes at most {most} bytes, not {bytes}"))),
    }
}
