//! `avi.http`: how much of a body a script wants to see, and what has come of it.

use mlua::{Error, Lua, LuaString, Result, Value};

use super::{
    IN_REQUEST, IN_RESPONSE, Maker, Now,
    text::{read_number, string},
};
use crate::{
    body::{BODY_BYTES_MAX, bytes_of},
    event::Event,
};

pub(super) fn fill(maker: &Maker<'_>) -> Result<()> {
    maker.put("set_request_body_buffer_size", IN_REQUEST, |_, now, size: Value| collect(now, &size))?;
    maker.put("set_response_body_buffer_size", IN_RESPONSE, |_, now, size: Value| collect(now, &size))?;
    maker.put("get_req_body", &[Event::RequestData], |lua, now, size: Option<Value>| part(lua, now, (size, None)))?;
    maker.put("get_response_body", &[Event::ResponseData], part)
}

/// Has so much of the body kept. The most that a script has asked for counts.
fn collect(now: &mut Now, size: &Value) -> Result<()> {
    now.acts.collect = now.acts.collect.max(bytes(size)?);
    Ok(())
}

/// So many kilobytes of what has come, from a byte on. All of it, if nothing is said.
fn part(lua: &Lua, now: &mut Now, (size, from): (Option<Value>, Option<Value>)) -> Result<LuaString> {
    let given = |value: Option<Value>| value.filter(|value| !value.is_nil());
    let most = given(size).map_or(Ok(BODY_BYTES_MAX), |size| bytes(&size))?;
    let from = match given(from) {
        None => 0,
        Some(from) => match read_number(&from) {
            Some(from) if from >= 0.0 => from as usize,
            _ => return Err(Error::runtime("takes a number of bytes from 0 on as its second argument")),
        },
    };
    let rest = now.seen.body.get(from..).unwrap_or_default();
    string(lua, &rest[..rest.len().min(most)])
}

fn bytes(size: &Value) -> Result<usize> {
    let bytes = read_number(size).and_then(bytes_of);
    bytes.ok_or_else(|| Error::runtime("takes a number of kilobytes from 1 to 32768"))
}
