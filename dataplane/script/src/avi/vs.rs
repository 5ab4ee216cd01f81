//! `avi.vs`: the virtual service and its client, the log, and what an exchange remembers.

use mlua::{Error, FromLuaMulti, Function, Lua, LuaString, MultiValue, Result, Table, Value};
use weir_rate::Gauge;

use super::{
    IN_ALL, Maker, WITH_CLOSE, rates, tables,
    variables::{set_variable, variable},
    write,
};
use crate::{acts::LOG_BYTES_MAX, script::OPEN};

pub(super) fn fill(maker: &Maker<'_>) -> Result<()> {
    maker.put("client_ip", IN_ALL, |_, now, ()| Ok(now.seen.client.ip().to_canonical().to_string()))?;
    maker.put("client_port", IN_ALL, |_, now, ()| Ok(now.seen.client.port()))?;
    maker.put("ip", IN_ALL, |_, now, ()| Ok(now.seen.listener.ip().to_canonical().to_string()))?;
    maker.put("port", IN_ALL, |_, now, ()| Ok(now.seen.listener.port().to_string()))?;
    maker.put("name", IN_ALL, |_, now, ()| Ok(now.seen.service.clone()))?;
    maker.put("log", IN_ALL, |_, now, Line { text, is_significant }: Line| {
        now.acts.log(&text.replace(['\r', '\n'], " "));
        now.acts.is_significant |= is_significant;
        Ok(())
    })?;
    maker.put_last("ds_done", IN_ALL, |_, now, ()| {
        now.acts.done = true;
        Ok(())
    })?;
    maker.put(OPEN, IN_ALL, |_, now, ()| {
        let open = now.served.as_ref().and_then(|served| served.open.as_ref());
        open.map(Gauge::count).ok_or_else(|| {
            Error::runtime(format!(
                "connections are counted where a script has {OPEN} in it, and not for children, whose clients connect to their parent"
            ))
        })
    })?;
    maker.put("se_count", IN_ALL, |_, now, ()| Ok(now.served.as_ref().map_or(1, |served| served.engines.max(1))))?;
    tables::fill(maker)?;
    rates::fill(maker)?;
    maker.put_last("close_conn", WITH_CLOSE, write::close)?;
    maker.table.raw_set("reqvar", variables(maker)?)
}

/// What a script logs. It is a text before the event is borrowed, because `__tostring` of a table may be a function that
/// asks for something of the event.
struct Line {
    text: String,
    /// The last argument says so, and is not logged.
    is_significant: bool,
}

/// As scripts write it behind `avi.`.
pub(super) const SIGNIFICANT: &str = "SIG_ENABLE";

impl FromLuaMulti for Line {
    fn from_lua_multi(mut args: MultiValue, lua: &Lua) -> Result<Self> {
        let is_sign = |arg: &Value| {
            let text = arg.as_string().map(LuaString::as_bytes);
            text.is_some_and(|text| text.strip_prefix(b"avi.") == Some(SIGNIFICANT.as_bytes()))
        };
        let is_significant = args.back().is_some_and(is_sign);
        if is_significant {
            args.pop_back();
        }
        let mut line = String::new();
        for arg in &args {
            let text: LuaString = match arg {
                Value::String(text) => text.clone(),
                Value::Table(_) | Value::UserData(_) => lua.globals().get::<Function>("tostring")?.call(arg)?,
                other => lua.create_string(other.to_string()?)?,
            };
            let text = text.as_bytes();
            // What is behind the bound is not logged. A character has at most four bytes.
            line.push_str(&String::from_utf8_lossy(&text[..text.len().min(LOG_BYTES_MAX + 4)]));
            if line.len() > LOG_BYTES_MAX {
                break;
            }
        }
        Ok(Self { text: line, is_significant })
    }
}

/// `avi.vs.reqvar`: a table that lives as long as the exchange.
fn variables(maker: &Maker<'_>) -> Result<Table> {
    let (table, meta) = (maker.lua.create_table()?, maker.lua.create_table()?);
    let now = maker.now.clone();
    let read = maker
        .lua
        .create_function(move |lua, (_, key): (Table, LuaString)| variable(lua, &now.borrow(), &key.as_bytes()))?;
    let now = maker.now.clone();
    let write = maker.lua.create_function(move |_, (_, key, value): (Table, LuaString, Value)| {
        set_variable(&mut now.borrow_mut(), &key.as_bytes(), &value)
            .map_err(|error| super::named(error, "avi.vs", "reqvar"))
    })?;
    meta.raw_set("__index", read)?;
    meta.raw_set("__newindex", write)?;
    meta.raw_set("__metatable", false)?;
    meta.set_readonly(true);
    table.set_metatable(Some(meta))?;
    // A new key still goes to `write`, and no key is ever in the table.
    table.set_readonly(true);
    Ok(table)
}
