//! `avi.vs`: the virtual service and its client, the log, and what an exchange remembers.

use mlua::{LuaString, MultiValue, Result, Table, Value};

use super::{
    IN_ALL, IN_BOTH, Maker,
    variables::{set_variable, variable},
    write,
};

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
    // A new key still goes to `write`, and no key is ever in the table.
    table.set_readonly(true);
    Ok(table)
}
