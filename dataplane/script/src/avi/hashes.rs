//! `avi.utils`: hashes and base64.

use aws_lc_rs::{
    digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest},
    rand,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use mlua::{Error, Lua, LuaString, Result};

use super::{IN_BOTH, Maker};

const RANDOM_BYTES_MAX: usize = 256;

pub(super) fn fill(maker: &Maker<'_>) -> Result<()> {
    maker.put("base64_encode", IN_BOTH, |_, _, text: LuaString| Ok(STANDARD.encode(text.as_bytes())))?;
    maker.put("base64_decode", IN_BOTH, |lua, _, text: LuaString| {
        // Text that is no base64 has no value, as in Lua's own `tonumber`.
        STANDARD.decode(text.as_bytes()).ok().map(|bytes| lua.create_string(bytes)).transpose()
    })?;
    maker.put("sha1_hash", IN_BOTH, |lua, _, text: LuaString| hash(lua, &SHA1_FOR_LEGACY_USE_ONLY, &text))?;
    maker.put("sha256_hash", IN_BOTH, |lua, _, text: LuaString| hash(lua, &SHA256, &text))?;
    maker.put("rand_bytes", IN_BOTH, |lua, _, bytes: usize| {
        if bytes > RANDOM_BYTES_MAX {
            return Err(Error::runtime(format!("makes at most {RANDOM_BYTES_MAX} bytes")));
        }
        let mut out = vec![0; bytes];
        rand::fill(&mut out).map_err(|_| Error::runtime("the system has no random bytes"))?;
        lua.create_string(out)
    })
}

/// In hexadecimal digits.
fn hash(lua: &Lua, algorithm: &'static Algorithm, text: &LuaString) -> Result<LuaString> {
    let hash = digest(algorithm, &text.as_bytes());
    let digits: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    lua.create_string(digits)
}
