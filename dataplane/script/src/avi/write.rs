//! `avi.http`: what a script changes of the head that its event is about, and what it answers itself.

use mlua::{Error, Lua, LuaString, MultiValue, Result, Table, Value};
use weir_rules::EditKind;
use weir_wire::head::{Name, is_token, may_be_value};

use super::{
    IN_ALL, Maker, Now, WITH_ANSWER, WITH_CHANGES, WITH_CHOICE, WITH_CLOSE,
    text::{name, number, written},
    variables::set_variable,
};
use crate::{
    acts::{CONTENT_BYTES_MAX, EDIT_BYTES_MAX, EDITS_MAX, Ending, HeadEdit},
    event::Event,
};

/// The most bytes of a path with its query.
const TARGET_BYTES_MAX: usize = 8 << 10;

pub(super) fn fill(maker: &Maker<'_>) -> Result<()> {
    maker.put("add_header", WITH_CHANGES, |_, now, (name, value): (LuaString, Value)| {
        edit(now, EditKind::Add, false, &name, Some(written(&value)?))
    })?;
    maker.put("replace_header", WITH_CHANGES, |_, now, (name, value): (LuaString, Value)| {
        if name.as_bytes().eq_ignore_ascii_case(b"host") && !now.event.is_of_response() {
            return set_host(now, &written(&value)?);
        }
        edit(now, EditKind::Replace, false, &name, Some(written(&value)?))
    })?;
    maker.put("remove_header", WITH_CHANGES, |_, now, name: LuaString| {
        edit(now, EditKind::Remove, false, &name, None)
    })?;
    maker.put("add_cookie", WITH_CHANGES, |_, now, args| cookies(now, EditKind::Add, args))?;
    maker.put("replace_cookie", WITH_CHANGES, |_, now, args| cookies(now, EditKind::Replace, args))?;
    maker.put("remove_cookie", WITH_CHANGES, |_, now, names: MultiValue| {
        names.iter().try_for_each(|name| match name {
            Value::String(name) => edit(now, EditKind::Remove, true, name, None),
            other => Err(Error::runtime(format!("takes names of cookies, not a {}", other.type_name()))),
        })
    })?;
    maker.put("set_uri", WITH_CHOICE, |_, now, uri: LuaString| set_target(now, &uri.as_bytes()))?;
    maker.put("set_path", WITH_CHOICE, |_, now, path: LuaString| {
        // As `get_path` gives it: what would mean something in a target is encoded again.
        let mut target = encoded(&path.as_bytes(), b"%?#")?;
        if let Some(query) = now.seen.query() {
            target.push(b'?');
            target.extend_from_slice(query);
        }
        set_target(now, &target)
    })?;
    maker.put("set_query", WITH_CHOICE, |_, now, query: Value| {
        let query = match &query {
            Value::Table(arguments) => query_of(arguments)?,
            other => written(other)?,
        };
        let path = now.seen.path();
        let target = if query.is_empty() { path.to_vec() } else { [path, b"?", &query].concat() };
        set_target(now, &target)
    })?;
    maker.put("set_reqvar", IN_ALL, |_, now, (key, value): (LuaString, Value)| {
        set_variable(now, &key.as_bytes(), &value)
    })?;
    maker.put_last("response", WITH_ANSWER, respond)?;
    let events = &[
        Event::Authentication,
        Event::Authenticated,
        Event::Request,
        Event::RequestData,
        Event::Failed,
        Event::Unbalanced,
    ];
    maker.put_last("redirect", events, redirect)?;
    maker.put_last("close_conn", WITH_CLOSE, close)
}

pub(super) fn close(_: &Lua, now: &mut Now, reset: Option<Value>) -> Result<()> {
    let reset = reset.is_some_and(|reset| !matches!(reset, Value::Nil | Value::Boolean(false)));
    now.acts.ending = Some(Ending::Close { reset });
    Ok(())
}

