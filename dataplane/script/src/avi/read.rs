//! `avi.http`: what a script reads of the request and of the response.

use mlua::{Error, IntoLua, Lua, LuaString, Result, Table, Value};

use super::{
    IN_ALL, Maker, Now, WITH_HEAD,
    text::{decoded, string},
};
use crate::head::Head;

pub(super) fn fill(maker: &Maker<'_>) -> Result<()> {
    maker.put("method", WITH_HEAD, |lua, now, ()| string(lua, &now.seen.method))?;
    maker.put("protocol", WITH_HEAD, |_, now, ()| Ok(if now.seen.tls.is_some() { "https" } else { "http" }))?;
    maker.put("scheme", WITH_HEAD, |_, now, ()| Ok(if now.seen.tls.is_some() { "https://" } else { "http://" }))?;
    maker.put("secure", WITH_HEAD, |_, now, ()| Ok(now.seen.tls.as_ref().map(|_| "on")))?;
    maker.put("hostname", WITH_HEAD, |lua, now, ()| some(lua, now.seen.host_name()))?;
    maker.put("status", WITH_HEAD, |_, now, ()| match now.event {
        event if event.is_of_response() => Ok(Some(now.seen.status.to_string())),
        _ => Ok(None),
    })?;
    maker.put("internal_status", IN_ALL, |_, now, ()| Ok((!now.seen.cause.is_empty()).then_some(now.seen.cause)))?;
    // As it stands, because a decoded one cannot be taken apart, nor written again.
    maker.put("get_uri", WITH_HEAD, |lua, now, decode: Option<bool>| {
        text(lua, &now.seen.target, decode == Some(true))
    })?;
    maker.put("get_path", WITH_HEAD, |lua, now, decode: Option<bool>| {
        text(lua, now.seen.path(), decode != Some(false))
    })?;
    maker.put("get_query", WITH_HEAD, get_query)?;
    maker.put("get_path_tokens", WITH_HEAD, |lua, now, range| {
        let path = now.seen.path();
        tokens(lua, path.strip_prefix(b"/").unwrap_or(path), b'/', decoded, range)
    })?;
    maker
        .put("get_host_tokens", WITH_HEAD, |lua, now, range| tokens(lua, now.seen.host_name(), b'.', string, range))?;
    maker.put("get_header", WITH_HEAD, get_header)?;
    maker.put("get_headers", WITH_HEAD, |lua, now, context: Option<LuaString>| {
        headers(lua, head_of(now, context.as_ref())?.0)
    })?;
    maker.put("get_cookie", WITH_HEAD, |lua, now, (name, context): (LuaString, Option<LuaString>)| {
        let (head, is_request) = head_of(now, context.as_ref())?;
        let name = name.as_bytes();
        let value = match is_request {
            true => head.cookies().find(|cookie| cookie.0 == &*name),
            false => head.set_cookies().find(|cookie| cookie.0 == &*name),
        };
        value.map(|cookie| string(lua, cookie.1)).transpose()
    })?;
    maker.put("cookie_exists", WITH_HEAD, |_, now, (name, context): (LuaString, Option<LuaString>)| {
        let (head, is_request) = head_of(now, context.as_ref())?;
        let name = name.as_bytes();
        Ok(match is_request {
            true => head.cookies().any(|cookie| cookie.0 == &*name),
            false => head.set_cookies().any(|cookie| cookie.0 == &*name),
        })
    })?;
    maker.put("get_cookie_names", WITH_HEAD, |lua, now, context: Option<LuaString>| {
        let (head, is_request) = head_of(now, context.as_ref())?;
        let names = lua.create_table()?;
        let put = |name: &[u8]| names.raw_push(string(lua, name)?);
        match is_request {
            true => head.cookies().try_for_each(|cookie| put(cookie.0))?,
            false => head.set_cookies().try_for_each(|cookie| put(cookie.0))?,
        }
        let count = names.raw_len();
        Ok((names, count))
    })?;
    maker.put("get_reqvar", IN_ALL, |lua, now, key: LuaString| super::variables::variable(lua, now, &key.as_bytes()))
}

/// `None`: there is none.
fn some(lua: &Lua, text: &[u8]) -> Result<Option<LuaString>> {
    (!text.is_empty()).then(|| string(lua, text)).transpose()
}

fn text(lua: &Lua, text: &[u8], decodes: bool) -> Result<LuaString> {
    if decodes { decoded(lua, text) } else { string(lua, text) }
}

