//! `avi.vs`: the virtual service and its client, the log, and what an exchange remembers.

use mlua::{Error, IntoLua, Lua, LuaString, MultiValue, Result, Table, Value};

use super::{IN_ALL, IN_BOTH, Maker, Now, text::number, write};
use crate::seen::Variable;

const VARIABLES_MAX: usize = 64;
const VARIABLE_BYTES_MAX: usize = 4 << 10;

pub(super) fn fill(maker: &Maker<'_>) -> Result<()> {
    maker.put("client_ip", IN_ALL, |_, now, ()| Ok(now.seen.client.ip().to_canonical().to_string()))?;
    maker.put("client_port", IN_ALL, |_, now, ()| Ok(now.seen.client.port()))?;
    maker.put("ip", IN_ALL, |_, now, ()| Ok(now.seen.listener.ip().to_canonical().to_string()))?;
    maker.put("port", IN_ALL, |_, now, ()| Ok(now.seen.listener.port().to_string()))?;
    maker.put("name", IN_ALL, |_, now, ()| Ok(now.seen.service.clone()))?;
    maker.put("log", IN_ALL, |_, now, args: MultiValue| {
        let mut line = String::new();
        for arg in &args {
            line.push_str(&arg.to_string()?);
            if line.len() > crate::acts::LOG_BYTES_MAX {
                break;
            }
        }
        now.acts.log(&line.replace(['\r', '\n'], " "));
        Ok(())
    })?;
    maker.put_last("ds_done", IN_ALL, |_, now, ()| {
        now.acts.done = true;
        Ok(())
    })?;
    maker.put_last("close_conn", IN_BOTH, write::close)?;
    maker.table.raw_set("reqvar", variables(maker)?)
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
    Ok(table)
}

pub(super) fn variable(lua: &Lua, now: &Now, key: &[u8]) -> Result<Value> {
    match now.seen.variables.iter().find(|variable| variable.0 == key) {
        None => Ok(Value::Nil),
        Some((_, Variable::Text(text))) => lua.create_string(text)?.into_lua(lua),
        Some((_, Variable::Number(number))) => Ok(Value::Number(*number)),
        Some((_, Variable::Flag(flag))) => Ok(Value::Boolean(*flag)),
    }
}

pub(super) fn set_variable(now: &mut Now, key: &[u8], value: &Value) -> Result<()> {
    let value = match value {
        Value::Nil => None,
        Value::Boolean(flag) => Some(Variable::Flag(*flag)),
        Value::String(text) => Some(Variable::Text(text.as_bytes().to_vec())),
        other => match number(other) {
            Some(number) => Some(Variable::Number(number)),
            None => {
                let kind = other.type_name();
                return Err(Error::runtime(format!("keeps texts, numbers and truth values, not a {kind}")));
            }
        },
    };
    let all = &mut now.seen.variables;
    all.retain(|variable| variable.0 != key);
    let bytes_of = |key: &[u8], value: &Variable| {
        key.len() + if let Variable::Text(text) = value { text.len() } else { size_of::<f64>() }
    };
    if let Some(value) = value {
        let bytes: usize = all.iter().map(|(key, value)| bytes_of(key, value)).sum();
        if all.len() >= VARIABLES_MAX || bytes + bytes_of(key, &value) > VARIABLE_BYTES_MAX {
            let message =
                format!("an exchange keeps at most {VARIABLES_MAX} values of {VARIABLE_BYTES_MAX} bytes in all");
            return Err(Error::runtime(message));
        }
        all.push((key.to_vec(), value));
    }
    Ok(())
}