/// Changes a field or a cookie of the head that the event is about, for the server or client and for later reads.
pub(super) fn edit(
    now: &mut Now,
    kind: EditKind,
    cookie: bool,
    field: &LuaString,
    value: Option<Vec<u8>>,
) -> Result<()> {
    let name = name(field)?;
    if !is_token(name.as_bytes()) {
        return Err(Error::runtime(format!("{name:?} is no name of a field or a cookie")));
    }
    if !cookie && Name::of(name.as_bytes()).is_of_framing() {
        return Err(Error::runtime(format!("{name} cannot be changed: engines write it themselves")));
    }
    if let Some(value) = &value {
        check_value(&name, value)?;
    }
    let edit = HeadEdit { kind, name, cookie, value };
    let bytes = now.acts.edit_bytes() + edit.name.len() + edit.value.as_ref().map_or(0, Vec::len);
    if now.acts.edits.len() >= EDITS_MAX || bytes > EDIT_BYTES_MAX {
        let message = format!("an event makes at most {EDITS_MAX} changes of {EDIT_BYTES_MAX} bytes in all");
        return Err(Error::runtime(message));
    }
    let is_request = !now.event.is_of_response();
    let head = if is_request { &mut now.seen.request } else { &mut now.seen.response };
    head.apply(&edit, is_request);
    now.acts.edits.push(edit);
    Ok(())
}

fn check_value(name: &str, value: &[u8]) -> Result<()> {
    if may_be_value(value) {
        return Ok(());
    }
    Err(Error::runtime(format!("the value of {name} has a character that no field may have")))
}

/// A table of cookies, or names and values in turn. In a response a table has one cookie and its attributes, and so have
/// the arguments, in the order of [`ATTRIBUTES`].
fn cookies(now: &mut Now, kind: EditKind, args: MultiValue) -> Result<()> {
    let is_response = now.event.is_of_response();
    match args.front() {
        Some(Value::Table(table)) => {
            if is_response {
                let (mut cookie, mut attributes) = (None, Vec::new());
                for pair in table.pairs::<LuaString, Value>() {
                    let (key, value) = pair?;
                    let found = ATTRIBUTES.iter().position(|name| name.as_bytes() == &*key.as_bytes());
                    match found {
                        Some(at) => attributes.push((at, value)),
                        None if cookie.is_none() => cookie = Some((key, written(&value)?)),
                        None => return Err(Error::runtime("a table has one cookie of a response, and its attributes")),
                    }
                }
                let (name, value) = cookie.ok_or_else(|| Error::runtime("the table has no cookie"))?;
                return set_cookie(now, kind, &name, value, attributes);
            }
            for pair in table.pairs::<LuaString, Value>() {
                let (name, value) = pair?;
                request_cookie(now, kind, &name, &value)?;
            }
            Ok(())
        }
        Some(Value::String(name)) if is_response => {
            let value = written(args.get(1).unwrap_or(&Value::Nil))?;
            let attributes = args.iter().skip(2).cloned().enumerate().filter(|(_, value)| !value.is_nil());
            set_cookie(now, kind, name, value, attributes.collect())
        }
        Some(_) => {
            let args: Vec<&Value> = args.iter().collect();
            for pair in args.chunks(2) {
                let [Value::String(name), value] = pair else {
                    return Err(Error::runtime("takes a table, or a name and a value for each cookie"));
                };
                request_cookie(now, kind, name, value)?;
            }
            Ok(())
        }
        None => Err(Error::runtime("takes a table, or a name and a value for each cookie")),
    }
}

fn request_cookie(now: &mut Now, kind: EditKind, name: &LuaString, value: &Value) -> Result<()> {
    let value = written(value)?;
    if value.iter().any(|byte| b"; ,\"\\".contains(byte)) {
        return Err(Error::runtime("the value has a character that a cookie cannot carry"));
    }
    edit(now, kind, true, name, Some(value))
}

/// The attributes of a cookie, in the order in which they may be given.
const ATTRIBUTES: [&str; 6] = ["path", "domain", "expires", "maxage", "httponly", "secure"];

