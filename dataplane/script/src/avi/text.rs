//! Texts that functions take and give.

use mlua::{Error, Lua, LuaString, Result, Value};
use weir_wire::head::percent_decode;

pub(super) fn string(lua: &Lua, text: &[u8]) -> Result<LuaString> {
    lua.create_string(text)
}

pub(super) fn decoded(lua: &Lua, text: &[u8]) -> Result<LuaString> {
    if !text.contains(&b'%') {
        return lua.create_string(text);
    }
    let mut out = Vec::with_capacity(text.len());
    percent_decode(text, &mut out);
    lua.create_string(out)
}

/// A text, a number or a truth value as the text of a field or a query.
pub(super) fn written(value: &Value) -> Result<Vec<u8>> {
    match value {
        Value::String(text) => Ok(text.as_bytes().to_vec()),
        Value::Boolean(flag) => Ok(flag.to_string().into_bytes()),
        Value::Integer(_) | Value::Number(_) => Ok(value.to_string()?.into_bytes()),
        other => Err(Error::runtime(format!("takes a text, not a {}", other.type_name()))),
    }
}

/// A number of either kind that Lua has.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        _ => None,
    }
}

/// The same, and a text that is a number.
pub(super) fn read_number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.to_str().ok()?.parse().ok(),
        other => number(other),
    }
}

/// A text that must be UTF-8, because the configuration is.
pub(super) fn name(text: &LuaString) -> Result<String> {
    Ok(text.to_str()?.to_owned())
}