/// The head that a function reads: of the event, or the one that is asked for. And whether it is the request's.
fn head_of<'n>(now: &'n Now, context: Option<&LuaString>) -> Result<(&'n Head, bool)> {
    let is_request = match context.map(LuaString::as_bytes).as_deref() {
        None => !now.event.is_of_response(),
        Some(b"avi.HTTP_REQUEST") => true,
        Some(b"avi.HTTP_RESPONSE") if now.event.is_of_response() => false,
        Some(b"avi.HTTP_RESPONSE") => return Err(Error::runtime("there is no response yet")),
        Some(_) => return Err(Error::runtime("takes avi.HTTP_REQUEST or avi.HTTP_RESPONSE")),
    };
    Ok((if is_request { &now.seen.request } else { &now.seen.response }, is_request))
}

fn get_header(lua: &Lua, now: &mut Now, (wanted, context): (Option<LuaString>, Option<LuaString>)) -> Result<Value> {
    // `get_header(avi.HTTP_REQUEST)` is a context alone.
    let is_context = |text: &LuaString| text.as_bytes().starts_with(b"avi.HTTP_RE");
    let (wanted, context) = match (wanted, context) {
        (Some(only), None) if is_context(&only) => (None, Some(only)),
        both => both,
    };
    let (head, _) = head_of(now, context.as_ref())?;
    match wanted {
        None => headers(lua, head)?.into_lua(lua),
        Some(wanted) => match head.find(&wanted.as_bytes()) {
            Some(value) => string(lua, value)?.into_lua(lua),
            None => Ok(Value::Nil),
        },
    }
}

/// All fields by name. The values of a name that comes more than once are a list.
fn headers(lua: &Lua, head: &Head) -> Result<Table> {
    let all = lua.create_table()?;
    head.iter()
        .try_for_each(|(name, value)| gather(lua, &all, string(lua, name)?, string(lua, value)?.into_lua(lua)?))?;
    Ok(all)
}

fn gather(lua: &Lua, all: &Table, key: LuaString, value: Value) -> Result<()> {
    match all.raw_get::<Value>(&key)? {
        Value::Nil => all.raw_set(key, value),
        Value::Table(list) => list.raw_push(value),
        first => {
            let list = lua.create_table()?;
            list.raw_push(first)?;
            list.raw_push(value)?;
            all.raw_set(key, list)
        }
    }
}

/// All of the query, its arguments as a table, or one argument: its value, `true` if it has none, a list if it comes more
/// than once.
fn get_query(lua: &Lua, now: &mut Now, (wanted, decode): (Option<LuaString>, Option<Value>)) -> Result<Value> {
    let Some(query) = now.seen.query() else { return Ok(Value::Nil) };
    let decodes = decode.is_some_and(|decode| !matches!(decode, Value::Nil | Value::Boolean(false)));
    let put = |text: &[u8]| if decodes { decoded(lua, text) } else { string(lua, text) };
    let Some(wanted) = wanted else { return put(query)?.into_lua(lua) };
    let is_all = wanted.as_bytes() == b"avi.QUERY_TABLE";
    let found = lua.create_table()?;
    let arguments = query.split(|&byte| byte == b'&').filter(|argument| !argument.is_empty());
    for argument in arguments {
        let mark = argument.iter().position(|&byte| byte == b'=');
        let (key, value) = mark.map_or((argument, None), |at| (&argument[..at], Some(&argument[at + 1..])));
        let key = put(key)?;
        if !is_all && key.as_bytes() != wanted.as_bytes() {
            continue;
        }
        let value = match value {
            Some(value) => put(value)?.into_lua(lua)?,
            None => Value::Boolean(true),
        };
        gather(lua, &found, key, value)?;
    }
    if is_all { found.into_lua(lua) } else { found.raw_get(wanted) }
}

type Range = (Option<i64>, Option<i64>);

/// How a script gets a part of a text.
type Put = fn(&Lua, &[u8]) -> Result<LuaString>;

/// Parts of a text, counted from 1: all as a list; or those from one to another, or to the end, as a text.
fn tokens(lua: &Lua, text: &[u8], between: u8, put: Put, (first, last): Range) -> Result<Value> {
    let mut all = text.split(|&byte| byte == between).filter(|token| !token.is_empty());
    let Some(first) = first else {
        let list = lua.create_table()?;
        all.try_for_each(|token| list.raw_push(put(lua, token)?))?;
        return list.into_lua(lua);
    };
    if first < 1 {
        return Err(Error::runtime("counts from 1"));
    }
    let count = last.map_or(usize::MAX, |last| last.saturating_sub(first).saturating_add(1).max(0) as usize);
    let some: Vec<&[u8]> = all.skip(first as usize - 1).take(count).collect();
    match some[..] {
        [] => Ok(Value::Nil),
        _ => put(lua, &some.join(&between))?.into_lua(lua),
    }
}