fn set_cookie(
    now: &mut Now,
    kind: EditKind,
    name: &LuaString,
    mut value: Vec<u8>,
    mut attributes: Vec<(usize, Value)>,
) -> Result<()> {
    if value.contains(&b';') {
        return Err(Error::runtime("the value has a character that a cookie cannot carry"));
    }
    attributes.sort_by_key(|attribute| attribute.0);
    for (at, attribute) in attributes {
        match (ATTRIBUTES.get(at), &attribute) {
            (Some(&"httponly"), Value::Boolean(true)) => value.extend_from_slice(b"; HttpOnly"),
            (Some(&"secure"), Value::Boolean(true)) => value.extend_from_slice(b"; Secure"),
            (Some(&("httponly" | "secure")), Value::Boolean(false)) => {}
            (Some(&"expires"), _) => return Err(Error::runtime("expires is not served: use maxage")),
            (Some(&("httponly" | "secure")), _) | (None, _) => {
                return Err(Error::runtime("takes name, value, path, domain, expires, maxage, httponly, secure"));
            }
            (Some(name), attribute) => {
                let text = written(attribute)?;
                if text.contains(&b';') {
                    return Err(Error::runtime(format!("{name} has a character that it cannot have")));
                }
                if value.len() + text.len() > EDIT_BYTES_MAX {
                    return Err(Error::runtime(format!("a cookie has at most {EDIT_BYTES_MAX} bytes")));
                }
                let name = if *name == "maxage" { "Max-Age" } else { name };
                value.extend_from_slice(b"; ");
                value.extend_from_slice(name.as_bytes());
                value.push(b'=');
                value.extend_from_slice(&text);
            }
        }
    }
    edit(now, kind, true, name, Some(value))
}

/// `a=1&b=2` of a table; a list has its name once for each value.
fn query_of(arguments: &Table) -> Result<Vec<u8>> {
    let (mut all, mut bytes) = (Vec::new(), 0);
    for pair in arguments.pairs::<LuaString, Value>() {
        let (name, value) = pair?;
        // What separates arguments is encoded. Anything else stands as `get_query` gives it.
        let name = encoded(&name.as_bytes(), b"&=#")?;
        let mut put = |value: &Value| {
            let argument = match value {
                Value::Boolean(true) => name.clone(),
                value => [&name, &b"="[..], &encoded(&written(value)?, b"&#")?].concat(),
            };
            bytes += argument.len() + 1;
            if bytes > TARGET_BYTES_MAX {
                return Err(target_too_long());
            }
            all.push(argument);
            Ok::<(), Error>(())
        };
        match &value {
            Value::Table(values) => values.sequence_values::<Value>().try_for_each(|value| put(&value?))?,
            value => put(value)?,
        }
    }
    // A table has no order, and a server or a cache should see the same query each time.
    all.sort();
    Ok(all.join(&b'&'))
}

/// Characters that no target has are encoded.
fn set_target(now: &mut Now, target: &[u8]) -> Result<()> {
    if !target.starts_with(b"/") {
        return Err(Error::runtime("a path begins with /"));
    }
    let written = encoded(target, b"#")?;
    now.acts.target_changed |= written != now.seen.target;
    now.seen.target = written;
    Ok(())
}

/// `also`: characters that are encoded beside those that no target has.
fn encoded(text: &[u8], also: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len().min(TARGET_BYTES_MAX));
    for &byte in text {
        if byte.is_ascii_graphic() && !also.contains(&byte) {
            out.push(byte);
        } else {
            let digit = |four: u8| b"0123456789ABCDEF"[usize::from(four)];
            out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte & 15)]);
        }
        if out.len() > TARGET_BYTES_MAX {
            return Err(target_too_long());
        }
    }
    Ok(out)
}

fn target_too_long() -> Error {
    Error::runtime(format!("a path and its query have at most {TARGET_BYTES_MAX} bytes, encoded"))
}

