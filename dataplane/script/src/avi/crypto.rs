//! `avi.crypto`: AES in cipher block chaining, padded as PKCS #7 says. It keeps a text secret, but does not show whether
//! somebody has changed it. Who may try changed texts, and sees whether they have a good end, finds out what they say: so
//! scripts must check a text of a client before they decrypt it.

use aws_lc_rs::{
    cipher::{
        AES_128, AES_192, AES_256, Algorithm, DecryptionContext, EncryptionContext, PaddedBlockDecryptingKey,
        PaddedBlockEncryptingKey, UnboundCipherKey,
    },
    iv::FixedLength,
};
use mlua::{Error, Lua, LuaString, Result, Value};

use super::{
    BEFORE_FAILURE, Maker, Now,
    hashes::{INPUT_BYTES_MAX, at_most, checked},
};

/// What a script may encrypt with.
pub(super) const NAMES: [&str; 2] = ["CIPHER_AES", "CIPHER_3DES"];
/// The one that Avi takes, too, if a script gives none.
const VECTOR: &[u8; 16] = b"0123456789012345";

/// What the longest text that can be encrypted becomes: padding adds a block.
const SEALED_BYTES_MAX: usize = INPUT_BYTES_MAX + 16;

type Args = (LuaString, LuaString, Option<LuaString>, Option<LuaString>);

pub(super) fn fill(maker: &Maker<'_>) -> Result<()> {
    maker.put("encrypt", BEFORE_FAILURE, encrypt)?;
    maker.put("decrypt", BEFORE_FAILURE, decrypt)
}

fn encrypt(lua: &Lua, _: &mut Now, (text, key, vector, name): Args) -> Result<LuaString> {
    let (key, vector) = agreed(&key, vector.as_ref(), name.as_ref())?;
    let mut text = checked(&text)?.as_bytes().to_vec();
    let key = PaddedBlockEncryptingKey::cbc_pkcs7(key).map_err(failed)?;
    key.less_safe_encrypt(&mut text, EncryptionContext::Iv128(vector)).map_err(failed)?;
    lua.create_string(text)
}

/// `nil`: the text has no whole blocks, or no good end. So has most of what was not encrypted with this key, but not all.
fn decrypt(lua: &Lua, _: &mut Now, (text, key, vector, name): Args) -> Result<Value> {
    let (key, vector) = agreed(&key, vector.as_ref(), name.as_ref())?;
    let mut text = at_most(SEALED_BYTES_MAX, &text)?.as_bytes().to_vec();
    let key = PaddedBlockDecryptingKey::cbc_pkcs7(key).map_err(failed)?;
    match key.decrypt(&mut text, DecryptionContext::Iv128(vector)) {
        Ok(plain) => lua.create_string(plain).map(Value::String),
        Err(_) => Ok(Value::Nil),
    }
}

/// The key and the initialization vector.
fn agreed(
    key: &LuaString,
    vector: Option<&LuaString>,
    name: Option<&LuaString>,
) -> Result<(UnboundCipherKey, FixedLength<16>)> {
    if let Some(name) = name
        && *name.as_bytes() != *b"avi.CIPHER_AES"
    {
        let name = String::from_utf8_lossy(&name.as_bytes()).into_owned();
        return Err(Error::runtime(format!("{name} is not served: use avi.CIPHER_AES")));
    }
    let key = key.as_bytes();
    let algorithm: &'static Algorithm = match key.len() {
        16 => &AES_128,
        24 => &AES_192,
        32 => &AES_256,
        bytes => return Err(Error::runtime(format!("a key of AES has 16, 24 or 32 bytes, not {bytes}"))),
    };
    let vector = match vector {
        None => FixedLength::from(VECTOR),
        Some(vector) => FixedLength::try_from(&*vector.as_bytes())
            .map_err(|_| Error::runtime("an initialization vector of AES has 16 bytes"))?,
    };
    Ok((UnboundCipherKey::new(algorithm, &key).map_err(failed)?, vector))
}

fn failed(_: aws_lc_rs::error::Unspecified) -> Error {
    Error::runtime("the library of cryptography refuses it")
}