fn set_host(now: &mut Now, host: &[u8]) -> Result<()> {
    if now.event.is_of_entry() {
        return Err(Error::runtime(format!(
            "Host cannot be changed in {}: rules have still to see it",
            now.event.name()
        )));
    }
    if host.is_empty() || !weir_wire::head::is_host(host) {
        return Err(Error::runtime("the value of Host is no host"));
    }
    now.seen.set_host(host);
    now.acts.host_changed = true;
    Ok(())
}

fn respond(_: &Lua, now: &mut Now, (status, fields, content): (Value, Option<Value>, Option<LuaString>)) -> Result<()> {
    let status = status_of(&status).filter(|status| (200..=599).contains(status));
    let status = status.ok_or_else(|| Error::runtime("takes a status from 200 to 599"))?;
    let (fields, content) = match (fields, content) {
        (Some(Value::String(content)), None) => (None, Some(content)),
        (Some(Value::Table(fields)), content) => (Some(fields), content),
        (None | Some(Value::Nil), content) => (None, content),
        (Some(_), _) => return Err(Error::runtime("takes a status, a table of fields and a text")),
    };
    if content.as_ref().is_some_and(|content| content.as_bytes().len() > CONTENT_BYTES_MAX) {
        return Err(Error::runtime(format!("the content has more than {CONTENT_BYTES_MAX} bytes")));
    }
    let content = content.map(|content| content.as_bytes().to_vec()).unwrap_or_default();
    let (mut all, mut bytes) = (Vec::new(), 0);
    for pair in fields.iter().flat_map(|fields| fields.pairs::<LuaString, Value>()) {
        let (key, value) = pair?;
        // A key of a table that is written without quotes has no hyphen.
        let key = name(&key)?.replace('_', "-");
        if !is_token(key.as_bytes()) || Name::of(key.as_bytes()).is_of_framing() {
            return Err(Error::runtime(format!("{key:?} is no field that a script may give to a response")));
        }
        if key.eq_ignore_ascii_case("date") {
            return Err(Error::runtime("engines write Date themselves"));
        }
        let mut put = |value: &Value| {
            let value = written(value)?;
            bytes += key.len() + value.len();
            if all.len() >= EDITS_MAX || bytes > EDIT_BYTES_MAX {
                let message = format!("a response has at most {EDITS_MAX} fields of {EDIT_BYTES_MAX} bytes");
                return Err(Error::runtime(message));
            }
            check_value(&key, &value)?;
            all.push((key.clone(), value));
            Ok(())
        };
        match &value {
            Value::Table(values) => values.sequence_values::<Value>().try_for_each(|value| put(&value?))?,
            value => put(value)?,
        }
    }
    let types = all.iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-type")).count();
    if types > 1 {
        return Err(Error::runtime("a response has one Content-Type"));
    }
    // RFC 9110 §15.3.5, §15.3.6, §15.4.5
    if matches!(status, 204 | 205 | 304) && (types > 0 || !content.is_empty()) {
        return Err(Error::runtime(format!("a response with the status {status} has no content, and no Content-Type")));
    }
    // As with queries: the same response is to look the same each time.
    all.sort();
    now.acts.ending = Some(Ending::Respond { status, fields: all, content });
    Ok(())
}

fn status_of(status: &Value) -> Option<u16> {
    let number = match status {
        Value::String(text) => text.to_str().ok()?.parse().ok()?,
        other => number(other)?,
    };
    (number.fract() == 0.0 && (0.0..=999.0).contains(&number)).then_some(number as u16)
}

fn redirect(_: &Lua, now: &mut Now, (uri, status): (LuaString, Option<Value>)) -> Result<()> {
    let status = status.as_ref().map_or(Some(302), status_of);
    let status = status.filter(|status| matches!(status, 301..=303 | 307 | 308));
    let status = status.ok_or_else(|| Error::runtime("the status of a redirect is 301, 302, 303, 307 or 308"))?;
    let location = uri.as_bytes().to_vec();
    if location.is_empty() || location.len() > TARGET_BYTES_MAX || !location.iter().all(u8::is_ascii_graphic) {
        return Err(Error::runtime("that is no URI to redirect to"));
    }
    now.acts.ending = Some(Ending::Redirect { status, location });
    Ok(())
}
